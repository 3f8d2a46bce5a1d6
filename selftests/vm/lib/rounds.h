/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Hits of ours held against the kernel's, where the workload does not do all the same each
 * time. A fork, say, finds a stack that an exit has left on this CPU, or allocates one. So both
 * kinds count some workloads in turn. Chance makes a count vary, with one kind or with the
 * other: then it is no measure. A cause stays: ours are the same in all rounds, the kernel's
 * are, and they differ. If a count is one of two at random, one round looks like that once in 8
 * times, six rounds do once in 8 million.
 */
#ifndef ROUNDS_H
#define ROUNDS_H

#include <stdbool.h>
#include <stdint.h>

/* How often those are compared that came out unequal. */
#define ROUNDS	6

/* Two runs of the workload: whether they hit as often, and how often. */
struct twice {
	bool quiet;
	uint64_t hits;
};

/* Some rounds: whether each was quiet and like the one before, and the hits in the last. */
struct rounds {
	bool steady;
	uint64_t ours, kernels;
};

static inline struct rounds add_round(struct rounds r, bool is_first, struct twice ours,
				      struct twice kernels)
{
	bool same = r.steady && r.ours == ours.hits && r.kernels == kernels.hits;

	return (struct rounds){
		.steady = ours.quiet && kernels.quiet && (is_first || same),
		.ours = ours.hits,
		.kernels = kernels.hits,
	};
}

#endif /* ROUNDS_H */
