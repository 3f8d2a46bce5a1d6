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

static struct runner_counts total;
static u64 changes, rounds;

static bool over(double until)
{
	return native_now() >= until || native_failed();
}

/* Changes come in bursts, so that a call sees several, and at times there are few. */
static void patch(struct rng *rng, double until)
{
	u32 n;

	while (!over(until)) {
		if (retire_waiting > MAX_WAITING) {
			retire_poll();
			native_sleep_us(20);
			continue;
		}
		for (n = rng_below(rng, 6); n; n--) {
			calls_change(rng);
			changes++;
			retire_poll();
		}
		for (n = rng_below(rng, 10); n; n--) {
			retire_poll();
			native_sleep_us(rng_chance(rng, 20) ? rng_below(rng, 400) : 0);
		}
	}
}

static void one_round(double seconds)
{
	struct rng rng = { native_round_seed | 1 };
	u32 i;

	for (i = 0; i < 20; i++)
		rng_u64(&rng);
	text_begin(rng_u64(&rng));
	calls_begin(&rng);
	call_cpus_begin();
	runners_start(call_some, rng_u64(&rng));
	patch(&rng, native_now() + seconds);
	atomic_store(&runners_stop, true);
	runners_join(&total);
	if (!native_failed())
		calls_end();
	rounds++;
}

static void say(double took)
{
	const struct runner_counts *t = &total;

	ktap_note("%lu rounds from seed %#lx, %u runners, %.1f s: %lu calls, %.0f a second", rounds,
		  native.seed, native.threads, took, t->passes, (double)t->passes / took);
	ktap_note("%lu calls during a change; counts held exactly: %lu, during a change: %lu; programs run: %lu",
		  t->overlapped, t->exact, t->loose, t->runs);
	ktap_note("%lu changes; %lu writes, %lu syncs; int3s hit: %lu, that had gone: %lu", changes,
		  text_writes, text_syncs, t->traps, t->late);
	ktap_note("%lu images freed after %lu grace periods; calls slept %lu times, rescheduled %lu times, moved to another CPU %lu times",
		  retire_freed, retire_graces, call_slept, call_rescheds, call_moved);
	ktap_note("preempted %lu times, in the text %lu, held there %lu; %lu single steps",
		  t->pauses, t->inside, t->holds, t->steps);
}

void rounds_of_calls(double seconds)
{
	double begin = native_now(), left;

	text_init();
	trap_init(call_take, call_where);
	runner_tick = call_tick;
	for (native_round_seed = native.seed; !native_failed(); native_round_seed++) {
		left = seconds - (native_now() - begin);
		if (native.passes ? total.passes >= native.passes : left <= 0)
			break;
		one_round(native.passes || left > ROUND_SECONDS ? ROUND_SECONDS : left);
		if (!(rounds % ROUNDS_A_NOTE))
			ktap_note("%lu rounds, %lu calls in %.0f s", rounds, total.passes,
				  native_now() - begin);
	}
	if (!native.plant || !native_failed())
		say(native_now() - begin);
}
