// SPDX-License-Identifier: GPL-2.0
/* A program on all functions, which takes a while to attach. */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

SEC("kprobe.multi/*")
int on_any(struct pt_regs *ctx)
{
	return 0;
}
