// SPDX-License-Identifier: GPL-2.0
/*
 * Targets: the table of them, and from a list of programs to what the site calls.
 *
 * In mode DIRECT every change of a target's programs makes a new image for the new list,
 * switches the site to it and retires the old one. In mode FTRACE_OPS it replaces the set
 * that the ftrace callback runs. Nothing is edited in place, so a call sees the list as it
 * was before the change or as it is after it.
 *
 * The order is: image complete, site switched, old image retired. If the site
 * cannot be switched everything is as before.
 *
 * Image made: nobody executes it, as no site has its address. It can be freed at once.
 *
 * Site switched: each call runs the old image or the new one, and both are complete. If ftrace
 * refuses a new site late, calls may have entered (@entered): the image retires instead.
 *
 * Old image retired: tasks may be on their way to it or inside. It holds its slots, and with its
 * reference the target, until a grace period and its counters say that they are out
 * (image.c). So nothing here waits for them.
 *
 * Site gone: as for a switch, without a new image. If ftrace or a gate cannot take the call back,
 * tasks may come for ever. Then image, slots and target are never freed.
 *
 * A function that is one of many (multi/) has its call already, and many others have the same.
 * The gate leads to the target's image then (gate.c), in the place of a site.
 *
 * All of it happens with tramp_mutex held, by attach, detach, the module notifier and the retire
 * worker. So each of them finds list, image and site that agree, and the next change begins
 * from there. Calls take no lock: they read no list, and nothing of the table.
 */
#include <linux/hashtable.h>
#include <linux/slab.h>
#include "base/cache.h"
#include "callback.h"
#include "gate.h"
#include "image.h"
#include "internal.h"
#include "target.h"

static DEFINE_HASHTABLE(targets, 10);
static u32 nr_traced;		/* tramp_mutex: targets with a program of tracing type */
static u32 nr_probed;		/* tramp_mutex: targets with a kprobe program */
static struct kmem_cache *cache;

enum tramp_mode tramp_target_mode(const struct tramp_target *target)
{
	if (target->gate)
		return TRAMP_MODE_DIRECT;
	return target->site ? tramp_site_mode(target->site) : TRAMP_MODE_NONE;
}

struct tramp_target *tramp_target_find(unsigned long addr, u64 key)
{
	struct tramp_target *target, *found = NULL;

	lockdep_assert_held(&tramp_mutex);
	hash_for_each_possible(targets, target, hash, addr) {
		if (target->func.addr != addr)
			continue;
		if (key ? !tramp_func_has_btf(&target->func) || target->func.key == key :
			  tramp_target_is_direct(target))
			return target;
		if (!key)
			found = target;
	}
	return found;
}

u32 tramp_target_count(void)
{
	lockdep_assert_held(&tramp_mutex);
	return nr_traced;
}

u32 tramp_target_probes(void)
{
	lockdep_assert_held(&tramp_mutex);
	return nr_probed;
}

/* Where a module was nothing is counted, although programs may still be there. */
static void count(const struct tramp_target *target, int by)
{
	lockdep_assert_held(&tramp_mutex);
	if (tramp_target_is_gone(target))
		return;
	if (tramp_target_nr_tracing(target))
		nr_traced += by;
	if (target->nr[TRAMP_LIST_KPROBE])
		nr_probed += by;
}

void tramp_target_count_member(struct tramp_target *target, enum tramp_list list, int by)
{
	count(target, -1);
	target->nr[list] += by;
	count(target, 1);
}

void tramp_target_put(struct tramp_target *target)
{
	lockdep_assert_held(&tramp_mutex);
	if (--target->refs)
		return;
	hash_del(&target->hash);
	kfree(target->name);
	kmem_cache_free(cache, target);
}

int tramp_target_set_func(struct tramp_target *target, const struct tramp_func *func,
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

struct tramp_target *tramp_target_get(const struct tramp_func *func, struct tramp_refusal *why)
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
	err = tramp_target_set_func(target, func, why);
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

bool tramp_target_alias_comes(const struct tramp_target *target)
{
	const struct tramp_target *other;

	hash_for_each_possible(targets, other, hash, target->func.addr) {
		if (other != target && other->func.addr == target->func.addr &&
		    !tramp_target_mode(other) && tramp_target_nr(other))
			return true;
	}
	return false;
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

int tramp_target_update(struct tramp_target *target, enum tramp_mode mode,
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
	return tramp_target_update(target, TRAMP_MODE_DIRECT, NULL, why);
}

void tramp_target_silence(struct tramp_target *target, struct tramp_slot *slot)
{
	lockdep_assert_held(&tramp_mutex);
	if (target->image)
		tramp_image_mute(&target->image->image, slot);
	else
		tramp_slot_mute(slot, true);
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

bool tramp_target_leave_gate(struct tramp_target *target, const struct tramp_slot *goes_on)
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

void tramp_target_remove_site(struct tramp_target *target, struct tramp_slot *last)
{
	unsigned long code = target->image ? target->image->image.exec.code : 0;
	bool clean;

	if (target->gate && tramp_target_leave_gate(target, NULL))
		return;
	clean = !target->gate && tramp_site_detach(target->site, target->func.site, code);
	if (!clean && last)
		tramp_target_silence(target, last);
	target->gate = NULL;
	tramp_target_site_gone(target, clean);
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

/*
 * Take a module's functions out of the table. Their sites go one by one, but for those of one
 * group, which come into @gone. Return: whether there are any; then there may be more.
 */
static bool take_going(const struct module *mod, struct hlist_head *gone)
{
	struct tramp_site *group = NULL;
	struct tramp_target *target;
	struct hlist_node *next;
	u32 nr = 0;
	int bkt;

	hash_for_each_safe(targets, bkt, next, target, hash) {
		bool grouped = tramp_target_is_grouped(target);

		if (target->func.owner != mod ||
		    (grouped && ((group && target->site != group) || nr == TRAMP_BATCH_MANY)))
			continue;
		count(target, -1);
		hash_del(&target->hash);
		target->func.owner = NULL;
		if (grouped) {
			group = target->site;
			hlist_add_head(&target->hash, gone);
			nr++;
		} else if (tramp_target_mode(target)) {
			tramp_target_remove_site(target, NULL);
		}
	}
	return nr;
}

/*
 * GOING comes when nobody executes the module's code any more, and before ftrace forgets its
 * functions. Programs of tracing type hold the module: there are none.
 */
void tramp_target_module_gone(const struct module *mod)
{
	HLIST_HEAD(gone);

	lockdep_assert_held(&tramp_mutex);
	while (take_going(mod, &gone))
		tramp_target_free_group(&gone);
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
