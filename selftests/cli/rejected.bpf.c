// SPDX-License-Identifier: GPL-2.0
/* The verifier does not like this one: it follows an address made up. */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

SEC("fentry/do_unlinkat")
int rejected(void *ctx)
{
	(void)ctx;
	return *(volatile int *)(long)bpf_get_prandom_u32();
}
