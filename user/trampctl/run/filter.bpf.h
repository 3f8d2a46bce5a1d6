/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The BPF side of filter.h: constant for the verifier, it costs nothing if unused. The two
 * maps belong to children.bpf.c, with whose maps user space replaces those of other objects.
 */
#ifndef TRAMPCTL_FILTER_BPF_H
#define TRAMPCTL_FILTER_BPF_H

#include <bpf/bpf_core_read.h>
#include "filter.h"

/* The control group of FILTER_BY_CGROUP. */
struct {
	__uint(type, BPF_MAP_TYPE_CGROUP_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
} filter_cgroup SEC(".maps");

/* Processes that the one of FILTER_CHILDREN has started, by the address of struct signal_struct. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, __u8);
} filter_children SEC(".maps");

struct signal_struct___tr {
	int nr_threads;
} __attribute__((preserve_access_index));

struct task_struct___tr {
	__u32 tgid;
	__u32 flags;
	struct signal_struct___tr *signal;
} __attribute__((preserve_access_index));

static __always_inline bool is_child(const struct task_struct___tr *task)
{
	__u64 signal = (__u64)BPF_CORE_READ(task, signal);

	return bpf_map_lookup_elem(&filter_children, &signal);
}

/* Of a thread this can change while a call is under way, by execve(). The others ask the rest. */
static __always_inline bool process_wanted(const volatile struct task_filter *f, __u64 pid_tgid)
{
	const __u32 tgid = pid_tgid >> 32;

	if (f->not_tgid && f->not_tgid == tgid)
		return false;
	if (f->tid && f->tid != (__u32)pid_tgid)
		return false;
	if (!f->tgid || f->tgid == tgid)
		return true;
	return f->by & FILTER_CHILDREN && is_child((void *)bpf_get_current_task());
}

static __always_inline bool moment_wanted(const volatile struct task_filter *f)
{
	if (f->by & FILTER_BY_UID && f->uid != (__u32)bpf_get_current_uid_gid())
		return false;
	if (f->by & FILTER_BY_CPU) {
		__u32 cpu = bpf_get_smp_processor_id();

		if (cpu >= FILTER_MAX_CPUS)
			return false;
		if (!(f->cpus[(cpu / 64) & (FILTER_MAX_CPUS / 64 - 1)] & (1ULL << (cpu & 63))))
			return false;
	}
	return !(f->by & FILTER_BY_CGROUP) ||
	       bpf_current_task_under_cgroup(&filter_cgroup, 0) == 1;
}

/* @comm: the name of the task, FILTER_COMM_LEN bytes */
static __always_inline bool comm_wanted(const volatile struct task_filter *f, const char *comm)
{
	int i;

	if (!(f->by & FILTER_BY_COMM))
		return true;
	for (i = 0; i < FILTER_COMM_LEN; i++) {
		if (comm[i] != f->comm[i])
			return false;
		if (!comm[i])
			break;
	}
	return true;
}

/* All three, for programs that need the name anyway. */
static __always_inline bool task_wanted(const volatile struct task_filter *f, __u64 pid_tgid,
					const char *comm)
{
	return process_wanted(f, pid_tgid) && moment_wanted(f) && comm_wanted(f, comm);
}

#endif /* TRAMPCTL_FILTER_BPF_H */
