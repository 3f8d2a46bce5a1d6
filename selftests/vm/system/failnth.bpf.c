// SPDX-License-Identifier: GPL-2.0
/*
 * Programs that count where their attachment's cookie says: of kprobe type, for failnth.h. Those
 * for functions come from record.bpf.c.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64[2]);
} tramp_session SEC(".maps");

char LICENSE[] SEC("license") = "GPL";

__u64 probed[4];

static __always_inline int count(struct pt_regs *ctx)
{
	__u64 i = bpf_get_attach_cookie(ctx);

	if (i < 4)
		__sync_fetch_and_add(&probed[i], 1);
	return 0;
}

SEC("kprobe")
int count_probe(struct pt_regs *ctx)
{
	return count(ctx);
}

SEC("kprobe")
int count_probe_too(struct pt_regs *ctx)
{
	return count(ctx);
}

/* At an entry only the kernel's kprobe knows what it asks for. */
SEC("kprobe")
int count_func_ip(struct pt_regs *ctx)
{
	return bpf_get_func_ip(ctx) ? count(ctx) : 0;
}

SEC("kprobe.multi")
int count_many(struct pt_regs *ctx)
{
	return count(ctx);
}

/* At both ends of a call; it counts at the return (struct tramp_session_words). */
SEC("kprobe")
int count_session(struct pt_regs *ctx)
{
	__u32 zero = 0;
	__u64 *words = bpf_map_lookup_elem(&tramp_session, &zero);

	return words && words[0] ? count(ctx) : 0;
}
