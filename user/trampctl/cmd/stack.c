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
#include "../out/output.h"
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

struct stack_run {
	struct many_run many;
	struct tramp_names *names;
	struct stack *stacks;
	struct sum *sums;
	size_t nr;
};

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

/* Returns 0, or the exit code of an error that has been reported. */
static int read_stacks(struct stack_run *run)
{
	const int fd = bpf_map__fd(run->many.skel->maps.stack_calls);
	struct many_stack key, *last = NULL;
	const size_t known = run->nr;
	size_t i;

	while (!bpf_map_get_next_key(fd, last, &key)) {
		struct stack *s = find(run, &key, known);

		if (bpf_map_lookup_elem(fd, &key, &s->calls))
			return fail_bpf(errno, "cannot read the call stacks");
		last = &key;
	}
	if (run->nr)
		qsort(run->stacks, run->nr, sizeof(*run->stacks), by_key);
	for (i = 0; i < run->nr; i++) {
		run->stacks[i].now = run->stacks[i].calls - run->stacks[i].before;
		run->stacks[i].before = run->stacks[i].calls;
	}
	return 0;
}

/*
 * The frames behind the function: what lies before it is ours. Returns the first, and
 * how many there are in @nr.
 */
static const uint64_t *callers(const struct stack_run *run, const struct stack *s, uint64_t *ip,
			       size_t *nr)
{
	const char *func = many_name(&run->many, s->key.func);
	const __u32 id = s->key.stack;
	const struct tramp_name *name;
	size_t i;

	*nr = 0;
	memset(ip, 0, MANY_STACK_DEPTH * sizeof(*ip));
	if (bpf_map_lookup_elem(bpf_map__fd(run->many.skel->maps.stacks), &id, ip))
		return ip;
	while (*nr < MANY_STACK_DEPTH && ip[*nr])
		++*nr;
	for (i = 0; run->names && i < *nr; i++) {
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
	printf("%s %" PRIu64 "\n", many_name(&run->many, s->key.func), s->now);
}

static void print_text(const struct stack_run *run, const struct stack *s)
{
	uint64_t buf[MANY_STACK_DEPTH];
	const uint64_t *ip;
	size_t nr, i;
	char *text;

	ip = callers(run, s, buf, &nr);
	printf("%8" PRIu64 "  %s\n", s->now, sum_name(&run->many, s->key.func));
	for (i = 0; i < nr; i++) {
		text = frame_text(run, ip[i], true);
		printf("          %s\n", text);
		free(text);
	}
	putchar('\n');
}

static json_object *to_json(const struct stack_run *run, const struct stack *s)
{
	json_object *j = json_object_new_object(), *list = json_object_new_array();
	uint64_t buf[MANY_STACK_DEPTH];
	const uint64_t *ip;
	size_t nr, i;
	char *text;

	ip = callers(run, s, buf, &nr);
	many_put_name(j, &run->many, s->key.func);
	json_put_u64(j, "calls", s->now);
	for (i = 0; i < nr; i++) {
		text = frame_text(run, ip[i], true);
		json_object_array_add(list, json_object_new_string(text));
		free(text);
	}
	json_object_object_add(j, "stack", list);
	return j;
}

static void print_json(const struct stack_run *run, size_t nr, const char *type)
{
	json_object *j = json_object_new_object(), *list = json_object_new_array();
	size_t i;

	json_put_str(j, "type", type);
	json_put_u64(j, "attached", run->many.attached);
	for (i = 0; i < nr; i++)
		json_object_array_add(list, to_json(run, &run->stacks[run->sums[i].nr]));
	json_object_object_add(j, "stacks", list);
	if (!strcmp(type, "end"))
		json_object_object_add(j, "lost", many_lost_json(&run->many, 0));
	json_print(j);
}

static int show(struct stack_run *run, const char *type)
{
	size_t i, nr = 0;
	int rc;

	rc = read_stacks(run);
	if (rc)
		return rc;
	run->sums = xrealloc(run->sums, run->nr * sizeof(*run->sums));
	for (i = 0; i < run->nr; i++) {
		if (!run->stacks[i].now)
			continue;
		run->sums[nr].nr = i;
		run->sums[nr++].calls = run->stacks[i].now;
	}
	nr = sums_sort(run->sums, nr, opts.top);
	if (json_output) {
		print_json(run, nr, type);
		return 0;
	}
	if (nr && !folded)
		puts("   CALLS  FUNCTION AND ITS CALLERS");
	for (i = 0; i < nr; i++)
		(folded ? print_folded : print_text)(run, &run->stacks[run->sums[i].nr]);
	if (!nr && !folded)
		puts("no calls");
	return 0;
}

static int show_interval(void *arg)
{
	int rc = show(arg, "interval");

	fflush(stdout);
	return rc;
}

static int stack_run(int argc, char **argv)
{
	struct stack_run run = { .many = { .opts = &opts.many, .mode = MANY_STACK } };
	int rc;

	opts.many.events = &opts.events;
	events_catch_signals();
	rc = many_start(&run.many, argc, argv);
	if (!rc && run.many.attached) {
		/* After ours are attached: stacks may have their images. */
		run.names = load_ksyms("callers are shown as addresses");
		rc = many_wait(&run.many, opts.interval_ns, show_interval, &run);
		many_stop(&run.many);
		if (!rc)
			rc = show(&run, "end");
		/* Now, while errno says why. */
		if (!output_failed() && !json_output)
			many_warn_lost(&run.many, 0);
	}
	free(run.stacks);
	free(run.sums);
	tramp_names__free(run.names);
	many_free(&run.many);
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
