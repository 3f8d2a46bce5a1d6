// SPDX-License-Identifier: GPL-2.0
/*
 * Programs that surround a sweep of probes (test_probe_hostile.c): the kernel attaches them.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "GPL";

__u64 entries, multis;

/* At the functions that an int3 goes through; cloned for each. */
SEC("fentry/get_kprobe")
int entry(void *ctx)
{
	__sync_fetch_and_add(&entries, 1);
	return 0;
}

SEC("kprobe.multi")
int multi(struct pt_regs *ctx)
{
	__sync_fetch_and_add(&multis, 1);
	return 0;
}
