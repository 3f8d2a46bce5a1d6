// SPDX-License-Identifier: GPL-2.0
/*
 * rmwatch [-n CALLS]: print each call of do_unlinkat(), and how long it took to a place in its
 * middle and to its end.
 *
 * A program as a user of the library writes it: it sees installed files only. It is compiled as C
 * and as C++, and linked with the static and with the shared library. So it keeps to what both
 * languages have.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <trampoline/trampoline.h>
#include <unistd.h>

#include "rmwatch.h"
#include "rmwatch.skel.h"

#define FUNCTION "do_unlinkat"

static volatile sig_atomic_t stop;
static unsigned long seen;

static void on_signal(int sig)
{
	(void)sig;
	stop = 1;
}

static int on_event(void *ctx, void *data, size_t size)
{
	const struct removal *r = (const struct removal *)data;

	(void)ctx;
	if (size < sizeof(*r))
		return 0;
	if (r->middle)
		printf("%s %u result %d middle %.1f end %.1f us\n", r->comm, r->pid, r->result,
		       (double)(r->middle - r->start) / 1000, (double)(r->end - r->start) / 1000);
	else
		printf("%s %u result %d middle - end %.1f us\n", r->comm, r->pid, r->result,
		       (double)(r->end - r->start) / 1000);
	fflush(stdout);
	seen++;
	return 0;
}

/* The first instruction behind the entry at which a probe becomes a jump; ESRCH: none */
static uint64_t middle_of_function(void)
{
	struct tramp_code *code = tramp_explain_code(NULL, FUNCTION, NULL);
	uint64_t offset = 0;
	size_t i;

	if (!code)
		return 0;
	for (i = 0; i < code->nr_insns && !offset; i++) {
		if (code->insns[i].mode == TRAMP_MODE_JUMP)
			offset = code->insns[i].offset;
	}
	tramp_code__free(code);
	if (!offset) {
		fprintf(stderr, "rmwatch: no instruction of " FUNCTION " can be a jump\n");
		errno = ESRCH;
	}
	return offset;
}

/* All three at once, or none */
static struct tramp_links *attach(const struct rmwatch *skel, uint64_t offset)
{
	TRAMP_OPTS(tramp_attach_opts, place, .symbol = FUNCTION, .offset = offset);
	const struct tramp_attach_item items[] = {
		{ skel->progs.rm_entry, NULL },
		{ skel->progs.rm_middle, &place },
		{ skel->progs.rm_exit, NULL },
	};

	return tramp_attach_many(items, sizeof(items) / sizeof(items[0]));
}

static void show_links(const struct tramp_links *links)
{
	size_t i;

	for (i = 0; i < tramp_links__count(links); i++) {
		TRAMP_OPTS(tramp_link_info, info);

		if (!tramp_link__info(tramp_links__get(links, i), &info))
			printf("%s %s of " FUNCTION "\n", tramp_mode_name(info.mode),
			       tramp_kind_name(info.kind));
	}
	fflush(stdout);
}

static int usage(void)
{
	fputs("usage: rmwatch [-n CALLS]\n", stderr);
	return 2;
}

int main(int argc, char **argv)
{
	struct ring_buffer *events = NULL;
	struct tramp_links *links = NULL;
	unsigned long wanted = 0;
	struct rmwatch *skel;
	uint64_t offset;
	int opt, err = 0, status = 1;
	char *end;

	while ((opt = getopt(argc, argv, "n:")) != -1) {
		if (opt != 'n')
			return usage();
		wanted = strtoul(optarg, &end, 10);
		if (*end || !wanted)
			return usage();
	}
	if (optind < argc)
		return usage();
	tramp_set_print(NULL);
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);

	skel = rmwatch__open_and_load();
	if (!skel) {
		fprintf(stderr, "rmwatch: cannot load the programs: %s\n", strerror(errno));
		return 1;
	}
	events = ring_buffer__new(bpf_map__fd(skel->maps.events), on_event, NULL, NULL);
	if (!events) {
		fprintf(stderr, "rmwatch: ring buffer: %s\n", strerror(errno));
		goto out;
	}
	offset = middle_of_function();
	if (offset)
		links = attach(skel, offset);
	if (!links) {
		if (offset || errno != ESRCH)
			fprintf(stderr, "rmwatch: %s\n", tramp_last_error()->message);
		goto out;
	}
	show_links(links);
	while (!stop && (!wanted || seen < wanted) && (err >= 0 || err == -EINTR))
		err = ring_buffer__poll(events, 100);
	status = err < 0 && err != -EINTR;
	if (status)
		fprintf(stderr, "rmwatch: ring buffer: %s\n", strerror(-err));
out:
	tramp_links__destroy(links);
	ring_buffer__free(events);
	rmwatch__destroy(skel);
	return status;
}
