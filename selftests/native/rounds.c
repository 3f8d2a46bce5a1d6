// SPDX-License-Identifier: GPL-2.0
/*
 * One round after the other, whatever it is about.
 */
#include "rounds.h"

#include "../lib/ktap.h"
#include "text.h"

#define ROUND_SECONDS	3.0
#define ROUNDS_A_NOTE	100	/* so many, and a line says how far it is */

bool rounds_over(double until)
{
	return native_now() >= until || native_failed();
}

static void one_round(struct rounds *r, double seconds)
{
	struct rng rng = { native_round_seed | 1 };
	u32 i;

	for (i = 0; i < 20; i++)
		rng_u64(&rng);
	text_begin(rng_u64(&rng));
	r->begin(&rng);
	runners_start(r->run, rng_u64(&rng));
	r->patch(&rng, native_now() + seconds);
	atomic_store(&runners_stop, true);
	runners_join(&r->total);
	if (!native_failed())
		r->end();
	r->nr++;
}

double rounds_run(struct rounds *r, double seconds)
{
	double begin = native_now(), left;

	for (native_round_seed = native.seed; !native_failed(); native_round_seed++) {
		left = seconds - (native_now() - begin);
		if (native.passes ? r->total.passes >= native.passes : left <= 0)
			break;
		one_round(r, native.passes || left > ROUND_SECONDS ? ROUND_SECONDS : left);
		if (!(r->nr % ROUNDS_A_NOTE))
			ktap_note("%lu rounds, %lu %s in %.0f s", r->nr, r->total.passes, r->unit,
				  native_now() - begin);
	}
	return native_now() - begin;
}

void rounds_say_runs(const struct rounds *r, double took)
{
	const struct runner_counts *t = &r->total;

	ktap_note("%lu rounds from seed %#lx, %u runners, %.1f s: %lu %s, %.0f a second", r->nr,
		  native.seed, native.threads, took, t->passes, r->unit, (double)t->passes / took);
	ktap_note("%lu %s during a change; counts held exactly: %lu, during a change: %lu; programs run: %lu",
		  t->overlapped, r->unit, t->exact, t->loose, t->runs);
}

void rounds_say_holds(const struct rounds *r)
{
	const struct runner_counts *t = &r->total;

	ktap_note("preempted %lu times, in the text %lu, held there %lu; %lu single steps",
		  t->pauses, t->inside, t->holds, t->steps);
}
