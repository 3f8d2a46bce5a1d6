/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Entry and exit images as objects: memory with a name, and the slots they call.
 * What is in them is x86/'s business, where they hang is site_*.c's.
 */
#ifndef TRAMP_IMAGE_H
#define TRAMP_IMAGE_H

#include <linux/list.h>
#include "prog/died.h"
#include "prog/exec.h"
#include "base/retire.h"
#include "prog/slot.h"
#include "base/tramp.h"

struct tramp_target;

/* An exit program in an image that has retired. */
enum tramp_exit_state {
	TRAMP_EXIT_LIVE,	/* run by calls that return */
	TRAMP_EXIT_LEFT_OUT,	/* jumped over */
	TRAMP_EXIT_AGED,	/* since before a grace period began */
};

/**
 * struct tramp_image - one published or about to be published image
 * @exec: its memory and name
 * @target: what it was made for; a reference of it is dropped when it has retired
 * @index: its number among the target's images
 * @inflight: calls that are inside (up: in, down: out; the sum over all CPUs
 *	counts); NULL for an image that no task can sleep in
 * @after_call: where the original returns to in it, 0 for an entry image
 * @died: calls that are counted as inside for ever
 * @nr_slots: programs it calls
 * @nr_fexit: how many of them are exit programs: the last ones of @slots
 * @slots: the programs, in the order entry, fmod_ret, exit; a reference each
 * @exit_state: enum tramp_exit_state of each exit program
 * @aged: retired since before a grace period began
 * @older: in its target's list of images that calls may still be in
 * @skip_off, @skip_to: for each exit program, see struct tramp_x86_fentry_out
 * @describe: req->call of its request
 * @call_off: where each slot's program is called, see struct tramp_x86_fentry_out
 * @retire: its place on the retire list
 * @rcu: for freeing the struct behind readers of kallsyms
 */
struct tramp_image {
	struct tramp_exec exec;
	struct tramp_target *target;
	u32 index;
	u64 __percpu *inflight;
	u32 after_call;
	struct tramp_died died;
	u32 nr_slots;
	u32 nr_fexit;
	struct tramp_slot **slots;
	u8 *exit_state;
	bool aged;
	struct list_head older;
	u32 *skip_off;
	u32 *skip_to;
	u32 *call_off;
	tramp_describe_t *describe;
	struct tramp_retire retire;
	struct rcu_head rcu;
};

/**
 * struct tramp_image_req - what image to make
 * @target: NULL in the self-test. The caller takes a reference for the
 *	image once a site calls it
 * @model: the function's prototype
 * @func: the function
 * @site: its NOP5
 * @check_rcu: it may be called where RCU does not watch
 * @key, @index: the name: trampoline_<key>_<index>
 * @slots: programs in the order entry, fmod_ret, exit
 * @nr_fentry, @nr_fmod_ret, @nr_fexit: how many of each
 * @call: describes a slot to the emitter; tramp_slot_call() but in the self-test
 */
struct tramp_image_req {
	struct tramp_target *target;
	const struct tramp_x86_model *model;
	unsigned long func;
	unsigned long site;
	bool check_rcu;
	u64 key;
	u32 index;
	struct tramp_slot **slots;
	u32 nr_fentry;
	u32 nr_fmod_ret;
	u32 nr_fexit;
	tramp_describe_t *call;
};

/**
 * tramp_image_create() - make an image and publish its name
 * @req: what to make
 * @why: why not
 *
 * The image is executable and named in kallsyms when this returns, but nothing
 * calls it yet.
 *
 * Context: may sleep.
 * Return: the image or an ERR_PTR(), with @why filled in.
 */
struct tramp_image *tramp_image_create(const struct tramp_image_req *req,
				       struct tramp_refusal *why);

/**
 * tramp_image_destroy() - free an image that no site ever called
 * @image: the image; its reference of the target stays with the caller
 *
 * Context: may sleep.
 */
void tramp_image_destroy(struct tramp_image *image);

/**
 * tramp_image_retire() - free an image once nobody can be inside
 * @image: the image; no site calls it any more
 * @keep: whether a slot's program goes on being attached: calls that are inside
 *	run it when they come out. A slot for which it says no is left out from
 *	now on.
 * @arg: passed to @keep
 *
 * Context: tramp_mutex held, may sleep.
 */
void tramp_image_retire(struct tramp_image *image,
			bool (*keep)(const struct tramp_slot *slot, void *arg), void *arg);

/**
 * tramp_image_leave_out() - leave an exit program out of a retired image
 * @image: retired with calls inside
 * @counts: the counters of the link that is detached: its slot, whichever program
 *	it had then, is the one
 *
 * Context: tramp_mutex held, may sleep.
 */
void tramp_image_leave_out(struct tramp_image *image, const struct tramp_counts *counts);

/**
 * tramp_image_mute() - leave a program out of an image that stays in use
 * @image: a published image
 * @slot: the program: its calls become calls of a function that returns 0
 *
 * For a detach that has no memory for a new image. Needs none and cannot fail.
 * Calls that enter after it returned do not run the program; the image keeps its
 * reference to the slot.
 *
 * Context: tramp_mutex held, may sleep.
 */
void tramp_image_mute(struct tramp_image *image, const struct tramp_slot *slot);

#endif /* TRAMP_IMAGE_H */
