/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Rounds of a few seconds. Each has a seed of its own, from which all comes that the threads do
 * not decide between themselves: the code, the inputs, the patcher's changes.
 */
#ifndef SELFTESTS_NATIVE_ROUNDS_H
#define SELFTESTS_NATIVE_ROUNDS_H

#include "runner.h"

/**
 * struct rounds - a subject, and how far it is
 * @unit: how what runners do is called: "passes"
 * @run: what they do, as runners_start() takes it
 * @begin: make what they execute; nobody runs
 * @patch: change it until then, under them
 * @end: all have returned, and nothing has failed
 * @total: what runners counted in all rounds
 * @changes: made by @patch
 * @nr: rounds that are over
 */
struct rounds {
	const char *unit;
	void (*run)(struct runner *r);
	void (*begin)(struct rng *rng);
	void (*patch)(struct rng *rng, double until);
	void (*end)(void);
	struct runner_counts total;
	u64 changes, nr;
};

/* Rounds for so long, or for native.passes. Return: seconds that it took. */
double rounds_run(struct rounds *r, double seconds);

/* Is the time up, or has something failed? */
bool rounds_over(double until);

/* The lines that every subject has at its end, with what is its own in between. */
void rounds_say_runs(const struct rounds *r, double took);
void rounds_say_holds(const struct rounds *r);

/* The subjects; each prints what it did. */
void rounds_of_probes(double seconds);
void rounds_of_calls(double seconds);

#endif /* SELFTESTS_NATIVE_ROUNDS_H */
