// SPDX-License-Identifier: GPL-2.0
/*
 * Programs that count where their attachment's cookie says: two of kprobe type, for failnth.h.
 * Those for functions come from record.bpf.c.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

__u64 probed[4];

static __always_inline int count(struct pt_regs *ctx)
{
	__u64 i = bpf_get_attach_cookie(ctx);

	if (i < 4)
		__sync_fetch_and_add(&probed[i], 1);
	return 0;
}

SEC("kprobe")
int count_probe(struct pt_regs *ctx)
{
	return count(ctx);
}

SEC("kprobe")
int count_probe_too(struct pt_regs *ctx)
{
	return count(ctx);
}
