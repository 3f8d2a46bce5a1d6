// SPDX-License-Identifier: GPL-2.0
/* A section that names no place: left to the one who knows it, as libbpf does. */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

SEC("kprobe")
int nowhere(void *ctx)
{
	(void)ctx;
	return 0;
}
