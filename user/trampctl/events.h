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

int filter_comm(struct task_filter *f, const char *comm);

void events_catch_signals(void);
bool events_stopped(void);
int events_collect(struct ring_buffer *ring, uint64_t duration_ns);

void event_print_heads(const char *what);
void event_print(const struct event_head *e);
json_object *event_to_json(const char *type, const struct event_head *e);

#endif /* TRAMPCTL_EVENTS_H */
