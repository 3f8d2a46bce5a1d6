// SPDX-License-Identifier: GPL-2.0
/*
 * From int3 to jump and back to the original, in batches: optimise_work() of
 * kernel/probe/optimiser.c. Where that drops its lock and sleeps for a grace period, this
 * returns, so that probes change meanwhile, and is called again.
 */
#include "plant.h"
#include "probe.h"

#define MAX	(SCENES * SCENE_INSNS)

static struct probe *queue[MAX], *waiting[MAX];
static u32 nr_queue, nr_waiting;
static struct grace grace;

void optimiser_queue(struct probe *p)
{
	if (!p->queued)
		queue[nr_queue++] = p;
	p->queued = true;
}

void optimiser_queue_around(const struct probe *p)
{
	u32 i;

	for (i = 0; i < p->insn; i++) {
		struct probe *other = &probes[p->scene->nr][i];

		if (atomic_load(&other->in_table) &&
		    other->addr + TRAMP_X86_MAX_REGION >= p->addr &&
		    probe_text(other) != TRAMP_X86_FORM_JUMP)
			optimiser_queue(other);
	}
}

bool optimiser_busy(void)
{
	return nr_queue || nr_waiting;
}

/* Whether it can become a jump, now or when it is quiesced: prepare(). */
static bool prepare(struct probe *p)
{
	u32 len, executes;

	if (probe_text(p) == TRAMP_X86_FORM_JUMP && !p->no_jump)
		return false;
	len = p->no_jump ? 0 : probe_region(p);
	executes = len ? len : p->insn_len;
	probe_changes.grown += executes > p->image->len;
	if (probe_text(p) == TRAMP_X86_FORM_JUMP || p->image->len != executes)
		probe_new_image(p, executes);
	return len;
}

static void restore_all(struct probe **list, u32 nr)
{
	u32 i;

	for (i = 0; plant_is(PLANT_TABLE_EARLY) && i < nr; i++)
		atomic_store(&list[i]->in_table, false);
	poke_restore(list, nr);
	for (i = 0; i < nr; i++) {
		probe_remove(list[i]);
		list[i]->queued = false;
	}
}

static void first_half(void)
{
	struct probe *restore[MAX], *jump[MAX], *todo[MAX];
	u32 nr_restore = 0, nr_jump = 0, nr_todo = nr_queue, i;

	for (i = 0; i < nr_todo; i++) {
		todo[i] = queue[i];
		todo[i]->queued = false;
	}
	nr_queue = 0;
	for (i = 0; i < nr_todo; i++) {
		struct probe *p = todo[i];

		if (!p->progs) {
			/* It is in a list until it has gone. */
			p->queued = true;
			restore[nr_restore++] = p;
		} else if (prepare(p)) {
			p->waiting = true;
			if (p->image->len == p->insn_len)
				p->quiesced = true;
			if (p->quiesced) {
				jump[nr_jump++] = p;
			} else {
				p->queued = true;
				waiting[nr_waiting++] = p;
			}
		}
	}
	restore_all(restore, nr_restore);
	poke_jump(jump, nr_jump);
	if (nr_waiting)
		grace_begin(&grace);
}

static void second_half(void)
{
	struct probe *jump[MAX];
	u32 nr_jump = 0, i;

	for (i = 0; i < nr_waiting; i++) {
		struct probe *p = waiting[i];

		p->queued = false;
		if (!p->progs || !p->waiting || p->no_jump) {
			optimiser_queue(p);
			continue;
		}
		p->quiesced = true;
		jump[nr_jump++] = p;
	}
	nr_waiting = 0;
	poke_jump(jump, nr_jump);
}

void optimiser_poll(struct rng *rng)
{
	if (nr_waiting) {
		if (plant_is(PLANT_NO_WAIT) || grace_over(&grace))
			second_half();
	} else if (nr_queue && rng_chance(rng, 30)) {
		first_half();
	}
}
