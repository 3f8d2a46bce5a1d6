// SPDX-License-Identifier: GPL-2.0
/*
 * Events of trampctl's own programs, see events.h: the loop that waits for them.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>

#include "../out/color.h"
#include "../out/error.h"
#include "../out/output.h"
#include "args.h"
#include "events.h"
#include "progress.h"
#include "signals.h"

/* How often to look for a signal or the end of the time if nothing happens. */
#define POLL_MS 100

static volatile sig_atomic_t stopped;

static void on_signal(int sig)
{
	(void)sig;
	stopped = 1;
	output_stop();
}

/* From here on the signals that end a command end the loop. */
void events_catch_signals(void)
{
	end_signals_handle(on_signal);
}

bool events_stopped(void)
{
	return stopped;
}

/* The argument of --color. */
static int set_color(const char *arg)
{
	static const char *const words[] = { "auto", "always", "never", NULL };
	unsigned int when = COLOR_AUTO;
	int rc = parse_word("--color", arg, words, &when);

	color_set(when);
	return rc;
}

/* One of EVENT_OPTS(). Returns 0, or the exit code after having reported the error. */
int events_option(struct event_options *o, int opt, const char *arg)
{
	switch (opt) {
	case EVENT_OPT_COUNT:
		return parse_u64("--count", arg, 1, UINT64_MAX, &o->max);
	case EVENT_OPT_DURATION:
		return parse_seconds("--duration", arg, &o->duration_ns);
	case EVENT_OPT_NO_HEADER:
		o->no_header = true;
		return 0;
	case EVENT_OPT_TIMESTAMPS:
		return timestamps_option(arg);
	case EVENT_OPT_COLOR:
		return set_color(arg);
	}
	if (opt >= EVENT_OPT_OUTPUT)
		return output_option(opt - EVENT_OPT_OUTPUT, arg);
	return task_option(&o->tasks, opt - EVENT_OPT_TASKS, arg);
}

/* ------------------------------------------------------------------ loop -- */

static bool enough(const struct events *ev)
{
	return ev->opts->max && ev->shown >= ev->opts->max;
}

/*
 * A signal that ends us also ends a write that blocks, and stdio drops the line. That is
 * no error of the output.
 */
static bool interrupted(struct events *ev)
{
	if (!stopped || !output_was_interrupted())
		return false;
	ev->blocked = true;
	return true;
}

static bool over(const struct events *ev)
{
	return stopped || enough(ev) || now_ns() >= ev->end;
}

/* @end: when what is left may be counted instead of shown. To be asked once a line. */
static bool late(struct events *ev, uint64_t end)
{
	return ++ev->late > LEFTOVER_MIN && now_ns() >= end;
}

/**
 * events_give_up() - shall the rest be counted instead of shown?
 * @ev: being collected, or finished
 *
 * To be asked right behind each line by those who keep events and write many lines at once.
 * Nobody may read them, or the end may have come some time ago. With @ev->blocked, the line was
 * dropped.
 */
bool events_give_up(struct events *ev)
{
	uint64_t now;

	if (interrupted(ev) || ev->blocked || output_failed())
		return true;
	if (ev->leftovers)
		return late(ev, ev->end);
	now = now_ns();
	if (!ev->give_up && (stopped || now >= ev->end))
		ev->give_up = now + LEFTOVER_NS;
	return ev->give_up && late(ev, ev->give_up);
}

/* libbpf's callback: an error ends ring_buffer__poll() behind this event. */
static int on_event(void *arg, void *data, size_t size)
{
	struct events *ev = arg;

	if (ev->leftovers && (ev->blocked || late(ev, ev->end))) {
		ev->unread++;
		return 0;
	}
	if (!ev->show(ev->arg, data, size))
		interrupted(ev);
	else if (interrupted(ev) || output_failed())
		ev->unread++;
	else
		ev->shown++;
	if (output_failed() || (ev->leftovers ? enough(ev) : over(ev)))
		return -ECANCELED;
	return 0;
}

/* In words for the end of a sentence about those that were not shown. */
const char *events_why_lost(void)
{
	return output_is_file() && output_failed() ? "they could not be written" :
						     "they came faster than they could be shown";
}

/* Returns 0, or the exit code of an error that has been reported. */
int events_open(struct events *ev, int map_fd)
{
	ev->ring = ring_buffer__new(map_fd, on_event, ev, NULL);
	return ev->ring ? 0 : fail_bpf(errno, "cannot map the ring buffer");
}

void events_close(struct events *ev)
{
	ring_buffer__free(ev->ring);
}

/**
 * events_collect() - hand out events until it is over
 * @ev: opened
 *
 * Ends with a signal, after the time or the number of events that the options say,
 * and when standard output cannot be written to, which main() reports.
 *
 * Return: 0, or the exit code of an error that has been reported.
 */
int events_collect(struct events *ev)
{
	const uint64_t ns = ev->opts->duration_ns, now = now_ns();
	int n, rc = 0;

	ev->end = ns && ns < UINT64_MAX - now ? now + ns : UINT64_MAX;
	/* The first line may have failed. */
	if (output_failed())
		return 0;
	progress_begin_losses(NULL, ev->things, ev->lost, ev->arg);
	while (!rc && !output_failed() && !over(ev)) {
		uint64_t left = (ev->end - now_ns()) / 1000000 + 1;

		n = ring_buffer__poll(ev->ring, left < POLL_MS ? left : POLL_MS);
		if (n < 0 && n != -EINTR && n != -ECANCELED)
			rc = fail_bpf(n, "cannot read the ring buffer");
	}
	progress_end();
	return rc;
}

/**
 * events_finish() - show what was still under way to us
 * @ev: collected; its programs are detached
 *
 * The ring buffer may be full of them, and showing all of it can take too long. After
 * a while the rest is only counted, in @ev->unread.
 */
void events_finish(struct events *ev)
{
	if (enough(ev) || (output_failed() && !output_is_file()))
		return;
	ev->leftovers = true;
	ev->blocked |= output_failed();
	ev->end = now_ns() + LEFTOVER_NS;
	ring_buffer__consume(ev->ring);
}
