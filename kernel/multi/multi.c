// SPDX-License-Identifier: GPL-2.0
/*
 * One program on many functions: attaching and detaching.
 *
 * All functions call one image, by way of a gate (func/gate.h). The image has a function's
 * address and cookie from its own return address, so nothing is made for each function. An
 * ftrace_ops has the sites of some thousand in its filter: one update of ftrace puts their calls
 * there, one takes them back.
 *
 * Functions with other programs are left out of that. There the program becomes a member of the
 * function's own target (func/target.c), be it on attach or when another program comes later.
 * Such a member, a part, has a slot that all parts share.
 *
 * Between two such chunks tramp_mutex is free for a moment, and while attaching a signal is
 * looked at. The link's file descriptor is not out yet, or no longer there, and its point is not
 * set, so it is described as detached. Others may attach to one of the functions meanwhile.
 * Those that have their call already are as good as attached; the others are free, or held.
 *
 * Attach. The image is complete and executable before ftrace gets the gate's address, so a call
 * that enters while the bytes change sees the NOP or the CALL. Functions get their calls one
 * after another: the first may run the program while the last does not yet. If ftrace refuses,
 * it has changed nothing, or has undone it.
 *
 * Detach. First the parts go, then the calls. Once ftrace has taken the calls back nobody can
 * enter. But tasks may be on their way into the image, in the program, or asleep in a function
 * that the image has called. So the image retires as a single function's does (func/image.c):
 * its exit program is jumped over, and the last task that returns is waited for. The modules of
 * the functions stay until then: a task in the image goes back into one. The struct and its
 * functions' list stay until no image has the parts' slot any more either: a program that runs
 * in one may look up a cookie.
 *
 * A function that still has other programs keeps its call of the gate, which is the only thing
 * that leads to them: taking the call over would leave a gap. So the ops goes on with the other
 * functions removed from its filter. Gate, ops and struct go with the last of such programs.
 */
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include "base/turn.h"
#include "func/image.h"
#include "func/target.h"
#include "hooked.h"
#include "layout.h"
#include "multi.h"
#include "prog/slot.h"

struct tramp_multi *tramp_multi_get(struct tramp_multi *multi)
{
	refcount_inc(&multi->refs);
	return multi;
}

void tramp_multi_put(struct tramp_multi *multi)
{
	if (!refcount_dec_and_test(&multi->refs))
		return;
	tramp_funcs_free(&multi->funcs);
	bitmap_free(multi->gate.foreign);
	kfree(multi->link);
	kfree(multi);
}

/* Nobody is in the image any more, nor will return into a module by way of it. */
static void image_gone(struct tramp_image_user *user)
{
	struct tramp_multi *multi = container_of(user, struct tramp_multi, image_user);

	if (!multi->keeps_modules)
		tramp_funcs_put_modules(&multi->funcs);
	tramp_multi_put(multi);
}

/* No image has a part any more. */
static void slot_gone(struct tramp_slot_user *user)
{
	tramp_multi_put(container_of(user, struct tramp_multi, slot_user));
}

int tramp_multi_set_link(struct tramp_slot *slot, const struct tramp_funcs *funcs, void **link,
			 struct tramp_refusal *why)
{
	const struct tramp_multi_layout *l = &tramp_multi_layout;

	slot->link = (unsigned long)funcs;
	if (!(slot->call_flags & TRAMP_X86_CALL_MULTI) || slot->session)
		return 0;
	*link = kzalloc(l->link_size, GFP_KERNEL);
	if (!*link)
		return tramp_refuse(why, TRAMP_REASON_NO_MEMORY, 0, NULL);
	*(unsigned long **)(*link + l->link_addrs) = funcs->addrs;
	*(u64 **)(*link + l->link_cookies) = funcs->cookies;
	*(u32 *)(*link + l->link_cnt) = funcs->nr;
	slot->link = (unsigned long)*link;
	return 0;
}

static struct tramp_func_image *make_image(struct tramp_multi *multi, enum tramp_list list,
					   struct tramp_refusal *why)
{
	u8 nr[TRAMP_LISTS] = {};
	const struct tramp_func_image_req req = {
		.image.members = &multi->members,
		.image.key = multi->key,
		.image.index = 1,
		.image.nr_twice = list == TRAMP_LIST_SESSION,
		.image.describe = tramp_slot_call,
		.nr = nr,
		.gone = &multi->image_user,
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

/* Parts ------------------------------------------------------------------- */

static struct tramp_multi *of_gate(struct tramp_gate *gate)
{
	return container_of(gate, struct tramp_multi, gate);
}

static struct tramp_multi_part *of_member(struct tramp_member *member)
{
	return container_of(member, struct tramp_multi_part, member);
}

static struct tramp_member *gate_join(struct tramp_gate *gate, unsigned long func)
{
	struct tramp_multi *multi = of_gate(gate);
	struct tramp_multi_part *part = kzalloc(sizeof(*part), GFP_KERNEL);

	if (!part)
		return NULL;
	part->member.slot = multi->slot;
	part->member.counts = multi->slot->counts;
	part->member.kind = multi->kind;
	part->member.link_id = multi->link_id;
	list_add(&part->node, &multi->parts);
	return &part->member;
}

/* Images have its slot, and none has the member. */
static void gate_leave(struct tramp_gate *gate, struct tramp_member *member)
{
	struct tramp_multi_part *part = of_member(member);

	list_del(&part->node);
	kfree(part);
}

/* Have the program run at a function that has others. */
static int join(struct tramp_multi *multi, unsigned long func, struct tramp_refusal *why)
{
	struct tramp_member *member = gate_join(&multi->gate, func);
	int err;

	if (!member)
		return tramp_refuse(why, TRAMP_REASON_NO_MEMORY, 0, NULL);
	err = tramp_target_join(member, func, why);
	if (err)
		gate_leave(&multi->gate, member);
	if (err == -EBUSY || err == -E2BIG)
		multi->blamed = func;
	return err;
}

/* Those at functions of other gates, and those that others have come to. */
static void leave_parts(struct tramp_multi *multi)
{
	struct tramp_multi_part *part;
	struct tramp_turn turn;

	/* Each may take an update of ftrace. */
	tramp_turn_begin(&turn);
	while (!list_empty(&multi->parts)) {
		part = list_first_entry(&multi->parts, struct tramp_multi_part, node);
		tramp_target_detach(&part->member);
		gate_leave(&multi->gate, &part->member);
		tramp_turn_pass(&turn);
	}
}

/* Sites ------------------------------------------------------------------- */

/* ftrace has shut down, and has left calls of the gate: it stays for ever, and all with it. */
static void stays(struct tramp_multi *multi)
{
	if (!multi->stays)
		__module_get(THIS_MODULE);
	multi->stays = true;
}

/* Take back the calls of those functions of a chunk that have no programs of their own. */
static void shrink_chunk(struct tramp_multi *multi, u32 chunk)
{
	const unsigned long *funcs = chunk_funcs(multi, chunk);
	u32 i, nr = 0, len = chunk_len(multi, chunk);
	unsigned long *sites = kvmalloc_array(len, sizeof(*sites), GFP_KERNEL);
	int err = 0;

	for (i = 0; sites && i < len; i++) {
		if (!test_bit(chunk * TRAMP_MULTI_CHUNK + i, multi->gate.foreign) &&
		    !tramp_gate_has(&multi->gate, funcs[i]))
			sites[nr++] = tramp_site_of(funcs[i]);
	}
	if (nr)
		err = tramp_site_shrink(multi->sites[chunk], sites, nr,
					tramp_gate_code(&multi->gate));
	/* Without memory they go on calling the gate, which returns at once. */
	multi->keeps_modules |= !sites;
	if (err && err != -ENOMEM)
		stays(multi);
	kvfree(sites);
}

/* Take all of a chunk back. @funcs are those of which it is seen whether they call the gate. */
static void free_site(struct tramp_multi *multi, u32 chunk, const unsigned long *funcs, u32 nr)
{
	if (!tramp_site_detach_many(multi->sites[chunk], funcs, nr, tramp_gate_code(&multi->gate)))
		multi->stays = true;
	multi->sites[chunk] = NULL;
}

static void detach_chunk(struct tramp_multi *multi, u32 chunk)
{
	u32 len = chunk_len(multi, chunk), first = chunk * TRAMP_MULTI_CHUNK;

	if (!multi->sites[chunk])
		return;
	if (tramp_gate_any(&multi->gate, first, first + len)) {
		shrink_chunk(multi, chunk);
		return;
	}
	free_site(multi, chunk, chunk_funcs(multi, chunk), len);
}

/* No site calls the gate any more. */
static void remove_gate(struct tramp_multi *multi)
{
	tramp_gate_remove(&multi->gate);
	tramp_multi_put(multi);
}

/*
 * The program has gone before. A function has lost the last of its own programs, too. No other one
 * of the chunk may be looked at: its module may have gone. If ftrace has shut down this one calls
 * the gate as well as any.
 */
static void gate_cleared(struct tramp_gate *gate, unsigned long func)
{
	u32 index = tramp_gate_index(gate, func), chunk = index / TRAMP_MULTI_CHUNK;
	struct tramp_multi *multi = of_gate(gate);
	unsigned long site = tramp_site_of(func);
	int err = 0;

	/* Detaching has not come to this chunk yet. */
	if (index < gate->nr_ready || !multi->sites[chunk])
		return;
	if (!tramp_gate_any(gate, chunk * TRAMP_MULTI_CHUNK,
			    chunk * TRAMP_MULTI_CHUNK + chunk_len(multi, chunk)))
		free_site(multi, chunk, &func, 1);
	else
		err = tramp_site_shrink(multi->sites[chunk], &site, 1, tramp_gate_code(gate));
	/* Without memory it goes on calling the gate, until all of the chunk are given back. */
	if (err && err != -ENOMEM)
		stays(multi);
	if (!gate->nr_live && !gate->nr_ready && !multi->stays)
		remove_gate(multi);
}

static const struct tramp_gate_ops gate_ops = {
	.join = gate_join,
	.leave = gate_leave,
	.cleared = gate_cleared,
};

/*
 * Take all back. Return: false if somebody may come to the image for ever, since ftrace has
 * shut down.
 */
static bool take_back(struct tramp_multi *multi)
{
	struct tramp_gate *gate = &multi->gate;
	bool clean;

	gate->live = false;
	leave_parts(multi);
	/* Parts that have gone before: calls may be in their images. */
	tramp_target_leave_out(multi->slot->counts);
	clean = tramp_gate_close(gate);
	while (gate->nr_ready) {
		u32 chunk = (gate->nr_ready - 1) / TRAMP_MULTI_CHUNK;

		gate->nr_ready = chunk * TRAMP_MULTI_CHUNK;
		detach_chunk(multi, chunk);
		if (gate->nr_ready)
			tramp_turn_breathe();
	}
	clean &= !multi->stays;
	tramp_slot_put(multi->slot);
	multi->slot = NULL;
	if (clean && !gate->nr_live)
		remove_gate(multi);
	return clean;
}

/* With @entered somebody may be inside the image although it is not called any more. */
static int attach_chunk(struct tramp_multi *multi, unsigned long *sites, bool *entered,
			struct tramp_refusal *why)
{
	u32 i, nr = 0, joins = 0, first = multi->gate.nr_ready, chunk = first / TRAMP_MULTI_CHUNK;
	const unsigned long *funcs = chunk_funcs(multi, chunk);
	u32 len = chunk_len(multi, chunk);
	bool session = multi->kind == TRAMP_KIND_KPROBE_SESSION;
	u64 request = tramp_gate_new_request();
	unsigned long blamed = 0;
	struct tramp_turn turn;
	bool maybe = false;
	int err = 0;

	for (i = 0; i < len; i++) {
		if (!tramp_target_check_join(funcs[i], request, session, NULL)) {
			__set_bit(first + i, multi->gate.foreign);
			joins++;
		} else {
			sites[nr++] = tramp_site_of(funcs[i]);
		}
	}
	if (nr)
		err = tramp_site_attach_many(sites, nr, tramp_gate_code(&multi->gate),
					     &multi->sites[chunk], &maybe, &blamed, why);
	*entered |= maybe || !err;
	for (i = 0; blamed && i < len; i++) {
		if (tramp_site_of(funcs[i]) == blamed)
			multi->blamed = funcs[i];
	}
	if (err)
		return err;
	multi->gate.nr_ready += len;
	tramp_turn_begin(&turn);
	for (i = 0; !err && joins && i < len; i++) {
		if (!test_bit(first + i, multi->gate.foreign))
			continue;
		err = signal_pending(current) ? -ERESTARTNOHAND : join(multi, funcs[i], why);
		joins--;
		tramp_turn_pass(&turn);
	}
	return err;
}

static int attach_chunks(struct tramp_multi *multi, bool *entered, struct tramp_refusal *why)
{
	unsigned long *sites = kvmalloc_array(chunk_len(multi, 0), sizeof(*sites), GFP_KERNEL);
	int err = 0;

	if (!sites)
		return tramp_refuse(why, TRAMP_REASON_NO_MEMORY, 0, NULL);
	while (!err && multi->gate.nr_ready < multi->funcs.nr) {
		if (signal_pending(current))
			err = -ERESTARTNOHAND;
		else
			err = attach_chunk(multi, sites, entered, why);
		tramp_turn_breathe();
	}
	kvfree(sites);
	return err;
}

static int make_gate(struct tramp_multi *multi, struct tramp_refusal *why)
{
	struct tramp_gate *gate = &multi->gate;
	int err;

	gate->foreign = bitmap_zalloc(multi->funcs.nr, GFP_KERNEL);
	if (!gate->foreign)
		return tramp_refuse(why, TRAMP_REASON_NO_MEMORY, 0, NULL);
	gate->ops = &gate_ops;
	gate->nr_funcs = multi->funcs.nr;
	gate->funcs = multi->funcs.addrs;
	gate->key = multi->key;
	gate->index = 1;	/* the image's */
	gate->other = multi->image->image.exec.code;
	err = tramp_gate_create(gate, why);
	if (!err)
		refcount_inc(&multi->refs);
	return err;
}

/*
 * With @gone the image has @multi, and puts it: somebody may be inside. If ftrace shuts down
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
	err = make_gate(multi, why);
	if (err)
		goto destroy;
	err = attach_chunks(multi, gone, why);
	if (!err)
		return 0;
	if (!take_back(multi)) {
		tramp_image_mute(&image->image, slot);
		*gone = true;
		return err;
	}
	if (*gone) {
		tramp_func_image_retire(image, NULL, NULL);
		return err;
	}
destroy:
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

/* The slot of all parts. It goes when no image has it any more. */
static int make_slot(struct tramp_multi *multi, struct tramp_slot *slot,
		     struct tramp_refusal *why)
{
	int err = tramp_multi_set_link(slot, &multi->funcs, &multi->link, why);

	if (err)
		return err;
	multi->slot = tramp_slot_clone(slot);
	if (!multi->slot)
		return tramp_refuse(why, TRAMP_REASON_NO_MEMORY, 0, NULL);
	multi->slot->user = &multi->slot_user;
	refcount_inc(&multi->refs);
	return 0;
}

int tramp_multi_attach(struct tramp_member *member, const struct tramp_attach *attach_req,
		       struct tramp_refusal *why)
{
	struct tramp_multi_req *req = container_of(attach_req, struct tramp_multi_req, attach);
	u32 chunks = DIV_ROUND_UP(req->funcs.nr, TRAMP_MULTI_CHUNK);
	struct tramp_multi *multi;
	bool gone = false;
	int err;

	lockdep_assert_held(&tramp_mutex);
	multi = kzalloc(struct_size(multi, sites, chunks), GFP_KERNEL);
	if (!multi)
		return tramp_refuse(why, TRAMP_REASON_NO_MEMORY, 0, NULL);
	refcount_set(&multi->refs, 1);
	multi->point.ops = &tramp_multi_ops;
	multi->image_user.gone = image_gone;
	multi->slot_user.released = slot_gone;
	multi->key = tramp_image_new_key();
	multi->kind = member->kind;
	multi->link_id = member->link_id;
	INIT_LIST_HEAD(&multi->parts);
	INIT_LIST_HEAD(&multi->members);
	list_add(&member->node, &multi->members);
	swap(multi->funcs, req->funcs);
	/* A failed attach may give it to the worker that frees images, before all is undone. */
	tramp_multi_get(multi);
	err = make_slot(multi, member->slot, why);
	if (!err && req->hooked.nr) {
		multi->hooked = tramp_hooked_attach(member, &req->hooked, &multi->blamed, why);
		err = PTR_ERR_OR_ZERO(multi->hooked);
		if (err)
			multi->hooked = NULL;
	}
	if (!err)
		err = attach(multi, list_of(member), &gone, why);
	if (err) {
		req->blamed = multi->blamed;
		if (multi->hooked)
			tramp_hooked_detach(multi->hooked);
		list_del(&member->node);
		tramp_slot_put(multi->slot);
		if (!gone)
			tramp_multi_put(multi);
	} else {
		member->point = &multi->point;
		member->key = multi->key;
	}
	tramp_multi_put(multi);
	return err;
}

void tramp_multi_detach(struct tramp_member *member)
{
	struct tramp_multi *multi = tramp_multi_of(member);
	struct tramp_func_image *image = multi->image;

	lockdep_assert_held(&tramp_mutex);
	/* Before the first breath: from now on it is nobody's but ours. */
	list_del(&member->node);
	member->point = NULL;
	if (multi->hooked)
		tramp_hooked_detach(multi->hooked);
	multi->hooked = NULL;
	if (take_back(multi))
		tramp_func_image_retire(image, NULL, NULL);
	else
		/* Some lead here for ever: nothing of it is ever freed. */
		tramp_image_mute(&image->image, member->slot);
}
