/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One program on many functions: one image, one gate, few ftrace_ops, one sorted list of
 * functions.
 */
#ifndef TRAMP_MULTI_H
#define TRAMP_MULTI_H

#include <linux/refcount.h>
#include "ftrace/site.h"
#include "func/gate.h"
#include "func/image.h"
#include "funcs.h"
#include "link/point.h"

struct tramp_func_image;
struct tramp_hooked;

/**
 * struct tramp_multi_req - an attachment to many functions, as link/ passes it on
 * @attach: what link/ reads of it
 * @funcs: the functions, checked. On success they are the attachment's, and this is empty
 * @hooked: functions whose returns take a rethook. Likewise
 * @returns: the program runs when they return
 * @by_map: it runs at both, if it is a plain kprobe program (prog/session.c)
 * @session: it runs at both; set by tramp_multi_check_prog()
 * @blamed: (out) on failure: the function that it failed at, 0 if it was at none
 */
struct tramp_multi_req {
	struct tramp_attach attach;
	struct tramp_funcs funcs;
	struct tramp_funcs hooked;
	bool returns;
	bool by_map;
	bool session;
	unsigned long blamed;
};

/**
 * tramp_multi_check_prog() - look at a request's program before its functions
 * @req: the request, with the program's file descriptor
 * @why: BAD_PROG_FD, SYNTAX
 *
 * link/ checks it once more: the descriptor may lead to another program by then.
 * Context: process, may sleep.
 * Return: 0 or a negative errno.
 */
int tramp_multi_check_prog(struct tramp_multi_req *req, struct tramp_refusal *why);

/* Functions that ftrace patches at a time: tramp_mutex is free in between. */
#define TRAMP_MULTI_CHUNK	4096

/**
 * struct tramp_multi - a program on many functions
 * @point: what it is to its member
 * @members: the member, alone in its list
 * @funcs: the functions
 * @key: in the image's name
 * @image: where the gate leads, for functions without programs of their own
 * @image_user: told when @image has gone
 * @gate: what all sites call
 * @refs: one each for @image, for @slot, and for sites that call the gate
 * @slot: of @parts; NULL once detached
 * @slot_user: told when it has gone
 * @kind: enum tramp_kind of the program
 * @link_id: id of the link
 * @hooked: returns by rethook; NULL: none
 * @parts: those functions where the program runs beside others, with an image of their own
 * @keeps_modules: a chunk's calls are left, also in modules: no memory to tell which they are
 * @stays: ftrace has shut down and has left calls
 * @link: struct bpf_kprobe_multi_link as far as helpers read it; NULL for a program that
 *	has other helpers
 * @blamed: the function that attaching has failed at, or 0
 * @sites: the sites, each for TRAMP_MULTI_CHUNK functions in the order of @funcs, the last for
 *	the rest; NULL where no function calls the gate
 *
 * Programs that still run in images read @link and @funcs. Protected by tramp_mutex; @link and
 * @funcs do not change.
 */
struct tramp_multi {
	struct tramp_point point;
	struct list_head members;
	struct tramp_funcs funcs;
	u64 key;
	struct tramp_func_image *image;
	struct tramp_image_user image_user;
	struct tramp_gate gate;
	refcount_t refs;
	struct tramp_slot *slot;
	struct tramp_slot_user slot_user;
	u8 kind;
	u32 link_id;
	struct tramp_hooked *hooked;
	struct list_head parts;
	bool keeps_modules;
	bool stays;
	void *link;
	unsigned long blamed;
	struct tramp_site *sites[];
};

/**
 * struct tramp_multi_part - the program at one function, beside others
 * @member: in the function's target
 * @node: in the attachment's list
 */
struct tramp_multi_part {
	struct tramp_member member;
	struct list_head node;
};

static inline struct tramp_multi *tramp_multi_of(const struct tramp_member *member)
{
	return member->point ? container_of(member->point, struct tramp_multi, point) : NULL;
}

/* One more reference of one that is attached, and one less. tramp_mutex held; any context. */
struct tramp_multi *tramp_multi_get(struct tramp_multi *multi);
void tramp_multi_put(struct tramp_multi *multi);

/*
 * Set a slot's @link: @funcs, or for a program whose helpers are the kernel's as much of its own
 * struct as they read. The latter is in *@link, to be freed. Return: 0 or a negative errno.
 */
int tramp_multi_set_link(struct tramp_slot *slot, const struct tramp_funcs *funcs, void **link,
			 struct tramp_refusal *why);

/* For the table in multi/point.c; see struct tramp_point_ops. */
int tramp_multi_attach(struct tramp_member *member, const struct tramp_attach *req,
		       struct tramp_refusal *why);
void tramp_multi_detach(struct tramp_member *member);

extern const struct tramp_point_ops tramp_multi_ops;

#endif /* TRAMP_MULTI_H */
