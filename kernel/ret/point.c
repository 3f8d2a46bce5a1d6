// SPDX-License-Identifier: GPL-2.0
/*
 * Returns of functions as a kind of attach point (link/point.h), for kprobe programs.
 *
 * A program goes to the function's exit image if it can have one: then it is a member of the
 * function (func/target.c). Otherwise the kernel's rethook leads to it (rethook.c).
 *
 * An exit image calls the function, and so must know its stack arguments. It is used only if BTF
 * describes the very function at that address, and an exit program could be attached to it.
 *
 * Functions whose programs come in one call get their sites together (func/many.c). If ftrace
 * refuses them for the sake of one, all begin anew, one by one, and that one gets a rethook.
 */
#include <linux/kallsyms.h>
#include "base/compat.h"
#include "base/ksyms.h"
#include "base/rethook.h"
#include "base/turn.h"
#include "func/explain.h"
#include "func/target.h"
#include "probe/place.h"
#include "probe/probe.h"
#include "ret.h"
#include "rethook.h"

static int check_prog(const struct bpf_prog *prog, u8 *kind, struct tramp_refusal *why)
{
	int err = tramp_probe_ops.check_prog(prog, kind, why);

	*kind = TRAMP_KIND_KRETPROBE;
	return err;
}

static int prepare(struct tramp_member *member, const struct tramp_attach *req,
		   struct tramp_refusal *why)
{
	return tramp_probe_ops.prepare(member, req, why);
}

/* At its return no kprobe of the kernel is running, which alone tells the function. */
static int check_func_ip(const struct tramp_slot *slot, struct tramp_refusal *why)
{
	return slot->func_ip ? tramp_slot_refuse_func_ip(slot, 0, why) : 0;
}

/* Find the function: its entry, with an ftrace site. */
static int find(const struct tramp_probe_at *at, struct tramp_place *place,
		struct tramp_refusal *why)
{
	int err = tramp_place_find(at, place, why);

	if (err)
		return err;
	if (place->addr != place->entry_addr)
		return tramp_refuse(why, TRAMP_REASON_SYNTAX, place->addr,
				    "a return probe goes to a function's entry, offset 0");
	if (!place->ftrace)
		return tramp_refuse(why, TRAMP_REASON_NOT_TRACEABLE, place->addr, NULL);
	return 0;
}

static bool is_direct(const struct tramp_member *member)
{
	return member->point->ops == &tramp_func_ops;
}

/*
 * The function with its prototype, and with a reference to its module. Only what BTF says about
 * this very address counts: clones (foo.isra.0) have no BTF, and one of several functions with a
 * name may not be the one that BTF means.
 */
static int resolve(const struct tramp_place *place, struct tramp_func *func,
		   struct tramp_refusal *why)
{
	u32 reason = TRAMP_REASON_NONE;
	char name[KSYM_NAME_LEN];
	int err;

	if (!tramp_text_name(place->sym.start, name, NULL))
		return tramp_refuse(why, TRAMP_REASON_NO_BTF, place->addr, NULL);
	err = tramp_resolve_name(name, place->module ? place->module->name : "", func, why);
	if (err)
		return err;
	if (func->exit_reason)
		reason = func->exit_reason;
	else if (func->addr != place->sym.start || func->site != place->addr || !func->key)
		reason = TRAMP_REASON_NO_BTF;
	else if (place->denied && place->denied != TRAMP_REASON_RCU_IDLE)
		reason = place->denied;
	if (!reason)
		return 0;
	tramp_func_put(func);
	return tramp_refuse(why, reason, place->addr, "%s", name);
}

/* Where an exit image is refused for such a reason a rethook is no way either. */
static bool is_final(u32 reason)
{
	switch (reason) {
	case TRAMP_REASON_NORETURN:
	case TRAMP_REASON_TOO_MANY_PROGS:
	case TRAMP_REASON_ALREADY_ATTACHED:
	case TRAMP_REASON_FTRACE_DISABLED:
	case TRAMP_REASON_NO_MEMORY:
	case TRAMP_REASON_NO_EXEC_MEMORY:
		return true;
	default:
		return false;
	}
}

/*
 * By the function's exit image.
 *
 * Return: 0 or a negative errno, which is final. 1: by a rethook, @own says why.
 */
static int attach_direct(struct tramp_member *member, const struct tramp_place *place,
			 struct tramp_coming *coming, struct tramp_refusal *own)
{
	struct tramp_func func;
	int err = resolve(place, &func, own);

	if (!err) {
		err = tramp_target_attach_kprobe(member, &func, coming, own);
		/* The target holds the module itself by now. */
		tramp_func_put(&func);
	}
	return err && !is_final(own->reason) ? 1 : err;
}

/* @coming: see tramp_target_attach_kprobe(). */
static int join(struct tramp_member *member, const struct tramp_attach *req,
		struct tramp_coming *coming, struct tramp_refusal *why)
{
	const struct tramp_probe_at at = tramp_probe_at(req);
	struct tramp_refusal own = {};
	struct tramp_place place;
	int err;

	err = check_func_ip(member->slot, why) ?: find(&at, &place, why);
	if (!err)
		err = tramp_rethook_check(place.addr, member->slot->prog, why);
	if (err)
		return err;
	err = attach_direct(member, &place, coming, &own);
	if (err < 0 && why)
		*why = own;
	if (err <= 0)
		return err;
	return tramp_rethook_attach(member, req, &place, own.reason, own.addr ?: place.addr, why);
}

/* enum tramp_reason: why attach_direct() would refuse; 0: it would not. */
static u32 check_direct(const struct tramp_place *place)
{
	struct tramp_refusal why = {};
	struct tramp_func func;
	int err = resolve(place, &func, &why);

	if (!err) {
		err = tramp_func_check_return(&func, &why);
		tramp_func_put(&func);
	}
	return err ? why.reason : 0;
}

/* Whether one more program can come to the entry. */
static int check_hook(const struct tramp_place *place, struct tramp_refusal *why)
{
	int err;

	if (!tramp_ftrace_is_on())
		return tramp_refuse(why, TRAMP_REASON_FTRACE_DISABLED, 0, NULL);
	/* Without a reason: there is none to join, so it would be the first. */
	err = tramp_target_check_join(place->sym.start, 0, false, why);
	return why->reason ? err : 0;
}

u32 tramp_ret_explain(const struct tramp_probe_at *at, u32 *mode)
{
	struct tramp_refusal why = {};
	struct tramp_place place;
	u32 reason = 0;
	int err;

	*mode = TRAMP_MODE_NONE;
	err = tramp_probe_prepare(at, false, &why);
	if (err)
		return why.reason;
	mutex_lock(&tramp_mutex);
	err = find(at, &place, &why);
	if (!err)
		reason = check_direct(&place);
	/* A rethook comes by the entry. */
	if (!err && reason && !is_final(reason))
		err = check_hook(&place, &why);
	mutex_unlock(&tramp_mutex);
	if (err)
		return why.reason;
	if (is_final(reason))
		return reason;
	if (reason && !tramp_rethook_possible())
		return TRAMP_REASON_MISSING_SYMBOL;
	*mode = reason ? TRAMP_MODE_RETHOOK : TRAMP_MODE_DIRECT;
	return reason;
}

static void detach(struct tramp_member *member)
{
	if (is_direct(member))
		tramp_target_detach(member);
	else
		tramp_rethook_detach(member);
}

/* See tramp_coming_fn. */
static int try_many(const struct tramp_join *items, u32 *nr, struct tramp_coming *coming,
		    struct tramp_refusal *why)
{
	struct tramp_turn turn;
	int err = 0;
	u32 at;

	tramp_turn_begin(&turn);
	for (at = 0; !err && at < *nr && (!at || !tramp_turn_over(&turn)); at++)
		err = join(items[at].member, items[at].req, coming, why);
	if (err)
		*nr = --at;
	else if (coming && tramp_coming_attach(coming))
		err = 1;
	else
		*nr = at;
	while (err && at--)
		detach(items[at].member);
	return err;
}

static int attach_many(const struct tramp_join *items, u32 *nr, struct tramp_refusal *why)
{
	return tramp_coming_try(items, nr, try_many, why);
}

static int attach(struct tramp_member *member, const struct tramp_attach *req,
		  struct tramp_refusal *why)
{
	lockdep_assert_held(&tramp_mutex);
	return join(member, req, NULL, why);
}

/* The others wait, one after the other. */
static bool together(const struct tramp_member *member)
{
	return is_direct(member) && tramp_target_together(member);
}

static int replace(struct tramp_member *member, struct tramp_slot *slot,
		   struct tramp_refusal *why)
{
	int err = check_func_ip(slot, why);

	if (err)
		return err;
	if (!is_direct(member))
		return tramp_rethook_replace(member, slot, why);
	/* Another link may have brought the program here by a rethook. */
	err = tramp_rethook_check(tramp_target_of(member)->func.site, slot->prog, why);
	return err ?: tramp_target_replace(member, slot, why);
}

static u64 misses(const struct tramp_member *member)
{
	return is_direct(member) ? 0 : tramp_rethook_misses(member);
}

static void describe(const struct tramp_member *member, struct tramp_described *d)
{
	lockdep_assert_held(&tramp_mutex);
	if (!is_direct(member)) {
		tramp_rethook_describe(member, d);
		return;
	}
	tramp_target_describe(member, d);
	d->instruction = true;
	d->addr = tramp_target_of(member)->func.site;
	d->offset = d->addr - d->func_addr;
}

static int fill_link_info(const struct tramp_member *member, struct bpf_link_info *info)
{
	return tramp_probe_link_info(&tramp_ret_ops, member, info);
}

const struct tramp_point_ops tramp_ret_ops = {
	.prog_type = BPF_PROG_TYPE_KPROBE,
	.returns = true,
	.link_type = BPF_LINK_TYPE_PERF_EVENT,
	.check_prog = check_prog,
	.prepare = prepare,
	.attach = attach,
	.detach = detach,
	.attach_many = attach_many,
	.detach_many = tramp_target_detach_many,
	.together = together,
	.replace = replace,
	.misses = misses,
	.describe = describe,
	.fill_link_info = fill_link_info,
};
