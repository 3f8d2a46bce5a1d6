/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Planted mistakes: what must not be done, to see that the test finds it.
 */
#ifndef SELFTESTS_NATIVE_PLANT_H
#define SELFTESTS_NATIVE_PLANT_H

#include "../../kernel/x86/plan.h"
#include "native.h"

/* Mistakes that are made in the code, where plant_is() asks for them. */
enum plant_what {
	PLANT_PLAN,		/* not there: a plan is changed */
	PLANT_NO_WAIT,		/* a jump is written without a grace period */
	PLANT_STAYS_QUIET,	/* "quiesced" outlives an image that returns into the region */
	PLANT_COVERED,		/* a neighbour is armed while the image still executes the region */
	PLANT_TABLE_EARLY,	/* a probe leaves the table before its text is restored */
	PLANT_TWICE,		/* an image calls a program twice */
	PLANT_NEVER,		/* an image forgets a program */
	PLANT_FREE_EARLY,	/* what retires is freed without a grace period */
	PLANT_UNDRAINED,	/* an image is freed with calls in the original */
	PLANT_TAIL,		/* an image is freed without the second grace period */
	PLANT_PROGS_EARLY,	/* exit programs are freed as soon as they were left out */
	PLANT_OWED,		/* exit programs that stay are left out as well */
	PLANT_STALE,		/* one that is detached is not left out */
};

/**
 * struct plant - a planted mistake
 * @name: for --plant
 * @about: what it is
 * @what: where it is made
 * @calls: it belongs to the second subject
 * @plan: with PLANT_PLAN: the plan that is changed; the step @from is moved to @to; the same
 *	number: it is left out
 */
struct plant {
	const char *name;
	const char *about;
	u8 what;
	bool calls;
	const struct tramp_x86_plan *plan;
	u8 from, to;
};

extern const struct plant plants[];
extern const u32 nr_plants;

/* The mistake of that name; NULL: there is none. */
const struct plant *plant_find(const char *name);

static inline bool plant_is(enum plant_what what)
{
	return native.plant && native.plant->what == what;
}

/* The plan, or the one with the mistake. */
const struct tramp_x86_plan *plant_plan(const struct tramp_x86_plan *plan);

#endif /* SELFTESTS_NATIVE_PLANT_H */
