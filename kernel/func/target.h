/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A target: one function with programs, its site and its current image.
 */
#ifndef TRAMP_TARGET_H
#define TRAMP_TARGET_H

#include <linux/list.h>
#include "base/tramp.h"
#include "ftrace/site.h"
#include "link/point.h"
#include "resolve.h"

struct tramp_func_image;
struct tramp_gate;

/* The kinds in the order their programs run. */
enum tramp_list {
	TRAMP_LIST_KPROBE,
	TRAMP_LIST_FENTRY,
	TRAMP_LIST_FMOD_RET,
	TRAMP_LIST_FEXIT,
	TRAMP_LIST_KRET,
	TRAMP_LIST_SESSION,	/* only of many functions; around all but the first */
	TRAMP_LISTS,
};

/**
 * struct tramp_target - one function with programs
 * @point: what it is to its members
 * @hash: in the table of targets, by address, until its module goes: then no hit comes
 * @func: the function. While it has had kprobe programs only, it has no BTF and no model, and
 *	a key from tramp_image_new_key()
 * @name: its name
 * @refs: members and images; the last one frees it
 * @index: of the newest image. It goes on counting while any image has its name, so
 *	that no two are alike.
 * @leaving: many.c's, while programs leave
 * @nr: how many programs there are of each kind
 * @members: the programs in the order they run: by enum tramp_list, then the newest first,
 *	but of kprobe programs the oldest
 * @image: what the site calls; NULL without programs or in mode FTRACE_OPS
 * @site: NULL without programs, and with @gate
 * @gate: the site is one of many, and this leads to @image (func/gate.h); or NULL
 * @gate_member: the member of its owner's program, while that runs at the function
 * @older: retired images that calls may still be in
 *
 * While it has programs of tracing type it holds a reference to its function's module, and so
 * does each image with such programs. Kprobe programs go with the module.
 *
 * Everything is protected by tramp_mutex.
 */
struct tramp_target {
	struct tramp_point point;
	struct hlist_node hash;
	struct tramp_func_facts func;
	char *name;
	u32 refs;
	u32 index;
	u16 leaving;
	u8 nr[TRAMP_LISTS];
	struct list_head members;
	struct tramp_func_image *image;
	struct tramp_site *site;
	struct tramp_gate *gate;
	struct tramp_member *gate_member;
	struct hlist_head older;
};

/*
 * The name of its function's module, empty for the kernel proper, and when the module has gone.
 * tramp_mutex held.
 */
static inline const char *tramp_target_module(const struct tramp_target *target)
{
	return target->func.owner ? target->func.owner->name : "";
}

/* Its module has gone. tramp_mutex held. */
static inline bool tramp_target_is_gone(const struct tramp_target *target)
{
	return hlist_unhashed(&target->hash);
}

/* The last reference frees it. tramp_mutex held. */
void tramp_target_put(struct tramp_target *target);

/* The target that a member is at; NULL once detached. */
static inline struct tramp_target *tramp_target_of(const struct tramp_member *member)
{
	return member->point ? container_of(member->point, struct tramp_target, point) : NULL;
}

/**
 * tramp_target_check() - whether one more program could be attached to a function
 * @func: the function
 * @target: its target, NULL if it has none
 * @list: where the program would run
 * @sleeps: it cannot run from a callback (tramp_ops_possible())
 * @flags: TRAMP_ATTACH_F_*
 * @mode: (out) how calls would reach it
 * @why: why not; with mode FTRACE_OPS, also why not DIRECT
 *
 * ATTACH and EXPLAIN both ask this.
 * Context: tramp_mutex held, may sleep.
 * Return: 0 or a negative errno.
 */
int tramp_target_check(const struct tramp_func *func, const struct tramp_target *target,
		       enum tramp_list list, bool sleeps, u32 flags, enum tramp_mode *mode,
		       struct tramp_refusal *why);

/* For the table in func/point.c; see struct tramp_point_ops. tramp_mutex held. */
int tramp_target_attach(struct tramp_member *member, const struct tramp_attach *req,
			struct tramp_refusal *why);
void tramp_target_detach(struct tramp_member *member);
void tramp_target_detach_many(struct tramp_member **members, u32 nr);
bool tramp_target_together(const struct tramp_member *member);
int tramp_target_replace(struct tramp_member *member, struct tramp_slot *slot,
			 struct tramp_refusal *why);
void tramp_target_module_gone(const struct module *mod);

/*
 * Functions that come together, each with its first program and without a site so far (many.c).
 * All with tramp_mutex held, from the first that is noted to the attach; they may sleep.
 */
struct tramp_coming;

/* A program has joined @target, which waits if it is not NULL. @item: what stands for it. */
void tramp_coming_note(struct tramp_coming *c, struct tramp_target *target, u32 item);

/*
 * Give them their sites, with one update of ftrace. Return: 0, or a negative errno for some reason
 * that one of them has: then nothing has changed, and all are to be detached.
 */
int tramp_coming_attach(struct tramp_coming *c);

/*
 * Attach members of kprobe programs, see @attach_many of struct tramp_point_ops, with functions
 * that wait in @coming and get their sites at the end. Return: as @attach_many. 1: nothing has
 * changed, try again without @coming (NULL).
 */
typedef int tramp_coming_fn(const struct tramp_join *items, u32 *nr, struct tramp_coming *coming,
			    struct tramp_refusal *why);

/* Try that with such functions, and without them if that fails. Return: as @attach_many. */
int tramp_coming_try(const struct tramp_join *items, u32 *nr, tramp_coming_fn *attach,
		     struct tramp_refusal *why);

/**
 * tramp_target_attach_kprobe() - attach a kprobe program to a function's entry or return
 * @member: as for struct tramp_point_ops
 * @func: the function: for an entry from tramp_resolve_entry(). For a return it has a @key, and
 *	no @exit_reason
 * @coming: NULL, or the functions that this one is to come with, if it has no site and can
 *	have one
 * @why: why not: the site cannot be had (then another way may be tried), or TOO_MANY_PROGS,
 *	ALREADY_ATTACHED, FTRACE_DISABLED, NO_MEMORY
 *
 * In mode DIRECT or not at all. tramp_target_detach() detaches the member.
 * Context: tramp_mutex held, may sleep.
 * Return: 0 or a negative errno.
 */
int tramp_target_attach_kprobe(struct tramp_member *member, const struct tramp_func *func,
			       struct tramp_coming *coming, struct tramp_refusal *why);

/**
 * tramp_target_join() - attach a program of many functions to one that has others
 * @member: as for struct tramp_point_ops
 * @addr: the function, in the kernel proper or in a module that the caller holds
 * @why: why not, as for tramp_target_attach_kprobe()
 *
 * Those who join take part in the function's own image. tramp_target_detach() detaches the member.
 * Context: tramp_mutex held, may sleep.
 * Return: 0 or a negative errno.
 */
int tramp_target_join(struct tramp_member *member, unsigned long addr, struct tramp_refusal *why);

/*
 * Whether it may join there, as a @session or not, with all that @request has asked for
 * (tramp_gate_find()). tramp_mutex held.
 * Return: 0, -E2BIG and @why (TOO_MANY_PROGS), or -EBUSY without a reason: the site is not
 * one of ours that can be shared.
 */
int tramp_target_check_join(unsigned long addr, u64 request, bool session,
			    struct tramp_refusal *why);

/*
 * Leave the program with these counters out of all images that have retired with calls inside.
 * tramp_mutex held, may sleep.
 */
void tramp_target_leave_out(const struct tramp_counts *counts);

/**
 * tramp_target_check_prog() - whether a function's image runs a program already
 * @addr: an address in the function
 * @prog: the program; NULL: nothing to check
 * @kind: TRAMP_KIND_KPROBE or TRAMP_KIND_KRETPROBE
 * @why: which link it is
 *
 * For those that bring the same function's hits to programs in another way.
 *
 * Context: tramp_mutex held.
 * Return: 0 or a negative errno.
 */
int tramp_target_check_prog(unsigned long addr, const struct bpf_prog *prog, u32 kind,
			    struct tramp_refusal *why);

/* DIRECT if a kprobe program at a function's entry would have that mode, or FTRACE_OPS. */
enum tramp_mode tramp_target_entry_mode(unsigned long addr, unsigned long site);

/* Describe a member, also one of a kprobe program; see struct tramp_point_ops. */
void tramp_target_describe(const struct tramp_member *member, struct tramp_described *d);

/**
 * tramp_target_find() - the target of a function
 * @addr: its address
 * @key: its key. 0: of any name that the function has; the one that its site calls, if any
 *
 * Aliases have an address in common and may differ in their prototypes: each has a target of
 * its own, of which one can have the site. Kprobe programs share that of any name.
 *
 * Context: tramp_mutex held.
 * Return: the target, NULL if no program is or was there.
 */
struct tramp_target *tramp_target_find(unsigned long addr, u64 key);

/* How many programs may be in an image that holds its module, and how many there are in all. */
static inline u32 tramp_target_nr_tracing(const struct tramp_target *target)
{
	return target->nr[TRAMP_LIST_FENTRY] + target->nr[TRAMP_LIST_FMOD_RET] +
	       target->nr[TRAMP_LIST_FEXIT] + target->nr[TRAMP_LIST_KRET] +
	       target->nr[TRAMP_LIST_SESSION];
}

static inline u32 tramp_target_nr(const struct tramp_target *target)
{
	return target->nr[TRAMP_LIST_KPROBE] + tramp_target_nr_tracing(target);
}

/* Functions with a program of tracing type, and with a kprobe program. tramp_mutex held. */
u32 tramp_target_count(void);
u32 tramp_target_probes(void);

/* One program more (@by: 1) or less (-1) in this list of the target. tramp_mutex held. */
void tramp_target_count_member(struct tramp_target *target, enum tramp_list list, int by);

/* The slab cache of targets. Module init and exit; see base/cache.h. */
int tramp_target_init(void);
void tramp_target_exit(void);

#endif /* TRAMP_TARGET_H */
