// SPDX-License-Identifier: GPL-2.0
/*
 * Programs for probes. The cookie of an attachment says where it counts or writes,
 * so that one program serves any number of addresses.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "probe_progs.h"

char LICENSE[] SEC("license") = "GPL";

/* 0: hits by any process. */
int only_pid;
/* Of count_arg. */
__u64 only_arg;

/* While it is not 0, count does not. */
int count_shut;

struct seen_regs seen[PROBE_SEEN];
__u64 counted[PROBE_COUNTERS];
__u32 order_len;
__u64 order[PROBE_ORDER];
__u64 frames[PROBE_FRAMES];
__s64 nr_frames;
__u64 func_ip;
__u64 recursion_runs;

static __always_inline bool wanted(void)
{
	return !only_pid || bpf_get_current_pid_tgid() >> 32 == (__u32)only_pid;
}

/* All registers. */
SEC("kprobe")
int regs_all(struct pt_regs *ctx)
{
	__u64 i = bpf_get_attach_cookie(ctx);
	const __u64 *from = (const __u64 *)ctx;
	int k;

	if (!wanted() || i >= PROBE_SEEN)
		return 0;
	/* Each load has a constant offset: the verifier wants to see that. */
#pragma unroll
	for (k = 0; k < PROBE_REGS; k++)
		seen[i].regs[k] = from[k];
	__sync_fetch_and_add(&seen[i].hits, 1);
	return 0;
}

/* A few of them: what a program does not read may not have been put there. */
SEC("kprobe")
int regs_few(struct pt_regs *ctx)
{
	__u64 i = bpf_get_attach_cookie(ctx);

	if (!wanted() || i >= PROBE_SEEN)
		return 0;
	seen[i].regs[14] = ctx->di;
	seen[i].regs[16] = ctx->ip;
	seen[i].regs[19] = ctx->sp;
	__sync_fetch_and_add(&seen[i].hits, 1);
	return 0;
}

static __always_inline void count_at(__u64 i)
{
	if (i < PROBE_COUNTERS)
		__sync_fetch_and_add(&counted[i], 1);
}

SEC("kprobe")
int count(struct pt_regs *ctx)
{
	if (!count_shut)
		count_at(bpf_get_attach_cookie(ctx));
	return 0;
}

/* Stands in for count: counts in the upper half. */
SEC("kprobe")
int count_too(struct pt_regs *ctx)
{
	count_at(bpf_get_attach_cookie(ctx) + PROBE_COUNTERS / 2);
	return 0;
}

/* Counts, if it is one of ours who comes by. */
SEC("kprobe")
int count_pid(struct pt_regs *ctx)
{
	if (wanted())
		count_at(bpf_get_attach_cookie(ctx));
	return 0;
}

/* Counts, if the function's first argument is that one. */
SEC("kprobe")
int count_arg(struct pt_regs *ctx)
{
	if (ctx->di == only_arg)
		count_at(bpf_get_attach_cookie(ctx));
	return 0;
}

SEC("kprobe")
int in_order(struct pt_regs *ctx)
{
	__u32 at = order_len;

	if (!wanted())
		return 0;
	if (at < PROBE_ORDER)
		order[at] = bpf_get_attach_cookie(ctx);
	order_len = at + 1;
	return 0;
}

/* Does not touch its context at all, nor any map. */
SEC("kprobe")
int nothing(struct pt_regs *ctx)
{
	return 0;
}

SEC("kprobe")
int stack(struct pt_regs *ctx)
{
	if (!wanted())
		return 0;
	nr_frames = bpf_get_stack(ctx, frames, sizeof(frames), 0);
	return 0;
}

SEC("kprobe")
int ask_func_ip(struct pt_regs *ctx)
{
	if (wanted())
		func_ip = bpf_get_func_ip(ctx);
	return 0;
}

/* Calls what it may be attached to: the inner hit must not run it again. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} recursed SEC(".maps");

SEC("kprobe")
int recurse(struct pt_regs *ctx)
{
	__u32 key = 0;

	if (!wanted())
		return 0;
	__sync_fetch_and_add(&recursion_runs, 1);
	bpf_map_delete_elem(&recursed, &key);
	return 0;
}

/* Its lock is taken outside of probes, where lockdep is to see none that they take. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} not_recursed SEC(".maps");

/* Comes to what recurse may be attached to, in no system call of a map's: see test_itself. */
SEC("syscall")
int delete_other(void *ctx)
{
	__u32 key = 0;

	bpf_map_delete_elem(&not_recursed, &key);
	return 0;
}
