// SPDX-License-Identifier: GPL-2.0
/*
 * Events of trampctl's own programs, see events.h: the loop that waits for them, and
 * the columns that all of them begin with.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "events.h"
#include "json.h"
#include "libcall.h"

/* How often to look for a signal or the end of the time if nothing happens. */
#define POLL_MS 100

static volatile sig_atomic_t stopped;

static void on_signal(int sig)
{
	(void)sig;
	stopped = 1;
}

/* From here on the signals that end a command end the loop. */
void events_catch_signals(void)
{
	struct sigaction sa = { .sa_handler = on_signal };
	sigset_t set;
	int sig;

	end_signals(&set);
	for (sig = 1; sig < NSIG; sig++)
		if (sigismember(&set, sig) == 1)
			sigaction(sig, &sa, NULL);
}

bool events_stopped(void)
{
	return stopped;
}

/* The argument of --comm. */
static int set_comm(struct task_filter *f, const char *comm)
{
	if (!comm[0] || strlen(comm) >= FILTER_COMM_LEN)
		return usage_error("--comm takes a name of 1 to %d bytes, as ps shows it",
				   FILTER_COMM_LEN - 1);
	memset(f->comm, 0, sizeof(f->comm));
	memcpy(f->comm, comm, strlen(comm));
	f->by_comm = 1;
	return 0;
}

/* One of EVENT_OPTS(). Returns 0, or EXIT_USAGE after having reported the error. */
int events_option(struct event_options *o, int opt, const char *arg)
{
	switch (opt) {
	case EVENT_OPT_COUNT:
		return parse_u64("--count", arg, 1, UINT64_MAX, &o->max);
	case EVENT_OPT_DURATION:
		return parse_seconds("--duration", arg, &o->duration_ns);
	case EVENT_OPT_PID:
		return parse_u32("--pid", arg, 1, 1 << 22, &o->filter.tgid);
	case EVENT_OPT_COMM:
		return set_comm(&o->filter, arg);
	default:
		o->no_header = true;
		return 0;
	}
}

/**
 * events_collect() - hand out events until it is over
 * @ring: its callback returns -ECANCELED to end it
 * @duration_ns: end after so long; 0: never
 *
 * Also ends with a signal, or when standard output cannot be written to.
 *
 * Return: 0, or the exit code of an error that has been reported.
 */
int events_collect(struct ring_buffer *ring, uint64_t duration_ns)
{
	uint64_t end = duration_ns ? now_ns() + duration_ns : UINT64_MAX;
	int n;

	while (!stopped && now_ns() < end) {
		uint64_t left = (end - now_ns()) / 1000000 + 1;

		n = ring_buffer__poll(ring, left < POLL_MS ? left : POLL_MS);
		if (n == -ECANCELED)
			break;
		if (n < 0 && n != -EINTR)
			return fail_bpf(n, "cannot read the ring buffer");
		if (ferror(stdout))
			break;
	}
	return 0;
}

/* BPF counts CLOCK_MONOTONIC; people read the wall clock. */
static void wall_clock(__u64 ktime, struct timespec *ts, struct tm *tm)
{
	struct timespec real, mono;
	__s64 ns;

	clock_gettime(CLOCK_REALTIME, &real);
	clock_gettime(CLOCK_MONOTONIC, &mono);
	ns = (real.tv_sec - mono.tv_sec) * 1000000000LL + (real.tv_nsec - mono.tv_nsec);
	ns += ktime;
	ts->tv_sec = ns / 1000000000;
	ts->tv_nsec = ns % 1000000000;
	localtime_r(&ts->tv_sec, tm);
}

/* The first line; @what is the rest of it. */
void event_print_heads(const char *what)
{
	printf("%-15s %3s %-15s %-7s %s\n", "TIME", "CPU", "COMM", "PID", what);
}

/* The columns under it, and a blank. */
void event_print(const struct event_head *e)
{
	char *comm = quote_text(e->comm, FILTER_COMM_LEN), time[32];
	struct timespec ts;
	struct tm tm;

	wall_clock(e->time, &ts, &tm);
	strftime(time, sizeof(time), "%H:%M:%S", &tm);
	printf("%s.%06ld %3u %-15s %-7u ", time, ts.tv_nsec / 1000, e->cpu, comm, e->tgid);
	free(comm);
}

/* The same as the beginning of an object. */
json_object *event_to_json(const char *type, const struct event_head *e)
{
	json_object *j = json_object_new_object();
	char time[32], full[64], zone[16];
	struct timespec ts;
	struct tm tm;

	wall_clock(e->time, &ts, &tm);
	strftime(time, sizeof(time), "%Y-%m-%dT%H:%M:%S", &tm);
	strftime(zone, sizeof(zone), "%z", &tm);
	snprintf(full, sizeof(full), "%s.%09ld%s", time, ts.tv_nsec, zone);

	json_put_str(j, "type", type);
	json_put_str(j, "time", full);
	json_put_u64(j, "ktime_ns", e->time);
	json_put_u64(j, "cpu", e->cpu);
	json_put_bytes(j, "comm", e->comm, FILTER_COMM_LEN);
	json_put_u64(j, "pid", e->tgid);
	json_put_u64(j, "tid", e->tid);
	return j;
}
