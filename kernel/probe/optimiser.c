// SPDX-License-Identifier: GPL-2.0
/*
 * The optimiser: from int3 to jump and from int3 back to the original, in batches.
 *
 * A probe is queued when it was armed, when a program or a neighbour has come or gone,
 * and when its last program has gone. A little later, when no more have come for a
 * moment, one worker takes the whole queue:
 *
 *  1. those without programs get their text back and are removed;
 *  2. each of the others is looked at: may it be a jump? Then it gets an image that
 *     executes its region, unless it has one;
 *  3. where instructions follow the probed one in the region, one grace period for
 *     all of them (RCU-tasks, without any lock): x86/plan.h says what it waits for;
 *  4. all of them become jumps.
 *
 * tramp_mutex is dropped for the wait. A probe that changes meanwhile says so: an
 * image that does not execute the whole region takes "waiting" away, and the probe
 * is looked at again.
 *
 * A queue may be long, and others wait for tramp_mutex. So it is dropped every now and then. Only
 * while it is held does the result of looking at a probe hold. So those that are to be restored,
 * or to become jumps at once, are all done before that. Those that wait for the grace period are
 * looked at again in any case. Those that were not looked at yet are as good as queued.
 *
 * A probe whose bytes somebody else has patched cannot be taken away. It stays, doing
 * nothing, and is tried again every second; the module cannot be unloaded meanwhile. Also
 * retried: a probe whose image skips a new kprobe because a shorter image could not be
 * allocated.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include "base/turn.h"
#include "image.h"
#include "internal.h"
#include "poke.h"
#include "text/map.h"
#include "text/text.h"
#include "trap.h"

/* After the last change, and after the first at the latest. */
#define QUEUE_DELAY	(HZ / 10 ?: 1)
#define QUEUE_DELAY_MAX	(2 * HZ)
#define RETRY_DELAY	HZ

static bool optimize = true;
module_param(optimize, bool, 0400);
MODULE_PARM_DESC(optimize, "let probes become jumps (default: yes; changed in debugfs later)");

static LIST_HEAD(queue);		/* tramp_mutex */
static LIST_HEAD(again);		/* tramp_mutex: to be tried again, see above */
static unsigned long queued_since;	/* jiffies of the first in the queue */
static bool any_intruded;
static struct workqueue_struct *wq;

static void optimise_work(struct work_struct *work);
static DECLARE_DELAYED_WORK(worker, optimise_work);

bool tramp_probe_optimising(void)
{
	return READ_ONCE(optimize);
}

void tramp_probe_queue(struct tramp_probe *probe)
{
	unsigned long delay = QUEUE_DELAY;

	lockdep_assert_held(&tramp_mutex);
	if (list_empty(&queue))
		queued_since = jiffies;
	if (list_empty(&probe->opt))
		list_add_tail(&probe->opt, &queue);
	if (time_after(jiffies + delay, queued_since + QUEUE_DELAY_MAX))
		delay = 0;
	mod_delayed_work(wq, &worker, delay);
}

void tramp_probe_queue_again(struct tramp_probe *probe)
{
	lockdep_assert_held(&tramp_mutex);
	/* A jump has no reason, and nobody has looked why it is none any more. */
	if (probe->text == TRAMP_TEXT_INT3) {
		probe->reason = tramp_probe_optimising() && !probe->no_jump ?
					TRAMP_REASON_OPT_PENDING : TRAMP_REASON_OPT_OFF;
		probe->where = 0;
	}
	tramp_probe_queue(probe);
}

notrace void tramp_probe_queue_intruded(void)
{
	WRITE_ONCE(any_intruded, true);
	mod_delayed_work(wq, &worker, 0);
}

void tramp_probe_queue_around(unsigned long addr)
{
	struct tramp_probe *probe;
	unsigned long at;

	lockdep_assert_held(&tramp_mutex);
	for (at = addr - TRAMP_X86_MAX_REGION; at < addr; at++) {
		probe = tramp_probe_lookup(at);
		if (probe && probe->mode == TRAMP_MODE_INT3 && probe->text != TRAMP_TEXT_JUMP)
			tramp_probe_queue(probe);
	}
}

u32 tramp_probe_evaluate(struct tramp_probe *probe, struct tramp_place *place)
{
	unsigned long where = 0;
	u32 len = 0, reason;

	lockdep_assert_held(&tramp_mutex);
	if (!tramp_probe_optimising() || probe->no_jump) {
		reason = TRAMP_REASON_OPT_OFF;
	} else if (!tramp_map_ready(probe->addr)) {
		reason = TRAMP_REASON_OPT_PENDING;
	} else {
		tramp_text_lock();
		reason = tramp_place_region(place, &len, &where);
		tramp_text_unlock();
		if (reason)
			len = 0;
		else
			reason = TRAMP_REASON_OPT_PENDING;
	}
	probe->reason = reason;
	probe->where = where;
	return len;
}

/* The bytes of its region, or 0 and its reason. */
static u32 evaluate(struct tramp_probe *probe)
{
	const struct tramp_probe_at at = { .addr = probe->addr };
	struct tramp_refusal why = {};
	struct tramp_place place;
	u32 len = 0;

	if (tramp_place_find(&at, &place, &why))
		probe->reason = why.reason;
	else
		len = tramp_probe_evaluate(probe, &place);
	/* The image is made from what was there when the probe came. */
	if (len && memcmp(place.code, probe->orig, len)) {
		probe->reason = TRAMP_REASON_FOREIGN_BYTES;
		probe->where = probe->addr;
		len = 0;
	}
	return len;
}

/*
 * Whether it can become a jump, now or when it is quiesced. Until it is here an image
 * executes only the probed instruction, so that whatever comes into the region is
 * hit by those who come through the probe, too.
 */
static bool prepare(struct tramp_probe *probe)
{
	struct tramp_refusal why = {};
	u32 len, executes;

	if (probe->text == TRAMP_TEXT_JUMP && tramp_probe_optimising() && !probe->no_jump)
		return false;
	len = evaluate(probe);
	executes = len ?: probe->insn_len;
	if (probe->text != TRAMP_TEXT_JUMP && probe->image->len == executes)
		return len;
	if (!tramp_probe_new_image(probe, executes, &why))
		return len;
	probe->reason = why.reason;
	probe->where = probe->addr;
	if (probe->image->len > executes)
		list_add_tail(&probe->opt, &again);
	return false;
}

/* It can be restored, or somebody uses it again. */
static void stop_lingering(struct tramp_probe *probe)
{
	if (!probe->lingers)
		return;
	probe->lingers = false;
	module_put(THIS_MODULE);	/* exit flushes this work before the text goes */
}

/* Those whose text was restored are gone; the others linger. */
static void finish_restore(struct list_head *list)
{
	struct tramp_probe *probe, *tmp;

	list_for_each_entry_safe(probe, tmp, list, opt) {
		list_del_init(&probe->opt);
		if (probe->text == TRAMP_TEXT_ORIGINAL) {
			stop_lingering(probe);
			tramp_probe_remove(probe);
			continue;
		}
		if (!probe->told)
			pr_info("the bytes at %pS are somebody else's as well: trying again later\n",
				(void *)probe->addr);
		probe->told = true;
		/* Fails if rmmod has begun: then exit waits. */
		if (!probe->lingers)
			probe->lingers = try_module_get(THIS_MODULE);
		list_add_tail(&probe->opt, &again);
	}
}

/* They become jumps, or int3s that say why. */
static void jump_all(struct list_head *jump)
{
	struct tramp_probe *probe, *tmp;
	LIST_HEAD(refused);

	tramp_probe_jump_batch(jump, &refused);
	list_for_each_entry_safe(probe, tmp, jump, opt)
		list_del_init(&probe->opt);
	/* The jump is in somebody's way after all: out of the region, and leave it at that. */
	list_for_each_entry_safe(probe, tmp, &refused, opt) {
		list_del_init(&probe->opt);
		if (tramp_probe_new_image(probe, probe->insn_len, NULL))
			list_add_tail(&probe->opt, &again);
	}
}

/* Kprobes stand in regions whose images go past them: those execute one instruction. */
static void shrink_intruded(struct tramp_probe *probe, void *arg)
{
	if (!READ_ONCE(probe->intruded))
		return;
	WRITE_ONCE(probe->intruded, false);
	if (probe->mode == TRAMP_MODE_INT3 && probe->text == TRAMP_TEXT_INT3 && probe->nr)
		tramp_probe_queue(probe);
}

static bool full(u32 *nr)
{
	if (++*nr < TRAMP_BATCH_MANY)
		return false;
	*nr = 0;
	return true;
}

static void restore_all(struct list_head *restore)
{
	tramp_probe_restore_batch(restore);
	finish_restore(restore);
}

/*
 * Give back the text of those in @todo without programs, and make images for the others. Those
 * that become jumps after a grace period are in @wait then.
 */
static void first_half(struct list_head *todo, struct list_head *wait)
{
	struct tramp_probe *probe;
	struct tramp_turn turn;
	LIST_HEAD(restore);
	LIST_HEAD(jump);
	u32 nr = 0;

	tramp_turn_begin(&turn);
	while ((probe = list_first_entry_or_null(todo, struct tramp_probe, opt))) {
		list_del_init(&probe->opt);
		if (!probe->nr) {
			list_add_tail(&probe->opt, &restore);
		} else {
			stop_lingering(probe);
			if (prepare(probe)) {
				probe->waiting = true;
				if (probe->image->len == probe->insn_len)
					probe->quiesced = true;
				list_add_tail(&probe->opt, probe->quiesced ? &jump : wait);
			}
		}
		if (!full(&nr) && !tramp_turn_over(&turn))
			continue;
		restore_all(&restore);
		jump_all(&jump);
		tramp_turn_pass(&turn);
	}
	restore_all(&restore);
	jump_all(&jump);
}

/* A grace period has passed since the first half: these become jumps. */
static void second_half(struct list_head *wait)
{
	struct tramp_probe *probe;
	struct tramp_turn turn;
	LIST_HEAD(jump);
	u32 nr = 0;

	tramp_turn_begin(&turn);
	while ((probe = list_first_entry_or_null(wait, struct tramp_probe, opt))) {
		list_del_init(&probe->opt);
		if (!probe->nr || !probe->waiting || probe->no_jump || !tramp_probe_optimising()) {
			tramp_probe_queue(probe);
			continue;
		}
		probe->quiesced = true;
		list_add_tail(&probe->opt, &jump);
		if (full(&nr)) {
			jump_all(&jump);
			tramp_turn_pass(&turn);
		}
	}
	jump_all(&jump);
}

static void optimise_work(struct work_struct *work)
{
	LIST_HEAD(todo);
	LIST_HEAD(wait);

	mutex_lock(&tramp_mutex);
	if (xchg(&any_intruded, false))
		tramp_probe_for_each(shrink_intruded, NULL);
	list_splice_init(&queue, &todo);
	list_splice_tail_init(&again, &todo);
	first_half(&todo, &wait);
	if (!list_empty(&wait)) {
		mutex_unlock(&tramp_mutex);
		tramp_grace_period();
		mutex_lock(&tramp_mutex);
		second_half(&wait);
	}
	if (!list_empty(&again))
		queue_delayed_work(wq, &worker, RETRY_DELAY);
	mutex_unlock(&tramp_mutex);
}

/* Run the optimiser now and wait for it. Without tramp_mutex. */
static void flush(void)
{
	mod_delayed_work(wq, &worker, 0);
	flush_delayed_work(&worker);
	/* A second time for what was queued while the first waited. */
	mod_delayed_work(wq, &worker, 0);
	flush_delayed_work(&worker);
}

static void requeue(struct tramp_probe *probe, void *arg)
{
	if (probe->mode == TRAMP_MODE_INT3)
		tramp_probe_queue(probe);
}

void tramp_probe_set_optimising(bool on)
{
	/* /sys/module/trampoline/parameters/optimize reads it under this lock. */
	kernel_param_lock(THIS_MODULE);
	WRITE_ONCE(optimize, on);
	kernel_param_unlock(THIS_MODULE);
	mutex_lock(&tramp_mutex);
	tramp_probe_for_each(requeue, NULL);
	mutex_unlock(&tramp_mutex);
	flush();
}

int __init tramp_probe_opt_init(void)
{
	wq = alloc_workqueue("trampoline_opt", WQ_UNBOUND, 0);
	return wq ? 0 : -ENOMEM;
}

static void count(struct tramp_probe *probe, void *left)
{
	(*(u32 *)left)++;
}

/*
 * Without programs those are left in the table whose text is ours. They are in @queue or @again, or
 * the worker has them in hand while it lets others have the mutex.
 */
void tramp_probe_opt_drain(void)
{
	u32 left;

	do {
		flush();
		left = 0;
		mutex_lock(&tramp_mutex);
		tramp_probe_for_each(count, &left);
		mutex_unlock(&tramp_mutex);
		if (left) {
			set_current_state(TASK_IDLE | TASK_FREEZABLE);
			schedule_timeout(RETRY_DELAY);
		}
	} while (left);
}

void tramp_probe_opt_exit(void)
{
	cancel_delayed_work_sync(&worker);
	destroy_workqueue(wq);
}
