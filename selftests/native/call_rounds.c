// SPDX-License-Identifier: GPL-2.0
/*
 * Rounds of the subject "calls", and what is said of them.
 */
#include "call.h"

#include <string.h>

#include "../lib/ktap.h"
#include "rounds.h"
#include "text.h"

/* Images that wait to be freed: then the patcher waits, too. */
#define MAX_WAITING	(NATIVE_IMAGES / 2)

static struct rounds rounds;

/* Changes come in bursts, so that a call sees several, and at times there are few. */
static void patch(struct rng *rng, double until)
{
	u32 n;

	while (!rounds_over(until)) {
		if (retire_waiting > MAX_WAITING) {
			retire_poll();
			native_sleep_us(20);
			continue;
		}
		for (n = rng_below(rng, 6); n; n--) {
			calls_change(rng);
			rounds.changes++;
			retire_poll();
		}
		for (n = rng_below(rng, 10); n; n--) {
			retire_poll();
			native_sleep_us(rng_chance(rng, 20) ? rng_below(rng, 400) : 0);
		}
	}
}

static void begin(struct rng *rng)
{
	calls_begin(rng);
	call_cpus_begin();
}

static void say(double took)
{
	const struct runner_counts *t = &rounds.total;

	rounds_say_runs(&rounds, took);
	ktap_note("%lu changes; %lu writes, %lu syncs; int3s hit: %lu, that had gone: %lu",
		  rounds.changes, text_writes, text_syncs, t->traps, t->late);
	ktap_note("%lu images freed after %lu grace periods; calls slept %lu times, rescheduled %lu times, moved to another CPU %lu times",
		  retire_freed, retire_graces, call_slept, call_rescheds, call_moved);
	rounds_say_holds(&rounds);
	/* In seconds all of that happens, or calls ran beside nothing. */
	if (took >= 5)
		CHECK(rounds.changes && text_writes && t->traps && t->exact && t->overlapped &&
		      retire_freed, "nothing was changed under the calls");
}

static struct rounds rounds = {
	.unit = "calls", .run = call_some, .begin = begin, .patch = patch, .end = calls_end,
};

void rounds_of_calls(double seconds)
{
	double took;

	text_init();
	trap_init(call_take, call_where);
	runner_tick = call_tick;
	took = rounds_run(&rounds, seconds);
	if (!native.plant || !native_failed())
		say(took);
}
