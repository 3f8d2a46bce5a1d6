// SPDX-License-Identifier: GPL-2.0
/*
 * trampctl hist: how long calls of many functions take, as a histogram of powers of two.
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
#include "../out/text.h"
#include "../run/many_run.h"
#include "../run/signals.h"
#include "../trampctl.h"
#include "sums.h"
#include "user/trampctl/run/many.skel.h"

enum { OPT_TOGETHER = NR_SUM_OPTS };

static const struct cmd_opt hist_opts[] = {
	SUM_OPTS("functions"),
	{ "together", 0, NULL, "one histogram for all functions" },
	{ NULL }
};

#define BAR 40

static struct sum_options opts;
static bool together;

static int hist_option(int opt, const char *arg)
{
	if (opt < NR_SUM_OPTS)
		return sum_option(&opts, opt, arg);
	together = true;
	return 0;
}

struct hist_run {
	struct many_run many;
	struct many_hist *now, *before;
	struct sum *sums;
	size_t nr_hists;
	uint64_t since;
};

/* Reads what is new since the last time. Returns 0, or the exit code of a reported error. */
static int read_hists(struct hist_run *run)
{
	const int fd = bpf_map__fd(run->many.skel->maps.hists);
	struct many_hist all;
	__u32 i;
	int b;

	for (i = 0; i < run->nr_hists; i++) {
		struct many_hist *now = &run->now[i], *before = &run->before[i];

		if (bpf_map_lookup_elem(fd, &i, &all))
			return fail_bpf(errno, "cannot read the histograms");
		for (b = 0; b < MANY_BUCKETS; b++)
			now->bucket[b] = all.bucket[b] - before->bucket[b];
		now->sum = all.sum - before->sum;
		*before = all;
	}
	return 0;
}

static uint64_t calls_in(const struct many_hist *h)
{
	uint64_t n = 0;
	int b;

	for (b = 0; b < MANY_BUCKETS; b++)
		n += h->bucket[b];
	return n;
}

/* "512", "4K", "16M": a power of two, as bpftrace writes it. */
static void power_text(int bit, char *buf, size_t len)
{
	static const char units[] = { 0, 'K', 'M', 'G', 'T' };

	snprintf(buf, len, "%d%c", 1 << bit % 10, units[bit / 10]);
}

static void print_buckets(const struct many_hist *h)
{
	int b, first = MANY_BUCKETS, last = 0, i, width;
	char from[16], to[16], range[40];
	uint64_t most = 1;

	for (b = 0; b < MANY_BUCKETS; b++) {
		if (!h->bucket[b])
			continue;
		first = first < b ? first : b;
		last = b;
		most = most > h->bucket[b] ? most : h->bucket[b];
	}
	for (b = first; b <= last; b++) {
		power_text(b, from, sizeof(from));
		power_text(b + 1, to, sizeof(to));
		snprintf(range, sizeof(range), "[%s, %s)", b ? from : "0", to);
		width = h->bucket[b] * BAR / most;
		printf("%-14s %10" PRIu64 " |", range, (uint64_t)h->bucket[b]);
		for (i = 0; i < BAR; i++)
			putchar(i < width ? '@' : ' ');
		puts("|");
	}
}

static void print_text(const struct many_hist *h, const char *name)
{
	const uint64_t calls = calls_in(h);
	char sum[32], mean[32];

	duration_text(h->sum, sum, sizeof(sum));
	duration_text(calls ? h->sum / calls : 0, mean, sizeof(mean));
	printf("%s: %" PRIu64 " call%s, %s, mean %s\n", name, calls,
	       calls == 1 ? "" : "s", sum, mean);
	print_buckets(h);
	putchar('\n');
}

static json_object *to_json(const struct many_hist *h)
{
	json_object *j = json_object_new_object(), *list = json_object_new_array(), *o;
	int b;

	json_put_u64(j, "calls", calls_in(h));
	json_put_u64(j, "total_ns", h->sum);
	for (b = 0; b < MANY_BUCKETS; b++) {
		if (!h->bucket[b])
			continue;
		o = json_object_new_object();
		json_put_u64(o, "from_ns", b ? 1ULL << b : 0);
		json_put_u64(o, "to_ns", (2ULL << b) - 1);
		json_put_u64(o, "calls", h->bucket[b]);
		json_object_array_add(list, o);
	}
	json_object_object_add(j, "buckets", list);
	return j;
}

/* Fills run->sums with the functions that were called. Returns how many to show. */
static size_t order(struct hist_run *run)
{
	size_t i, n = 0;

	for (i = 0; i < run->nr_hists; i++) {
		run->sums[n].nr = i;
		run->sums[n].calls = calls_in(&run->now[i]);
		n += !!run->sums[n].calls;
	}
	return sums_sort(run->sums, n, opts.top);
}

static int show(struct hist_run *run, const char *type)
{
	json_object *j, *list, *o;
	size_t i, nr;
	int rc;

	rc = read_hists(run);
	if (rc)
		return rc;
	nr = order(run);
	if (!json_output) {
		if (nr)
			printf("%-14s %10s\n", "NANOSECONDS", "CALLS");
		else
			puts("no calls");
		for (i = 0; i < nr; i++)
			print_text(&run->now[run->sums[i].nr],
				   together ? "all functions" :
					      sum_name(&run->many, run->sums[i].nr));
		return 0;
	}
	j = json_object_new_object();
	list = json_object_new_array();
	json_put_str(j, "type", type);
	json_put_u64(j, "duration_ns", now_ns() - run->since);
	json_put_u64(j, "attached", run->many.attached);
	for (i = 0; i < nr; i++) {
		o = to_json(&run->now[run->sums[i].nr]);
		if (!together)
			many_put_name(o, &run->many, run->sums[i].nr);
		json_object_array_add(list, o);
	}
	json_object_object_add(j, "histograms", list);
	if (!strcmp(type, "end"))
		json_object_object_add(j, "lost", many_lost_json(&run->many, 0));
	json_print(j);
	run->since = now_ns();
	return 0;
}

static int show_interval(void *arg)
{
	int rc = show(arg, "interval");

	fflush(stdout);
	return rc;
}

static int hist_run(int argc, char **argv)
{
	struct hist_run run = { .many = { .opts = &opts.many, .mode = MANY_HIST, .exits = true,
					  .flags = together ? MANY_F_TOGETHER : 0 } };
	int rc;

	opts.many.events = &opts.events;
	events_catch_signals();
	rc = many_start(&run.many, argc, argv);
	if (!rc && run.many.attached) {
		run.since = run.many.began;
		run.nr_hists = together ? 1 : run.many.funcs.nr;
		run.now = xcalloc(run.nr_hists, sizeof(*run.now));
		run.before = xcalloc(run.nr_hists, sizeof(*run.before));
		run.sums = xcalloc(run.nr_hists, sizeof(*run.sums));
		rc = many_wait(&run.many, opts.interval_ns, show_interval, &run);
		many_stop(&run.many);
		if (!rc)
			rc = show(&run, "end");
		/* Now, while errno says why. */
		if (!output_failed() && !json_output)
			many_warn_lost(&run.many, 0);
		free(run.now);
		free(run.before);
		free(run.sums);
	}
	many_free(&run.many);
	return rc;
}

const struct cmd cmd_hist = {
	.name = "hist",
	.args = "PATTERN...",
	.summary = "Show how long calls of many functions take, as histograms",
	.details =
		"PATTERN is as for count. A histogram for each function that was called, the busiest\n"
		"first, by powers of two of nanoseconds: [1K, 2K) is from 1024 to 2047. Durations have\n"
		"in them what the function calls, and sleep.\n",
	.opts = hist_opts,
	.min_args = 1,
	.max_args = -1,
	.option = hist_option,
	.run = hist_run,
};
