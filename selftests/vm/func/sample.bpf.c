// SPDX-License-Identifier: GPL-2.0
/*
 * The programs of test_sample.c, which docs/design/writing-a-test.md quotes.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "GPL";

__u64 entries, hits, argument;

SEC("fentry/tt_hot0")
int BPF_PROG(on_entry, __u64 a)
{
	__sync_fetch_and_add(&entries, 1);
	argument = a;
	return 0;
}

SEC("kprobe")
int on_hit(struct pt_regs *ctx)
{
	__sync_fetch_and_add(&hits, 1);
	return 0;
}
