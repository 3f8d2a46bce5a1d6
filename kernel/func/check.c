// SPDX-License-Identifier: GPL-2.0
/*
 * Whether one more program may come to a function, and in which mode calls would reach it.
 *
 * ATTACH and EXPLAIN ask the same questions. An answer changes nothing, so no call sees it.
 * Attach holds tramp_mutex from the answer to its change: no other program comes between.
 *
 * Other tracers do not take that mutex. One of them may get the site in between: then ftrace, which
 * looks again under its own lock, refuses the change.
 */
#include "ftrace/ipmodify.h"
#include "gate.h"
#include "internal.h"
#include "target.h"
#include "text/unsafe.h"

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
	if (target && tramp_target_is_direct(target))
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

/*
 * Each session is a call within that of the one before (x86/ret.c), and has 40 bytes of the stack
 * for as long as the function runs. Without a limit calls that are nested, each of a function with
 * many sessions, would need more stack than there is. So many take about what an fexit program of
 * the kernel's takes, however many of those there are.
 */
static int check_room(const struct tramp_target *target, bool session, struct tramp_refusal *why)
{
	if (tramp_target_nr(target) >= TRAMP_MAX_PROGS)
		return tramp_refuse(why, TRAMP_REASON_TOO_MANY_PROGS, target->func.addr,
				    "%s has %u programs", target->name, TRAMP_MAX_PROGS);
	if (session && target->nr[TRAMP_LIST_SESSION] >= TRAMP_MAX_SESSIONS)
		return tramp_refuse(why, TRAMP_REASON_TOO_MANY_PROGS, target->func.addr,
				    "%s has %u sessions", target->name, TRAMP_MAX_SESSIONS);
	return 0;
}

int tramp_target_check(const struct tramp_func *func, const struct tramp_target *target,
		       enum tramp_list list, bool sleeps, u32 flags, enum tramp_mode *mode,
		       struct tramp_refusal *why)
{
	struct tramp_refusal held = {};
	u32 reason;
	int err;

	lockdep_assert_held(&tramp_mutex);
	if (!func->site)
		return tramp_refuse(why, TRAMP_REASON_NOT_TRACEABLE, func->addr, "%s", func->name);
	if (!func->key)
		return tramp_refuse(why, TRAMP_REASON_NO_BTF, func->addr, "%s", func->name);
	reason = tramp_text_unsafe_for(func->unsafe, sleeps);
	if (reason)
		return tramp_refuse(why, reason, func->addr, "%s", func->name);
	if (list > TRAMP_LIST_FENTRY && func->exit_reason)
		return tramp_refuse(why, func->exit_reason, func->addr, "%s", func->name);
	err = target ? check_room(target, false, why) : 0;
	if (err)
		return err;
	err = choose_mode(func, target, list, sleeps, flags, mode, &held);
	/* Also with success: EXPLAIN tells who has the site, if a callback is the way. */
	if (why && !why->reason)
		*why = held;
	return err;
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

int tramp_target_check_kprobe(const struct tramp_target *target, const struct tramp_member *member,
			      struct tramp_refusal *why)
{
	if (target->site && !tramp_target_is_direct(target))
		return tramp_refuse(why, TRAMP_REASON_SITE_HELD, target->func.site, NULL);
	return check_room(target, member->kind == TRAMP_KIND_KPROBE_SESSION, why) ?:
	       check_twice(target, member, why);
}

enum tramp_mode tramp_target_entry_mode(unsigned long addr, unsigned long site)
{
	const struct tramp_target *target = tramp_target_find(addr, 0);

	if (target && tramp_target_mode(target))
		return tramp_target_mode(target);
	if (tramp_gate_find(addr, 0))
		return TRAMP_MODE_DIRECT;
	return tramp_site_check(site, NULL) || tramp_ipmodify_among(&site, 1) ?
	       TRAMP_MODE_FTRACE_OPS : TRAMP_MODE_DIRECT;
}

int tramp_target_check_join(unsigned long addr, u64 request, bool session,
			    struct tramp_refusal *why)
{
	const struct tramp_target *target = tramp_target_find(addr, 0);

	if (target && tramp_target_is_direct(target))
		return check_room(target, session, why);
	return !(target && target->site) && tramp_gate_find(addr, request) ? 0 : -EBUSY;
}
