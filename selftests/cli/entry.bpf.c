// SPDX-License-Identifier: GPL-2.0
/* An entry program alone: it can go beside another direct caller. */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

__u64 entries = 0;

SEC("fentry/do_unlinkat")
int on_entry(void *ctx)
{
	(void)ctx;
	__sync_fetch_and_add(&entries, 1);
	return 0;
}
