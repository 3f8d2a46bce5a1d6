// SPDX-License-Identifier: GPL-2.0
/*
 * Programs for many functions as they are written for the kernel's own kprobe.multi, and one
 * that uses what bpf/trampoline_helpers.bpf.h has. Attached by test_lib_multi.c.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "trampoline_helpers.bpf.h"

char LICENSE[] SEC("license") = "GPL";

__u32 pid;
__u64 entries, entry_ip, entry_cookie, names[2], first;
__u64 returns, return_ip, return_cookie;
__s64 result;
__u64 plain, plain_ip, call_entry, call_return;

static bool ours(void)
{
	return bpf_get_current_pid_tgid() >> 32 == pid;
}

/* A function of its own in the program: what it calls is relocated with it. */
static __noinline __u64 where(struct pt_regs *ctx)
{
	return bpf_get_func_ip(ctx);
}

SEC("kprobe.multi/do_unlinkat")
int BPF_KPROBE(on_entry, int dfd, void *name)
{
	if (!ours())
		return 0;
	entries++;
	entry_ip = bpf_get_func_ip(ctx);
	entry_cookie = bpf_get_attach_cookie(ctx);
	names[0] = (__u64)name;
	names[1] = tramp_arg(ctx, 1, __u64);
	first = tramp_arg(ctx, 0, int);
	return 0;
}

SEC("kretprobe.multi/do_unlinkat")
int BPF_KRETPROBE(on_return, int ret)
{
	if (!ours())
		return 0;
	returns++;
	return_ip = where(ctx);
	return_cookie = bpf_get_attach_cookie(ctx);
	result = tramp_ret(ctx, int);
	return 0;
}

SEC("kprobe")
int on_plain(struct pt_regs *ctx)
{
	if (!ours())
		return 0;
	plain++;
	plain_ip = tramp_func_ip(ctx);
	return 0;
}

extern bool bpf_session_is_return(void) __ksym __weak;

SEC("?kprobe.session/do_unlinkat")
int on_both(struct pt_regs *ctx)
{
	if (!ours())
		return 0;
	if (bpf_session_is_return()) {
		returns++;
		call_return = tramp_call_at_return(ctx);
	} else {
		entries++;
		call_entry = tramp_call_at_entry(ctx);
	}
	return 0;
}
