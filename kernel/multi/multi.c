// SPDX-License-Identifier: GPL-2.0
/*
 * One program on many functions: attaching and detaching.
 *
 * All functions call one image. It has a function's address and cookie from its own return
 * address, so nothing is made for each function. An ftrace_ops has the sites of some thousand
 * in its filter: one update of ftrace puts their calls there, one takes them back.
 *
 * Between two such chunks tramp_mutex is free for a moment, and while attaching a signal is
 * looked at. Nobody can meet a half-attached member: its link's file descriptor is not out
 * yet, or no longer there, and its point is not set, so it is described as detached. If
 * somebody attaches to one of the functions meanwhile, its site is held, or free.
 *
 * Attach. The image is complete and executable before ftrace gets its address, so a call that
 * enters while the bytes change sees the NOP or the CALL. Functions get their calls one after
 * another: the first may run the program while the last does not yet. If ftrace refuses, it
 * has changed nothing, or has undone it.
 *
 * Detach. Once ftrace has taken the calls back nobody can enter. But tasks may be on their way
 * into the image, in the program, or asleep in a function that the image has called. So the
 * image retires as a single function's does (func/image.c): its exit program is jumped over,
 * and the last task that returns is waited for. The struct and its functions' list go with
 * the image: a program that runs meanwhile may look up a cookie. The functions' modules stay
 * until then, too: a task in the image goes back into one.
 */
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include "func/image.h"
#include "func/target.h"
#include "layout.h"
#include "multi.h"
#include "prog/slot.h"

static void free_multi(struct tramp_multi *multi)
{
	tramp_funcs_free(&multi->funcs);
	kfree(multi->link);
	kfree(multi);
}

/* The image has gone, and with it the last who could look. */
static void image_gone(void *multi)
{
	free_multi(multi);
}

/* As much of the kernel's own struct as its helpers read. */
static int make_link(struct tramp_multi *multi, struct tramp_refusal *why)
{
	const struct tramp_multi_layout *l = &tramp_multi_layout;

	multi->link = kzalloc(l->link_size, GFP_KERNEL);
	if (!multi->link)
		return tramp_refuse(why, TRAMP_REASON_NO_MEMORY, 0, NULL);
	*(unsigned long **)(multi->link + l->link_addrs) = multi->funcs.addrs;
	*(u64 **)(multi->link + l->link_cookies) = multi->funcs.cookies;
	*(u32 *)(multi->link + l->link_cnt) = multi->funcs.nr;
	return 0;
}

static struct tramp_func_image *make_image(struct tramp_multi *multi, enum tramp_list list,
					   struct tramp_refusal *why)
{
	u32 nr[TRAMP_LISTS] = {};
	const struct tramp_func_image_req req = {
		.image.members = &multi->members,
		.image.key = multi->key,
		.image.index = 1,
		/* A session's program is called at the entry and at the return. */
		.image.nr_twice = list == TRAMP_LIST_SESSION,
		.image.describe = tramp_slot_call,
		.nr = nr,
		.gone = image_gone,
		.arg = multi,
	};

	nr[list] = 1;
	return tramp_func_image_create(&req, why);
}

static u32 chunk_len(const struct tramp_multi *multi, u32 chunk)
{
	return min_t(u32, multi->funcs.nr - chunk * TRAMP_MULTI_CHUNK, TRAMP_MULTI_CHUNK);
}

static const unsigned long *chunk_funcs(const struct tramp_multi *multi, u32 chunk)
{
	return multi->funcs.addrs + chunk * TRAMP_MULTI_CHUNK;
}

/* Let others have tramp_mutex for a moment. */
static void breathe(void)
{
	mutex_unlock(&tramp_mutex);
	cond_resched();
	mutex_lock(&tramp_mutex);
}

/*
 * Take back the chunks that have been attached. Return: false if ftrace has shut down and has
 * left some of them.
 */
static bool detach_chunks(struct tramp_multi *multi)
{
	unsigned long code = multi->image->image.exec.code;
	bool clean = true;

	while (multi->nr_sites--) {
		u32 i = multi->nr_sites;

		clean &= tramp_site_detach_many(multi->sites[i], chunk_funcs(multi, i),
						chunk_len(multi, i), code);
		breathe();
	}
	multi->nr_sites = 0;
	return clean;
}

/* With @entered somebody may be inside the image although it is not called any more. */
static int attach_chunk(struct tramp_multi *multi, unsigned long *sites, bool *entered,
			struct tramp_refusal *why)
{
	const unsigned long *funcs = chunk_funcs(multi, multi->nr_sites);
	u32 i, nr = chunk_len(multi, multi->nr_sites);
	bool maybe;
	int err;

	for (i = 0; i < nr; i++)
		sites[i] = tramp_site_of(funcs[i]);
	err = tramp_site_attach_many(sites, nr, multi->image->image.exec.code,
				     &multi->sites[multi->nr_sites], &maybe, why);
	*entered |= maybe || !err;
	if (!err)
		multi->nr_sites++;
	return err;
}

static int attach_chunks(struct tramp_multi *multi, bool *entered, struct tramp_refusal *why)
{
	u32 total = DIV_ROUND_UP(multi->funcs.nr, TRAMP_MULTI_CHUNK);
	unsigned long *sites = kvmalloc_array(chunk_len(multi, 0), sizeof(*sites), GFP_KERNEL);
	int err = 0;

	if (!sites)
		return tramp_refuse(why, TRAMP_REASON_NO_MEMORY, 0, NULL);
	while (!err && multi->nr_sites < total) {
		if (signal_pending(current))
			err = -EINTR;
		else
			err = attach_chunk(multi, sites, entered, why);
		breathe();
	}
	kvfree(sites);
	return err;
}

/*
 * With @gone the image has @multi, and frees it: somebody may be inside. If ftrace shuts down
 * in the middle, it has the image for ever.
 */
static int attach(struct tramp_multi *multi, enum tramp_list list, bool *gone,
		  struct tramp_refusal *why)
{
	struct tramp_slot *slot = list_first_entry(&multi->members, struct tramp_member,
						   node)->slot;
	struct tramp_func_image *image = make_image(multi, list, why);
	int err;

	if (IS_ERR(image))
		return PTR_ERR(image);
	multi->image = image;
	err = attach_chunks(multi, gone, why);
	if (!err)
		return 0;
	if (!detach_chunks(multi))
		tramp_image_mute(&image->image, slot);
	else if (*gone)
		tramp_func_image_retire(image, NULL, NULL);
	else
		tramp_image_destroy(&image->image);
	return err;
}

static enum tramp_list list_of(const struct tramp_member *member)
{
	switch (member->kind) {
	case TRAMP_KIND_KRETPROBE_MULTI:
		return TRAMP_LIST_KRET;
	case TRAMP_KIND_KPROBE_SESSION:
		return TRAMP_LIST_SESSION;
	default:
		return TRAMP_LIST_KPROBE;
	}
}

int tramp_multi_attach(struct tramp_member *member, const struct tramp_attach *attach_req,
		       struct tramp_refusal *why)
{
	struct tramp_multi_req *req = container_of(attach_req, struct tramp_multi_req, attach);
	u32 chunks = DIV_ROUND_UP(req->funcs.nr, TRAMP_MULTI_CHUNK);
	struct tramp_multi *multi = kzalloc(struct_size(multi, sites, chunks), GFP_KERNEL);
	struct tramp_slot *slot = member->slot;
	bool gone = false;
	int err = 0;

	lockdep_assert_held(&tramp_mutex);
	if (!multi)
		return tramp_refuse(why, TRAMP_REASON_NO_MEMORY, 0, NULL);
	if ((member->kind == TRAMP_KIND_KPROBE_SESSION) != req->session) {
		kfree(multi);
		return tramp_refuse(why, TRAMP_REASON_BAD_PROG_FD, 0,
				    "another program than a moment ago");
	}
	if (req->returns)
		member->kind = TRAMP_KIND_KRETPROBE_MULTI;
	multi->point.ops = &tramp_multi_ops;
	multi->key = tramp_image_new_key();
	INIT_LIST_HEAD(&multi->members);
	list_add(&member->node, &multi->members);
	swap(multi->funcs, req->funcs);
	if (slot->call_flags & TRAMP_X86_CALL_MULTI) {
		err = make_link(multi, why);
		slot->link = (unsigned long)multi->link;
	} else {
		slot->link = (unsigned long)&multi->funcs;
	}
	if (!err)
		err = attach(multi, list_of(member), &gone, why);
	if (err) {
		list_del(&member->node);
		if (!gone)
			free_multi(multi);
		return err;
	}
	member->point = &multi->point;
	member->key = multi->key;
	return 0;
}

void tramp_multi_detach(struct tramp_member *member)
{
	struct tramp_multi *multi = tramp_multi_of(member);

	lockdep_assert_held(&tramp_mutex);
	/* Before the first breath: from now on it is nobody's but ours. */
	list_del(&member->node);
	member->point = NULL;
	if (detach_chunks(multi))
		tramp_func_image_retire(multi->image, NULL, NULL);
	else
		/* Some lead here for ever: nothing of it is ever freed. */
		tramp_image_mute(&multi->image->image, member->slot);
}
