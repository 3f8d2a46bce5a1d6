// SPDX-License-Identifier: GPL-2.0
/*
 * The programs of test_recursion.c: they call the function that they are attached to.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

/* No task gets this CPU meanwhile. Watchdogs bark after 20 s. */
#define LONGEST_NS	8000000000ULL

const volatile __u32 only_pid;

__u64 runs;
__u64 within;		/* runs that began within another one of the program, on one CPU */
__u32 inside;		/* it runs */
__u32 go_on;		/* said from outside */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} recursed SEC(".maps");

static __always_inline bool wanted(void)
{
	return bpf_get_current_pid_tgid() >> 32 == only_pid;
}

SEC("fentry/htab_map_delete_elem")
int recurse(void *ctx)
{
	__u32 key = 0;

	if (!wanted())
		return 0;
	runs++;
	bpf_map_delete_elem(&recursed, &key);
	return 0;
}

static long is_over(__u32 i, __u64 *end)
{
	return *(volatile __u32 *)&go_on || bpf_ktime_get_ns() > *end;
}

static long wait_more(__u32 i, __u64 *end)
{
	bpf_loop(1 << 16, is_over, end, 0);
	return is_over(0, end);
}

SEC("fentry/htab_map_delete_elem")
int recurse_later(void *ctx)
{
	__u64 end = bpf_ktime_get_ns() + LONGEST_NS;
	__u32 key = 0;

	if (!wanted())
		return 0;
	runs++;
	within += inside++;
	bpf_loop(1 << 16, wait_more, &end, 0);
	bpf_map_delete_elem(&recursed, &key);
	inside--;
	return 0;
}

/* Keeps the function when the other one goes. */
SEC("fentry/htab_map_delete_elem")
int stay(void *ctx)
{
	return 0;
}
