/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Promises: how often a program runs at a hit. The patcher changes the word before and after each
 * change of what runs; a runner reads it before and after each pass.
 */
#ifndef SELFTESTS_NATIVE_PROMISE_H
#define SELFTESTS_NATIVE_PROMISE_H

#include "native.h"

/* version << 8 | changing << 7 | how often */
typedef atomic_uint promise_t;

#define PROMISE_CHANGING	0x80u
#define PROMISE_NR(word)	((word) & 0x7f)

static inline void promise_set(promise_t *p, u32 low)
{
	atomic_store(p, ((atomic_load(p) >> 8) + 1) << 8 | low);
}

/* From here on the program may run or not. */
static inline void promise_break(promise_t *p)
{
	promise_set(p, PROMISE_CHANGING);
}

static inline void promise_make(promise_t *p, u32 nr)
{
	promise_set(p, nr);
}

/* For a pass that found @before and @after: the number has to be exact. */
static inline bool promise_holds(u32 before, u32 after)
{
	return before == after && !(before & PROMISE_CHANGING);
}

#endif /* SELFTESTS_NATIVE_PROMISE_H */
