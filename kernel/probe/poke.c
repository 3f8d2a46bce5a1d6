// SPDX-License-Identifier: GPL-2.0
/*
 * Writing a probe into the text: this executes the plans of x86/plan.h.
 *
 * The plans say which bytes are written in which order, where every CPU has to have seen
 * them, who may be executing what meanwhile, and why each step is safe. In the kernel this makes
 * it so:
 *
 *  - Nobody else writes: kprobe_mutex and text_mutex are held from the first check of a
 *    plan to its last sync (tramp_text_write_lock()).
 *
 *  - A step that writes: text_poke(). A sync: text_poke_sync(), an IPI to every CPU. When it
 *    returns, no CPU is in the int3 handler that was there before (trap.c).
 *
 *  - The wait before a jump: an RCU-tasks grace period without any lock. The optimiser has
 *    waited before it calls ("quiesced", optimiser.c).
 *
 *  - A check: the bytes are what the plan before has left, and no kprobe of the kernel
 *    knows them. One that came on top of a jump has taken the jump for the instruction, and
 *    goes to our image whenever it is armed. Then everything stays until it has gone.
 *
 *  - The form that a plan notes: the probe's "text", which the int3 handler and decoders read.
 */
#include "image.h"
#include "internal.h"
#include "poke.h"
#include "text/text.h"
#include "x86/plan.h"

/* A probe's "text" is a form. */
static_assert(TRAMP_TEXT_ORIGINAL == (int)TRAMP_X86_FORM_ORIGINAL);
static_assert(TRAMP_TEXT_INT3 == (int)TRAMP_X86_FORM_INT3);
static_assert(TRAMP_TEXT_JUMP == (int)TRAMP_X86_FORM_JUMP);

static struct tramp_x86_spot spot_of(const struct tramp_probe *probe)
{
	return (struct tramp_x86_spot){
		.addr = probe->addr,
		.image = probe->image->image.exec.code,
		.orig = probe->orig,
		.insn_len = probe->insn_len,
		.image_len = probe->image->len,
	};
}

/* Why a probe without the bytes of @form, or with others' there, drops out of @plan; or 0. */
static u32 objection(const struct tramp_probe *probe, const struct tramp_x86_plan *plan,
		     enum tramp_x86_form form, enum tramp_x86_part part)
{
	const struct tramp_x86_spot spot = spot_of(probe);
	struct tramp_x86_bytes b;
	unsigned long end;

	tramp_text_assert_write_locked();
	if (plan->claims && !tramp_x86_bytes(&spot, plan->to, TRAMP_X86_SPAN, &b))
		return TRAMP_REASON_OUT_OF_REACH;
	if (!tramp_x86_bytes(&spot, form, part, &b))
		return TRAMP_REASON_FOREIGN_BYTES;
	end = probe->addr + b.len;
	if (plan->claims ? tramp_text_has_kprobe(probe->addr, end) :
			   tramp_text_knows(probe->addr, end))
		return part == TRAMP_X86_SPAN ? TRAMP_REASON_REGION_PROBE :
						TRAMP_REASON_KPROBE_THERE;
	if (memcmp((const void *)probe->addr, b.bytes, b.len))
		return TRAMP_REASON_FOREIGN_BYTES;
	return 0;
}

/* A step that is one for all probes. */
static bool pause_for(const struct tramp_x86_step *step)
{
	tramp_text_assert_write_locked();
	if (step->op == TRAMP_X86_SYNC)
		tramp_text_sync();
	return step->op == TRAMP_X86_SYNC || step->op == TRAMP_X86_WAIT;
}

/* A step that writes bytes or the probe's "text". */
static void take_step(struct tramp_probe *probe, const struct tramp_x86_step *step)
{
	const struct tramp_x86_spot spot = spot_of(probe);
	struct tramp_x86_bytes b;

	if (step->op == TRAMP_X86_TELL)
		tramp_probe_set_text(probe, (enum tramp_probe_text)step->form);
	else if (tramp_x86_bytes(&spot, step->form, step->part, &b) && b.len)
		tramp_text_write(probe->addr + b.off, b.bytes, b.len);
}

/* Return: 0, or the reason why the probe dropped out. */
static u32 run_one(const struct tramp_x86_plan *plan, struct tramp_probe *probe)
{
	const struct tramp_x86_step *step;
	u32 reason = 0;

	tramp_text_write_lock();
	for (step = plan->step; !reason && step < plan->step + plan->nr; step++) {
		if (pause_for(step) || probe->text != step->in)
			continue;
		if (step->op == TRAMP_X86_CHECK)
			reason = objection(probe, plan, step->form, step->part);
		else
			take_step(probe, step);
	}
	if (!reason && probe->text != plan->to)
		reason = TRAMP_REASON_FOREIGN_BYTES;
	tramp_text_write_unlock();
	return reason;
}

/* Probes that pass come first in @list, others come last in @out. */
static void check_all(const struct tramp_x86_plan *plan, const struct tramp_x86_step *step,
		      struct list_head *list, struct list_head *out)
{
	struct tramp_probe *probe, *tmp;
	LIST_HEAD(passed);
	u32 reason;

	list_for_each_entry_safe(probe, tmp, list, opt) {
		if (probe->text != step->in)
			continue;
		reason = objection(probe, plan, step->form, step->part);
		list_move_tail(&probe->opt, reason ? out : &passed);
		if (reason && plan->claims) {
			probe->reason = reason;
			probe->where = probe->addr;
		}
	}
	list_splice(&passed, list);
}

/* @list: probes by @opt; those that drop out go to @out. */
static void run_all(const struct tramp_x86_plan *plan, struct list_head *list,
		    struct list_head *out)
{
	const struct tramp_x86_step *step;
	struct tramp_probe *probe;

	for (step = plan->step; step < plan->step + plan->nr; step++) {
		if (pause_for(step))
			continue;
		if (step->op == TRAMP_X86_CHECK) {
			check_all(plan, step, list, out);
			continue;
		}
		list_for_each_entry(probe, list, opt) {
			if (probe->text == step->in)
				take_step(probe, step);
		}
	}
}

int tramp_probe_arm(struct tramp_probe *probe, struct tramp_refusal *why)
{
	u32 reason;

	lockdep_assert_held(&tramp_mutex);
	reason = run_one(&tramp_x86_plan_arm, probe);
	return reason ? tramp_refuse(why, reason, probe->addr, NULL) : 0;
}

bool tramp_probe_unjump(struct tramp_probe *probe)
{
	lockdep_assert_held(&tramp_mutex);
	return !run_one(&tramp_x86_plan_unjump, probe);
}

bool tramp_probe_is_ours(const struct tramp_probe *probe)
{
	bool ours;

	lockdep_assert_held(&tramp_mutex);
	tramp_text_write_lock();
	ours = probe->text == TRAMP_TEXT_INT3 &&
	       !objection(probe, &tramp_x86_plan_restore, TRAMP_X86_FORM_INT3, TRAMP_X86_INSN);
	tramp_text_write_unlock();
	return ours;
}

void tramp_probe_arm_batch(struct list_head *list, struct list_head *refused)
{
	lockdep_assert_held(&tramp_mutex);
	if (list_empty(list))
		return;
	tramp_text_write_lock();
	run_all(&tramp_x86_plan_arm, list, refused);
	tramp_text_write_unlock();
}

/* Those that dropped out are in the list all the same. */
static void run_whole(const struct tramp_x86_plan *plan, struct list_head *list)
{
	LIST_HEAD(kept);

	lockdep_assert_held(&tramp_mutex);
	if (list_empty(list))
		return;
	tramp_text_write_lock();
	run_all(plan, list, &kept);
	tramp_text_write_unlock();
	list_splice_tail(&kept, list);
}

void tramp_probe_unjump_batch(struct list_head *list)
{
	run_whole(&tramp_x86_plan_unjump, list);
}

void tramp_probe_jump_batch(struct list_head *list, struct list_head *refused)
{
	struct tramp_probe *probe;

	lockdep_assert_held(&tramp_mutex);
	if (list_empty(list))
		return;
	tramp_text_write_lock();
	run_all(&tramp_x86_plan_jump, list, refused);
	list_for_each_entry(probe, list, opt) {
		probe->reason = 0;
		probe->where = 0;
	}
	tramp_text_write_unlock();
}

void tramp_probe_restore_batch(struct list_head *list)
{
	run_whole(&tramp_x86_plan_restore, list);
}
