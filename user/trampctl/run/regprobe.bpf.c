// SPDX-License-Identifier: GPL-2.0
/*
 * The program behind `trampctl probe`: sends all registers of each hit. Its section
 * names no place; user space says where it goes when it attaches it.
 */
#include "kernel.bpf.h"
#include <bpf/bpf_helpers.h>
#include "filter.bpf.h"
#include "regprobe.h"
#include "stacks.bpf.h"

char LICENSE[] SEC("license") = "GPL";

const volatile struct task_filter filter = {};
const volatile struct stacks_config stacks = {};

struct probe_counts counts = {};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 22);
} hits SEC(".maps");

SEC("kprobe")
int probe_registers(struct pt_regs *ctx)
{
	__u64 id = bpf_get_current_pid_tgid();
	const __u64 *regs = (const __u64 *)ctx;
	char comm[FILTER_COMM_LEN] = {};
	struct probe_hit *hit;
	int i;

	bpf_get_current_comm(comm, sizeof(comm));
	if (!task_wanted(&filter, id, comm))
		return 0;
	hit = bpf_ringbuf_reserve(&hits, stacks_end(offsetof(struct probe_hit, stacks), &stacks),
				  0);
	if (!hit) {
		__sync_fetch_and_add(&counts.lost_ring, 1);
		return 0;
	}
	hit->time = bpf_ktime_get_ns();
	/* By number: kernels differ in the types of the members, not in where they are. */
#pragma unroll
	for (i = 0; i < PROBE_NR_REGS; i++)
		hit->regs[i] = regs[i];
	hit->cpu = bpf_get_smp_processor_id();
	hit->tgid = id >> 32;
	hit->tid = (__u32)id;
	__builtin_memcpy(hit->comm, comm, sizeof(comm));
	take_stacks(ctx, &hit->stacks, &stacks);
	bpf_ringbuf_submit(hit, 0);
	__sync_fetch_and_add(&counts.reported, 1);
	return 0;
}
