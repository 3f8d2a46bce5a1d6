// SPDX-License-Identifier: GPL-2.0
/*
 * One program of each kind that matters to the library's checks: those it
 * attaches, and those it has to turn away with a word why. Opened by the unit
 * tests without being loaded; loaded and attached in the virtual machine.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

/* The process whose calls count: others remove files too. */
int pid;

unsigned long long entries, exits, cookie;

static bool ours(void)
{
	return bpf_get_current_pid_tgid() >> 32 == pid;
}

SEC("fentry/do_unlinkat")
int on_entry(u64 *ctx)
{
	if (!ours())
		return 0;
	__sync_fetch_and_add(&entries, 1);
	cookie = bpf_get_attach_cookie(ctx);
	return 0;
}

SEC("fexit/do_unlinkat")
int on_exit(u64 *ctx)
{
	if (ours())
		__sync_fetch_and_add(&exits, 1);
	return 0;
}

/* Stands in for on_entry in updates; not attached by itself. */
SEC("?fentry/do_unlinkat")
int on_entry_10(u64 *ctx)
{
	if (ours())
		__sync_fetch_and_add(&entries, 10);
	return 0;
}

SEC("?fentry/do_rmdir")
int on_rmdir(u64 *ctx)
{
	return 0;
}

SEC("?kprobe/do_unlinkat")
int on_kprobe(struct pt_regs *ctx)
{
	return 0;
}

SEC("?tp_btf/sys_enter")
int on_tp_btf(u64 *ctx)
{
	return 0;
}

SEC("?raw_tp/sys_enter")
int on_raw_tp(u64 *ctx)
{
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
