// SPDX-License-Identifier: GPL-2.0
/*
 * One entry program and nothing else: the smallest object to hand to
 * `trampctl attach`. Its output comes out of
 * /sys/kernel/tracing/trace_pipe.
 */
#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

SEC("fentry/do_unlinkat")
int BPF_PROG(unlink_entry, int dfd, struct filename *name)
{
	bpf_printk("do_unlinkat(%d, \"%s\")", dfd, BPF_CORE_READ(name, name));
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
