// SPDX-License-Identifier: GPL-2.0
/*
 * The table of planted mistakes, see plant.h. Steps of plans are numbered from 0, as in
 * kernel/x86/plan.c.
 */
#include "plant.h"

#define STEP(name, about, plan, from, to) \
	{ name, about, PLANT_PLAN, false, &tramp_x86_plan_##plan, from, to }
#define PROBE(name, about, what)	{ name, about, PLANT_##what, false, NULL, 0, 0 }
#define CALL(name, about, what)		{ name, about, PLANT_##what, true, NULL, 0, 0 }

const struct plant plants[] = {
	STEP("tail-before-int3", "arm writes the rest of the instruction first", arm, 4, 2),
	STEP("arm-no-sync", "arm writes the rest without a sync", arm, 3, 3),
	STEP("jump-first-before-rest", "the jump's first byte comes before its rest", jump, 4, 2),
	STEP("jump-no-sync", "the jump's first byte follows its rest without a sync", jump, 3, 3),
	STEP("unjump-rest-before-int3", "the rest is taken back under a jump", unjump, 3, 1),
	STEP("unjump-no-sync", "the rest is taken back without a sync", unjump, 2, 2),
	STEP("unjump-no-sync-at-end", "the rest is not there when it is said to be", unjump, 4, 4),
	STEP("restore-rest-after-first", "the first byte comes back before the rest", restore, 8, 6),
	STEP("restore-no-sync", "the first byte follows the rest without a sync", restore, 7, 7),
	STEP("restore-no-sync-at-end", "the int3 outlives its probe", restore, 9, 9),
	STEP("restore-under-jump", "the rest is taken back under a jump", restore, 3, 1),
	STEP("restore-no-sync-under-jump", "the rest is taken back under a jump that may be seen",
	     restore, 2, 2),
	STEP("told-late", "the form is noted behind the int3", arm, 1, 4),
	PROBE("no-wait", "a jump is written without a grace period", NO_WAIT),
	PROBE("stays-quiet", "as if nobody came between the instructions again", STAYS_QUIET),
	PROBE("covered", "a neighbour's hits go past it", COVERED),
	PROBE("table-early", "a probe leaves the table before its text is restored", TABLE_EARLY),
	PROBE("count-twice", "an image calls a program twice", TWICE),
	PROBE("count-never", "an image forgets a program", NEVER),
	PROBE("free-early", "an image is freed without a grace period", FREE_EARLY),
	CALL("call-free-early", "an image is freed without a grace period", FREE_EARLY),
	CALL("undrained", "an image is freed with calls in the original", UNDRAINED),
	CALL("no-second-grace", "an image is freed with calls in its tail", TAIL),
	CALL("progs-early", "exit programs are freed right after they were left out", PROGS_EARLY),
	CALL("owed", "exit programs that stay attached are left out, too", OWED),
	CALL("stale", "a detached exit program is not left out", STALE),
};

const u32 nr_plants = sizeof(plants) / sizeof(plants[0]);

/* A hyphen is as good as an underscore: functions of tests are named after them. */
static bool same(const char *a, const char *b)
{
	for (; *a && (*a == *b || (*a == '-' && *b == '_')); a++, b++)
		;
	return !*a && !*b;
}

const struct plant *plant_find(const char *name)
{
	u32 i;

	for (i = 0; i < nr_plants; i++)
		if (same(plants[i].name, name))
			return &plants[i];
	return NULL;
}

const struct tramp_x86_plan *plant_plan(const struct tramp_x86_plan *plan)
{
	const struct plant *p = native.plant;
	static struct tramp_x86_plan wrong;
	struct tramp_x86_step moved;
	u32 i;

	if (!p || p->what != PLANT_PLAN || p->plan != plan)
		return plan;
	wrong = *plan;
	moved = wrong.step[p->from];
	for (i = p->from; i + 1 < wrong.nr; i++)
		wrong.step[i] = wrong.step[i + 1];
	wrong.nr--;
	if (p->from == p->to)
		return &wrong;
	for (i = wrong.nr++; i > p->to; i--)
		wrong.step[i] = wrong.step[i - 1];
	/* Steps that come before the spot has a new form are about those with the old one. */
	for (i = p->from; moved.op == TRAMP_X86_TELL && i < p->to; i++)
		if (wrong.step[i].in == moved.form)
			wrong.step[i].in = moved.in;
	wrong.step[p->to] = moved;
	return &wrong;
}
