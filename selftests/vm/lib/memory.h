/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory of the kernel, before and after: what a leak in attaching or detaching
 * would make grow.
 */
#ifndef MEMORY_H
#define MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#define MAX_CACHES 512
#define MAX_CALLERS 512

struct slab_cache {
	char name[48];
	uint64_t objects;
	uint64_t size;
};

/* A place in the kernel that maps memory, as /proc/vmallocinfo names it. */
struct vmalloc_caller {
	char name[64];
	uint64_t kb;
};

struct memory {
	uint64_t slab_kb;
	uint64_t percpu;		/* bytes on each CPU */
	uint64_t large_kb;		/* of slab_kb what is in no slab: large objects */
	uint64_t stacks;		/* of tasks, in /proc/vmallocinfo */
	uint64_t vmalloc_kb;		/* without stacks and per-CPU memory */
	uint64_t vmalloc_areas;		/* the other lines of /proc/vmallocinfo */
	uint64_t module_areas;		/* of them in the range of modules and images */
	uint64_t symbols;		/* lines of /proc/kallsyms: programs, images, trampolines */
	int nr_caches;
	struct slab_cache cache[MAX_CACHES];
	int nr_callers;
	struct vmalloc_caller caller[MAX_CALLERS];
};

/* Let deferred freeing happen, then measure. */
void memory_measure(struct memory *m);
/*
 * Compare after @operations attaches and as many detaches. Fails the test for
 * each thing that grew by more than chance. A leak of one object an operation
 * is caught from 65 operations on.
 */
void memory_compare(struct memory *before, const struct memory *after, int operations);
/*
 * Compare @nr measurements with the same work between each two: what leaks grows every time, and
 * chance does not. Fails the test for each thing whose least growth is more than a few objects of
 * one kind, a page or a symbol. Three are the fewest that say anything.
 */
void memory_flat(struct memory *m, int nr);
/*
 * Whether memory_flat() would fail, and for which things. The kernel keeps objects for each CPU,
 * as up to 64 socket buffers (NAPI_SKB_CACHE_SIZE, net/core/skbuff.c): of hundreds of caches one
 * grows three times by chance now and then. It stops when they are full, and a leak goes on: who
 * measures a few times more knows.
 */
bool memory_grows(const struct memory *m, int nr);

#endif /* MEMORY_H */
