/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Return probes by the kernel's rethook: where a function has no exit image.
 */
#ifndef TRAMP_RETHOOK_H
#define TRAMP_RETHOOK_H

#include "link/point.h"
#include "probe/place.h"

/**
 * struct tramp_rethook - one program at a function's return
 * @point: what it is to its member
 * @hash: in the table by @addr
 * @addr: the function's entry
 * @reason: enum tramp_reason: why it has no exit image
 * @reason_addr: the address that @reason is about
 * @members: the program: one member
 * @set: the same, for returns; NULL once detached
 * @entry: what is attached to the function's entry, with a slot for @hook
 * @hook: what runs there
 * @rethook: the kernel's object, with its nodes
 * @retire: how the struct goes
 * @module: the function's, with a reference while its image is the hook; else NULL
 */
struct tramp_rethook {
	struct tramp_point point;
	struct hlist_node hash;
	unsigned long addr;
	u32 reason;
	unsigned long reason_addr;
	struct list_head members;
	struct tramp_set __rcu *set;
	struct tramp_member entry;
	struct tramp_hook hook;
	struct rethook *rethook;
	struct tramp_retire retire;
	struct module *module;
};

/**
 * tramp_rethook_attach() - run a program when a function returns
 * @member: as for struct tramp_point_ops
 * @req: the request: says where, and @maxactive
 * @place: the function's entry, as a probe there has it
 * @reason: enum tramp_reason: why there is no exit image
 * @reason_addr: the address that it is about
 * @why: why not
 *
 * Context: tramp_mutex held, may sleep.
 * Return: 0 or a negative errno.
 */
int tramp_rethook_attach(struct tramp_member *member, const struct tramp_attach *req,
			 const struct tramp_place *place, u32 reason, unsigned long reason_addr,
			 struct tramp_refusal *why);

/* The rest of struct tramp_point_ops, for such a member. */
void tramp_rethook_detach(struct tramp_member *member);
int tramp_rethook_replace(struct tramp_member *member, struct tramp_slot *slot,
			  struct tramp_refusal *why);
u64 tramp_rethook_misses(const struct tramp_member *member);
void tramp_rethook_describe(const struct tramp_member *member, struct tramp_described *d);

/*
 * Refuse (ALREADY_ATTACHED) a program that a rethook runs at the return of the function with its
 * entry at @addr. tramp_mutex held. Return: 0 or a negative errno.
 */
int tramp_rethook_check(unsigned long addr, const struct bpf_prog *prog,
			struct tramp_refusal *why);

#endif /* TRAMP_RETHOOK_H */
