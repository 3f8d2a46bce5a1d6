/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel's functions, all of them or some at random, with an instruction of each that can
 * take an int3. Also tells whether the kernel's text is what it was before.
 */
#ifndef PROBE_FUNCTIONS_H
#define PROBE_FUNCTIONS_H

#include "probe.h"

/* More than any kernel has. */
#define ALL_FUNCTIONS	200000

/* An int3 that stays one, or none at all. */
#define ONLY_INT3	(TRAMP_ATTACH_F_NO_JUMP | TRAMP_ATTACH_F_NO_KPROBE | TRAMP_ATTACH_F_NO_OPS)

/*
 * About @wanted functions of the kernel proper, at random, by address; @nr is how many.
 * To be freed.
 */
uint64_t *functions_take(int *nr, int wanted, uint64_t *state);
/*
 * Leave out those in which a task may sleep for good: the scheduler's, and what tasks that sleep
 * now have on their stacks. An exit image stays as long as somebody sleeps in its function. With
 * one at schedule() that was more than ten minutes. Returns how many are left out.
 */
int functions_leave_sleepers(uint64_t *addr, int *nr);
/* The first instruction of a function that is not ftrace's, if it begins as most do. */
uint64_t behind_entry(int dev, uint64_t func);

/* The text of the kernel proper without anything of ours, for which it waits; to be freed. */
uint8_t *text_take(int dev);
/* Nothing in it has changed since, but what the kernel itself patches: jump labels, say. */
void text_check(int dev, const uint8_t *before);

#endif /* PROBE_FUNCTIONS_H */
