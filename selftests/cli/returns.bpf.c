// SPDX-License-Identifier: GPL-2.0
/*
 * Return probes: at a function that can have an exit image, and at one that cannot, since the
 * number of its arguments varies. And one that names no place.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

SEC("kretprobe/do_unlinkat")
int removed(void *ctx)
{
	(void)ctx;
	return 0;
}

SEC("kretprobe/sysfs_emit")
int shown(void *ctx)
{
	(void)ctx;
	return 0;
}

SEC("kretprobe")
int nowhere(void *ctx)
{
	(void)ctx;
	return 0;
}
