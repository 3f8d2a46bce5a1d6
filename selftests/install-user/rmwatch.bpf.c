// SPDX-License-Identifier: GPL-2.0
/*
 * do_unlinkat() at its entry, somewhere in the middle, and at its return. A call's times are
 * kept under its thread's id, and go to user space through a ring buffer. The program in the middle
 * may run in an int3, so the map is one whose lookup takes no lock: a hash, and no task storage.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "rmwatch.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, u32);
	__type(value, struct removal);
} calls SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 64 * 1024);
} events SEC(".maps");

static u32 thread_id(void)
{
	return bpf_get_current_pid_tgid();
}

SEC("fentry/do_unlinkat")
int BPF_PROG(rm_entry, int dfd, struct filename *name)
{
	struct removal r = { .start = bpf_ktime_get_ns() };
	u32 key = thread_id();

	bpf_map_update_elem(&calls, &key, &r, BPF_ANY);
	return 0;
}

/* User space finds out where: offsets differ from kernel to kernel. */
SEC("kprobe")
int rm_middle(struct pt_regs *ctx)
{
	u32 key = thread_id();
	struct removal *r = bpf_map_lookup_elem(&calls, &key);

	(void)ctx;
	if (r)
		r->middle = bpf_ktime_get_ns();
	return 0;
}

SEC("fexit/do_unlinkat")
int BPF_PROG(rm_exit, int dfd, struct filename *name, int result)
{
	u32 key = thread_id();
	struct removal *r = bpf_map_lookup_elem(&calls, &key);

	/* Calls that were under way when the programs were attached have no entry. */
	if (!r)
		return 0;
	r->end = bpf_ktime_get_ns();
	r->pid = bpf_get_current_pid_tgid() >> 32;
	r->result = result;
	bpf_get_current_comm(r->comm, sizeof(r->comm));
	bpf_ringbuf_output(&events, r, sizeof(*r), 0);
	bpf_map_delete_elem(&calls, &key);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
