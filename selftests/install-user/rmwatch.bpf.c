// SPDX-License-Identifier: GPL-2.0
/*
 * do_unlinkat() at its entry, somewhere in the middle, and at its return. A call's times are
 * kept with its task, and go to user space through a ring buffer.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "rmwatch.h"

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct removal);
} calls SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 64 * 1024);
} events SEC(".maps");

SEC("fentry/do_unlinkat")
int BPF_PROG(rm_entry, int dfd, struct filename *name)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct removal *r;

	r = bpf_task_storage_get(&calls, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!r)
		return 0;
	r->start = bpf_ktime_get_ns();
	r->middle = 0;
	return 0;
}

/* User space finds out where: offsets differ from kernel to kernel. */
SEC("kprobe")
int rm_middle(struct pt_regs *ctx)
{
	struct removal *r = bpf_task_storage_get(&calls, bpf_get_current_task_btf(), 0, 0);

	(void)ctx;
	if (r)
		r->middle = bpf_ktime_get_ns();
	return 0;
}

SEC("fexit/do_unlinkat")
int BPF_PROG(rm_exit, int dfd, struct filename *name, int result)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct removal *r = bpf_task_storage_get(&calls, task, 0, 0);

	/* Calls that were under way when the programs were attached have no entry. */
	if (!r)
		return 0;
	r->end = bpf_ktime_get_ns();
	r->pid = bpf_get_current_pid_tgid() >> 32;
	r->result = result;
	bpf_get_current_comm(r->comm, sizeof(r->comm));
	bpf_ringbuf_output(&events, r, sizeof(*r), 0);
	bpf_task_storage_delete(&calls, task);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
