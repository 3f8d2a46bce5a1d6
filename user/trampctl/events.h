/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What `trace` and `probe` share: programs of trampctl's own that send an event for
 * each call or hit through a ring buffer, until a count, a time or a signal ends it.
 */
#ifndef TRAMPCTL_EVENTS_H
#define TRAMPCTL_EVENTS_H

#include <bpf/libbpf.h>
#include <json-c/json.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stdint.h>

#include "filter.h"
#include "trampctl.h"

/**
 * struct event_options - which events, until when
 * @max: end after so many; 0: never
 * @duration_ns: end after so long; 0: never
 * @filter: whose
 * @no_header: without the first line
 */
struct event_options {
	uint64_t max;
	uint64_t duration_ns;
	struct task_filter filter;
	bool no_header;
};

/* These come first in the option table of a command; its own follow. */
enum {
	EVENT_OPT_COUNT, EVENT_OPT_DURATION, EVENT_OPT_PID, EVENT_OPT_COMM, EVENT_OPT_NO_HEADER,
	NR_EVENT_OPTS
};

#define EVENT_OPTS(NUMBER, events)						\
	{ "count", 'n', NUMBER, "end after so many " events },			\
	{ "duration", 'd', "SECONDS", "end after so long" },			\
	{ "pid", 0, "PID", "only " events " by this process" },			\
	{ "comm", 0, "NAME", "only " events " by tasks of this name" },		\
	{ "no-header", 0, NULL, "leave out the first line" }

/**
 * struct event_head - where and when an event was
 * @time: CLOCK_MONOTONIC, ns
 * @comm: the task's name, FILTER_COMM_LEN bytes
 */
struct event_head {
	__u64 time;
	__u32 cpu, tgid, tid;
	const char *comm;
};

int events_option(struct event_options *o, int opt, const char *arg);

void events_catch_signals(void);
bool events_stopped(void);
int events_collect(struct ring_buffer *ring, uint64_t duration_ns);

void event_print_heads(const char *what);
void event_print(const struct event_head *e);
json_object *event_to_json(const char *type, const struct event_head *e);

#endif /* TRAMPCTL_EVENTS_H */
