// SPDX-License-Identifier: GPL-2.0
/*
 * Rounds of the subject "probes", and what is said of them.
 */
#include "rounds.h"

#include <stdio.h>
#include <string.h>

#include "../lib/ktap.h"
#include "probe.h"
#include "text.h"

#define MAX_FORMS	96

/* The patcher looks at one scene for so many changes, at most. */
#define STORM_CHANGES	60
#define CALM_CHANGES	30
#define CALM_US		2000
/* Each form comes first in a scene in so many rounds, and becomes an int3 at least. */
#define ROUNDS_FOR_FORMS 10
/* In so many rounds, all forms and lengths that can have become a jump. */
#define ROUNDS_FOR_ALL	60
/* Images that wait to be freed: then the patcher waits, too. */
#define MAX_WAITING	(TEXT_NR_PAGES / 4)

/* By form of an instruction, and by its length: passes through it, times it became a jump. */
static struct {
	u64 passes, armed, jumped;
} by_form[MAX_FORMS], by_len[TRAMP_X86_MAX_INSN + 1];

static struct rounds rounds;

static void poll_all(struct rng *rng, double until)
{
	optimiser_poll(rng);
	retire_poll();
	text_drip();
	/* A runner that gets no processor for long holds all grace periods up. */
	while (retire_waiting > MAX_WAITING && !rounds_over(until)) {
		native_sleep_us(50);
		retire_poll();
	}
}

/* One change after the other: a probe changes while others are on their way. */
static void storm(struct rng *rng, u32 focus, double until)
{
	u32 left = 1 + rng_below(rng, STORM_CHANGES), n;

	for (; left && !rounds_over(until); left--) {
		probes_change(rng, rng_chance(rng, 90) ? focus : rng_below(rng, SCENES));
		rounds.changes++;
		for (n = rng_below(rng, 4); n; n--) {
			poll_all(rng, until);
			native_sleep_us(rng_chance(rng, 50) ? 0 : rng_below(rng, 60));
		}
	}
}

/* Few changes, under runners that go at full speed in between: there are no traps. */
static void calm(struct rng *rng, u32 focus, double until)
{
	u32 left = 1 + rng_below(rng, CALM_CHANGES);

	for (; left && !rounds_over(until); left--) {
		probes_change(rng, focus);
		rounds.changes++;
		do {
			probes_settle(focus);
			poll_all(rng, until);
			native_sleep_us(rng_below(rng, 20));
		} while (optimiser_busy() && !rounds_over(until));
		native_sleep_us(rng_below(rng, CALM_US));
	}
}

static void patch(struct rng *rng, double until)
{
	u32 focus = rng_below(rng, SCENES);

	while (!rounds_over(until)) {
		focus = (focus + 1) % SCENES;
		atomic_store(&pass_focus, focus);
		storm(rng, focus, until);
		calm(rng, focus, until);
	}
}

/* Count what was done with each instruction of the round's scenes. */
static void add_up(void)
{
	u64 passes[SCENES];
	u32 s, i, k;

	pass_counts(passes);
	for (s = 0; s < SCENES; s++) {
		for (i = 0; i < scenes[s].nr_insns; i++) {
			const struct probe *p = &probes[s][i];
			u32 form = scenes[s].insn[i].form, times = 0;
			u64 through;

			for (k = 0; k < SCENE_INPUTS; k++)
				times += scenes[s].input[k].times[i];
			through = passes[s] * times / SCENE_INPUTS;
			by_form[form].passes += through;
			by_form[form].armed += p->armed;
			by_form[form].jumped += p->jumped;
			by_len[p->insn_len].passes += through;
			by_len[p->insn_len].armed += p->armed;
			by_len[p->insn_len].jumped += p->jumped;
		}
	}
}

static void begin(struct rng *rng)
{
	static struct native_cpu cpu;

	native_cpu_init(&cpu);
	native_set_cpu(&cpu);
	scenes_make(rng, &cpu);
	probes_begin(rng);
}

static void end(void)
{
	probes_end();
	add_up();
}

static void say_forms(void)
{
	u32 i;

	for (i = 1; i <= TRAMP_X86_MAX_INSN; i++)
		ktap_note("length %2u: %12lu passes, %8lu times an int3, %8lu times a jump", i,
			  by_len[i].passes, by_len[i].armed, by_len[i].jumped);
	for (i = 0; i < scene_nr_forms(); i++)
		if (scene_form_name(i)[0])
			ktap_note("%-26s %12lu passes, %8lu times an int3, %8lu times a jump",
				  scene_form_name(i), by_form[i].passes, by_form[i].armed,
				  by_form[i].jumped);
}

/* @all: as jumps, too; some minutes take care of that. */
static void check_forms(bool all)
{
	u32 i;

	for (i = 1; i <= TRAMP_X86_MAX_INSN; i++)
		CHECK(by_len[i].passes && by_len[i].armed && (by_len[i].jumped || !all),
		      "length %u", i);
	for (i = 0; i < scene_nr_forms(); i++)
		CHECK(!scene_form_name(i)[0] ||
		      (by_form[i].passes && by_form[i].armed &&
		       (by_form[i].jumped || scene_form_is_last(i) || !all)),
		      "form %s", scene_form_name(i));
}

/* In seconds all of that happens, or passes ran beside nothing. */
static void check_changes(void)
{
	const struct runner_counts *t = &rounds.total;
	const struct probe_changes *c = &probe_changes;

	CHECK(rounds.changes && text_writes && text_syncs && retire_freed, "nothing was changed");
	CHECK(t->traps && t->exact && t->overlapped, "nothing was changed under the passes");
	CHECK(poke_counts.arm && poke_counts.jump && poke_counts.unjump && poke_counts.restore,
	      "a plan was never executed");
	CHECK(c->joined && c->left && c->replaced && c->cleared && c->unjumped && c->grown &&
	      c->lingered && c->gone, "programs or neighbours never came or went");
}

static void say(double took)
{
	const struct runner_counts *t = &rounds.total;
	const struct probe_changes *c = &probe_changes;

	rounds_say_runs(&rounds, took);
	ktap_note("hits by int3: %lu; int3s that had gone: %lu", t->traps, t->late);
	ktap_note("%lu changes; plans: arm %lu, jump %lu, unjump %lu, restore %lu; %lu writes, %lu syncs",
		  rounds.changes, poke_counts.arm, poke_counts.jump, poke_counts.unjump,
		  poke_counts.restore, text_writes, text_syncs);
	ktap_note("programs joined %lu times, left %lu times, were replaced %lu times; %lu probes went",
		  c->joined, c->left, c->replaced, c->gone);
	ktap_note("neighbours came into %lu regions, %lu of them jumps; %lu regions grew",
		  c->cleared, c->unjumped, c->grown);
	ktap_note("%lu jumps outlived their last program", c->lingered);
	ktap_note("%lu images freed after %lu grace periods", retire_freed, retire_graces);
	rounds_say_holds(&rounds);
}

static struct rounds rounds = {
	.unit = "passes", .run = pass_some, .begin = begin, .patch = patch, .end = end,
};

void rounds_of_probes(double seconds)
{
	double took;

	_Static_assert(MAX_FORMS > 64, "forms");
	REQUIRE(scene_nr_forms() <= MAX_FORMS, "%u forms", scene_nr_forms());
	text_init();
	trap_init(pass_take, pass_where);
	took = rounds_run(&rounds, seconds);
	if (!native.plant || !native_failed())
		say(took);
	if (native.plant)
		return;
	if (took >= 5)
		check_changes();
	if (rounds.nr >= ROUNDS_FOR_ALL)
		say_forms();
	if (rounds.nr >= ROUNDS_FOR_FORMS)
		check_forms(rounds.nr >= ROUNDS_FOR_ALL);
}
