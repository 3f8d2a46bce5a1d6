// SPDX-License-Identifier: GPL-2.0
/*
 * A probe that counts, by task name: files that each removed. Another instruction
 * than the function's first is SEC("kprobe/do_unlinkat+OFFSET"), with an offset that
 * `trampctl explain --code do_unlinkat` lists on the kernel it is for.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

struct name {
	char comm[16];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, struct name);
	__type(value, u64);
} removals SEC(".maps");

/* Removals for whose names there was no room. `bpftool map dump name unlink_p.bss` shows it. */
u64 lost;

SEC("kprobe/do_unlinkat")
int unlink_probe(struct pt_regs *ctx)
{
	struct name who = {};
	u64 one = 1, *count;

	bpf_get_current_comm(who.comm, sizeof(who.comm));
	count = bpf_map_lookup_elem(&removals, &who);
	if (!count) {
		if (!bpf_map_update_elem(&removals, &who, &one, BPF_NOEXIST))
			return 0;
		/* Another CPU was faster, or the map is full. */
		count = bpf_map_lookup_elem(&removals, &who);
	}
	__sync_fetch_and_add(count ?: &lost, 1);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
