// SPDX-License-Identifier: GPL-2.0
/*
 * Many probes that come or go together, with one sync of all CPUs for each step of their plan.
 *
 * Coming. Each probe gets everything but its int3: it is in the table, has its image, and keeps
 * regions of others away from its address. Nobody comes to it, since its text is the original.
 * Then all of them are armed (poke.c). From the first int3 on hits run programs, while others of
 * the batch still have none: to a caller that is one ATTACH after the other. The lock of the text
 * is dropped in between, so a kernel kprobe may have come before a probe is armed. The plan's
 * check finds it, and that probe falls back to a kernel kprobe. tramp_mutex is held from the first
 * look to the last int3. So nobody else sees a probe that is not armed, neither the optimiser nor
 * the notifier of modules.
 *
 * If one is refused, those before it go again. The ones that are armed are detached as always:
 * hits go on in the copy of the instruction until the optimiser restores the text. The others
 * are removed; their images go behind a grace period like all images. Each kernel kprobe waits for
 * a grace period, so few of them come together.
 *
 * Going. A jump leads into an image that runs the programs, so it becomes an int3 before
 * anything else. All of the batch do so together: two syncs. While they change, hits run the old
 * programs, as everywhere in a plan. After that no CPU executes a jump, and each probe is detached
 * by itself: what int3s lead to is one word.
 *
 * At a function's entry the program may be in the function's image (func/target.c). Those functions
 * get their sites together (func/many.c), before any int3 is written, and give them back
 * together. If ftrace refuses them for the sake of one, all begin anew, one by one: each then
 * finds its own way, perhaps by a callback.
 */
#include "base/turn.h"
#include "func/target.h"
#include "internal.h"
#include "poke.h"

int tramp_probe_attach(struct tramp_member *member, const struct tramp_attach *req,
		       struct tramp_refusal *why)
{
	const struct tramp_join one = { .member = member, .req = req };
	u32 nr = 1;

	return tramp_probe_attach_many(&one, &nr, why);
}

/* Arm the probes in @arm, and give them to the optimiser if they may become jumps. */
static void arm_all(struct list_head *arm)
{
	struct tramp_probe *probe, *tmp;
	LIST_HEAD(refused);

	tramp_probe_arm_batch(arm, &refused);
	list_for_each_entry_safe(probe, tmp, arm, opt) {
		list_del_init(&probe->opt);
		if (probe->reason == TRAMP_REASON_OPT_PENDING)
			tramp_probe_queue(probe);
	}
	list_for_each_entry_safe(probe, tmp, &refused, opt)
		list_del_init(&probe->opt);
}

/* The others are armed; its own probe perhaps was not. */
static int settle(const struct tramp_join *item, struct tramp_refusal *why)
{
	struct tramp_probe *probe = tramp_probe_of(item->member);
	u32 flags = item->req->flags;

	/* One in a function's image has been attached at once. */
	if (!probe)
		return 0;
	if (probe->mode == TRAMP_MODE_INT3 && probe->text == TRAMP_TEXT_ORIGINAL)
		return tramp_probe_fall_back(probe, flags, probe->reason, why);
	/* The first program there may have been content with a kprobe. */
	if (probe->mode == TRAMP_MODE_KPROBE && (flags & TRAMP_ATTACH_F_NO_KPROBE))
		return tramp_refuse(why, probe->reason, probe->addr, NULL);
	return 0;
}

/* The first program there, which waits for a grace period when it goes. */
static bool waits_to_go(const struct tramp_member *member)
{
	const struct tramp_probe *probe = tramp_probe_of(member);

	return probe && probe->mode == TRAMP_MODE_KPROBE && probe->nr == 1;
}

/* All join; nothing leads to those that are in @arm or @coming. In @nr how many have. */
static int join_all(const struct tramp_join *items, u32 *nr, struct list_head *arm,
		    struct tramp_coming *coming, struct tramp_refusal *why)
{
	struct tramp_turn turn;
	int err = 0;
	u32 at;

	tramp_turn_begin(&turn);
	for (at = 0; at < *nr && (!at || !tramp_turn_over(&turn)); at++) {
		err = tramp_probe_join(items[at].member, items[at].req, arm, coming, why);
		if (err)
			break;
		if (waits_to_go(items[at].member))
			tramp_turn_owe(&turn, TRAMP_TURN_KPROBE);
	}
	*nr = at;
	return err;
}

static void unjoin_all(const struct tramp_join *items, u32 nr, struct list_head *arm)
{
	struct tramp_probe *probe, *tmp;

	list_for_each_entry_safe(probe, tmp, arm, opt)
		list_del_init(&probe->opt);
	while (nr--)
		tramp_probe_unjoin(items[nr].member);
}

/* See tramp_coming_fn. */
static int attach_many(const struct tramp_join *items, u32 *nr, struct tramp_coming *coming,
		       struct tramp_refusal *why)
{
	LIST_HEAD(arm);
	u32 joined, at;
	int err;

	joined = *nr;
	err = join_all(items, &joined, &arm, coming, why);
	at = joined;
	if (!err && coming && tramp_coming_attach(coming))
		err = 1;
	if (!err) {
		arm_all(&arm);
		for (at = 0; !err && at < joined; at++)
			err = settle(&items[at], why);
		at -= !!err;
	}
	if (err)
		unjoin_all(items, joined, &arm);
	if (err != 1)
		*nr = at;
	return err;
}

int tramp_probe_attach_many(const struct tramp_join *items, u32 *nr, struct tramp_refusal *why)
{
	return tramp_coming_try(items, nr, attach_many, why);
}

void tramp_probe_detach_many(struct tramp_member **members, u32 nr)
{
	struct tramp_probe *probe, *tmp;
	u32 i, entries = 0;
	LIST_HEAD(jumps);

	lockdep_assert_held(&tramp_mutex);
	for (i = 0; i < nr; i++) {
		probe = tramp_probe_of(members[i]);
		if (probe && probe->mode == TRAMP_MODE_INT3 && probe->text == TRAMP_TEXT_JUMP)
			list_move_tail(&probe->opt, &jumps);
	}
	tramp_probe_unjump_batch(&jumps);
	/* The optimiser looks at them anyway: one may have programs left. */
	list_for_each_entry_safe(probe, tmp, &jumps, opt) {
		list_del_init(&probe->opt);
		tramp_probe_queue_again(probe);
	}
	for (i = 0; i < nr; i++) {
		if (tramp_probe_of(members[i]))
			tramp_probe_detach(members[i]);
		else
			members[entries++] = members[i];
	}
	tramp_target_detach_many(members, entries);
}
