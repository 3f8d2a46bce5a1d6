/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The programs of a place, in the order they run. A list of members changes when programs
 * come and go. Images and callbacks run sets, which are made from lists and do not change.
 */
#ifndef TRAMP_SET_H
#define TRAMP_SET_H

#include <linux/list.h>
#include "base/retire.h"
#include "base/tramp.h"
#include "slot.h"

struct tramp_point;

/**
 * struct tramp_member - a program at a place
 * @node: in the place's list, in the order its programs run
 * @point: the place (link/point.h), NULL once detached
 * @slot: the program as images see it; a reference
 * @counts: hits and misses, which outlive a change of program; a reference
 * @key: of the place, also once detached
 * @link_id: id of the link that it belongs to
 * @kind: enum tramp_kind of the program
 * @no_jump: asked for no jump
 *
 * All of it but @slot, @counts, @link_id and @kind is the kind of place's own. Protected by
 * tramp_mutex.
 */
struct tramp_member {
	struct list_head node;
	struct tramp_point *point;
	struct tramp_slot *slot;
	struct tramp_counts *counts;
	u64 key;
	u32 link_id;
	u8 kind;
	bool no_jump;
};

/**
 * struct tramp_set - programs in the order they run, as they were at one moment
 * @nr: how many
 * @nr_twice: an image's: how many of them, the last ones, it calls at two places each time
 * @retires: callbacks run it: a struct tramp_retire lies before it
 * @slots: a reference to each; NULL where it has been dropped already
 */
struct tramp_set {
	u32 nr;
	u16 nr_twice;
	bool retires;
	struct tramp_slot *slots[];
};

/**
 * tramp_set_collect() - the set of a place's programs
 * @members: list of members, in the order they run
 *
 * Context: tramp_mutex held, may sleep.
 * Return: the set, NULL without memory. tramp_set_free() puts its references.
 */
struct tramp_set *tramp_set_collect(const struct list_head *members);
/* The members of pt_regs that any of @nr programs from @first on, kprobe programs, reads. */
u32 tramp_set_regs(const struct tramp_set *set, u32 first, u32 nr);
/* Nobody can have it any more. May sleep; @set may be NULL. */
void tramp_set_free(struct tramp_set *set);
/* Put its references now; the set is freed later. */
void tramp_set_put_slots(struct tramp_set *set);
bool tramp_set_has(const struct tramp_set *set, const struct tramp_slot *slot);

/**
 * tramp_set_switch() - have callbacks run a place's programs from now on
 * @where: what callbacks read; NULL in it: none yet
 * @members: as above
 * @why: NO_MEMORY
 *
 * Each hit sees the old set or this one; the old one is retired.
 * Context: tramp_mutex held, may sleep.
 * Return: 0 or a negative errno; then nothing has changed.
 */
int tramp_set_switch(struct tramp_set __rcu **where, const struct list_head *members,
		     struct tramp_refusal *why);
/* Nothing is run any more; the set is retired. tramp_mutex held. */
void tramp_set_clear(struct tramp_set __rcu **where);

/*
 * Run a set from a callback, with the same guards and counts as from an image. @ctx is the
 * programs' context; a @set of NULL has none. Preemption is off, and RCU watches.
 */
void tramp_set_run(const struct tramp_set *set, void *ctx);
/*
 * Run one program, a kprobe program, with @run_ctx for its run context. Likewise. Return: what it
 * returned; 0 if it runs already on this CPU, which is a miss, or is muted.
 */
u64 tramp_slot_run_in(struct tramp_slot *slot, void *ctx, struct bpf_run_ctx *run_ctx);
/* Where that cannot be done: count a miss for each of them. Preemption is off. */
void tramp_set_miss(const struct tramp_set *set);

/*
 * A program runs once a hit, whichever links it has. So refuse it (ALREADY_ATTACHED) for the
 * place at @addr if it is in the list already, as that @kind. A hook (@prog NULL) may come again.
 * tramp_mutex held. Return: 0 or a negative errno.
 */
int tramp_members_check(const struct list_head *members, const struct bpf_prog *prog, u32 kind,
			u64 addr, struct tramp_refusal *why);

/* How many of its kind run before a member of a list. tramp_mutex held. */
u32 tramp_members_before(const struct list_head *members, const struct tramp_member *member);

#endif /* TRAMP_SET_H */
