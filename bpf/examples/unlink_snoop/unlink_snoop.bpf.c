// SPDX-License-Identifier: GPL-2.0
/*
 * Files that are removed: who, which, with what result, how long it took.
 *
 * Two plain libbpf programs on one function. Nothing in them knows that the
 * trampoline module will attach them: bpf_program__attach() could do it as well.
 *
 * The entry program keeps the event under the thread's id, and the exit program completes it.
 * The name can be read at entry only: do_unlinkat() gives its struct filename back before it
 * returns.
 */
#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "unlink_snoop.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, u32);
	__type(value, struct event);
} calls SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 256 * 1024);
} events SEC(".maps");

/* Events that found no room: told to the user at the end, never just dropped. */
unsigned long long lost;

static void send(const struct event *e)
{
	if (bpf_ringbuf_output(&events, (void *)e, sizeof(*e), 0))
		__sync_fetch_and_add(&lost, 1);
}

SEC("fentry/do_unlinkat")
int BPF_PROG(unlink_entry, int dfd, struct filename *name)
{
	u64 id = bpf_get_current_pid_tgid();
	struct event e = {
		.kind = EVENT_ENTRY,
		.pid = id >> 32,
		.time = bpf_ktime_get_ns(),
		.dfd = dfd,
	};
	u32 tid = id;

	bpf_get_current_comm(e.comm, sizeof(e.comm));
	bpf_probe_read_kernel_str(e.name, sizeof(e.name), BPF_CORE_READ(name, name));
	if (bpf_map_update_elem(&calls, &tid, &e, BPF_ANY))
		__sync_fetch_and_add(&lost, 1);
	send(&e);
	return 0;
}

SEC("fexit/do_unlinkat")
int BPF_PROG(unlink_exit, int dfd, struct filename *name, int result)
{
	u32 tid = bpf_get_current_pid_tgid();
	struct event *e = bpf_map_lookup_elem(&calls, &tid);

	/* Calls that were under way when the programs were attached have no entry. */
	if (!e)
		return 0;
	e->kind = EVENT_EXIT;
	e->duration = bpf_ktime_get_ns() - e->time;
	e->result = result;
	send(e);
	bpf_map_delete_elem(&calls, &tid);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
