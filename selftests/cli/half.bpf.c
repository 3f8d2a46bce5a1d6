// SPDX-License-Identifier: GPL-2.0
/* Loads, but only its first program can be attached through the module. */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

SEC("fentry/do_unlinkat")
int good(void *ctx)
{
	(void)ctx;
	return 0;
}

SEC("uprobe//bin/sh:main")
int other_kind(void *ctx)
{
	(void)ctx;
	return 0;
}
