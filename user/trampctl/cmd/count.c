// SPDX-License-Identifier: GPL-2.0
/*
 * trampctl count: how often each of many functions is called.
 */
#include <bpf/libbpf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "../out/error.h"
#include "../out/json.h"
#include "../out/table.h"
#include "../out/text.h"
#include "../run/many_run.h"
#include "../trampctl.h"
#include "sums.h"
#include "user/trampctl/run/many.skel.h"

static const struct cmd_opt count_opts[] = {
	SUM_OPTS("functions"),
	{ NULL }
};

static struct sum_options opts;

static int count_option(int opt, const char *arg)
{
	return sum_option(&opts, opt, arg);
}

/**
 * struct count_run - a run
 * @sums: what is common; the first member
 * @counts: what was read, per function and CPU
 * @before: per function: calls until the last time
 * @nr_cpus: how many there may be
 * @total: calls since then
 */
struct count_run {
	struct sums sums;
	uint64_t *counts, *before;
	size_t nr_cpus;
	uint64_t total;
};

static struct count_run *run_of(struct sums *s)
{
	return (struct count_run *)s;
}

static void begin(struct sums *s)
{
	struct count_run *run = run_of(s);
	const int cpus = libbpf_num_possible_cpus();
	const size_t nr = s->many.funcs.nr;

	run->nr_cpus = cpus > 0 ? cpus : 1;
	run->counts = xcalloc(nr * run->nr_cpus, sizeof(*run->counts));
	run->before = xcalloc(nr, sizeof(*run->before));
	s->found = xcalloc(nr, sizeof(*s->found));
}

static int read_counts(struct sums *s)
{
	struct count_run *run = run_of(s);
	const size_t nr = s->many.funcs.nr;
	const uint64_t *c = run->counts;
	size_t i, k, n = 0;
	uint64_t all;
	int rc;

	rc = sums_read_map(bpf_map__fd(s->many.skel->maps.calls), run->counts,
			   run->nr_cpus * sizeof(*c), nr);
	if (rc)
		return rc;
	run->total = 0;
	for (i = 0; i < nr; i++) {
		for (all = 0, k = 0; k < run->nr_cpus; k++)
			all += *c++;
		if (all == run->before[i])
			continue;
		s->found[n].nr = i;
		s->found[n].calls = all - run->before[i];
		run->total += s->found[n++].calls;
		run->before[i] = all;
	}
	sums_sort(s, n);
	return 0;
}

static void print(struct sums *s)
{
	static const char *const heads[] = { "CALLS", "FUNCTION", NULL };
	struct table *t = table_new(heads, "rl");
	char *n;
	size_t i;

	for (i = 0; i < s->nr; i++) {
		n = xasprintf("%" PRIu64, s->found[i].calls);
		table_row(t, n, sum_name(&s->many, s->found[i].nr), NULL);
		free(n);
	}
	n = xasprintf("%" PRIu64, run_of(s)->total);
	table_row(t, n, "in all", NULL);
	free(n);
	if (quiet_output)
		table_hide_head(t);
	table_print(t, stdout);
	table_free(t);
}

static json_object *to_json(struct sums *s, const struct sum *one)
{
	json_object *j = json_object_new_object();

	many_put_name(j, &s->many, one->nr);
	json_put_u64(j, "calls", one->calls);
	return j;
}

static void add_json(struct sums *s, json_object *j)
{
	json_put_u64(j, "calls", run_of(s)->total);
}

static const struct sum_kind kind = {
	.list = "functions",
	.begin = begin,
	.read = read_counts,
	.print = print,
	.to_json = to_json,
	.add_json = add_json,
	.blank_line = true,
};

static int count_run(int argc, char **argv)
{
	struct count_run run = {
		.sums = { .opts = &opts, .kind = &kind, .many = { .mode = MANY_COUNT } }
	};
	const int rc = sums_run(&run.sums, argc, argv);

	free(run.counts);
	free(run.before);
	return rc;
}

const struct cmd cmd_count = {
	.name = "count",
	.args = "PATTERN...",
	.summary = "Count the calls of many functions",
	.details =
		"PATTERN is a function or a glob, with MODULE: in front for a module's; several may be\n"
		"joined by |, and @FILE has one a line. Runs until Ctrl-C or --duration, then shows the\n"
		"functions that were called, the busiest first.\n",
	.opts = count_opts,
	.min_args = 1,
	.max_args = -1,
	.option = count_option,
	.run = count_run,
};
