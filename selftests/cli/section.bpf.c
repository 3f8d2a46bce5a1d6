// SPDX-License-Identifier: GPL-2.0
/* A program whose section's name the test writes into the object: here is room for it. */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

SEC("placeholder/................................................")
int only(void *ctx)
{
	(void)ctx;
	return 0;
}
