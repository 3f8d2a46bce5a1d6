/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sums of calls by function, for count and hist.
 */
#ifndef TRAMPCTL_SUMS_H
#define TRAMPCTL_SUMS_H

#include <stdint.h>

#include "../run/many_run.h"

/**
 * struct sum - calls of one function
 * @nr: number of the function
 * @calls: how many
 */
struct sum {
	size_t nr;
	uint64_t calls;
};

/**
 * struct calls - per function: how often it was called
 * @now: since the last time that was read
 * @before: until then
 * @cpus: room for what each CPU counted
 * @nr_cpus: how many there may be
 */
struct calls {
	uint64_t *now, *before, *cpus;
	int nr_cpus;
};

void calls_init(struct calls *c, const struct many_run *run);
int calls_read(struct calls *c, const struct many_run *run);
void calls_free(struct calls *c);

size_t sums_sort(struct sum *sums, size_t nr, uint32_t top);
size_t sums_of_calls(struct sum *sums, const struct calls *c, size_t nr, uint32_t top,
		     uint64_t *total);
const char *sum_name(const struct many_run *run, size_t nr);

#endif /* TRAMPCTL_SUMS_H */
