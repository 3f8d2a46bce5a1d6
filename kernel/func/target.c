// SPDX-License-Identifier: GPL-2.0
/*
 * Targets: from a list of programs to what the site calls.
 *
 * In mode DIRECT every change of a target's programs makes a new image for the new list,
 * switches the site to it and retires the old one. In mode FTRACE_OPS it replaces the set
 * that the ftrace callback runs. Nothing is edited in place, so a call sees the list as it
 * was before the change or as it is after it.
 *
 * The order is: image complete, site switched, old image retired. If the site
 * cannot be switched everything is as before.
 */
#include <linux/hashtable.h>
#include <linux/slab.h>
#include "base/cache.h"
#include "callback.h"
#include "image.h"
#include "target.h"

static DEFINE_HASHTABLE(targets, 10);
static struct kmem_cache *cache;

/* Where in the order of a target's programs those of a kind run. */
static enum tramp_list list_of(enum tramp_kind kind)
{
	static const enum tramp_list lists[] = {
		[TRAMP_KIND_FENTRY] = TRAMP_LIST_FENTRY,
		[TRAMP_KIND_FMOD_RET] = TRAMP_LIST_FMOD_RET,
		[TRAMP_KIND_FEXIT] = TRAMP_LIST_FEXIT,
	};

	return lists[kind];
}

struct tramp_target *tramp_target_find(u64 key)
{
	struct tramp_target *target;

	lockdep_assert_held(&tramp_mutex);
	hash_for_each_possible(targets, target, hash, key) {
		if (target->func.key == key)
			return target;
	}
	return NULL;
}

u32 tramp_target_count(void)
{
	struct tramp_target *target;
	u32 n = 0;
	int bkt;

	lockdep_assert_held(&tramp_mutex);
	hash_for_each(targets, bkt, target, hash)
		n += tramp_target_nr(target) != 0;
	return n;
}

static void put_locked(struct tramp_target *target)
{
	if (--target->refs)
		return;
	hash_del(&target->hash);
	tramp_func_put(&target->func);
	kmem_cache_free(cache, target);
}

void tramp_target_put(struct tramp_target *target)
{
	mutex_lock(&tramp_mutex);
	put_locked(target);
	mutex_unlock(&tramp_mutex);
}

/* Find or make the target of @func, whose reference to a module it takes over. */
static struct tramp_target *get_target(struct tramp_func *func, struct tramp_refusal *why)
{
	struct tramp_target *target = tramp_target_find(func->key);

	if (target) {
		tramp_func_put(func);
		target->refs++;
		return target;
	}
	target = kmem_cache_zalloc(cache, GFP_KERNEL);
	if (!target) {
		tramp_func_put(func);
		return ERR_PTR(tramp_refuse(why, TRAMP_REASON_NO_MEMORY, 0, NULL));
	}
	target->point.ops = &tramp_func_ops;
	target->func = *func;
	target->refs = 1;
	INIT_LIST_HEAD(&target->older);
	INIT_LIST_HEAD(&target->members);
	hash_add(targets, &target->hash, func->key);
	return target;
}

static int update_direct(struct tramp_target *target, const struct tramp_slot *replaced,
			 struct tramp_refusal *why)
{
	const struct tramp_func_image_req req = {
		.image.members = &target->members,
		.image.key = target->func.key,
		.image.index = target->index + 1,
		.image.describe = tramp_slot_call,
		.target = target,
		.func = &target->func,
		.nr = target->nr,
	};
	struct tramp_func_image *image, *old = target->image;
	bool entered = false;
	int err;

	image = tramp_func_image_create(&req, why);
	if (IS_ERR(image))
		return PTR_ERR(image);

	if (target->site)
		err = tramp_site_switch(target->site, image->image.exec.code, why);
	else
		err = tramp_site_attach(target->func.site, image->image.exec.code, &target->site,
					&entered, why);
	if (err && entered) {
		target->index++;
		target->refs++;
		tramp_func_image_retire(image, NULL, NULL);
		return err;
	}
	if (err) {
		tramp_image_destroy(&image->image);
		return err;
	}

	target->index++;
	target->image = image;
	target->refs++;
	if (old)
		tramp_func_image_retire(old, image, replaced);
	return 0;
}

/* Make the site do what the target's list says. It is not empty. */
static int update(struct tramp_target *target, enum tramp_mode mode,
		  const struct tramp_slot *replaced, struct tramp_refusal *why)
{
	if (mode == TRAMP_MODE_DIRECT)
		return update_direct(target, replaced, why);
	if (target->site)
		return tramp_set_switch(&target->site->set, &target->members, why);
	return tramp_ops_attach(&target->func, &target->members, &target->site, why);
}

/* Leave this program out of the image or set that the site goes on leading to. */
static void silence(struct tramp_target *target, struct tramp_slot *slot)
{
	if (target->image)
		tramp_image_mute(&target->image->image, slot);
	else
		WRITE_ONCE(slot->muted, true);
}

/* The site goes back to what it was without us; @last is the slot of the last program. */
static void remove_site(struct tramp_target *target, struct tramp_slot *last)
{
	struct tramp_func_image *image = target->image;

	if (!tramp_site_detach(target->site, image ? image->image.exec.code : 0)) {
		/* It leads here for ever: image, slots and target are never freed. */
		silence(target, last);
		target->refs++;
	} else if (image) {
		tramp_func_image_retire(image, NULL, NULL);
	}
	target->site = NULL;
	target->image = NULL;
}

/*
 * DIRECT if the site is ours or free. Otherwise entry programs can do without it. A target
 * stays in that mode until its last program goes: if it went over to an image, a call in
 * between would run them twice, or not at all.
 */
static int choose_mode(const struct tramp_func *func, const struct tramp_site *site,
		       enum tramp_list list, bool sleeps, u32 flags, enum tramp_mode *mode,
		       struct tramp_refusal *held)
{
	int err;

	*mode = TRAMP_MODE_DIRECT;
	if (site && tramp_site_mode(site) == TRAMP_MODE_DIRECT)
		return 0;
	err = tramp_site_check(func->site, held);
	if (!site && !err)
		return 0;
	if (site && !err)
		err = tramp_refuse(held, TRAMP_REASON_SITE_HELD, func->site,
				   "our own entry programs, in mode ops");
	if (held->reason == TRAMP_REASON_SITE_HELD && list == TRAMP_LIST_FENTRY && !sleeps &&
	    !(flags & TRAMP_ATTACH_F_NO_OPS)) {
		*mode = TRAMP_MODE_FTRACE_OPS;
		return 0;
	}
	return err;
}

int tramp_target_check(const struct tramp_func *func, const struct tramp_target *target,
		       enum tramp_list list, bool sleeps, u32 flags, enum tramp_mode *mode,
		       struct tramp_refusal *why)
{
	struct tramp_refusal held = {};
	int err;

	lockdep_assert_held(&tramp_mutex);
	if (!func->site)
		return tramp_refuse(why, TRAMP_REASON_NOT_TRACEABLE, func->addr, "%s", func->name);
	if (!func->key)
		return tramp_refuse(why, TRAMP_REASON_NO_BTF, func->addr, "%s", func->name);
	if (list != TRAMP_LIST_FENTRY && func->exit_reason)
		return tramp_refuse(why, func->exit_reason, func->addr, "%s", func->name);
	if (target && tramp_target_nr(target) >= TRAMP_MAX_PROGS)
		return tramp_refuse(why, TRAMP_REASON_TOO_MANY_PROGS, func->addr,
				    "%s has %u programs", func->name, TRAMP_MAX_PROGS);
	err = choose_mode(func, target ? target->site : NULL, list, sleeps, flags, mode, &held);
	/* Also with success: EXPLAIN tells who has the site, if a callback is the way. */
	if (why && !why->reason)
		*why = held;
	return err;
}

/* The newest of its kind runs first, as with the kernel's trampolines (hlist_add_head()). */
static void insert(struct tramp_target *target, struct tramp_member *member, enum tramp_list list)
{
	struct tramp_member *next;

	list_for_each_entry(next, &target->members, node) {
		if (list_of(next->kind) >= list)
			break;
	}
	list_add_tail(&member->node, &next->node);
	target->nr[list]++;
}

int tramp_target_attach(struct tramp_member *member, const struct tramp_attach *req,
			struct tramp_refusal *why)
{
	enum tramp_list list = list_of(member->kind);
	struct tramp_refusal held = {};
	struct tramp_target *target;
	enum tramp_mode mode;
	struct tramp_func func;
	int err;

	lockdep_assert_held(&tramp_mutex);
	err = tramp_resolve_prog(member->slot->prog, &func, why);
	if (err)
		return err;
	target = get_target(&func, why);
	if (IS_ERR(target))
		return PTR_ERR(target);

	err = tramp_members_check(&target->members, member->slot->prog, target->func.addr, why) ?:
	      tramp_target_check(&target->func, target, list, !tramp_ops_possible(member->slot),
				 req->flags, &mode, &held);
	if (err) {
		if (why && !why->reason)
			*why = held;
		goto put;
	}

	insert(target, member, list);
	err = update(target, mode, NULL, why);
	if (err) {
		list_del(&member->node);
		target->nr[list]--;
		goto put;
	}
	member->point = &target->point;
	member->key = target->func.key;
	return 0;
put:
	put_locked(target);
	return err;
}

void tramp_target_detach(struct tramp_member *member)
{
	struct tramp_target *target = tramp_target_of(member);
	struct tramp_func_image *image;

	lockdep_assert_held(&tramp_mutex);
	list_del(&member->node);
	target->nr[list_of(member->kind)]--;
	member->point = NULL;
	list_for_each_entry(image, &target->older, older)
		tramp_func_image_leave_out(image, member->counts);

	if (!target->site) {
		/* ftrace has shut down, see remove_site(). */
	} else if (!tramp_target_nr(target)) {
		remove_site(target, member->slot);
	} else if (update(target, tramp_site_mode(target->site), NULL, NULL)) {
		/*
		 * No memory for an image or set of the others, or ftrace has shut down.
		 * They keep the old one, and this program is left out of it.
		 */
		silence(target, member->slot);
	}
	put_locked(target);
}

int tramp_target_replace(struct tramp_member *member, struct tramp_slot *slot,
			 struct tramp_refusal *why)
{
	struct tramp_target *target = tramp_target_of(member);
	struct tramp_slot *old = member->slot;
	int err;

	lockdep_assert_held(&tramp_mutex);
	if (!target->site)
		return tramp_refuse(why, TRAMP_REASON_LINK_GONE, 0, NULL);
	if (tramp_site_mode(target->site) == TRAMP_MODE_FTRACE_OPS && !tramp_ops_possible(slot))
		return tramp_refuse(why, TRAMP_REASON_SITE_HELD, target->func.site, NULL);
	err = tramp_members_check(&target->members, slot->prog, target->func.addr, why);
	if (err)
		return err;
	member->slot = slot;
	err = update(target, tramp_site_mode(target->site), old, why);
	if (err) {
		member->slot = old;
		return err;
	}
	tramp_slot_put(old);
	return 0;
}

int __init tramp_target_init(void)
{
	cache = KMEM_CACHE(tramp_target, 0);
	return cache ? 0 : -ENOMEM;
}

void tramp_target_exit(void)
{
	tramp_cache_exit(cache);
}
