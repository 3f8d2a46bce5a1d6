// SPDX-License-Identifier: GPL-2.0
/*
 * A program that goes to no function.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

SEC("xdp")
int drop(struct xdp_md *ctx)
{
	return XDP_DROP;
}
