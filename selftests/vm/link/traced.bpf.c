// SPDX-License-Identifier: GPL-2.0
/* A program of each kind, and what the kernel attaches to one of them, as bpftool prog profile. */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "GPL";

/* Runs of the program, and what it read from its context last. */
__u64 runs, value;
/* The same of what is at its entry and its return; and the program's result. */
__u64 entry_runs, entry_value, return_runs, return_value, result;
/* Only unlink() has other callers. */
__u32 tgid;
/* Where in its context the program reads. */
__u32 offset;

SEC("?kprobe")
int at_insn(struct pt_regs *ctx)
{
	value = ctx->di;
	__sync_fetch_and_add(&runs, 1);
	return 0;
}

SEC("?fentry/tt_hot0")
int enters(__u64 *ctx)
{
	value = ctx[0];
	__sync_fetch_and_add(&runs, 1);
	return 0;
}

SEC("?fexit/tt_hot0")
int leaves(__u64 *ctx)
{
	value = ctx[1];
	__sync_fetch_and_add(&runs, 1);
	return 0;
}

SEC("?fmod_ret/security_inode_unlink")
int modifies(__u64 *ctx)
{
	if (bpf_get_current_pid_tgid() >> 32 != tgid)
		return 0;
	value = ctx[0];
	__sync_fetch_and_add(&runs, 1);
	return 0;
}

static __u64 read(const void *ctx)
{
	__u64 word = 0;

	bpf_probe_read_kernel(&word, sizeof(word), ctx + offset);
	return word;
}

SEC("?fentry")
int BPF_PROG(at_entry, void *program_ctx)
{
	if (tgid && bpf_get_current_pid_tgid() >> 32 != tgid)
		return 0;
	entry_value = read(program_ctx);
	__sync_fetch_and_add(&entry_runs, 1);
	return 0;
}

SEC("?fexit")
int BPF_PROG(at_return, void *program_ctx)
{
	if (tgid && bpf_get_current_pid_tgid() >> 32 != tgid)
		return 0;
	return_value = read(program_ctx);
	/* As an argument it is behind five, if the kernel does not know the program's types. */
	bpf_get_func_ret(ctx, &result);
	__sync_fetch_and_add(&return_runs, 1);
	return 0;
}
