// SPDX-License-Identifier: GPL-2.0
/*
 * The counterpart of unlink_entry.bpf.c: the result of each call. An object of
 * its own, so that it can come and go while the other stays attached.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

SEC("fexit/do_unlinkat")
int BPF_PROG(unlink_exit, int dfd, struct filename *name, int result)
{
	/* The function has given its struct filename back: do not look into it. */
	bpf_printk("do_unlinkat(%d, ...) = %d", dfd, result);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
