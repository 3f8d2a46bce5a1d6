// SPDX-License-Identifier: GPL-2.0
/*
 * A line on a terminal that says how far something is. It appears after half a second, is
 * written five times a second, and is gone when that is done. Where standard error is no
 * terminal, or a dumb one, or JSON is wanted, there is none.
 *
 * While events are shown, the line is about those that are lost, and comes when the first is. If
 * events go to a terminal, too, they would stand in the middle of it. There it is a line among
 * them that stays, once a second while the number grows.
 *
 * A thread writes it, since what takes long may be one system call. It takes no signals:
 * those are to interrupt that call. Once one has, the line says so; where signals are blocked, it
 * says that they wait. It reads two numbers that need not belong together.
 */
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../out/error.h"
#include "../out/json.h"
#include "events.h"
#include "progress.h"
#include "signals.h"

#define FIRST_NS 500000000
#define NEXT_NS 200000000
#define NEXT_AMONG_EVENTS_NS 1000000000

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
static pthread_t writer;
static bool running, ended, ending, blocked;
static const char *doing;
static atomic_size_t done, total;
static time_t began;

/* Of what some is lost, and how much by now; NULL: of nothing. */
static const char *things;
static uint64_t (*lost_now)(void *arg);
static void *lost_arg;
static bool among_events;
static uint64_t told;

static void later(struct timespec *ts, long ns)
{
	ts->tv_nsec += ns;
	ts->tv_sec += ts->tv_nsec / 1000000000;
	ts->tv_nsec %= 1000000000;
}

/* While the system call runs that a signal is to interrupt, the signal is pending. */
static bool interrupted(void)
{
	return events_stopped() || end_is_pending();
}

/* Returns whether there is a line to take away. */
static bool write_losses(void)
{
	const uint64_t lost = lost_now(lost_arg);

	if (among_events) {
		if (lost > told)
			fprintf(stderr, "trampctl: lost %" PRIu64 " %s so far\n", lost, things);
		told = lost;
		return false;
	}
	if (lost)
		fprintf(stderr, "\rlost %" PRIu64 " %s so far\033[K", lost, things);
	return lost;
}

static bool write_line(void)
{
	const size_t d = done, t = total;
	uint64_t lost;

	if (!doing)
		return write_losses();
	lost = lost_now ? lost_now(lost_arg) : 0;
	if (interrupted() && !ending)
		fprintf(stderr, "\r%s: interrupted, ending %s\033[K", doing,
			blocked ? "after this" : "it");
	else if (t)
		fprintf(stderr, "\r%s: %zu of %zu (%zu%%)\033[K", doing, d, t, d * 100 / t);
	else if (lost)
		fprintf(stderr, "\r%s: %lld s, lost %" PRIu64 " %s so far\033[K", doing,
			(long long)(time(NULL) - began), lost, things);
	else
		fprintf(stderr, "\r%s: %lld s\033[K", doing, (long long)(time(NULL) - began));
	return true;
}

static void *write_lines(void *unused)
{
	struct timespec ts;
	bool shown = false;

	(void)unused;
	clock_gettime(CLOCK_REALTIME, &ts);
	later(&ts, FIRST_NS);
	pthread_mutex_lock(&lock);
	while (!ended) {
		if (!pthread_cond_timedwait(&wake, &lock, &ts) || ended)
			continue;
		shown |= write_line();
		clock_gettime(CLOCK_REALTIME, &ts);
		later(&ts, among_events ? NEXT_AMONG_EVENTS_NS : NEXT_NS);
	}
	pthread_mutex_unlock(&lock);
	if (shown)
		fputs("\r\033[K", stderr);
	return NULL;
}

static bool can_take_lines_away(void)
{
	const char *term = getenv("TERM");

	return isatty(STDERR_FILENO) && term && strcmp(term, "dumb");
}

/* Says what is done from now on: "attaching". Without steps, the seconds are shown. */
void progress_begin(const char *what)
{
	progress_begin_losses(what, NULL, NULL, NULL);
}

/**
 * progress_begin_losses() - say also how much is lost
 * @what: what is done; NULL: events are shown on standard output
 * @of: of what things some may be lost: "calls"
 * @lost: how many by now; another thread calls it
 * @arg: for @lost
 */
void progress_begin_losses(const char *what, const char *of, uint64_t (*lost)(void *arg),
			   void *arg)
{
	sigset_t all, before;

	if (running || json_output || quiet_output || !can_take_lines_away())
		return;
	doing = what;
	things = of;
	lost_now = lost;
	lost_arg = arg;
	among_events = !what && isatty(STDOUT_FILENO);
	done = total = told = 0;
	began = time(NULL);
	ended = false;
	ending = events_stopped();
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	blocked = sigismember(&before, SIGINT) == 1;
	running = !pthread_create(&writer, NULL, write_lines, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* @steps of @all are done; nothing is known of what they count. */
void progress(size_t steps, size_t all)
{
	done = steps;
	total = all;
}

/* Takes the line away. */
void progress_end(void)
{
	if (!running)
		return;
	pthread_mutex_lock(&lock);
	ended = true;
	pthread_cond_signal(&wake);
	pthread_mutex_unlock(&lock);
	pthread_join(writer, NULL);
	running = false;
}
