// SPDX-License-Identifier: GPL-2.0
/*
 * How much per-CPU memory is allocated. The number in /proc/meminfo is of the pages that back it.
 * The allocator gives pages back when it likes, and not those with a single object left: under
 * stress that number moves by a MiB. How much of a chunk is free is exact (struct pcpu_chunk,
 * mm/percpu-internal.h).
 */
#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

#define MAX_SLOTS	64
#define MAX_CHUNKS	4096

extern const void pcpu_chunk_lists __ksym;
extern const void pcpu_nr_slots __ksym;

/* Bytes for one CPU, and the chunks they are in. */
__u64 allocated, chunks;

struct list {
	struct list_head *head, *at;
};

/* Nothing holds the list: who reads it does so until two numbers are the same. */
static long count_chunk(__u32 i, void *ctx)
{
	struct list *list = ctx;
	struct pcpu_chunk *chunk;

	if (!list->at || list->at == list->head)
		return 1;
	/* The list is the first thing of a chunk, or the verifier says no. */
	chunk = (void *)list->at - bpf_core_field_offset(struct pcpu_chunk, list);
	allocated += (__u64)BPF_CORE_READ(chunk, nr_pages) * 4096;
	allocated -= BPF_CORE_READ(chunk, free_bytes);
	chunks++;
	list->at = BPF_CORE_READ(chunk, list.next);
	return 0;
}

static long count_slot(__u32 slot, void *ctx)
{
	struct list_head *head = *(struct list_head **)ctx + slot;
	struct list list = { .head = head, .at = BPF_CORE_READ(head, next) };

	bpf_loop(MAX_CHUNKS, count_chunk, &list, 0);
	return 0;
}

/* Returns how many lists there are, 0 if they are more than expected. */
SEC("syscall") int count_percpu(void *ctx)
{
	struct list_head *lists;
	__u32 nr;

	allocated = chunks = 0;
	if (bpf_probe_read_kernel(&lists, sizeof(lists), &pcpu_chunk_lists) ||
	    bpf_probe_read_kernel(&nr, sizeof(nr), &pcpu_nr_slots) || nr > MAX_SLOTS)
		return 0;
	bpf_loop(nr, count_slot, &lists, 0);
	return nr;
}
