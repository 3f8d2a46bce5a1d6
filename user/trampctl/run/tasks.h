/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tasks whose events count. Here are the options of trace, probe, count, hist and stack, what they
 * make of the filter in the BPF programs (filter.h), and the maps that come with it.
 */
#ifndef TRAMPCTL_TASKS_H
#define TRAMPCTL_TASKS_H

#include <bpf/libbpf.h>
#include <json-c/json.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stdint.h>

#include "filter.h"

struct children;

/**
 * struct task_options - whose events
 * @filter: for the programs
 * @cgroup: the folder of a control group, or NULL
 * @self: trampctl's own, too
 */
struct task_options {
	struct task_filter filter;
	const char *cgroup;
	bool self;
};

/* In the order of TASK_OPTS(). */
enum {
	TASK_OPT_PID, TASK_OPT_CHILDREN, TASK_OPT_TID, TASK_OPT_UID, TASK_OPT_COMM, TASK_OPT_CPU,
	TASK_OPT_CGROUP, TASK_OPT_SELF, NR_TASK_OPTS
};

#define TASK_OPTS(events)							\
	{ "pid", 0, "PID", "only " events " by this process" },			\
	{ "children", 0, NULL, "with --pid: and by what it starts from now on" }, \
	{ "tid", 0, "TID", "only " events " by this thread" },			\
	{ "uid", 0, "USER", "only " events " by tasks of this user: name or number" }, \
	{ "comm", 0, "NAME", "only " events " by tasks of this name" },		\
	{ "cpu", 0, "LIST", "only " events " on these CPUs, as 0,2-3" },	\
	{ "cgroup", 0, "DIR", "only " events " by tasks of this control group" }, \
	{ "self", 0, NULL, events " by trampctl itself, too" }

/**
 * struct tasks - the filter of a run
 * @skel: the programs and maps of children.bpf.c; NULL if the filter needs none
 * @cgroup_fd: the control group; 0 if there is none
 */
struct tasks {
	struct children *skel;
	int cgroup_fd;
};

int task_option(struct task_options *o, int opt, const char *arg);
int tasks_check(const struct task_options *o);
int tasks_open(struct tasks *t, struct task_options *o);
int tasks_share(const struct tasks *t, struct bpf_map *cgroup, struct bpf_map *children);
uint64_t tasks_not_followed(const struct tasks *t);
void tasks_put(const struct tasks *t, json_object *j);
void tasks_warn(const struct tasks *t);
void tasks_close(struct tasks *t);

#endif /* TRAMPCTL_TASKS_H */
