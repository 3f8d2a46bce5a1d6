/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Syncs of all CPUs that functions may take when they come or go in one call. A call that takes
 * long does so in parts (TRAMP_TURN_TIME, kernel/base/turn.h), and each part is another update
 * of ftrace. So a limit that holds for one part is raised by the time that was measured.
 *
 * Going, a group of functions takes an update, and how many groups there are was decided when they
 * came. The last part may be a small one, and fewer than 32 functions of a group go one by one
 * (TOGETHER, kernel/func/many.c).
 */
#ifndef PARTS_H
#define PARTS_H

#include "vmtest.h"

/* A part takes 200 ms, or a tick less by this clock. */
#define PART_MS		190
/* An update takes three syncs, or six for more than 256 functions. */
#define PART_SYNCS	6
/* Of the small group. */
#define SMALL_SYNCS	(31 * 3)

/* On top of the limit for functions that came in @ns; at most @most. */
static inline uint64_t parts_coming(uint64_t ns, uint64_t most)
{
	return time_allowance(ns, PART_MS, PART_SYNCS, most);
}

/* The same for those that go; @ns is how long they took to come and to go. */
static inline uint64_t parts_going(uint64_t ns, uint64_t most)
{
	uint64_t more = time_allowance(ns, PART_MS, PART_SYNCS, most);

	return more ? more + SMALL_SYNCS : 0;
}

#endif /* PARTS_H */
