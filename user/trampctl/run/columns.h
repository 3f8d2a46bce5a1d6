/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The columns that each line of trace and probe begins with, and the members that are the same
 * in JSON.
 */
#ifndef TRAMPCTL_COLUMNS_H
#define TRAMPCTL_COLUMNS_H

#include <json-c/json.h>
#include <linux/types.h>

#define TIMESTAMPS_OPT								\
	{ "timestamps", 0, "FORM", "wall (default), relative to the start, delta, none" }

/**
 * struct event_head - where and when an event was
 * @time: the host's CLOCK_MONOTONIC, ns
 * @comm: the task's name, FILTER_COMM_LEN bytes
 */
struct event_head {
	__u64 time;
	__u32 cpu, tgid, tid;
	const char *comm;
};

int timestamps_option(const char *arg);
int events_begin(void);

/**
 * event_print_heads() - print the first line
 * @what: the rest of it, behind the heads of the columns; copied
 *
 * Files that --rotate begins later get the same line.
 */
void event_print_heads(const char *what);
void event_print(const struct event_head *e);
json_object *event_to_json(const char *type, const struct event_head *e);

#endif /* TRAMPCTL_COLUMNS_H */
