// SPDX-License-Identifier: GPL-2.0
/*
 * Follows what a process starts, for --children, and owns the maps of filter.bpf.h.
 *
 * The tracepoint sched_process_fork is in the parent, when the child is complete and before it
 * runs for the first time. So a child is in the map before any event can be its own. The key is
 * the address of struct signal_struct: all threads of a process share it, execve() keeps it, and
 * it cannot be used again before the last thread is freed. (A process id can.) The tracepoint
 * sched_process_free is in front of that, for each thread; the last one finds no thread left.
 *
 * Programs at tracepoints run with preemption off, and interrupts start no processes: neither
 * program is ever missed, nor the map found in use.
 */
#include "kernel.bpf.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include "filter.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* The process whose children are followed. */
const volatile __u32 root = 0;

/* Processes that there was no place for. */
__u64 not_followed = 0;

SEC("raw_tracepoint/sched_process_fork")
int children_fork(struct bpf_raw_tracepoint_args *ctx)
{
	const struct task_struct___tr *parent = (void *)ctx->args[0], *child = (void *)ctx->args[1];
	__u64 signal = (__u64)BPF_CORE_READ(child, signal);
	__u8 yes = 1;

	/* A thread is of the same process. */
	if (signal == (__u64)BPF_CORE_READ(parent, signal))
		return 0;
	if (BPF_CORE_READ(parent, tgid) != root && !is_child(parent))
		return 0;
	if (bpf_map_update_elem(&filter_children, &signal, &yes, BPF_ANY))
		__sync_fetch_and_add(&not_followed, 1);
	return 0;
}

SEC("raw_tracepoint/sched_process_free")
int children_free(struct bpf_raw_tracepoint_args *ctx)
{
	const struct task_struct___tr *task = (void *)ctx->args[0];
	__u64 signal = (__u64)BPF_CORE_READ(task, signal);

	if (!BPF_CORE_READ(task, signal, nr_threads))
		bpf_map_delete_elem(&filter_children, &signal);
	return 0;
}
