// SPDX-License-Identifier: GPL-2.0
/*
 * The executor of plans: kernel/probe/poke.c for this text. Nobody else writes to it, so a spot
 * that drops out is a failure.
 */
#include <string.h>

#include "../../kernel/x86/plan.h"
#include "plant.h"
#include "probe.h"
#include "text.h"

struct poke_counts poke_counts;

static struct tramp_x86_spot spot_of(const struct probe *p)
{
	return (struct tramp_x86_spot){
		.addr = p->addr, .image = p->image->code, .orig = p->orig,
		.insn_len = p->insn_len, .image_len = p->image->len,
	};
}

static void check(const struct probe *p, const struct tramp_x86_bytes *b)
{
	u8 now[TRAMP_X86_MAX_REGION];

	text_read(p->addr + b->off, now, b->len);
	if (memcmp(now, b->bytes, b->len))
		native_fail("the bytes at %#lx are not what the plan before has left", p->addr);
}

static void take_step(struct probe *p, const struct tramp_x86_step *step)
{
	const struct tramp_x86_spot spot = spot_of(p);
	struct tramp_x86_bytes b;

	if (step->op == TRAMP_X86_TELL) {
		atomic_store(&p->told, ((atomic_load(&p->told) >> 2) + 1) << 2 | step->form);
		return;
	}
	if (!tramp_x86_bytes(&spot, step->form, step->part, &b)) {
		native_fail("%#lx has no such form", p->addr);
		return;
	}
	if (step->op == TRAMP_X86_CHECK)
		check(p, &b);
	else if (b.len)
		text_write(p->addr + b.off, b.bytes, b.len);
}

static void run(const struct tramp_x86_plan *right, const char *name, struct probe **list, u32 nr)
{
	static const char *const steps[] = { "check", "write", "tell", "sync", "wait" };
	const struct tramp_x86_plan *plan = plant_plan(right);
	const struct tramp_x86_step *step;
	u32 i;

	if (!nr)
		return;
	for (step = plan->step; step < plan->step + plan->nr; step++) {
		native_doing(name, steps[step->op], list[0]->addr);
		if (step->op == TRAMP_X86_SYNC)
			text_sync();
		/* The optimiser has waited. */
		if (step->op == TRAMP_X86_SYNC || step->op == TRAMP_X86_WAIT)
			continue;
		for (i = 0; i < nr; i++)
			if (probe_text(list[i]) == step->in)
				take_step(list[i], step);
	}
	for (i = 0; i < nr; i++)
		if (probe_text(list[i]) != plan->to)
			native_fail("%s left %#lx with another form", name, list[i]->addr);
	native_doing("between plans", "", 0);
}

void poke_arm(struct probe **list, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++)
		list[i]->armed++;
	poke_counts.arm += nr;
	run(&tramp_x86_plan_arm, "arm", list, nr);
}

void poke_jump(struct probe **list, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++)
		list[i]->jumped++;
	poke_counts.jump += nr;
	run(&tramp_x86_plan_jump, "jump", list, nr);
}

void poke_unjump(struct probe **list, u32 nr)
{
	poke_counts.unjump += nr;
	run(&tramp_x86_plan_unjump, "unjump", list, nr);
}

void poke_restore(struct probe **list, u32 nr)
{
	poke_counts.restore += nr;
	run(&tramp_x86_plan_restore, "restore", list, nr);
}
