/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Entry and exit images: images (prog/image.h) that a function's site calls, or a target's
 * callers are still in. x86/ decides what is in them, ftrace/ leads the site there.
 */
#ifndef TRAMP_FUNC_IMAGE_H
#define TRAMP_FUNC_IMAGE_H

#include <linux/list.h>
#include "base/tramp.h"
#include "prog/died.h"
#include "prog/image.h"
#include "resolve.h"

struct tramp_target;

/* An exit program in an image that has retired. */
enum tramp_exit_state {
	TRAMP_EXIT_LIVE,	/* run by calls that return */
	TRAMP_EXIT_LEFT_OUT,	/* jumped over */
	TRAMP_EXIT_AGED,	/* since before a grace period began */
};

/**
 * struct tramp_func_inside - of an image that a task can sleep in
 * @image: the image
 * @inflight: calls that are inside (up: in, down: out; the sum over all CPUs counts)
 * @died: calls that are counted as inside for ever
 * @older: in its target's list of images that calls may still be in
 * @rcu: for its free: who walks past @died may still be at it
 * @after_call: where the original returns to in it, 0 for an entry image
 * @nr_exits: how many of its programs run when the original has returned: the last ones
 * @exit_state: enum tramp_exit_state of each exit program
 * @skip_off: for each exit program, see struct tramp_x86_fentry_out
 * @skip_to: likewise
 * @room: of these three
 */
struct tramp_func_inside {
	struct tramp_func_image *image;
	u64 __percpu *inflight;
	struct tramp_died died;
	union {
		struct hlist_node older;
		struct rcu_head rcu;
	};
	u32 after_call;
	u32 nr_exits;
	u32 *exit_state;
	u32 *skip_off;
	u32 *skip_to;
	u32 room[];
};

/**
 * struct tramp_image_user - embedded in what an image of many functions was made for
 * @gone: called once nobody can be in the image any more, nor in what it has called.
 *	tramp_mutex held. May sleep
 */
struct tramp_image_user {
	void (*gone)(struct tramp_image_user *user);
};

/**
 * struct tramp_func_image - one published or about to be published image
 * @image: its code, name and programs, in the order of enum tramp_list; first
 * @target: what it was made for; a reference of it is dropped when it has retired
 * @gone: of many functions: called when it has retired
 * @module: its function's, with a reference, if it has programs of tracing type
 * @inside: NULL for an image that no task can sleep in, which has no exit programs
 */
struct tramp_func_image {
	struct tramp_image image;
	struct tramp_target *target;
	struct tramp_image_user *gone;
	struct module *module;
	struct tramp_func_inside *inside;
};

/**
 * struct tramp_func_image_req - what image to make
 * @image: name and programs, in the order of enum tramp_list
 * @target: NULL in the self-test. The caller takes a reference for the
 *	image once a site calls it
 * @func: the function; NULL: many, with kprobe programs only
 * @nr: how many programs of each of these kinds
 * @gone: many functions: hears of it when the image has gone
 */
struct tramp_func_image_req {
	struct tramp_image_req image;
	struct tramp_target *target;
	const struct tramp_func_facts *func;
	const u8 *nr;
	struct tramp_image_user *gone;
};

/**
 * tramp_func_image_create() - make an image and publish its name
 * @req: what to make
 * @why: why not
 *
 * Nothing leads to it yet, see tramp_image_create(). tramp_image_destroy() frees one that no
 * site ever called; its reference of the target stays with the caller.
 *
 * Context: tramp_mutex held, may sleep.
 * Return: the image or an ERR_PTR(), with @why filled in.
 */
struct tramp_func_image *tramp_func_image_create(const struct tramp_func_image_req *req,
						 struct tramp_refusal *why);

/**
 * tramp_func_image_retire() - free an image once nobody can be inside
 * @image: the image; no site calls it any more
 * @next: the image that the site calls instead, NULL: none. Calls inside the old one still
 *	run its exit programs when they come out; others are left out from now on
 * @replaced: the slot of a program that these calls run, too: another has replaced it, which
 *	never sees them, or it goes on in an image of many functions. May be NULL
 *
 * Context: tramp_mutex held, may sleep.
 */
void tramp_func_image_retire(struct tramp_func_image *image,
			     const struct tramp_func_image *next,
			     const struct tramp_slot *replaced);

/**
 * tramp_func_image_leave_out() - leave an exit program out of a retired image
 * @image: retired with calls inside
 * @counts: the counters of the member that is detached. They find its slot, whichever
 *	program it had then
 *
 * Context: tramp_mutex held, may sleep.
 */
void tramp_func_image_leave_out(struct tramp_func_image *image,
				const struct tramp_counts *counts);

/* The slab cache of images. Module init and exit; see base/cache.h. */
int tramp_func_image_init(void);
void tramp_func_image_exit(void);

#endif /* TRAMP_FUNC_IMAGE_H */
