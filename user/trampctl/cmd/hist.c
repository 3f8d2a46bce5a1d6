// SPDX-License-Identifier: GPL-2.0
/*
 * trampctl hist: how long calls of many functions take, as a histogram of powers of two.
 */
#include <bpf/libbpf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "../out/error.h"
#include "../out/json.h"
#include "../out/text.h"
#include "../run/many_run.h"
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

/**
 * struct hist_run - a run
 * @sums: what is common; the first member
 * @all: what was read
 * @now: what is new of it
 * @before: what there was the last time
 * @nr: how many histograms
 */
struct hist_run {
	struct sums sums;
	struct many_hist *all, *now, *before;
	size_t nr;
};

static struct hist_run *run_of(struct sums *s)
{
	return (struct hist_run *)s;
}

static void begin(struct sums *s)
{
	struct hist_run *run = run_of(s);

	run->nr = together ? 1 : s->many.funcs.nr;
	run->all = xcalloc(run->nr, sizeof(*run->all));
	run->now = xcalloc(run->nr, sizeof(*run->now));
	run->before = xcalloc(run->nr, sizeof(*run->before));
	s->found = xcalloc(run->nr, sizeof(*s->found));
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

static json_object *to_json(struct sums *s, const struct sum *one)
{
	json_object *j = json_object_new_object(), *list = json_object_new_array(), *o;
	const struct many_hist *h = &run_of(s)->now[one->nr];
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
	if (!together)
		many_put_name(j, &s->many, one->nr);
	return j;
}

static int read_hists(struct sums *s)
{
	struct hist_run *run = run_of(s);
	size_t i, n = 0;
	int b, rc;

	rc = sums_read_map(bpf_map__fd(s->many.skel->maps.hists), run->all, sizeof(*run->all),
			   run->nr);
	if (rc)
		return rc;
	for (i = 0; i < run->nr; i++) {
		for (b = 0; b < MANY_BUCKETS; b++)
			run->now[i].bucket[b] = run->all[i].bucket[b] - run->before[i].bucket[b];
		run->now[i].sum = run->all[i].sum - run->before[i].sum;
		run->before[i] = run->all[i];
		s->found[n].nr = i;
		s->found[n].calls = calls_in(&run->now[i]);
		n += !!s->found[n].calls;
	}
	sums_sort(s, n);
	return 0;
}

static void print(struct sums *s)
{
	size_t i;

	if (!s->nr)
		puts("no calls");
	else if (!quiet_output)
		printf("%-14s %10s\n", "NANOSECONDS", "CALLS");
	for (i = 0; i < s->nr; i++)
		print_text(&run_of(s)->now[s->found[i].nr],
			   together ? "all functions" : sum_name(&s->many, s->found[i].nr));
}

static const struct sum_kind kind = {
	.list = "histograms",
	.begin = begin,
	.read = read_hists,
	.print = print,
	.to_json = to_json,
};

static int hist_run(int argc, char **argv)
{
	struct hist_run run = { .sums = { .opts = &opts, .kind = &kind } };
	int rc;

	run.sums.many.mode = MANY_HIST;
	run.sums.many.exits = true;
	run.sums.many.flags = together ? MANY_F_TOGETHER : 0;
	rc = sums_run(&run.sums, argc, argv);
	free(run.all);
	free(run.now);
	free(run.before);
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
