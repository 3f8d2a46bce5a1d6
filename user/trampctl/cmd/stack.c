// SPDX-License-Identifier: GPL-2.0
/*
 * trampctl stack: from where many functions are called, and how often from each place.
 *
 * With --ustack, a place is also one in a process. Names in processes are known while those are
 * there, so the program tells of each new stack at once.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../out/error.h"
#include "../out/json.h"
#include "../out/text.h"
#include "../run/many_run.h"
#include "../run/stack_show.h"
#include "../trampctl.h"
#include "sums.h"
#include "user/trampctl/run/many.skel.h"

enum { OPT_FOLDED = NR_SUM_OPTS, OPT_USTACK };

static const struct cmd_opt stack_opts[] = {
	SUM_OPTS("call stacks"),
	{ "folded", 'f', NULL, "one line a stack, outermost first: for flame graphs" },
	{ "ustack", 0, NULL, "count by the callers in the process as well" },
	{ NULL }
};

static struct sum_options opts;
static bool folded, ustack;

static int stack_option(int opt, const char *arg)
{
	if (opt < NR_SUM_OPTS)
		return sum_option(&opts, opt, arg);
	if (opt == OPT_FOLDED)
		folded = true;
	else
		ustack = true;
	return 0;
}

/* One call stack: whose, how often until now and until the last time. */
struct stack {
	struct many_stack key;
	uint64_t calls, before, now;
};

/**
 * struct stack_run - a run
 * @sums: what is common; the first member
 * @show: how they are shown
 * @ring: new stacks of processes; NULL: they are not asked for
 * @stacks: all that were ever seen, @nr, in the order of their keys
 */
struct stack_run {
	struct sums sums;
	struct stack_show show;
	struct ring_buffer *ring;
	struct stack *stacks;
	size_t nr;
};

static struct stack_run *run_of(struct sums *s)
{
	return (struct stack_run *)s;
}

static int by_key(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct many_stack));
}

/* The first @known of them are in order. */
static struct stack *find(struct stack_run *run, const struct many_stack *key, size_t known)
{
	struct stack *s = NULL;

	_Static_assert(!offsetof(struct stack, key), "a stack begins with its key");
	if (known)
		s = bsearch(key, run->stacks, known, sizeof(*s), by_key);
	if (s)
		return s;
	run->stacks = xrealloc(run->stacks, (run->nr + 1) * sizeof(*run->stacks));
	run->stacks[run->nr] = (struct stack){ .key = *key };
	return &run->stacks[run->nr++];
}

static int read_stacks(struct sums *sums)
{
	struct stack_run *run = run_of(sums);
	const int fd = bpf_map__fd(sums->many.skel->maps.stack_calls);
	struct many_stack key, *last = NULL;
	const size_t known = run->nr;
	size_t i, n = 0;

	while (!bpf_map_get_next_key(fd, last, &key)) {
		struct stack *s = find(run, &key, known);

		if (bpf_map_lookup_elem(fd, &key, &s->calls))
			return fail_bpf(errno, "cannot read the call stacks");
		last = &key;
	}
	if (run->nr)
		qsort(run->stacks, run->nr, sizeof(*run->stacks), by_key);
	sums->found = xrealloc(sums->found, run->nr * sizeof(*sums->found));
	for (i = 0; i < run->nr; i++) {
		struct stack *s = &run->stacks[i];

		s->now = s->calls - s->before;
		s->before = s->calls;
		if (!s->now)
			continue;
		sums->found[n].nr = i;
		sums->found[n++].calls = s->now;
	}
	sums_sort(sums, n);
	return 0;
}

/* The frames of one stack, out of the map. Returns their bytes, or a negative errno. */
static int read_frames(const struct stack_run *run, __s32 id, __u64 *ip)
{
	const __u32 key = id;
	int nr = 0;

	if (id < 0)
		return id == MANY_KERNEL_THREAD ? 0 : id;
	memset(ip, 0, STACKS_MAX_DEPTH * sizeof(*ip));
	if (bpf_map_lookup_elem(bpf_map__fd(run->sums.many.skel->maps.stacks), &key, ip))
		return -errno;
	while (nr < STACKS_MAX_DEPTH && ip[nr])
		nr++;
	return nr * sizeof(*ip);
}

/**
 * struct both - the two stacks of a place that calls come from
 * @event: whose
 * @kernel, @user: what to show of each
 * @ip: their frames
 */
struct both {
	struct stack_event event;
	struct frames kernel, user;
	__u64 ip[2][STACKS_MAX_DEPTH];
};

static void read_both(const struct stack_run *run, const struct stack *s, struct both *b)
{
	/* At a return it begins with the caller. */
	b->event = (struct stack_event){
		.function = run->sums.many.exits ? NULL : many_sym(&run->sums.many, s->key.func),
		.tgid = s->key.tgid, .comm = s->key.comm, .is_past = true,
	};
	b->kernel = frames_of_kernel(&run->show, b->ip[0], read_frames(run, s->key.stack, b->ip[0]),
				     &b->event);
	if (ustack)
		b->user = frames_of_user(&run->show, b->ip[1],
					 read_frames(run, s->key.user, b->ip[1]));
}

/* One word of a folded line, and the separator. A stranger's name may have that, too. */
static void print_folded_word(const char *word, size_t len)
{
	char *quoted = quote_text(word, len), *s;

	for (s = quoted; *s; s++)
		if (*s == ';')
			fputs("\\x3b", stdout);
		else
			putchar(*s);
	putchar(';');
	free(quoted);
}

/* The process first, then its frames, and what is missing before them. */
static void print_folded_user(const struct stack_run *run, const struct both *b)
{
	size_t i = b->user.nr;
	char *text;

	print_folded_word(b->event.comm, FILTER_COMM_LEN);
	if (b->user.ends)
		printf("[%s];", b->user.ends);
	while (i--) {
		text = user_frame_text(&run->show, &b->user, i, &b->event, false);
		print_folded_word(text, strlen(text));
		free(text);
	}
}

static void print_folded(const struct stack_run *run, const struct stack *s)
{
	/* How tools that draw know the kernel's. */
	const char *mark = ustack ? "_[k]" : "";
	const struct tramp_name *name;
	struct both b;
	size_t i;

	read_both(run, s, &b);
	if (ustack)
		print_folded_user(run, &b);
	for (i = b.kernel.nr; i--;) {
		const __u64 ip = b.kernel.ip[i];

		name = run->show.kernel ? tramp_names__find_addr(run->show.kernel, ip, NULL) : NULL;
		if (name)
			printf("%s%s;", name->name, mark);
		else
			printf("0x%llx%s;", ip, mark);
	}
	printf("%s%s %" PRIu64 "\n", many_name(&run->sums.many, s->key.func), mark, s->now);
}

static void print_text(const struct stack_run *run, const struct stack *s)
{
	char *comm = quote_text(s->key.comm, FILTER_COMM_LEN);
	struct both b;

	read_both(run, s, &b);
	printf("%8" PRIu64 "  %s", s->now, sum_name(&run->sums.many, s->key.func));
	if (ustack)
		printf(" (%s, PID %u)", comm, s->key.tgid);
	putchar('\n');
	free(comm);
	frames_print_kernel(&run->show, &b.kernel, 10);
	if (ustack)
		frames_print_user(&run->show, &b.user, &b.event, 10);
	putchar('\n');
}

static json_object *to_json(struct sums *sums, const struct sum *one)
{
	const struct stack_run *run = run_of(sums);
	const struct stack *s = &run->stacks[one->nr];
	json_object *j = json_object_new_object();
	struct both b;

	read_both(run, s, &b);
	many_put_name(j, &sums->many, s->key.func);
	json_put_u64(j, "calls", s->now);
	frames_put_kernel(j, &run->show, &b.kernel);
	if (ustack) {
		json_put_bytes(j, "comm", s->key.comm, FILTER_COMM_LEN);
		json_put_u64(j, "pid", s->key.tgid);
		frames_put_user(j, &run->show, &b.user, &b.event);
	}
	return j;
}

static void print(struct sums *s)
{
	const struct stack_run *run = run_of(s);
	size_t i;

	if (s->nr && !folded && !quiet_output)
		puts("   CALLS  FUNCTION AND ITS CALLERS");
	for (i = 0; i < s->nr; i++)
		(folded ? print_folded : print_text)(run, &run->stacks[s->found[i].nr]);
	if (!s->nr && !folded)
		puts("no calls");
}

/* Reads names of a process that is new, while it is there. */
static int on_new_stack(void *arg, void *data, size_t size)
{
	const struct many_stack *key = data;
	struct stack_run *run = arg;

	if (size >= sizeof(*key))
		user_names_read(run->show.user, key->tgid, key->comm);
	return 0;
}

static void wait_for_new(void *arg, int ms)
{
	struct stack_run *run = arg;

	ring_buffer__poll(run->ring, ms);
}

/* Once ours are attached: stacks may have their images. */
static void begin(struct sums *s)
{
	struct stack_run *run = run_of(s);

	stack_show_open(&run->show);
	if (!ustack)
		return;
	run->ring = ring_buffer__new(bpf_map__fd(s->many.skel->maps.events), on_new_stack, run,
				     NULL);
	/* Without it names are read in the end. */
	s->many.wait = run->ring ? wait_for_new : NULL;
}

static const struct sum_kind kind = {
	.list = "stacks",
	.begin = begin,
	.read = read_stacks,
	.print = print,
	.to_json = to_json,
};

static int stack_run(int argc, char **argv)
{
	struct stack_run run = {
		.sums = { .opts = &opts, .kind = &kind, .many = { .mode = MANY_STACK } }
	};
	const struct stack_options o = { .kernel = true, .user = ustack,
					 .depth = STACKS_MAX_DEPTH };
	int rc;

	rc = stacks_check(&o);
	if (rc)
		return rc;
	stack_show_configure(&run.show, &o);
	run.sums.many.flags = ustack ? MANY_F_USTACK : 0;
	run.sums.many.arg = &run;
	rc = sums_run(&run.sums, argc, argv);
	ring_buffer__free(run.ring);
	free(run.stacks);
	stack_show_close(&run.show);
	return rc;
}

const struct cmd cmd_stack = {
	.name = "stack",
	.args = "PATTERN...",
	.summary = "Count the call stacks that lead to many functions",
	.details =
		"PATTERN is as for count. Shows each call stack of the kernel, innermost first, and how\n"
		"often the function was called from there. --folded is what flame graphs are made of.\n"
		"With --ustack a stack goes on in the process.\n",
	.opts = stack_opts,
	.min_args = 1,
	.max_args = -1,
	.option = stack_option,
	.run = stack_run,
};
