// SPDX-License-Identifier: GPL-2.0
/*
 * The columns that each line of trace and probe begins with, see columns.h.
 *
 * Each event passes here first, and so the output's file is rotated here.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../out/file.h"
#include "../out/json.h"
#include "../out/text.h"
#include "args.h"
#include "columns.h"
#include "filter.h"
#include "self.h"
#include "signals.h"

/* In the order of the words of --timestamps. */
static enum { WALL, RELATIVE, DELTA, NONE } form;

/* When it began, and the time of the event before. The host's CLOCK_MONOTONIC, ns. */
static uint64_t start, previous;

/* How far that clock is ahead of ours. */
static int64_t ahead;

/* The rest of the first line, which stays until the end: a rotated file gets it, too. */
static char *heads;

/* The argument of --timestamps. Returns 0, or EXIT_USAGE after having reported the error. */
int timestamps_option(const char *arg)
{
	static const char *const names[] = { "wall", "relative", "delta", "none", NULL };
	unsigned int nr = form;
	int rc = parse_word("--timestamps", arg, names, &nr);

	form = nr;
	return rc;
}

/*
 * To be called in front of the first line, once events may come. Returns 0, or the exit code of an
 * error that has been reported.
 */
int events_begin(void)
{
	int rc = self_clock(&ahead);

	if (rc)
		return rc;
	start = previous = now_ns() + ahead;
	output_begin();
	return 0;
}

/* ----------------------------------------------------------------- time -- */

/* BPF counts the host's CLOCK_MONOTONIC; people read the wall clock. */
static void wall_clock(__u64 ktime, struct timespec *ts, struct tm *tm)
{
	struct timespec real, mono;
	__s64 ns;

	clock_gettime(CLOCK_REALTIME, &real);
	clock_gettime(CLOCK_MONOTONIC, &mono);
	ns = (real.tv_sec - mono.tv_sec) * 1000000000LL + (real.tv_nsec - mono.tv_nsec);
	ns += ktime - ahead;
	ts->tv_sec = ns / 1000000000;
	ts->tv_nsec = ns % 1000000000;
	localtime_r(&ts->tv_sec, tm);
}

/*
 * How long behind the start, or the event before. It may be less than nothing: calls are shown as
 * they return, and the time is that of their entry.
 */
static int64_t distance(__u64 ktime)
{
	const int64_t ns = ktime - (form == DELTA ? previous : start);

	previous = ktime;
	return ns;
}

static void print_distance(int64_t ns)
{
	const uint64_t us = (ns < 0 ? -ns : ns) / 1000;
	char text[40];

	snprintf(text, sizeof(text), "%s%" PRIu64 ".%06" PRIu64, ns < 0 ? "-" : "", us / 1000000,
		 us % 1000000);
	printf("%15s ", text);
}

static void print_time(__u64 ktime)
{
	struct timespec ts;
	char text[32];
	struct tm tm;

	if (form == NONE)
		return;
	if (form != WALL) {
		print_distance(distance(ktime));
		return;
	}
	wall_clock(ktime, &ts, &tm);
	strftime(text, sizeof(text), "%H:%M:%S", &tm);
	printf("%s.%06ld ", text, ts.tv_nsec / 1000);
}

static void put_time(json_object *j, __u64 ktime)
{
	char text[32], full[64], zone[16];
	struct timespec ts;
	struct tm tm;

	if (form == NONE)
		return;
	if (form == WALL) {
		wall_clock(ktime, &ts, &tm);
		strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
		strftime(zone, sizeof(zone), "%z", &tm);
		snprintf(full, sizeof(full), "%s.%09ld%s", text, ts.tv_nsec, zone);
		json_put_str(j, "time", full);
	} else {
		json_put_s64(j, form == DELTA ? "delta_ns" : "relative_ns", distance(ktime));
	}
	json_put_u64(j, "ktime_ns", ktime);
}

/* -------------------------------------------------------------- columns -- */

static void print_heads(void)
{
	static const char *const times[] = { "TIME", "RELATIVE", "DELTA" };

	if (form != NONE)
		printf("%-15s ", times[form]);
	printf("%3s %-15s %-7s %s\n", "CPU", "COMM", "PID", heads);
}

void event_print_heads(const char *what)
{
	free(heads);
	heads = xasprintf("%s", what);
	print_heads();
}

/* The columns under it, and a blank. */
void event_print(const struct event_head *e)
{
	char *comm = quote_text(e->comm, FILTER_COMM_LEN);

	if (output_next() && heads)
		print_heads();
	print_time(e->time);
	printf("%3u %-15s %-7u ", e->cpu, comm, e->tgid);
	free(comm);
}

/* The same as the beginning of an object. */
json_object *event_to_json(const char *type, const struct event_head *e)
{
	json_object *j = json_object_new_object();

	output_next();
	json_put_str(j, "type", type);
	put_time(j, e->time);
	json_put_u64(j, "cpu", e->cpu);
	json_put_bytes(j, "comm", e->comm, FILTER_COMM_LEN);
	json_put_u64(j, "pid", e->tgid);
	json_put_u64(j, "tid", e->tid);
	return j;
}
