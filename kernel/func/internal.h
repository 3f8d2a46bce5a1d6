/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Targets as those see them who change their lists (func/member.c, func/many.c): the steps of
 * attaching and detaching, apart. All with tramp_mutex held, and they may sleep.
 */
#ifndef TRAMP_FUNC_INTERNAL_H
#define TRAMP_FUNC_INTERNAL_H

#include "target.h"

/* target.c ------------------------------------------------------------------ */

/* How calls get to a target; NONE: not at all. */
enum tramp_mode tramp_target_mode(const struct tramp_target *target);

static inline bool tramp_target_is_direct(const struct tramp_target *target)
{
	return tramp_target_mode(target) == TRAMP_MODE_DIRECT;
}

/*
 * Find or make the target of @func, with a reference. One that has had kprobe programs only
 * knows nothing of the function's BTF, until tramp_target_set_func() tells it. Return: it, or an
 * ERR_PTR().
 */
struct tramp_target *tramp_target_get(const struct tramp_func *func, struct tramp_refusal *why);

/* Have it know what @func says, but for its reference. Return: 0 or a negative errno. */
int tramp_target_set_func(struct tramp_target *target, const struct tramp_func *func,
			  struct tramp_refusal *why);

/* Another name of the function has programs, and no site yet: it is one of those that come. */
bool tramp_target_alias_comes(const struct tramp_target *target);

/* An image for the programs in a target's list. Return: it, or an ERR_PTR(). */
struct tramp_func_image *tramp_target_make_image(struct tramp_target *target,
						 struct tramp_refusal *why);

/* It is not called, or not any more. @entered: but somebody may be inside. */
void tramp_target_drop_image(struct tramp_target *target, struct tramp_func_image *image,
			     bool entered);

/* The site calls it: the one before retires. @replaced: see tramp_func_image_retire(). */
void tramp_target_set_image(struct tramp_target *target, struct tramp_func_image *image,
			    const struct tramp_slot *replaced);

/*
 * Make the site do what the target's list says, which is not empty. @mode: how calls are to get
 * there, or do so already. @replaced: see tramp_func_image_retire(). Return: 0 or a negative
 * errno; then the site is as before.
 */
int tramp_target_update(struct tramp_target *target, enum tramp_mode mode,
			const struct tramp_slot *replaced, struct tramp_refusal *why);

/* Make a target's programs run, by a site of its own. Return: 0 or a negative errno. */
int tramp_target_give_site(struct tramp_target *target, struct tramp_refusal *why);

/* Leave this program out of the image or set that the site goes on leading to. */
void tramp_target_silence(struct tramp_target *target, struct tramp_slot *slot);

/* A target without programs has given its site back. @clean: see tramp_site_detach(). */
void tramp_target_site_gone(struct tramp_target *target, bool clean);

/*
 * The gate leads here no longer. @goes_on: the slot of a program that it leads to elsewhere.
 * Return: false if it does lead here, for ever.
 */
bool tramp_target_leave_gate(struct tramp_target *target, const struct tramp_slot *goes_on);

/*
 * The site goes back to what it was without us. @last: the slot of the last program, NULL if
 * nobody can come here any more.
 */
void tramp_target_remove_site(struct tramp_target *target, struct tramp_slot *last);

/* check.c ------------------------------------------------------------------- */

/*
 * Whether one more kprobe program could run at a target's function, in mode DIRECT. The site
 * itself is not asked. Return: 0 or a negative errno.
 */
int tramp_target_check_kprobe(const struct tramp_target *target, const struct tramp_member *member,
			      struct tramp_refusal *why);

/* member.c ------------------------------------------------------------------ */

/**
 * tramp_target_enlist() - attach a member, but perhaps for its function's first image
 * @member: the member
 * @req: its request
 * @later: (out) its target, if the function has no site yet and could have an image: nothing
 *	leads to the program so far. NULL to attach it in any case
 * @why: why not
 *
 * Return: 0 or a negative errno; then nothing has changed. -EAGAIN, if there is @later: another
 * name of the function waits for its site, so try again when it has that.
 */
int tramp_target_enlist(struct tramp_member *member, const struct tramp_attach *req,
			struct tramp_target **later, struct tramp_refusal *why);

/* Undo that, whether its function has a site by now or not. */
void tramp_target_strike(struct tramp_member *member);

/*
 * Take a member out of its target's list. Return: the target, with the member's reference. Then
 * its site has to do what the list says.
 */
struct tramp_target *tramp_target_leave(struct tramp_member *member);

/* many.c -------------------------------------------------------------------- */

/* Whether the target shares a site with others (ftrace/group.c). */
bool tramp_target_is_grouped(const struct tramp_target *target);

/*
 * Targets of one group that have left the table since their module goes, by their @hash: they give
 * their sites back together. At most TRAMP_BATCH_MANY; the list is empty then.
 */
void tramp_target_free_group(struct hlist_head *gone);

/* For point.c's table; see struct tramp_point_ops. */
int tramp_target_attach_many(const struct tramp_join *items, u32 *nr, struct tramp_refusal *why);

#endif /* TRAMP_FUNC_INTERNAL_H */
