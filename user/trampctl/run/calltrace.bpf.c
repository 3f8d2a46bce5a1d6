// SPDX-License-Identifier: GPL-2.0
/*
 * The programs behind `trampctl trace`: one pair serves any function.
 *
 * User space opens this object once per function, sets the target and the
 * configuration, and loads it; the maps `calls` and `events` are shared by all
 * functions of a run.
 *
 * A call is noted at entry in `calls`, under the address of the context. That
 * address lies in the stack frame of the trampoline image. One image frame serves
 * the entry and the exit programs of one call, so the address names the call until
 * it ends. The task may sleep, migrate or call the same function again before
 * that. The exit program completes the record in place and
 * sends it. Strings are read at entry since the function may free them
 * (do_unlinkat() drops its struct filename).
 */
#include "kernel.bpf.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
#include "calltrace.h"
#include "filter.bpf.h"
#include "stacks.bpf.h"
#include "string.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* Constant for the verifier, so that what a function lacks costs nothing. */
const volatile struct trace_config cfg = {};

/* Each record starts as a copy of this one: it is too large for the BPF stack. */
const struct traced_call empty_call = {};

struct trace_counts counts = {};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, TRACE_MAX_INFLIGHT);
	__uint(key_size, sizeof(__u64));
	/* User space makes it smaller: only the stacks that are wanted have room. */
	__uint(value_size, sizeof(struct traced_call));
} calls SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 22);
} events SEC(".maps");

static __always_inline void send(struct traced_call *e)
{
	__u64 size = offsetof(struct traced_call, str);

	if (cfg.stacks.kernel || cfg.stacks.user)
		size = stacks_end(offsetof(struct traced_call, stacks), &cfg.stacks);
	else if (cfg.nr_strs <= TRACE_MAX_STRS)
		size += cfg.nr_strs * TRACE_STR_LEN;
	if (bpf_ringbuf_output(&events, e, size, 0))
		__sync_fetch_and_add(&counts.lost_ring, 1);
	else
		__sync_fetch_and_add(&counts.reported, 1);
}

SEC("fentry")
int trace_entry(void *ctx)
{
	__u64 id = bpf_get_current_pid_tgid(), frame = (__u64)ctx;
	char comm[FILTER_COMM_LEN] = {};
	struct traced_call *e;
	__u32 i, n = 0;

	bpf_get_current_comm(comm, sizeof(comm));
	if (!task_wanted(&cfg.filter, id, comm))
		return 0;

	if (bpf_map_update_elem(&calls, &frame, &empty_call, BPF_ANY))
		goto lost;
	e = bpf_map_lookup_elem(&calls, &frame);
	if (!e)
		goto lost;

	e->func = cfg.func;
	e->cpu = bpf_get_smp_processor_id();
	e->tgid = id >> 32;
	e->tid = (__u32)id;
	__builtin_memcpy(e->comm, comm, sizeof(comm));

#pragma unroll
	for (i = 0; i < TRACE_MAX_SLOTS; i++) {
		__u64 val;

		if (i >= cfg.nr_slots)
			break;
		if (bpf_get_func_arg(ctx, i, &val))
			break;
		e->slots[i] = val;
		if (cfg.str_kind[i] && n < TRACE_MAX_STRS) {
			e->str_len[n] = read_str(e->str[n], val, cfg.str_kind[i]);
			n++;
		}
	}
	take_stacks(ctx, &e->stacks, &cfg.stacks);
	__sync_fetch_and_add(&counts.entered, 1);

	/* Last, so that what stands above is not part of the duration. */
	e->start = bpf_ktime_get_ns();
	if (cfg.flags & TRACE_F_ENTRY_ONLY) {
		send(e);
		bpf_map_delete_elem(&calls, &frame);
	}
	return 0;
lost:
	__sync_fetch_and_add(&counts.lost_inflight, 1);
	return 0;
}

SEC("fexit")
int trace_exit(void *ctx)
{
	__u64 now = bpf_ktime_get_ns(), frame = (__u64)ctx;
	const __u32 tgid = bpf_get_current_pid_tgid() >> 32;
	struct traced_call *e;
	__u64 ret = 0;

	e = bpf_map_lookup_elem(&calls, &frame);
	/*
	 * Not wanted, lost, or entered before the entry program was attached. The thread is not
	 * compared: execve() gives it the number of its process.
	 */
	if (!e || e->func != cfg.func || e->tgid != tgid)
		return 0;

	e->end = now;
	if (cfg.flags & TRACE_F_RESULT) {
		bpf_get_func_ret(ctx, &ret);
		e->ret = ret;
		if (cfg.ret_kind && cfg.nr_strs && cfg.nr_strs <= TRACE_MAX_STRS) {
			__u32 last = cfg.nr_strs - 1;

			e->str_len[last] = read_str(e->str[last], ret, cfg.ret_kind);
		}
	}
	send(e);
	bpf_map_delete_elem(&calls, &frame);
	return 0;
}
