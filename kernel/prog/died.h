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

/*
 * Count those who die from now on in an image in which the original returns to @ret. Nobody
 * can be in the image yet; @died is zeroed. May sleep.
 */
void tramp_died_watch(struct tramp_died *died, unsigned long ret);

/* No more. Nothing happens if it was not watched. May sleep. */
void tramp_died_forget(struct tramp_died *died);

/* How many calls of an image were counted in and will never be counted out. Any context. */
static inline u64 tramp_died_nr(const struct tramp_died *died)
{
	return atomic64_read(&died->nr);
}

/* Module init and exit. Without the tracepoint (init says so) the dead are not counted. */
int tramp_died_init(void);
void tramp_died_exit(void);

#endif /* TRAMP_DIED_H */
