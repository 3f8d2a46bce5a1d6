// SPDX-License-Identifier: GPL-2.0
/*
 * trampctl stack: from where many functions are called, and how often from each place.
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
#include "../out/kallsyms.h"
#include "../out/text.h"
#include "../run/many_run.h"
#include "../run/module.h"
#include "../trampctl.h"
#include "sums.h"
#include "user/trampctl/run/many.skel.h"

enum { OPT_FOLDED = NR_SUM_OPTS };

static const struct cmd_opt stack_opts[] = {
	SUM_OPTS("call stacks"),
	{ "folded", 'f', NULL, "one line a stack, outermost first: for flame graphs" },
	{ NULL }
};

static struct sum_options opts;
static bool folded;

static int stack_option(int opt, const char *arg)
{
	if (opt < NR_SUM_OPTS)
		return sum_option(&opts, opt, arg);
	folded = true;
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
 * @names: of the kernel, for the frames; NULL: not known
 * @stacks: all that were ever seen, @nr, in the order of their keys
 */
struct stack_run {
	struct sums sums;
	struct tramp_names *names;
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

/*
 * The frames behind the function: what lies before it is ours. Returns the first, and
 * how many there are in @nr.
 */
static const uint64_t *callers(const struct stack_run *run, const struct stack *s, uint64_t *ip,
			       size_t *nr)
{
	const char *func = many_name(&run->sums.many, s->key.func);
	const __u32 id = s->key.stack;
	const struct tramp_name *name;
	size_t i;

	*nr = 0;
	memset(ip, 0, MANY_STACK_DEPTH * sizeof(*ip));
	if (bpf_map_lookup_elem(bpf_map__fd(run->sums.many.skel->maps.stacks), &id, ip))
		return ip;
	while (*nr < MANY_STACK_DEPTH && ip[*nr])
		++*nr;
	/* At a return it begins with the caller. */
	for (i = 0; run->names && !run->sums.many.exits && i < *nr; i++) {
		name = tramp_names__find_addr(run->names, ip[i], NULL);
		if (name && !strcmp(name->name, func)) {
			*nr -= i + 1;
			return ip + i + 1;
		}
	}
	return ip;
}

static char *frame_text(const struct stack_run *run, uint64_t ip, bool offset)
{
	const struct tramp_name *name;
	char *text;

	if (offset) {
		text = ksyms_text(run->names, ip);
	} else {
		name = run->names ? tramp_names__find_addr(run->names, ip, NULL) : NULL;
		text = name ? xasprintf("%s", name->name) : NULL;
	}
	return text ? text : xasprintf("0x%" PRIx64, ip);
}

static void print_folded(const struct stack_run *run, const struct stack *s)
{
	uint64_t buf[MANY_STACK_DEPTH];
	const uint64_t *ip;
	char *text;
	size_t nr;

	ip = callers(run, s, buf, &nr);
	while (nr--) {
		text = frame_text(run, ip[nr], false);
		printf("%s;", text);
		free(text);
	}
	printf("%s %" PRIu64 "\n", many_name(&run->sums.many, s->key.func), s->now);
}

static void print_text(const struct stack_run *run, const struct stack *s)
{
	uint64_t buf[MANY_STACK_DEPTH];
	const uint64_t *ip;
	size_t nr, i;
	char *text;

	ip = callers(run, s, buf, &nr);
	printf("%8" PRIu64 "  %s\n", s->now, sum_name(&run->sums.many, s->key.func));
	for (i = 0; i < nr; i++) {
		text = frame_text(run, ip[i], true);
		printf("          %s\n", text);
		free(text);
	}
	putchar('\n');
}

static json_object *to_json(struct sums *sums, const struct sum *one)
{
	json_object *j = json_object_new_object(), *list = json_object_new_array();
	const struct stack_run *run = run_of(sums);
	const struct stack *s = &run->stacks[one->nr];
	uint64_t buf[MANY_STACK_DEPTH];
	const uint64_t *ip;
	size_t nr, i;
	char *text;

	ip = callers(run, s, buf, &nr);
	many_put_name(j, &sums->many, s->key.func);
	json_put_u64(j, "calls", s->now);
	for (i = 0; i < nr; i++) {
		text = frame_text(run, ip[i], true);
		json_object_array_add(list, json_object_new_string(text));
		free(text);
	}
	json_object_object_add(j, "stack", list);
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

/* Once ours are attached: stacks may have their images. */
static void begin(struct sums *s)
{
	run_of(s)->names = load_ksyms("callers are shown as addresses");
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
	const int rc = sums_run(&run.sums, argc, argv);

	free(run.stacks);
	tramp_names__free(run.names);
	return rc;
}

const struct cmd cmd_stack = {
	.name = "stack",
	.args = "PATTERN...",
	.summary = "Count the call stacks that lead to many functions",
	.details =
		"PATTERN is as for count. Shows each call stack of the kernel, innermost first, and how\n"
		"often the function was called from there. --folded is what flame graphs are made of.\n",
	.opts = stack_opts,
	.min_args = 1,
	.max_args = -1,
	.option = stack_option,
	.run = stack_run,
};
