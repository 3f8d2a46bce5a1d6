/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the measurements of one program at many functions.
 */
#ifndef SELFTESTS_BENCH_MULTI_H
#define SELFTESTS_BENCH_MULTI_H

#include "bench.h"

/**
 * struct multi_set - functions that one program of ours can be attached to at once
 * @addrs: their addresses; the first is bench_function's
 * @nr: how many
 */
struct multi_set {
	uint64_t *addrs;
	uint32_t nr;
};

/* Memory of the kernel that attaching has taken and kept, in bytes. */
struct multi_memory {
	int64_t own;	/* allocated by trampoline.ko */
	int64_t all;	/* with what ftrace keeps */
};

/* Attach @prog_fd to the first @nr of @set and detach; @a ends as detached. */
struct multi_memory multi_memory(const struct multi_set *set, uint32_t nr, int prog_fd);

#endif /* SELFTESTS_BENCH_MULTI_H */
