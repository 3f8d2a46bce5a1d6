// SPDX-License-Identifier: GPL-2.0
/*
 * Programs at a function's entry, beside probes on it: one for us, one for the kernel. In
 * an object of their own, since they hold the module that has the function.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "GPL";

__u64 ours, kernels;

SEC("fentry/tt_steps")
int fentry_ours(void *ctx)
{
	__sync_fetch_and_add(&ours, 1);
	return 0;
}

SEC("fentry/tt_steps")
int fentry_kernel(void *ctx)
{
	__sync_fetch_and_add(&kernels, 1);
	return 0;
}
