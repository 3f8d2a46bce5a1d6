// SPDX-License-Identifier: GPL-2.0
/*
 * A probe and a tracing program on one function, and a probe at an offset that the
 * test writes into the object, since it differs between kernels.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

__u64 hits = 0;

SEC("kprobe/do_unlinkat")
int at_entry(void *ctx)
{
	(void)ctx;
	__sync_fetch_and_add(&hits, 1);
	return 0;
}

SEC("kprobe/do_unlinkat+0x000")
int inside(void *ctx)
{
	(void)ctx;
	__sync_fetch_and_add(&hits, 1);
	return 0;
}

SEC("fentry/do_unlinkat")
int on_call(void *ctx)
{
	(void)ctx;
	return 0;
}
