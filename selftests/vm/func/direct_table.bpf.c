// SPDX-License-Identifier: GPL-2.0
/*
 * The programs of test_direct_table.c, which look at ftrace's table of direct calls.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "../lib/mutex.bpf.h"

char LICENSE[] SEC("license") = "GPL";

const volatile __u32 only_pid;
const volatile __u64 direct_functions;	/* where the kernel has the table's address */
const volatile __u64 ftrace_lock, direct_mutex;
__u64 updates, unlocked;		/* of ftrace; those without direct_mutex */
__u64 buckets, entries;			/* by on_look */
__u64 wanted, entry;			/* the entry of this site, by on_look */
__u64 freed, freed_by;			/* how often, and the process that did it first */

/* As in kernel/trace/trace.h. */
struct table {
	unsigned long size_bits;
	__u64 *buckets;
	unsigned long count;
};

/* As in include/linux/ftrace.h. */
struct entry {
	__u64 next, pprev, ip;
};

static void find(const struct table *t)
{
	/* hash_long() of include/linux/hash.h */
	const __u64 hash = wanted * 0x61C8864680B583EBULL >> (64 - t->size_bits);
	struct entry e;
	__u64 at = 0;
	int i;

	entry = 0;
	bpf_probe_read_kernel(&at, sizeof(at), t->buckets + hash);
	for (i = 0; i < 100 && at; i++) {
		if (bpf_probe_read_kernel(&e, sizeof(e), (void *)at))
			return;
		if (e.ip == wanted) {
			entry = at;
			return;
		}
		at = e.next;
	}
}

/* All CPUs are to see new text. */
SEC("kprobe")
int on_sync(struct pt_regs *ctx)
{
	if (bpf_get_current_pid_tgid() >> 32 != only_pid || !mutex_is_ours(ftrace_lock))
		return 0;
	__sync_fetch_and_add(&updates, 1);
	if (!mutex_is_ours(direct_mutex))
		__sync_fetch_and_add(&unlocked, 1);
	return 0;
}

SEC("kprobe")
int on_look(struct pt_regs *ctx)
{
	struct table *table = NULL, t;

	if (bpf_get_current_pid_tgid() >> 32 != only_pid)
		return 0;
	bpf_probe_read_kernel(&table, sizeof(table), (void *)direct_functions);
	if (bpf_probe_read_kernel(&t, sizeof(t), table))
		return 0;
	buckets = 1UL << t.size_bits;
	entries = t.count;
	if (wanted && t.size_bits)
		find(&t);
	return 0;
}

SEC("kprobe")
int on_kfree(struct pt_regs *ctx)
{
	if (!entry || PT_REGS_PARM1(ctx) != entry)
		return 0;
	if (!__sync_fetch_and_add(&freed, 1))
		freed_by = bpf_get_current_pid_tgid() >> 32;
	return 0;
}
