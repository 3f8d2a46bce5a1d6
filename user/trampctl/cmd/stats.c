// SPDX-License-Identifier: GPL-2.0
/*
 * trampctl stats: how much of everything there is in the module, once or again and again.
 */
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#include "../out/error.h"
#include "../out/json.h"
#include "../out/output.h"
#include "../run/args.h"
#include "../run/events.h"
#include "../run/signals.h"
#include "../trampctl.h"
#include "stats.h"

/* How often to look for a signal. */
#define POLL_NS 50000000ULL

enum {
	OPT_INTERVAL, OPT_DURATION, OPT_TOP, OPT_TOTALS, OPT_OPENMETRICS, OPT_PROMETHEUS,
};

static const struct cmd_opt stats_opts[] = {
	{ "interval", 'i', "SECONDS", "show it again every SECONDS, with rates" },
	{ "duration", 'd', "SECONDS", "end after so long" },
	{ "top", 0, "N", "only the N busiest functions" },
	{ "totals", 0, NULL, "no single functions and links" },
	{ "openmetrics", 0, NULL, "print OpenMetrics text" },
	{ "prometheus", 0, NULL, "print what node_exporter's textfile collector reads" },
	{ NULL }
};

static struct stats_options shown;
static uint64_t interval_ns, duration_ns;
static bool openmetrics, prometheus;

static int stats_option(int opt, const char *arg)
{
	switch (opt) {
	case OPT_INTERVAL:
		return parse_seconds("--interval", arg, &interval_ns);
	case OPT_DURATION:
		return parse_seconds("--duration", arg, &duration_ns);
	case OPT_TOP:
		return parse_u32("--top", arg, 1, UINT32_MAX, &shown.top);
	case OPT_TOTALS:
		shown.totals = true;
		break;
	case OPT_OPENMETRICS:
		openmetrics = true;
		break;
	case OPT_PROMETHEUS:
		prometheus = true;
		break;
	}
	return 0;
}

/* Options that mean nothing together. Returns 0 or EXIT_USAGE. */
static int check_options(void)
{
	const char *metrics = openmetrics ? "--openmetrics" : "--prometheus";

	if (openmetrics && prometheus)
		return usage_error("--openmetrics and --prometheus are two forms: give one of them");
	if ((openmetrics || prometheus) && json_output)
		return usage_error("%s is a text, and --json another: give one of them", metrics);
	if ((openmetrics || prometheus) && interval_ns)
		return usage_error("%s is one text; whoever reads it works out the rates, not --interval",
				   metrics);
	if ((openmetrics || prometheus) && shown.top)
		return usage_error("%s has every link or, with --totals, none; it takes no --top",
				   metrics);
	if (shown.totals && shown.top)
		return usage_error("--totals has no single function, so it takes no --top");
	if (duration_ns && !interval_ns)
		return usage_error("--duration is for --interval, which is not given");
	return 0;
}

static void show(const struct snapshot *s)
{
	if (openmetrics || prometheus)
		stats_print_metrics(s, &shown, openmetrics);
	else if (json_output)
		stats_print_json(s, &shown);
	else
		stats_print(s, &shown);
	fflush(stdout);
}

/* Until that time on now_ns()'s clock, a signal, or output that cannot be written. */
static bool wait_until(uint64_t when)
{
	uint64_t now = now_ns();

	for (; now < when && !events_stopped() && !output_failed(); now = now_ns()) {
		const uint64_t ns = when - now < POLL_NS ? when - now : POLL_NS;
		const struct timespec ts = { .tv_nsec = ns };

		nanosleep(&ts, NULL);
	}
	return !events_stopped() && !output_failed();
}

static int stats_run(int argc, char **argv)
{
	struct snapshot now, before;
	uint64_t next, end;
	int rc;

	(void)argc;
	(void)argv;
	rc = check_options();
	if (rc)
		return rc;
	shown.rates = interval_ns;
	if (interval_ns)
		events_catch_signals();
	rc = snapshot_take(&now, NULL);
	if (!rc)
		show(&now);
	next = now.time;
	end = duration_ns ? now.time + duration_ns : UINT64_MAX;
	/* The last interval may be shorter. */
	while (!rc && interval_ns && next < end) {
		/* A stopped process does not catch up. */
		if (now.time > next && now.time - next > interval_ns)
			next = now.time < end ? now.time : end;
		next = interval_ns < end - next ? next + interval_ns : end;
		if (!wait_until(next))
			break;
		before = now;
		rc = snapshot_take(&now, &before);
		snapshot_free(&before);
		if (rc)
			break;
		if (!json_output)
			putchar('\n');
		show(&now);
	}
	snapshot_free(&now);
	return rc;
}

const struct cmd cmd_stats = {
	.name = "stats",
	.summary = "Show how many links, programs, images, hits and misses there are",
	.details =
		"Totals of the module, then hits and misses by kind and mode and by function, since the\n"
		"links were attached. With --interval it goes on until Ctrl-C, the busiest function\n"
		"first, and says what was new in a second. --openmetrics is for those who scrape it,\n"
		"--prometheus for a file that node_exporter reads; in both each link has its counters.\n",
	.opts = stats_opts,
	.option = stats_option,
	.run = stats_run,
};
