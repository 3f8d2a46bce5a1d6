/* SPDX-License-Identifier: GPL-2.0 */
/* Per-CPU memory, as the kernel's allocator has given it out. */
#ifndef PERCPU_H
#define PERCPU_H

#include <stdint.h>

/*
 * The bytes on each CPU that are allocated, of the whole kernel. Needs CAP_BPF and CAP_PERFMON.
 * They are exact, but for those that others allocate or free at the time.
 */
uint64_t percpu_allocated(void);
/*
 * Load the program that counts, which stays until the process ends. The first count does so, too:
 * this is for those to whom it matters when.
 */
void percpu_load(void);

#endif /* PERCPU_H */
