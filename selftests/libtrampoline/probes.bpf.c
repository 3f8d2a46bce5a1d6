// SPDX-License-Identifier: GPL-2.0
/*
 * Probes, and programs of the same type that are none. Opened by the unit tests
 * without being loaded; loaded and attached in the virtual machine.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

/* The process whose hits count. */
int pid;

unsigned long long entries, hits, calls, cookie;
/* The registers of the last hit that counted. */
unsigned long long seen[21];

static bool ours(void)
{
	return bpf_get_current_pid_tgid() >> 32 == pid;
}

SEC("kprobe/do_unlinkat")
int at_entry(struct pt_regs *ctx)
{
	if (ours())
		__sync_fetch_and_add(&entries, 1);
	return 0;
}

/* Where it goes is said when it is attached. */
SEC("kprobe")
int nowhere(struct pt_regs *ctx)
{
	if (!ours())
		return 0;
	__sync_fetch_and_add(&hits, 1);
	cookie = bpf_get_attach_cookie(ctx);
	bpf_probe_read_kernel(&seen, sizeof(seen), ctx);
	return 0;
}

/* Stands in for it in updates. */
SEC("kprobe")
int nowhere_10(struct pt_regs *ctx)
{
	if (ours())
		__sync_fetch_and_add(&hits, 10);
	return 0;
}

/* A question that only a kprobe of the kernel can answer where a function starts. */
SEC("kprobe")
int asks_func_ip(struct pt_regs *ctx)
{
	if (ours())
		cookie = bpf_get_func_ip(ctx);
	return 0;
}

SEC("fentry/do_unlinkat")
int on_call(u64 *ctx)
{
	if (ours())
		__sync_fetch_and_add(&calls, 1);
	return 0;
}

/* The test writes an offset of the running kernel over this one. */
SEC("?kprobe/do_unlinkat+0x000")
int at_offset(struct pt_regs *ctx)
{
	if (ours())
		__sync_fetch_and_add(&hits, 1);
	return 0;
}

SEC("?kprobe/do_unlinkat+010")
int on_octal(struct pt_regs *ctx)
{
	return 0;
}

SEC("?kretprobe/do_unlinkat+0")
int on_return(struct pt_regs *ctx)
{
	return 0;
}

SEC("?kprobe.multi/do_unlinkat*")
int on_many(struct pt_regs *ctx)
{
	return 0;
}

SEC("?uprobe//bin/sh:main")
int on_user(struct pt_regs *ctx)
{
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
