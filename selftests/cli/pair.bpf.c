// SPDX-License-Identifier: GPL-2.0
/*
 * An object as a user might have it: entry and exit of one function, counted,
 * with the cookie that each saw.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "GPL";

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, __u64);
} cookies SEC(".maps");

__u64 entries = 0;
__u64 exits = 0;

static __always_inline void keep_cookie(__u32 slot, __u64 cookie)
{
	bpf_map_update_elem(&cookies, &slot, &cookie, BPF_ANY);
}

SEC("fentry/do_unlinkat")
int BPF_PROG(on_entry)
{
	__sync_fetch_and_add(&entries, 1);
	keep_cookie(0, bpf_get_attach_cookie(ctx));
	return 0;
}

SEC("fexit/do_unlinkat")
int BPF_PROG(on_exit)
{
	__sync_fetch_and_add(&exits, 1);
	keep_cookie(1, bpf_get_attach_cookie(ctx));
	return 0;
}
