// SPDX-License-Identifier: GPL-2.0
/*
 * unlink_snoop: print every file that is removed, at entry and at exit of
 * do_unlinkat().
 *
 * An example to copy. All that differs from a program that uses libbpf alone is
 * tramp_object__attach() in the place of unlink_snoop__attach(), and
 * tramp_last_error(), which says why it failed and what to do.
 */
#include <bpf/libbpf.h>
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <trampoline/trampoline.h>

#include "unlink_snoop.h"
#include "unlink_snoop.skel.h"

static volatile sig_atomic_t stop;

/* The callback's counts, for the main loop. */
struct progress {
	unsigned long exits, wanted;
	bool write_failed;
};

static void on_signal(int sig)
{
	(void)sig;
	stop = 1;
}

/* Names are strangers': a terminal takes some bytes for commands. */
static void make_printable(char *text)
{
	for (; *text; text++)
		if (!isprint((unsigned char)*text))
			*text = '?';
}

static int on_event(void *ctx, void *data, size_t size)
{
	struct progress *p = ctx;
	struct event copy = *(const struct event *)data;
	const struct event *e = &copy;

	(void)size;
	make_printable(copy.comm);
	make_printable(copy.name);
	/* One wakeup may bring more than was asked for. */
	if (p->wanted && p->exits >= p->wanted)
		return 0;
	if (e->kind == EVENT_ENTRY) {
		printf("%-6s %-16s %7u  do_unlinkat(%d, \"%s\")\n", "entry", e->comm, e->pid,
		       e->dfd, e->name);
	} else {
		printf("%-6s %-16s %7u  do_unlinkat(%d, \"%s\") = %d%s%s  %.1f us\n", "exit",
		       e->comm, e->pid, e->dfd, e->name, e->result, e->result < 0 ? " " : "",
		       e->result < 0 ? strerror(-e->result) : "", e->duration / 1000.0);
		p->exits++;
	}
	/* Somebody who reads us through a pipe sees lines as they come. */
	p->write_failed |= fflush(stdout) || ferror(stdout);
	return 0;
}

static void usage(FILE *to)
{
	fputs("usage: unlink_snoop [-n CALLS]\n"
	      "\n"
	      "Print every file that is removed, until interrupted.\n"
	      "\n"
	      "  -n CALLS  end after that many calls\n"
	      "  -h        this help\n", to);
}

/* Exit status to return at once, or -1 to go on. */
static int parse_args(int argc, char **argv, struct progress *p)
{
	char *end;
	int opt;

	while ((opt = getopt(argc, argv, "n:h")) != -1) {
		switch (opt) {
		case 'n':
			errno = 0;
			p->wanted = strtoul(optarg, &end, 10);
			if (errno || *end || !p->wanted || optarg[0] == '-') {
				fprintf(stderr, "unlink_snoop: -n takes a number from 1, not '%s'\n",
					optarg);
				return 2;
			}
			break;
		case 'h':
			usage(stdout);
			return 0;
		default:
			usage(stderr);
			return 2;
		}
	}
	if (optind < argc) {
		fprintf(stderr, "unlink_snoop: what is '%s'?\n", argv[optind]);
		usage(stderr);
		return 2;
	}
	return -1;
}

static int read_events(struct ring_buffer *events, const struct progress *p)
{
	while (!stop && (!p->wanted || p->exits < p->wanted)) {
		int err = ring_buffer__poll(events, 100);

		if (err < 0 && err != -EINTR) {
			fprintf(stderr, "unlink_snoop: ring buffer: %s\n", strerror(-err));
			return 1;
		}
		if (p->write_failed)
			return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct sigaction on_stop = { .sa_handler = on_signal };
	struct ring_buffer *events = NULL;
	struct tramp_links *links = NULL;
	struct unlink_snoop *skel;
	struct progress p = {};
	int status;

	status = parse_args(argc, argv, &p);
	if (status >= 0)
		return status;
	status = 1;

	/* Errors are reported here, once. */
	tramp_set_print(NULL);

	skel = unlink_snoop__open_and_load();
	if (!skel) {
		fprintf(stderr, "unlink_snoop: cannot load the programs: %s\n", strerror(errno));
		return 1;
	}
	events = ring_buffer__new(bpf_map__fd(skel->maps.events), on_event, &p, NULL);
	if (!events) {
		fprintf(stderr, "unlink_snoop: ring buffer: %s\n", strerror(errno));
		goto out;
	}
	/* Before attaching, so that Ctrl-C never leaves the programs behind. */
	sigaction(SIGINT, &on_stop, NULL);
	sigaction(SIGTERM, &on_stop, NULL);

	links = tramp_object__attach(skel->obj, NULL);
	if (!links) {
		fprintf(stderr, "unlink_snoop: %s\n", tramp_last_error()->message);
		goto out;
	}
	printf("%-6s %-16s %7s  %s\n", "EVENT", "COMMAND", "PID", "CALL");
	fflush(stdout);
	status = read_events(events, &p);
	if (skel->bss->lost)
		fprintf(stderr, "unlink_snoop: %llu events were lost\n",
			(unsigned long long)skel->bss->lost);
out:
	tramp_links__destroy(links);
	ring_buffer__free(events);
	unlink_snoop__destroy(skel);
	return status;
}
