// SPDX-License-Identifier: GPL-2.0
/*
 * Keeping the kernel from optimising its kprobes over what our probes hide.
 *
 * Before the kernel makes a jump of a kprobe it decodes the function and sees whether
 * anything branches into the bytes that the jump would cover. It sees through its own
 * probes; at ours it finds int3s, or a jump to nowhere it knows. So it misses
 *
 *  - a branch that one of ours hides: our image executes it, and would land in the
 *    middle of the kernel's jump. With an indirect jump that may be anywhere in its function,
 *    and by itself the kernel would make no jump there;
 *  - that our image goes on behind the instructions it executes.
 *
 * So we hook arch_prepare_optimized_kprobe(), which every kprobe goes through that could become
 * a jump. Our ftrace_ops changes the instruction pointer, as live patches do. Where a probe of
 * ours is near, or hides a branch to where the kprobe is, an error is returned. The kprobe stays
 * an int3, as it does in many places.
 *
 * Execution. The kernel calls the function with kprobe_mutex held. A probe of ours is in the
 * table before its int3 is written, which takes kprobe_mutex too. So either the kernel has seen the
 * original instructions, or the hook sees the probe. The callback runs with preemption off and
 * reads the table under RCU. Of a probe it reads what has not changed since the probe came into
 * the table: addr, and the branches of its image. It sets intruded. The function that takes over
 * is this module's: exit unregisters the ops, and waits for RCU-tasks at its end (base/retire.c).
 *
 * A second after the last probe has gone we give the hook back. So we do with what we have at the
 * kernel's int3 handler: the short way to probes (trap.c), or the guard (guard.c). Until then
 * ftrace cannot be switched off (kernel.ftrace_enabled=0), since the kernel would go on optimising
 * its kprobes unasked. Also, taking an ops back while ftrace is off leaves a flag in ftrace's
 * record of the function. When it is on again, ftrace stumbles over that flag, and shuts down for
 * good.
 *
 * If ftrace has shut down, hook and short way stay for ever, and so does this module. It is kept
 * when a probe's last program goes, whose link still holds it, so that rmmod says "in use". Where
 * ftrace shuts down only later, rmmod may have begun: it does not end.
 *
 * The hook also reports a kprobe that comes into a region which waits to become a jump, and whose
 * image goes past it. The optimiser then looks at once.
 */
#include <linux/ftrace.h>
#include <linux/kprobes.h>
#include <linux/slab.h>
#include "base/compat.h"
#include "base/ksyms.h"
#include "ftrace/hold.h"
#include "ftrace/update.h"
#include "guard.h"
#include "internal.h"
#include "trap.h"
#include "x86/insn.h"

/* A kprobe of the kernel that might become a jump. */
struct hooked {
	unsigned long addr;
	bool refuse;		/* it must not */
	bool intruded;		/* it stands in a region of ours */
};

/* Whether an instruction that @probe may hide branches into @start to @end (exclusive). */
static notrace bool hides_branch_to(const struct tramp_probe *probe, unsigned long start,
				    unsigned long end)
{
	const s32 *to = probe->branches;
	unsigned long target;
	u32 i;

	for (i = 0; i < probe->nr_branches; i++) {
		target = probe->addr + to[i];
		if (target >= start && target < end)
			return true;
	}
	return probe->jumps && start < probe->addr + to[i + 1] && end > probe->addr + to[i];
}

static notrace void look_at(struct tramp_probe *probe, void *arg)
{
	struct hooked *h = arg;
	unsigned long at = h->addr;

	if (at > probe->addr && at < probe->addr + TRAMP_X86_MAX_REGION) {
		WRITE_ONCE(probe->intruded, true);
		h->intruded = true;
	}
	if ((at < probe->addr + TRAMP_X86_MAX_REGION && probe->addr < at + TRAMP_X86_MAX_REGION) ||
	    hides_branch_to(probe, at + 1, at + TRAMP_X86_MAX_REGION))
		h->refuse = true;
}

/* In the place of the function. */
static notrace noinline int refuse_to_optimise(struct optimized_kprobe *op, struct kprobe *kp)
{
	return -EBUSY;
}

static notrace void on_prepare(unsigned long ip, unsigned long parent_ip,
			       struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	struct pt_regs *regs = ftrace_get_regs(fregs);
	const struct optimized_kprobe *op;
	struct hooked h = {};

	if (!regs)
		return;
	preempt_disable_notrace();
	op = (void *)regs->di;
	h.addr = (unsigned long)op->kp.addr;
	tramp_probe_visit_rcu(look_at, &h);
	if (h.refuse)
		regs->ip = (unsigned long)refuse_to_optimise;
	if (h.intruded)
		tramp_probe_queue_intruded();
	preempt_enable_notrace();
}

/* Permanent: ftrace cannot be switched off while it is registered, see the head comment. */
static struct ftrace_ops hook_ops = {
	.func = on_prepare,
	.flags = FTRACE_OPS_FL_SAVE_REGS | FTRACE_OPS_FL_IPMODIFY | FTRACE_OPS_FL_PERMANENT,
};

/* tramp_mutex, as the next. */
static struct tramp_probe_hook veto = {
	.ops = &hook_ops,
	.name = "arch_prepare_optimized_kprobe",
};

#define IDLE_DELAY	HZ

static u32 users;
static bool stuck;			/* something of ours is registered for ever */

static void stay(void)
{
	stuck = true;
	tramp_ftrace_stay();
}

int tramp_probe_hook_on(struct tramp_probe_hook *hook, unsigned long func,
			struct tramp_refusal *why)
{
	unsigned long site;
	int err;

	lockdep_assert_held(&tramp_mutex);
	if (hook->on)
		return 0;
	if (!tramp_ftrace_is_on())
		return tramp_refuse(why, TRAMP_REASON_FTRACE_DISABLED, 0, NULL);
	site = func ? KSYM(ftrace_location)(func) : 0;
	if (!site)
		return tramp_refuse(why, TRAMP_REASON_NOT_TRACEABLE, func, "%s", hook->name);
	/* Once: the filter stays with the ops until exit, which frees it. */
	err = hook->filtered ? 0 : ftrace_set_filter_ip(hook->ops, site, 0, 1);
	if (!err) {
		hook->filtered = true;
		err = register_ftrace_function(hook->ops);
	}
	if (err == -ENOMEM)
		return tramp_refuse(why, TRAMP_REASON_NO_MEMORY, 0, NULL);
	/* Shut down in the middle of it: it may have put a call there, and leaves it. */
	if (err == -ENODEV)
		stay();
	if (err == -ENODEV || (err == -EBUSY && !tramp_ftrace_is_on()))
		return tramp_refuse(why, TRAMP_REASON_FTRACE_DISABLED, 0, NULL);
	if (err)
		return tramp_refuse(why, TRAMP_REASON_SITE_BUSY, func, "%s: error %d", hook->name,
				    err);
	hook->on = true;
	return 0;
}

bool tramp_probe_hook_off(struct tramp_probe_hook *hook)
{
	bool ipmodify = hook->ops->flags & FTRACE_OPS_FL_IPMODIFY;
	int err = 0;

	lockdep_assert_held(&tramp_mutex);
	/* Beside somebody's direct call the table of those must stay as it is: ftrace/update.c. */
	if (hook->on)
		err = ipmodify ? unregister_ftrace_function(hook->ops) :
				 tramp_ftrace_unregister(hook->ops);
	hook->on = false;
	return !err;
}

/* The short way first: it counts on the hook for ftrace not to be switched off. */
static void give_back(void)
{
	bool done;

	if (stuck)
		return;
	done = tramp_probe_direct_off();
	done &= tramp_probe_guard_off();
	done &= tramp_probe_hook_off(&veto);
	if (!done)
		stay();
}

static void idle_work(struct work_struct *work)
{
	mutex_lock(&tramp_mutex);
	if (!users)
		give_back();
	mutex_unlock(&tramp_mutex);
}

static DECLARE_DELAYED_WORK(idle, idle_work);

/* Something of ours is at functions of the kernel's. */
static bool any_on(void)
{
	return veto.on || tramp_probe_direct_is_on() || tramp_probe_guard_is_on();
}

static int all_on(struct tramp_refusal *why)
{
	unsigned long func = tramp_ksyms.arch_prepare_optimized_kprobe;
	int err = 0;

	if (stuck)
		return tramp_refuse(why, TRAMP_REASON_FTRACE_DISABLED, 0, NULL);
	/* Without it the kernel optimises nothing. */
	if (func)
		err = tramp_probe_hook_on(&veto, func, why);
	if (err)
		return err;
	tramp_probe_direct_on();
	return tramp_probe_direct_is_on() ? 0 : tramp_probe_guard_on(why);
}

int tramp_probe_hook_get(struct tramp_refusal *why)
{
	int err;

	lockdep_assert_held(&tramp_mutex);
	err = all_on(why);
	if (!err)
		users++;
	else if (!users && any_on())
		mod_delayed_work(system_wq, &idle, IDLE_DELAY);
	return err;
}

void tramp_probe_hook_keep(void)
{
	lockdep_assert_held(&tramp_mutex);
	if (any_on() && tramp_ftrace_is_dead())
		tramp_ftrace_stay();
}

void tramp_probe_hook_put(void)
{
	lockdep_assert_held(&tramp_mutex);
	if (--users)
		return;
	tramp_probe_hook_keep();
	mod_delayed_work(system_wq, &idle, IDLE_DELAY);
}

void tramp_probe_hook_exit(void)
{
	cancel_delayed_work_sync(&idle);
	mutex_lock(&tramp_mutex);
	give_back();
	mutex_unlock(&tramp_mutex);
	/*
	 * ftrace has found something wrong with the kernel's text and will not touch it
	 * again. It left calls into this module in place, so that must stay.
	 */
	if (stuck)
		tramp_stay_loaded();
}

/*
 * ftrace lists an ops before it refuses it, for another one that changes the instruction pointer of
 * the same function, and takes it off without a wait. A CPU in its list function, on account of any
 * traced function, may still look at the filter.
 */
void tramp_probe_hook_free(void)
{
	if (veto.filtered)
		ftrace_free_filter(&hook_ops);
	tramp_probe_guard_free();
}

bool tramp_probe_note_branches(struct tramp_probe *probe, const struct tramp_place *place)
{
	s32 found[TRAMP_X86_MAX_REGION / 2 + 2];	/* none is shorter than 2 bytes */
	u32 at, nr = 0, len = place->code_len;
	struct tramp_x86_insn insn;

	for (at = 0; at < len; at += insn.len) {
		if (!tramp_x86_decode(probe->orig + at, len - at, &insn))
			break;
		/* A call goes to where a function starts. */
		if (tramp_x86_has_target(&insn) && tramp_x86_classify(&insn) != TRAMP_X86_CALL)
			found[nr++] = tramp_x86_branch_target(&insn, probe->addr + at) -
				      probe->addr;
		if (tramp_place_jumps_inside(place, &insn, probe->addr + at))
			probe->jumps = true;
	}
	probe->nr_branches = nr;
	if (probe->jumps) {
		found[nr++] = place->sym.start - probe->addr;
		found[nr++] = place->sym.start + place->sym.size - probe->addr;
	}
	if (!nr)
		return true;
	probe->branches = kmemdup(found, nr * sizeof(*found), GFP_KERNEL);
	return probe->branches;
}
