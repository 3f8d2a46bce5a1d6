// SPDX-License-Identifier: GPL-2.0
/*
 * The programs of test_multi_session.c: a session that writes down each call of one task, and an
 * fentry and fexit pair that tell the time.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "session.h"

char LICENSE[] SEC("license") = "GPL";

struct session_call calls[SESSION_CALLS];
__u32 stack[SESSION_DEPTH];
__u32 nr_calls, depth;
__u32 skip_third;	/* the return of every third call is not wanted */
__u64 unpaired;		/* returns that are not those of the innermost call */
__u32 only_tid;
__u64 pair_entered, pair_left;

extern bool bpf_session_is_return(void) __ksym __weak;
extern __u64 *bpf_session_cookie(void) __ksym __weak;

/* The verifier of 6.1 forgets a limit of what it has in memory meanwhile: say it again. */
static __u32 *place(__u32 top)
{
	barrier_var(top);
	return &stack[top % SESSION_DEPTH];
}

static int at_entry(struct pt_regs *ctx, __u64 *cookie)
{
	struct session_call *c;
	__u32 i = nr_calls, top = depth;

	if (i >= SESSION_CALLS || top >= SESSION_DEPTH)
		return 1;
	if (*cookie)
		unpaired++;
	c = &calls[i];
	c->ip = bpf_get_func_ip(ctx);
	c->arg = PT_REGS_PARM1(ctx);
	c->depth = top;
	c->entered = bpf_ktime_get_ns();
	nr_calls = i + 1;
	if (skip_third && i % 3 == 2)
		return 1;
	*cookie = i + 1;
	*place(top) = i;
	depth = top + 1;
	return 0;
}

static int at_return(struct pt_regs *ctx, __u64 i)
{
	struct session_call *c;
	__u32 top = depth - 1;

	if (--i >= SESSION_CALLS || top >= SESSION_DEPTH) {
		unpaired++;
		return 0;
	}
	c = &calls[i];
	c->left = bpf_ktime_get_ns();
	if (*place(top) != i || c->ip != bpf_get_func_ip(ctx))
		unpaired++;
	depth = top;
	c->result = PT_REGS_RC(ctx);
	c->returns++;
	return 0;
}

SEC("?kprobe.session")
int on_call(struct pt_regs *ctx)
{
	__u64 *cookie = bpf_session_cookie();

	if ((__u32)bpf_get_current_pid_tgid() != only_tid)
		return 1;
	return bpf_session_is_return() ? at_return(ctx, *cookie) : at_entry(ctx, cookie);
}

SEC("fentry/do_nanosleep")
int on_entry(void *ctx)
{
	if ((__u32)bpf_get_current_pid_tgid() == only_tid)
		pair_entered = bpf_ktime_get_ns();
	return 0;
}

SEC("fexit/do_nanosleep")
int on_exit(void *ctx)
{
	if ((__u32)bpf_get_current_pid_tgid() == only_tid)
		pair_left = bpf_ktime_get_ns();
	return 0;
}
