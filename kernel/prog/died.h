/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Calls that never return, because the task in them has died.
 */
#ifndef TRAMP_DIED_H
#define TRAMP_DIED_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/types.h>

/**
 * struct tramp_died - the dead in one image
 * @node: in the table by @ret
 * @ret: the image's return address in the frame of each call that is inside
 * @nr: calls in which the task has died
 *
 * Its owner frees it no earlier than an RCU grace period after tramp_died_forget().
 */
struct tramp_died {
	struct hlist_node node;
	unsigned long ret;
	atomic64_t nr;
};

/**
 * tramp_died_watch() - count those who die in an image from now on
 * @died: zeroed
 * @ret: where the original returns to in the image
 *
 * Nobody can be in the image yet. Context: may sleep.
 */
void tramp_died_watch(struct tramp_died *died, unsigned long ret);

/* No more. Nothing happens if it was not watched. May sleep. */
void tramp_died_forget(struct tramp_died *died);

/**
 * tramp_died_nr() - calls of an image that will never return
 * @died: watched
 *
 * Each of them was counted into the image and will never be counted out.
 * Context: any.
 * Return: how many.
 */
static inline u64 tramp_died_nr(const struct tramp_died *died)
{
	return atomic64_read(&died->nr);
}

/* Module init and exit. Without the tracepoint (init says so) the dead are not counted. */
int tramp_died_init(void);
void tramp_died_exit(void);

#endif /* TRAMP_DIED_H */
