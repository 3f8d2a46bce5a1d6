// SPDX-License-Identifier: GPL-2.0
/*
 * Lists of members, and the sets that are made of them (set.h).
 *
 * The set of an image goes with the image. A callback that runs with preemption off reads a
 * live set once. When a live set is replaced, the old one goes on the retire list, whose
 * grace period waits for every such callback.
 */
#include <linux/slab.h>
#include "set.h"

static u32 count(const struct list_head *lists, u32 nr_lists)
{
	const struct list_head *pos;
	u32 n = 0;

	for (; nr_lists--; lists++) {
		list_for_each(pos, lists)
			n++;
	}
	return n;
}

static void fill(struct tramp_set *set, const struct list_head *lists, u32 nr_lists)
{
	struct tramp_member *member;

	for (; nr_lists--; lists++) {
		list_for_each_entry(member, lists, node)
			set->slots[set->nr++] = tramp_slot_get(member->slot);
	}
}

static void drop(struct tramp_set *set)
{
	u32 i;

	for (i = 0; i < set->nr; i++)
		tramp_slot_put(set->slots[i]);
}

struct tramp_set *tramp_set_collect(const struct list_head *lists, u32 nr_lists,
				    struct tramp_refusal *why)
{
	struct tramp_set *set;

	lockdep_assert_held(&tramp_mutex);
	set = kzalloc(struct_size(set, slots, count(lists, nr_lists)), GFP_KERNEL);
	if (set)
		fill(set, lists, nr_lists);
	else
		tramp_refuse(why, TRAMP_REASON_NO_MEMORY, 0, NULL);
	return set;
}

void tramp_set_free(struct tramp_set *set)
{
	if (!set)
		return;
	drop(set);
	kfree(set);
}

void tramp_live_set_free(struct tramp_live_set *set)
{
	if (!set)
		return;
	drop(&set->run);
	kfree(set);
}

static void live_set_retired(struct tramp_retire *r)
{
	tramp_live_set_free(container_of(r, struct tramp_live_set, retire));
}

static const struct tramp_retire_ops live_set_ops = {
	.free = live_set_retired,
};

static void replace(struct tramp_live_set __rcu **where, struct tramp_live_set *set)
{
	struct tramp_live_set *old;

	old = rcu_replace_pointer(*where, set, lockdep_is_held(&tramp_mutex));
	if (old)
		tramp_retire_add(&old->retire, &live_set_ops);
}

int tramp_live_set_switch(struct tramp_live_set __rcu **where, const struct list_head *lists,
			  u32 nr_lists, struct tramp_refusal *why)
{
	struct tramp_live_set *set;

	lockdep_assert_held(&tramp_mutex);
	set = kzalloc(struct_size(set, run.slots, count(lists, nr_lists)), GFP_KERNEL);
	if (!set)
		return tramp_refuse(why, TRAMP_REASON_NO_MEMORY, 0, NULL);
	fill(&set->run, lists, nr_lists);
	replace(where, set);
	return 0;
}

void tramp_live_set_clear(struct tramp_live_set __rcu **where)
{
	lockdep_assert_held(&tramp_mutex);
	replace(where, NULL);
}

struct tramp_member *tramp_members_find(const struct list_head *lists, u32 nr_lists,
					const struct bpf_prog *prog)
{
	struct tramp_member *member;

	lockdep_assert_held(&tramp_mutex);
	for (; nr_lists--; lists++) {
		list_for_each_entry(member, lists, node) {
			if (member->slot->prog == prog)
				return member;
		}
	}
	return NULL;
}

u32 tramp_members_before(const struct list_head *list, const struct tramp_member *member)
{
	const struct list_head *pos;
	u32 n = 0;

	lockdep_assert_held(&tramp_mutex);
	list_for_each(pos, list) {
		if (pos == &member->node)
			break;
		n++;
	}
	return n;
}
