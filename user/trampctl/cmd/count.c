// SPDX-License-Identifier: GPL-2.0
/*
 * trampctl count: how often each of many functions is called.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../out/error.h"
#include "../out/json.h"
#include "../out/output.h"
#include "../out/table.h"
#include "../out/text.h"
#include "../run/many_run.h"
#include "../run/signals.h"
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

struct count_run {
	struct many_run many;
	struct calls calls;
	struct sum *sums;
	uint64_t since;
};

static void print_table(struct count_run *run, size_t nr, uint64_t total)
{
	static const char *const heads[] = { "CALLS", "FUNCTION", NULL };
	struct table *t = table_new(heads, "rl");
	char *n;
	size_t i;

	for (i = 0; i < nr; i++) {
		n = xasprintf("%" PRIu64, run->sums[i].calls);
		table_row(t, n, sum_name(&run->many, run->sums[i].nr), NULL);
		free(n);
	}
	n = xasprintf("%" PRIu64, total);
	table_row(t, n, "in all", NULL);
	free(n);
	table_print(t, stdout);
	table_free(t);
}

static void print_counts(struct count_run *run, size_t nr, uint64_t total, const char *type)
{
	const uint64_t now = now_ns();
	json_object *j, *list, *o;
	size_t i;

	if (!json_output) {
		print_table(run, nr, total);
		return;
	}
	j = json_object_new_object();
	list = json_object_new_array();
	json_put_str(j, "type", type);
	json_put_u64(j, "duration_ns", now - run->since);
	json_put_u64(j, "attached", run->many.attached);
	json_put_u64(j, "calls", total);
	for (i = 0; i < nr; i++) {
		o = json_object_new_object();
		many_put_name(o, &run->many, run->sums[i].nr);
		json_put_u64(o, "calls", run->sums[i].calls);
		json_object_array_add(list, o);
	}
	json_object_object_add(j, "functions", list);
	if (!strcmp(type, "end"))
		json_object_object_add(j, "lost", many_lost_json(&run->many, 0));
	json_print(j);
	run->since = now;
}

static int show(struct count_run *run, const char *type)
{
	uint64_t total;
	size_t nr;
	int rc;

	rc = calls_read(&run->calls, &run->many);
	if (rc)
		return rc;
	nr = sums_of_calls(run->sums, &run->calls, run->many.funcs.nr, opts.top, &total);
	print_counts(run, nr, total, type);
	return 0;
}

static int show_interval(void *arg)
{
	int rc = show(arg, "interval");

	if (!json_output)
		putchar('\n');
	fflush(stdout);
	return rc;
}

static int count_run(int argc, char **argv)
{
	struct count_run run = { .many = { .opts = &opts.many, .mode = MANY_COUNT } };
	int rc;

	opts.many.events = &opts.events;
	events_catch_signals();
	rc = many_start(&run.many, argc, argv);
	if (!rc && run.many.attached) {
		run.since = run.many.began;
		run.sums = xcalloc(run.many.funcs.nr, sizeof(*run.sums));
		calls_init(&run.calls, &run.many);
		rc = many_wait(&run.many, opts.interval_ns, show_interval, &run);
		many_stop(&run.many);
		if (!rc)
			rc = show(&run, "end");
		/* Now, while errno says why. */
		if (!output_failed() && !json_output)
			many_warn_lost(&run.many, 0);
		calls_free(&run.calls);
		free(run.sums);
	}
	many_free(&run.many);
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
