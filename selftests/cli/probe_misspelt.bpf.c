// SPDX-License-Identifier: GPL-2.0
/* Loads like any probe; that there is no such function shows when it is attached. */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

SEC("kprobe/do_unlinkatt")
int misspelt(void *ctx)
{
	(void)ctx;
	return 0;
}
