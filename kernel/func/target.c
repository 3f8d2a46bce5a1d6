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
 *
 * A function that is one of many (multi/) has its call already, and many others have the same.
 * When it gets a program of its own, the program of many becomes a member here, as the first
 * of them, and the gate leads to the target's image (gate.c). When the others have gone, the
 * gate leads to the image of many again. A program of many that comes to a function with others
 * becomes a member as well. In either case its hits and misses are counted where all of it are.
 */
#include <linux/hashtable.h>
#include <linux/slab.h>
#include "base/cache.h"
#include "base/ksyms.h"
#include "callback.h"
#include "gate.h"
#include "image.h"
#include "internal.h"
#include "target.h"

static DEFINE_HASHTABLE(targets, 10);
static struct kmem_cache *cache;

/* Where in the order of a target's programs those of a kind run. */
static enum tramp_list list_of(enum tramp_kind kind)
{
	static const enum tramp_list lists[] = {
		[TRAMP_KIND_KPROBE] = TRAMP_LIST_KPROBE,
		[TRAMP_KIND_FENTRY] = TRAMP_LIST_FENTRY,
		[TRAMP_KIND_FMOD_RET] = TRAMP_LIST_FMOD_RET,
		[TRAMP_KIND_FEXIT] = TRAMP_LIST_FEXIT,
		[TRAMP_KIND_KRETPROBE] = TRAMP_LIST_KRET,
		[TRAMP_KIND_KPROBE_MULTI] = TRAMP_LIST_KPROBE,
		[TRAMP_KIND_KRETPROBE_MULTI] = TRAMP_LIST_KRET,
		[TRAMP_KIND_KPROBE_SESSION] = TRAMP_LIST_SESSION,
	};

	return lists[kind];
}

/* How calls get here; NONE: not at all. */
static enum tramp_mode mode_of(const struct tramp_target *target)
{
	if (target->gate)
		return TRAMP_MODE_DIRECT;
	return target->site ? tramp_site_mode(target->site) : TRAMP_MODE_NONE;
}

static bool is_direct(const struct tramp_target *target)
{
	return mode_of(target) == TRAMP_MODE_DIRECT;
}

struct tramp_target *tramp_target_find(unsigned long addr, u64 key)
{
	struct tramp_target *target, *found = NULL;

	lockdep_assert_held(&tramp_mutex);
	hash_for_each_possible(targets, target, hash, addr) {
		if (target->func.addr != addr)
			continue;
		if (key ? !tramp_func_has_btf(&target->func) || target->func.key == key :
			  is_direct(target))
			return target;
		if (!key)
			found = target;
	}
	return found;
}

u32 tramp_target_count(void)
{
	struct tramp_target *target;
	u32 n = 0;
	int bkt;

	lockdep_assert_held(&tramp_mutex);
	hash_for_each(targets, bkt, target, hash)
		n += tramp_target_nr_tracing(target) != 0;
	return n;
}

u32 tramp_target_probes(void)
{
	struct tramp_target *target;
	u32 n = 0;
	int bkt;

	lockdep_assert_held(&tramp_mutex);
	hash_for_each(targets, bkt, target, hash)
		n += target->nr[TRAMP_LIST_KPROBE] != 0;
	return n;
}

void tramp_target_put_locked(struct tramp_target *target)
{
	lockdep_assert_held(&tramp_mutex);
	if (--target->refs)
		return;
	hash_del(&target->hash);
	kfree(target->name);
	kmem_cache_free(cache, target);
}

void tramp_target_put(struct tramp_target *target)
{
	mutex_lock(&tramp_mutex);
	tramp_target_put_locked(target);
	mutex_unlock(&tramp_mutex);
}

/* A copy of what @func says, without its reference. Return: 0 or a negative errno. */
static int set_func(struct tramp_target *target, const struct tramp_func *func,
		    struct tramp_refusal *why)
{
	char *name = kstrdup(func->name, GFP_KERNEL);

	if (!name)
		return tramp_refuse(why, TRAMP_REASON_NO_MEMORY, 0, NULL);
	kfree(target->name);
	target->name = name;
	target->func = func->facts;
	return 0;
}

/*
 * Find or make the target of @func. One that has had kprobe programs only knows nothing of the
 * function's BTF: add_member() tells it.
 */
static struct tramp_target *get_target(const struct tramp_func *func, struct tramp_refusal *why)
{
	struct tramp_target *target = tramp_target_find(func->addr, func->key);
	int err;

	if (target) {
		target->refs++;
		return target;
	}
	target = kmem_cache_zalloc(cache, GFP_KERNEL);
	if (!target)
		return ERR_PTR(tramp_refuse(why, TRAMP_REASON_NO_MEMORY, 0, NULL));
	err = set_func(target, func, why);
	if (err) {
		kmem_cache_free(cache, target);
		return ERR_PTR(err);
	}
	target->point.ops = &tramp_func_ops;
	if (!func->key)
		target->func.key = tramp_image_new_key();
	target->refs = 1;
	INIT_LIST_HEAD(&target->members);
	hash_add(targets, &target->hash, func->addr);
	return target;
}

/* Have the site call an image. @entered: see tramp_site_attach(). */
static int lead_to(struct tramp_target *target, unsigned long code, bool *entered,
		   struct tramp_refusal *why)
{
	struct tramp_gate *gate = target->gate;
	int err;

	if (target->site)
		return tramp_site_switch(target->site, target->func.site, code, why);
	if (!gate)
		gate = tramp_gate_find(target->func.addr, 0);
	if (!gate)
		return tramp_site_attach(target->func.site, code, &target->site, entered, why);
	err = tramp_gate_set(gate, target->func.addr, code, why);
	if (!err)
		target->gate = gate;
	return err;
}

struct tramp_func_image *tramp_target_make_image(struct tramp_target *target,
						 struct tramp_refusal *why)
{
	const struct tramp_func_image_req req = {
		.image.members = &target->members,
		.image.key = target->func.key,
		.image.index = target->index + 1,
		.image.nr_twice = target->nr[TRAMP_LIST_SESSION],
		.image.describe = tramp_slot_call,
		.target = target,
		.func = &target->func,
		.nr = target->nr,
	};

	return tramp_func_image_create(&req, why);
}

void tramp_target_drop_image(struct tramp_target *target, struct tramp_func_image *image,
			     bool entered)
{
	lockdep_assert_held(&tramp_mutex);
	if (!entered) {
		tramp_image_destroy(&image->image);
		return;
	}
	target->index++;
	target->refs++;
	tramp_func_image_retire(image, NULL, NULL);
}

void tramp_target_set_image(struct tramp_target *target, struct tramp_func_image *image,
			    const struct tramp_slot *replaced)
{
	struct tramp_func_image *old = target->image;

	lockdep_assert_held(&tramp_mutex);
	target->index++;
	target->image = image;
	target->refs++;
	if (old)
		tramp_func_image_retire(old, image, replaced);
}

static int update_direct(struct tramp_target *target, const struct tramp_slot *replaced,
			 struct tramp_refusal *why)
{
	struct tramp_func_image *image;
	bool entered = false;
	int err;

	image = tramp_target_make_image(target, why);
	if (IS_ERR(image))
		return PTR_ERR(image);

	err = lead_to(target, image->image.exec.code, &entered, why);
	if (err) {
		tramp_target_drop_image(target, image, entered);
		return err;
	}
	tramp_target_set_image(target, image, replaced);
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

int tramp_target_give_site(struct tramp_target *target, struct tramp_refusal *why)
{
	lockdep_assert_held(&tramp_mutex);
	return update(target, TRAMP_MODE_DIRECT, NULL, why);
}

void tramp_target_silence(struct tramp_target *target, struct tramp_slot *slot)
{
	lockdep_assert_held(&tramp_mutex);
	if (target->image)
		tramp_image_mute(&target->image->image, slot);
	else
		WRITE_ONCE(slot->muted, true);
}

void tramp_target_site_gone(struct tramp_target *target, bool clean)
{
	lockdep_assert_held(&tramp_mutex);
	/* It leads here for ever: image, slots and target are never freed. */
	if (!clean)
		target->refs++;
	else if (target->image)
		tramp_func_image_retire(target->image, NULL, NULL);
	target->site = NULL;
	target->image = NULL;
}

/*
 * The gate leads here no longer. @goes_on: the slot of a program that it leads to elsewhere.
 * Return: false if it does lead here, for ever.
 */
static bool leave_gate(struct tramp_target *target, const struct tramp_slot *goes_on)
{
	struct tramp_gate *gate = target->gate;

	if (!tramp_gate_clear(gate, target->func.addr))
		return false;
	tramp_func_image_retire(target->image, NULL, goes_on);
	target->gate = NULL;
	target->image = NULL;
	if (!gate->live)
		gate->ops->cleared(gate, target->func.addr);
	return true;
}

/*
 * The site goes back to what it was without us; @last is the slot of the last program, NULL if
 * nobody can come here any more.
 */
static void remove_site(struct tramp_target *target, struct tramp_slot *last)
{
	unsigned long code = target->image ? target->image->image.exec.code : 0;
	bool clean;

	if (target->gate && leave_gate(target, NULL))
		return;
	clean = !target->gate && tramp_site_detach(target->site, target->func.site, code);
	if (!clean && last)
		tramp_target_silence(target, last);
	target->gate = NULL;
	tramp_target_site_gone(target, clean);
}

/*
 * DIRECT if the site is ours or free. Otherwise entry programs can do without it. A target
 * stays in that mode until its last program goes: if it went over to an image, a call in
 * between would run them twice, or not at all.
 */
static int choose_mode(const struct tramp_func *func, const struct tramp_target *target,
		       enum tramp_list list, bool sleeps, u32 flags, enum tramp_mode *mode,
		       struct tramp_refusal *held)
{
	const struct tramp_site *site = target ? target->site : NULL;
	int err;

	*mode = TRAMP_MODE_DIRECT;
	if (target && is_direct(target))
		return 0;
	if (!site && tramp_gate_find(func->addr, 0))
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

static int check_room(const struct tramp_target *target, struct tramp_refusal *why)
{
	if (tramp_target_nr(target) < TRAMP_MAX_PROGS)
		return 0;
	return tramp_refuse(why, TRAMP_REASON_TOO_MANY_PROGS, target->func.addr,
			    "%s has %u programs", target->name, TRAMP_MAX_PROGS);
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
	if (list > TRAMP_LIST_FENTRY && func->exit_reason)
		return tramp_refuse(why, func->exit_reason, func->addr, "%s", func->name);
	err = target ? check_room(target, why) : 0;
	if (err)
		return err;
	err = choose_mode(func, target, list, sleeps, flags, mode, &held);
	/* Also with success: EXPLAIN tells who has the site, if a callback is the way. */
	if (why && !why->reason)
		*why = held;
	return err;
}

/* Around the number of programs of a list: the first one of tracing type, and the last one. */
static void hold_module(struct tramp_target *target, enum tramp_list list)
{
	if (list != TRAMP_LIST_KPROBE && !tramp_target_nr_tracing(target))
		__module_get(target->func.owner);	/* NULL is fine */
}

static void release_module(struct tramp_target *target, enum tramp_list list)
{
	if (list != TRAMP_LIST_KPROBE && !tramp_target_nr_tracing(target))
		module_put(target->func.owner);
}

/*
 * The newest of its kind runs first, as with the kernel's trampolines (hlist_add_head()). Of
 * kprobe programs the oldest does, as with the kernel's kprobes, and of sessions at the entry.
 */
static void insert(struct tramp_target *target, struct tramp_member *member)
{
	enum tramp_list list = list_of(member->kind);
	bool behind = list == TRAMP_LIST_KPROBE || list == TRAMP_LIST_SESSION;
	struct tramp_member *next;

	list_for_each_entry(next, &target->members, node) {
		if (list_of(next->kind) >= list + behind)
			break;
	}
	list_add_tail(&member->node, &next->node);
	hold_module(target, list);
	target->nr[list]++;
}

static void take_out(struct tramp_target *target, struct tramp_member *member)
{
	enum tramp_list list = list_of(member->kind);

	list_del(&member->node);
	target->nr[list]--;
	release_module(target, list);
}

/* The member of the program of many that runs at the function alone. */
static int insert_gate_member(struct tramp_target *target, struct tramp_refusal *why)
{
	struct tramp_gate *gate = NULL;
	struct tramp_member *member;

	if (!target->site && !target->gate)
		gate = tramp_gate_find(target->func.addr, 0);
	if (!gate || !gate->live)
		return 0;
	member = gate->ops->join(gate, target->func.addr);
	if (!member)
		return tramp_refuse(why, TRAMP_REASON_NO_MEMORY, 0, NULL);
	insert(target, member);
	member->point = &target->point;
	target->gate_member = member;
	target->refs++;
	return 0;
}

/* Its program is run by the image of many again. */
static void take_out_gate_member(struct tramp_target *target, struct tramp_gate *gate)
{
	struct tramp_member *member = target->gate_member;

	take_out(target, member);
	target->gate_member = NULL;
	gate->ops->leave(gate, member);
	tramp_target_put_locked(target);
}

/* A member is in the list, and will run. */
static void joined(struct tramp_target *target, struct tramp_member *member)
{
	member->point = &target->point;
	list_for_each_entry(member, &target->members, node)
		member->key = target->func.key;
}

static bool learns(const struct tramp_target *target, const struct tramp_func *func)
{
	return func && tramp_func_has_btf(&func->facts) && !tramp_func_has_btf(&target->func);
}

/*
 * Run one more program. @func is what it knows of its function, NULL: nothing. A target that has
 * had kprobe programs only knows less: its images have the other key from now on.
 */
static int add_member(struct tramp_target *target, struct tramp_member *member,
		      const struct tramp_func *func, enum tramp_mode mode,
		      struct tramp_refusal *why)
{
	bool learned = learns(target, func);
	u64 key = target->func.key;
	int err;

	if (learned) {
		err = set_func(target, func, why);
		if (err)
			return err;
	}
	err = mode == TRAMP_MODE_DIRECT ? insert_gate_member(target, why) : 0;
	if (err)
		goto forget;
	insert(target, member);
	err = update(target, mode, NULL, why);
	if (err) {
		take_out(target, member);
		if (target->gate_member && !target->gate)
			take_out_gate_member(target, tramp_gate_find(target->func.addr, 0));
		goto forget;
	}
	joined(target, member);
	return 0;
forget:
	/* Kprobe programs only, as before: the image that is left has this key. */
	if (learned)
		target->func.key = key;
	return err;
}

/* Another name of the function has programs, and no site yet: it is one of those that come. */
static bool alias_comes(const struct tramp_target *target)
{
	const struct tramp_target *other;

	hash_for_each_possible(targets, other, hash, target->func.addr) {
		if (other != target && other->func.addr == target->func.addr && !mode_of(other) &&
		    tramp_target_nr(other))
			return true;
	}
	return false;
}

/* Nothing leads to its programs, or else nothing but an image of its own could. */
static bool can_wait(const struct tramp_target *target, const struct tramp_func *func)
{
	return !mode_of(target) && !tramp_gate_find(func->addr, 0) && !learns(target, func);
}

static int join(struct tramp_target *target, struct tramp_member *member,
		const struct tramp_func *func, u32 flags, struct tramp_target **later,
		struct tramp_refusal *why)
{
	enum tramp_list list = list_of(member->kind);
	struct tramp_refusal held = {};
	enum tramp_mode mode;
	int err;

	if (later && alias_comes(target))
		return -EAGAIN;
	err = tramp_members_check(&target->members, member->slot->prog, member->kind, func->addr,
				  why) ?:
	      tramp_target_check(func, target, list, !tramp_ops_possible(member->slot), flags,
				 &mode, &held);
	if (err) {
		if (why && !why->reason)
			*why = held;
		return err;
	}
	if (!later || mode != TRAMP_MODE_DIRECT || !can_wait(target, func))
		return add_member(target, member, func, mode, why);
	insert(target, member);
	joined(target, member);
	*later = target;
	return 0;
}

int tramp_target_enlist(struct tramp_member *member, const struct tramp_attach *req,
			struct tramp_target **later, struct tramp_refusal *why)
{
	struct tramp_target *target;
	struct tramp_func func;
	int err;

	lockdep_assert_held(&tramp_mutex);
	err = tramp_resolve_prog(member->slot->prog, &func, why);
	if (err)
		return err;
	target = get_target(&func, why);
	if (IS_ERR(target)) {
		err = PTR_ERR(target);
		goto put_func;
	}
	err = join(target, member, &func, req->flags, later, why);
	if (err)
		tramp_target_put_locked(target);
put_func:
	/* The target holds the module itself by now. */
	tramp_func_put(&func);
	return err;
}

void tramp_target_strike(struct tramp_member *member)
{
	struct tramp_target *target = tramp_target_of(member);

	if (mode_of(target)) {
		tramp_target_detach(member);
		return;
	}
	take_out(target, member);
	member->point = NULL;
	tramp_target_put_locked(target);
}

int tramp_target_attach(struct tramp_member *member, const struct tramp_attach *req,
			struct tramp_refusal *why)
{
	return tramp_target_enlist(member, req, NULL, why);
}

enum tramp_mode tramp_target_entry_mode(unsigned long addr, unsigned long site)
{
	const struct tramp_target *target = tramp_target_find(addr, 0);

	if (target && mode_of(target))
		return mode_of(target);
	if (tramp_gate_find(addr, 0))
		return TRAMP_MODE_DIRECT;
	return tramp_site_check(site, NULL) ? TRAMP_MODE_FTRACE_OPS : TRAMP_MODE_DIRECT;
}

/* One program may be attached to many functions by several links, as with the kernel's own. */
static int check_twice(const struct tramp_target *target, const struct tramp_member *member,
		       struct tramp_refusal *why)
{
	if (member->kind >= TRAMP_KIND_KPROBE_MULTI)
		return 0;
	return tramp_members_check(&target->members, member->slot->prog, member->kind,
				   target->func.addr, why);
}

/* The target's first program waits with others for their sites. */
static int wait_for_site(struct tramp_target *target, struct tramp_member *member,
			 struct tramp_coming *coming, struct tramp_refusal *why)
{
	int err = tramp_site_check(target->func.site, why);

	if (err)
		return err;
	insert(target, member);
	joined(target, member);
	tramp_coming_note(coming, target, 0);
	return 0;
}

/* Takes the caller's reference of the target over, or puts it. */
static int attach_kprobe(struct tramp_target *target, struct tramp_member *member,
			 const struct tramp_func *func, struct tramp_coming *coming,
			 struct tramp_refusal *why)
{
	bool wait = coming && can_wait(target, func) && !alias_comes(target);
	int err;

	if (target->site && !is_direct(target))
		err = tramp_refuse(why, TRAMP_REASON_SITE_HELD, target->func.site, NULL);
	else
		err = check_room(target, why) ?: check_twice(target, member, why);
	if (!err && wait)
		err = wait_for_site(target, member, coming, why);
	else if (!err)
		err = add_member(target, member, func, TRAMP_MODE_DIRECT, why);
	if (err)
		tramp_target_put_locked(target);
	return err;
}

int tramp_target_attach_kprobe(struct tramp_member *member, const struct tramp_func *func,
			       struct tramp_coming *coming, struct tramp_refusal *why)
{
	struct tramp_target *target;

	lockdep_assert_held(&tramp_mutex);
	target = get_target(func, why);
	if (IS_ERR(target))
		return PTR_ERR(target);
	return attach_kprobe(target, member, func, coming, why);
}

bool tramp_target_can_join(unsigned long addr, u32 more)
{
	const struct tramp_target *target = tramp_target_find(addr, 0);

	if (target && is_direct(target))
		return tramp_target_nr(target) < TRAMP_MAX_PROGS;
	return !(target && target->site) && tramp_gate_find(addr, more);
}

/* The function, if it has no target yet. */
static int find_func(unsigned long addr, struct tramp_func *func, struct tramp_refusal *why)
{
	struct module *mod = NULL;
	struct tramp_symbol sym;

	if (!tramp_text_symbol(addr, &sym))
		return tramp_refuse(why, TRAMP_REASON_NO_SUCH_FUNCTION, addr, NULL);
	if (!KSYM(core_kernel_text)(addr)) {
		preempt_disable();
		mod = KSYM(__module_text_address)(addr);
		preempt_enable();
	}
	tramp_resolve_entry(&sym, tramp_site_of(addr), mod, func);
	return 0;
}

int tramp_target_join(struct tramp_member *member, unsigned long addr, struct tramp_refusal *why)
{
	struct tramp_target *target = tramp_target_find(addr, 0);
	struct tramp_func func;
	int err;

	lockdep_assert_held(&tramp_mutex);
	if (target && is_direct(target)) {
		target->refs++;
		return attach_kprobe(target, member, NULL, NULL, why);
	}
	err = find_func(addr, &func, why);
	return err ?: tramp_target_attach_kprobe(member, &func, NULL, why);
}

void tramp_target_leave_out(const struct tramp_counts *counts)
{
	struct tramp_func_inside *inside;
	struct tramp_target *target;
	int bkt;

	lockdep_assert_held(&tramp_mutex);
	hash_for_each(targets, bkt, target, hash) {
		hlist_for_each_entry(inside, &target->older, older)
			tramp_func_image_leave_out(inside->image, counts);
	}
}

/* Nobody but the owner of a live gate has a program left here: the image of many runs it. */
static bool is_owners_alone(const struct tramp_target *target)
{
	return target->gate && target->gate->live && target->gate_member &&
	       tramp_target_nr(target) == 1;
}

struct tramp_target *tramp_target_leave(struct tramp_member *member)
{
	struct tramp_target *target = tramp_target_of(member);
	struct tramp_func_inside *inside;

	lockdep_assert_held(&tramp_mutex);
	take_out(target, member);
	member->point = NULL;
	if (target->gate_member == member)
		target->gate_member = NULL;
	hlist_for_each_entry(inside, &target->older, older)
		tramp_func_image_leave_out(inside->image, member->counts);
	return target;
}

void tramp_target_detach(struct tramp_member *member)
{
	struct tramp_target *target = tramp_target_leave(member);
	struct tramp_gate *gate = target->gate;
	struct tramp_slot *slot = member->slot;

	if (!mode_of(target)) {
		/* ftrace has shut down, see remove_site(); or the module has gone. */
	} else if (!tramp_target_nr(target)) {
		remove_site(target, slot);
	} else if (is_owners_alone(target)) {
		if (leave_gate(target, target->gate_member->slot))
			take_out_gate_member(target, gate);
		else
			tramp_target_silence(target, slot);
	} else if (update(target, mode_of(target), NULL, NULL)) {
		/*
		 * No memory for an image or set of the others, or ftrace has shut down.
		 * They keep the old one, and this program is left out of it.
		 */
		tramp_target_silence(target, slot);
	}
	tramp_target_put_locked(target);
}

int tramp_target_replace(struct tramp_member *member, struct tramp_slot *slot,
			 struct tramp_refusal *why)
{
	struct tramp_target *target = tramp_target_of(member);
	struct tramp_slot *old = member->slot;
	int err;

	lockdep_assert_held(&tramp_mutex);
	if (!mode_of(target))
		return tramp_refuse(why,
				    tramp_target_is_gone(target) ? TRAMP_REASON_MODULE_GONE :
								   TRAMP_REASON_LINK_GONE,
				    0, NULL);
	if (!is_direct(target) && !tramp_ops_possible(slot))
		return tramp_refuse(why, TRAMP_REASON_SITE_HELD, target->func.site, NULL);
	err = tramp_members_check(&target->members, slot->prog, member->kind, target->func.addr,
				  why);
	if (err)
		return err;
	member->slot = slot;
	err = update(target, mode_of(target), old, why);
	if (err) {
		member->slot = old;
		return err;
	}
	tramp_slot_put(old);
	return 0;
}

/*
 * GOING comes when nobody executes the module's code any more, and before ftrace forgets its
 * functions. Programs of tracing type hold the module: there are none.
 */
void tramp_target_module_gone(const struct module *mod)
{
	struct tramp_target *target;
	struct hlist_node *next;
	int bkt;

	lockdep_assert_held(&tramp_mutex);
	hash_for_each_safe(targets, bkt, next, target, hash) {
		if (target->func.owner != mod)
			continue;
		hash_del(&target->hash);
		target->func.owner = NULL;
		if (mode_of(target))
			remove_site(target, NULL);
	}
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
