// SPDX-License-Identifier: GPL-2.0
/*
 * Return probes by the kernel's rethook.
 *
 * At the function's entry our hook takes a node of the attachment's own rethook. The kernel
 * saves the return address in it, pushes it on the task's list of nodes, and puts its own
 * arch_rethook_trampoline in the place of the return address. The return leads there. The
 * kernel calls our handler with pt_regs and goes on at the saved address. The unwinder finds true
 * callers in the same list (rethook_find_ret_addr()).
 *
 * How the hook is entered. It is a slot with a C function for a program (struct tramp_hook). It
 * is attached to the entry as a kprobe program is, and runs from the function's image or from
 * ftrace's callback. (In a module, too, it runs from the image. A program at an entry lets the
 * module go; the hook does not, see attach_in_module().) Both give the sp that the function was
 * entered with. The word there is the return address. That is sure because the place is an ftrace
 * site at the start of a symbol: the compiler puts one only where a function begins. Parts of
 * functions (foo.cold) and labels in assembly have none, and are refused.
 *
 * Nodes. An attachment has maxactive of them, from the start: nothing is allocated on a hit. A
 * call that finds none is a miss. Nodes go back when the call returns. If its task dies inside, the
 * kernel gives back what is on the task's list (rethook_flush_task()).
 *
 * Several attachments at one function each push a node of theirs. The newest one was entered
 * last and runs first at the return. A kernel kretprobe, and our exit images, may be there as
 * well: each takes what it finds for the return address.
 *
 * Recursion. The hook calls nothing that may be traced: rethook_try_get() and rethook_hook() are
 * notrace, and forbidden to kprobes. One that comes in an interrupt while another one is running
 * is missed, and counted (slot.h). The program runs with the guards and counts of all kprobe
 * programs.
 *
 * When a program is detached, this is who may execute what:
 *
 * - Calls that are inside still return by way of arch_rethook_trampoline, which is the kernel's.
 *   It may call our handler, which finds no set any more. Or it finds that the rethook has been
 *   freed, and calls nobody.
 * - Hooks may be running, and images that call them may be in use. Each holds a reference to the
 *   slot. When the last one has gone, no hook runs and none can come. Only then the rethook is
 *   freed: rethook_try_get() must not be called after that.
 * - rethook_free() takes the handler out. A handler that was called before runs with preemption
 *   off. So the struct that it gets goes behind one of our grace periods (base/retire.c).
 * - Nodes of calls that are inside, and the rethook itself, are freed by the kernel, when the last
 *   one has returned or its task has died. Nothing of ours is in them.
 *
 * So no call that sleeps inside the function holds up anything, the module's exit included:
 * that waits for the retire list, which ends with the grace period behind rethook_free().
 *
 * RCU. The hook looks whether RCU watches, and takes no node where it does not: the kernel takes
 * one, and gives it back, as one of RCU's readers. That is more than rethook_try_get() asks for:
 * RCU seems to watch a CPU that has reported its death (prog/runtime.h). The handler looks as well:
 * a function may turn RCU off. Then the return is missed. The grace period covers it all the same.
 */
#include <linux/hashtable.h>
#include <linux/slab.h>
#include "base/compat.h"
#include "base/ksyms.h"
#include "base/rethook.h"
#include "func/target.h"
#include "probe/probe.h"
#include "prog/runtime.h"
#include "rethook.h"

static DEFINE_HASHTABLE(rethooks, 8);		/* tramp_mutex */

static struct tramp_rethook *rethook_of(const struct tramp_member *member)
{
	return container_of(member->point, struct tramp_rethook, point);
}

/* Preemption is off. */
static notrace u64 on_entry(struct pt_regs *regs, struct tramp_hook *hook)
{
	struct tramp_rethook *rh = container_of(hook, struct tramp_rethook, hook);
	struct rethook_node *node = NULL;

	if (tramp_cpu_watched())
		node = KSYM(rethook_try_get)(rh->rethook);
	if (node)
		KSYM(rethook_hook)(node, regs, true);
	else
		tramp_set_miss(rcu_dereference_raw(rh->set));
	return 0;
}

/* Preemption is off. */
static notrace void TRAMP_RETHOOK_HANDLER(on_return, data, regs)
{
	struct tramp_rethook *rh = data;

	if (tramp_cpu_watched())
		tramp_set_run(rcu_dereference_raw(rh->set), regs);
	else
		tramp_set_miss(rcu_dereference_raw(rh->set));
}

static void free_struct(struct tramp_retire *r)
{
	kfree(container_of(r, struct tramp_rethook, retire));
}

/* No hook runs, and none can come. */
static void hook_released(struct tramp_hook *hook)
{
	static const struct tramp_retire_ops ops = { .free = free_struct };
	struct tramp_rethook *rh = container_of(hook, struct tramp_rethook, hook);

	if (rh->rethook)
		KSYM(rethook_free)(rh->rethook);
	tramp_retire_add(&rh->retire, &ops);
}

/* As many as the kernel's kretprobes have (register_kretprobe()). */
static u32 default_nodes(void)
{
	return max_t(u32, 10, 2 * num_possible_cpus());
}

/* A new one with its slot. From here on the slot's last reference frees it: put_entry(). */
static struct tramp_rethook *new_rethook(u32 nr)
{
	struct tramp_rethook *rh = kzalloc(sizeof(*rh), GFP_KERNEL);
	struct tramp_member *entry;

	if (!rh)
		return NULL;
	rh->point.ops = &tramp_ret_ops;
	INIT_LIST_HEAD(&rh->members);
	rh->hook.func = on_entry;
	rh->hook.regs = BIT(offsetof(struct pt_regs, sp) / sizeof(long));
	rh->hook.released = hook_released;
	entry = &rh->entry;
	entry->kind = TRAMP_KIND_KPROBE;
	entry->counts = tramp_counts_alloc();
	if (entry->counts)
		entry->slot = tramp_slot_alloc_hook(&rh->hook, entry->counts);
	if (!entry->slot) {
		tramp_counts_put(entry->counts);
		kfree(rh);
		return NULL;
	}
	rh->rethook = tramp_rethook_alloc(rh, on_return, sizeof(struct rethook_node), nr);
	return rh;
}

/* The hook is at no entry any more; @rh may be gone after that. */
static void put_entry(struct tramp_rethook *rh)
{
	struct tramp_counts *counts = rh->entry.counts;
	struct module *module = rh->module;

	tramp_slot_put(rh->entry.slot);
	tramp_counts_put(counts);
	module_put(module);
}

/* One whose module has gone is at no function, though another may be where its function was. */
static bool is_at(const struct tramp_rethook *rh, unsigned long addr)
{
	return rh->addr == addr && !tramp_probe_is_gone(&rh->entry);
}

int tramp_rethook_check(unsigned long addr, const struct bpf_prog *prog,
			struct tramp_refusal *why)
{
	const struct tramp_rethook *rh;
	int err = 0;

	lockdep_assert_held(&tramp_mutex);
	hash_for_each_possible(rethooks, rh, hash, addr) {
		if (!err && is_at(rh, addr))
			err = tramp_members_check(&rh->members, prog, TRAMP_KIND_KRETPROBE, addr,
						  why);
	}
	return err;
}

/* In a module: by the function's image. The module stays as long as the hook is there. */
static int attach_in_module(struct tramp_rethook *rh, const struct tramp_place *place)
{
	struct tramp_func func;
	int err;

	/* A module that is going waits for tramp_mutex, in its notifier. */
	if (!try_module_get(place->module))
		return -ENXIO;
	tramp_resolve_entry(&place->sym, place->addr, place->module, &func);
	err = tramp_target_attach_kprobe(&rh->entry, &func, NULL, NULL);
	if (err)
		module_put(place->module);
	else
		rh->module = place->module;
	return err;
}

static int attach_entry(struct tramp_rethook *rh, const struct tramp_place *place,
			const struct tramp_attach *req, struct tramp_refusal *why)
{
	if (place->module && !attach_in_module(rh, place))
		return 0;
	return tramp_probe_ops.attach(&rh->entry, req, why);
}

/* Returns first: a hook must find the set. */
static int start(struct tramp_rethook *rh, struct tramp_member *member,
		 const struct tramp_place *place, const struct tramp_attach *req,
		 struct tramp_refusal *why)
{
	int err;

	if (!rh->rethook)
		return tramp_refuse(why, TRAMP_REASON_NO_MEMORY, 0, NULL);
	list_add(&member->node, &rh->members);
	err = tramp_set_switch(&rh->set, &rh->members, why);
	if (err)
		goto del;
	err = attach_entry(rh, place, req, why);
	if (!err)
		return 0;
	tramp_set_clear(&rh->set);
del:
	list_del(&member->node);
	return err;
}

int tramp_rethook_attach(struct tramp_member *member, const struct tramp_attach *req,
			 const struct tramp_place *place, u32 reason, unsigned long reason_addr,
			 struct tramp_refusal *why)
{
	struct tramp_rethook *rh;
	int err;

	lockdep_assert_held(&tramp_mutex);
	if (!tramp_rethook_possible())
		return tramp_refuse(why, TRAMP_REASON_MISSING_SYMBOL, place->addr,
				    "no rethook (%s)", tramp_reason_name(reason));
	rh = new_rethook(req->maxactive ?: default_nodes());
	if (!rh)
		return tramp_refuse(why, TRAMP_REASON_NO_MEMORY, 0, NULL);
	rh->entry.link_id = member->link_id;
	rh->addr = place->addr;
	rh->reason = reason;
	rh->reason_addr = reason_addr;
	err = start(rh, member, place, req, why);
	if (err) {
		put_entry(rh);
		return err;
	}
	hash_add(rethooks, &rh->hash, rh->addr);
	member->point = &rh->point;
	member->key = rh->entry.key;
	return 0;
}

u64 tramp_rethook_misses(const struct tramp_member *member)
{
	const struct tramp_rethook *rh = rethook_of(member);
	u64 hits, misses;

	tramp_counts_sum(rh->entry.counts, &hits, &misses);
	return misses + (rh->entry.point ? tramp_probe_ops.misses(&rh->entry) : 0);
}

void tramp_rethook_detach(struct tramp_member *member)
{
	struct tramp_rethook *rh = rethook_of(member);

	lockdep_assert_held(&tramp_mutex);
	tramp_probe_ops.detach(&rh->entry);
	tramp_set_clear(&rh->set);
	tramp_counts_add_misses(member->counts, tramp_rethook_misses(member));
	hash_del(&rh->hash);
	list_del(&member->node);
	member->point = NULL;
	put_entry(rh);
}

int tramp_rethook_replace(struct tramp_member *member, struct tramp_slot *slot,
			  struct tramp_refusal *why)
{
	struct tramp_rethook *rh = rethook_of(member);
	struct tramp_slot *old = member->slot;
	int err;

	lockdep_assert_held(&tramp_mutex);
	if (tramp_probe_is_gone(&rh->entry))
		return tramp_refuse(why, TRAMP_REASON_MODULE_GONE, 0, NULL);
	err = tramp_rethook_check(rh->addr, slot->prog, why) ?:
	      tramp_target_check_prog(rh->addr, slot->prog, member->kind, why);
	if (err)
		return err;
	member->slot = slot;
	err = tramp_set_switch(&rh->set, &rh->members, why);
	if (err) {
		member->slot = old;
		return err;
	}
	tramp_slot_put(old);
	return 0;
}

/* Newer ones run before it. */
static u32 position(const struct tramp_rethook *rh)
{
	const struct tramp_rethook *other;
	u32 n = 0;

	hash_for_each_possible(rethooks, other, hash, rh->addr) {
		if (other == rh)
			break;
		n += is_at(other, rh->addr);
	}
	return n;
}

void tramp_rethook_describe(const struct tramp_member *member, struct tramp_described *d)
{
	const struct tramp_rethook *rh = rethook_of(member);

	lockdep_assert_held(&tramp_mutex);
	tramp_probe_ops.describe(&rh->entry, d);
	/* Its module has gone: there is no more to say. */
	if (d->mode == TRAMP_MODE_NONE)
		return;
	d->mode = TRAMP_MODE_RETHOOK;
	d->mode_name = "RETHOOK";
	d->reason = rh->reason;
	d->reason_addr = rh->reason_addr;
	d->region_len = 0;
	d->pos = position(rh);
}
