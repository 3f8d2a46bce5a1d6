/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by `trace` and `probe`: trampctl's own programs send an event for each call or
 * hit through a ring buffer. A count, a time, a signal or a failed write of the output
 * ends it.
 *
 * Events may come faster than they are shown, for ever: the user can trace trampctl's
 * own output. So each of these ends is checked after each event. trampctl itself is
 * left out unless --self is given.
 */
#ifndef TRAMPCTL_EVENTS_H
#define TRAMPCTL_EVENTS_H

#include <bpf/libbpf.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stdint.h>

#include "../out/color.h"
#include "../out/file.h"
#include "columns.h"
#include "tasks.h"

/*
 * How long to show what came before the end. So many lines are shown even if that takes longer: a
 * machine may stand still for a while, and a few lines are nothing to wait for.
 */
#define LEFTOVER_NS 250000000ULL
#define LEFTOVER_MIN 100

/**
 * struct event_options - which events, until when
 * @max: end after so many; 0: never
 * @duration_ns: end after so long; 0: never
 * @tasks: whose
 * @no_header: without the first line
 */
struct event_options {
	uint64_t max;
	uint64_t duration_ns;
	struct task_options tasks;
	bool no_header;
};

/* These come first in the option table of a command; its own follow. */
enum {
	EVENT_OPT_COUNT, EVENT_OPT_DURATION, EVENT_OPT_TASKS,
	EVENT_OPT_NO_HEADER = EVENT_OPT_TASKS + NR_TASK_OPTS, EVENT_OPT_TIMESTAMPS,
	EVENT_OPT_COLOR, EVENT_OPT_OUTPUT, NR_EVENT_OPTS = EVENT_OPT_OUTPUT + NR_ROTATE_OPTS
};

#define EVENT_OPTS(NUMBER, events)						\
	{ "count", 'n', NUMBER, "end after so many " events },			\
	{ "duration", 'd', "SECONDS", "end after so long" },			\
	TASK_OPTS(events),							\
	{ "no-header", 0, NULL, "leave out the first line" },			\
	TIMESTAMPS_OPT,								\
	COLOR_OPT,								\
	OUTPUT_OPTS,								\
	ROTATE_OPTS

/**
 * struct events - the events of a run
 * @opts: which, until when
 * @show: shows one; returns false if it is none, or does not count
 * @things: what they are: "calls"
 * @lost: how many were lost so far; another thread calls it
 * @arg: for @show and @lost
 * @shown: how many were shown
 * @unread: how many were left over at the end, and not shown
 * @ring: where they come from
 * @end: when to end, on now_ns()'s clock
 * @give_up: until when lines are written after the end, once it has come; 0
 * @late: lines shown since the end has come
 * @leftovers: nothing more can come; what is there is shown until @end and counted then
 * @blocked: nobody reads what we write: a signal had to interrupt it
 *
 * The first five are the command's to set.
 */
struct events {
	const struct event_options *opts;
	bool (*show)(void *arg, const void *data, size_t size);
	const char *things;
	uint64_t (*lost)(void *arg);
	void *arg;
	uint64_t shown;
	uint64_t unread;
	struct ring_buffer *ring;
	uint64_t end;
	uint64_t give_up;
	unsigned int late;
	bool leftovers;
	bool blocked;
};

int events_option(struct event_options *o, int opt, const char *arg);

const char *events_why_lost(void);
void events_catch_signals(void);
bool events_stopped(void);
int events_open(struct events *ev, int map_fd);
int events_collect(struct events *ev);
bool events_give_up(struct events *ev);
void events_finish(struct events *ev);
void events_close(struct events *ev);

#endif /* TRAMPCTL_EVENTS_H */
