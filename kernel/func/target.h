/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A target: one function with programs, its site and its current image.
 */
#ifndef TRAMP_TARGET_H
#define TRAMP_TARGET_H

#include <linux/list.h>
#include "resolve.h"
#include "ftrace/site.h"
#include "base/tramp.h"

struct tramp_image;
struct tramp_link;

/* The kinds in the order their programs run. */
enum tramp_list {
	TRAMP_LIST_FENTRY,
	TRAMP_LIST_FMOD_RET,
	TRAMP_LIST_FEXIT,
	TRAMP_LISTS,
};

/**
 * struct tramp_target - one function with programs
 * @hash: in the table of targets, by key
 * @func: the function, with a reference to its module
 * @refs: links and images; the last one frees it
 * @index: of the newest image. It goes on counting while any image is left, so
 *	that no two names are alike.
 * @links: the programs, each list in the order they run: the newest first
 * @nr: how many
 * @image: what the site calls; NULL without programs or in mode FTRACE_OPS
 * @site: NULL without programs
 * @older: retired images that calls may still be in
 *
 * Everything is protected by tramp_mutex.
 */
struct tramp_target {
	struct hlist_node hash;
	struct tramp_func func;
	u32 refs;
	u32 index;
	struct list_head links[TRAMP_LISTS];
	u32 nr[TRAMP_LISTS];
	struct tramp_image *image;
	struct tramp_site *site;
	struct list_head older;
};

void tramp_target_get(struct tramp_target *target);
/* Takes tramp_mutex itself: not for callers that hold it. May sleep. */
void tramp_target_put(struct tramp_target *target);

/**
 * tramp_target_attach() - attach a link's program to its function
 * @link: not attached; its prog and slot are set. On success its target is set.
 * @flags: TRAMP_ATTACH_F_*
 * @why: why not
 *
 * Context: tramp_mutex held, may sleep.
 * Return: 0 or a negative errno; then nothing has changed.
 */
int tramp_target_attach(struct tramp_link *link, u32 flags, struct tramp_refusal *why);

/**
 * tramp_target_detach() - take a link's program off its function
 * @link: attached
 *
 * Calls that enter after it returned do not run the program. Cannot fail.
 * Context: tramp_mutex held, may sleep.
 */
void tramp_target_detach(struct tramp_link *link);

/**
 * tramp_target_replace() - swap a link's slot for another
 * @link: attached
 * @slot: the new program; the link takes over the reference on success
 * @why: why not
 *
 * Each call runs exactly one of the two programs.
 * Context: tramp_mutex held, may sleep. Return: 0 or a negative errno.
 */
int tramp_target_replace(struct tramp_link *link, struct tramp_slot *slot,
			 struct tramp_refusal *why);

/**
 * tramp_target_find() - the target with a key
 * Context: tramp_mutex held. Return: it, NULL if no program is or was there.
 */
struct tramp_target *tramp_target_find(u64 key);

static inline u32 tramp_target_nr(const struct tramp_target *target)
{
	return target->nr[TRAMP_LIST_FENTRY] + target->nr[TRAMP_LIST_FMOD_RET] +
	       target->nr[TRAMP_LIST_FEXIT];
}

/* Functions with at least one program; for INFO. tramp_mutex held. */
u32 tramp_target_count(void);

#endif /* TRAMP_TARGET_H */
