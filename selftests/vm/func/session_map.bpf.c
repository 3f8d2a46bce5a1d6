// SPDX-License-Identifier: GPL-2.0
/*
 * The programs of test_session_map.c: plain kprobe programs with the map of a session, as they may
 * be on any kernel.
 */
#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <linux/trampoline.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "GPL";

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct tramp_session_words);
} tramp_session SEC(".maps");

/* Two programs of the same map; each counts for itself. */
__u64 entries[2], returns[2], skipped[2];
__u64 last_ip[2], last_cookie[2];
__u64 unpaired;
__u64 runs;

static __always_inline int session(struct pt_regs *ctx, int i)
{
	__u32 first = 0;
	struct tramp_session_words *w = bpf_map_lookup_elem(&tramp_session, &first);
	__u64 arg = PT_REGS_PARM1(ctx);

	if (!w)
		return 0;
	last_ip[i] = ctx->orig_rax;
	last_cookie[i] = bpf_get_attach_cookie(ctx);
	if (w->is_return) {
		returns[i]++;
		/* n! has n - 1 factors above 1: the cookie tells its argument. */
		if (w->cookie < 100 || (w->cookie & 1) != i)
			unpaired++;
		return 0;
	}
	if (w->cookie)
		unpaired++;
	entries[i]++;
	w->cookie = 100 + 2 * arg + i;
	/* The second leaves out what the first does not. */
	if (arg % 4 == i) {
		skipped[i]++;
		return 1;
	}
	return 0;
}

SEC("kprobe")
int one(struct pt_regs *ctx)
{
	return session(ctx, 0);
}

SEC("kprobe")
int two(struct pt_regs *ctx)
{
	return session(ctx, 1);
}

/* Asks nothing, so it has no such map. */
SEC("kprobe")
int no_map(struct pt_regs *ctx)
{
	__sync_fetch_and_add(&runs, 1);
	return 0;
}

/* A number that is not 0 as an int is, but not in 64 bits: it skips the return. */
SEC("kprobe")
int negative(struct pt_regs *ctx)
{
	__sync_fetch_and_add(&runs, 1);
	return -1;
}

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} nobody SEC(".maps");

/* Asks nothing itself, but who knows whom it calls. */
SEC("kprobe")
int tail_calls(struct pt_regs *ctx)
{
	bpf_tail_call(ctx, &nobody, 0);
	return 0;
}
