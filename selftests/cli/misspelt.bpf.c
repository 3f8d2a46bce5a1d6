// SPDX-License-Identifier: GPL-2.0
/* The second program's function does not exist, but almost. */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

SEC("fentry/do_unlinkat")
int good(void *ctx)
{
	(void)ctx;
	return 0;
}

SEC("fentry/do_unlinkatt")
int misspelt(void *ctx)
{
	(void)ctx;
	return 0;
}
