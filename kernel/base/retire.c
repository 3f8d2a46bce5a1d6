// SPDX-License-Identifier: GPL-2.0
/*
 * Retiring images and sites.
 *
 * Where tasks may be. When something comes here its site points elsewhere already: ftrace has
 * patched the call, or taken the ops off its list. Four groups may still be there:
 *
 *  - (a) tasks on their way in: at the site's CALL, in ftrace's entry code with our
 *    address in a register, or at the image's first instructions
 *  - (b) tasks inside, preempted anywhere in the image or in a program it called
 *  - (c) tasks inside that sleep: in the original function that an exit image
 *    called, in a sleepable program, or (PREEMPT_RT) in any program
 *  - (d) interrupts of a CPU in one of these
 *
 * First grace period: synchronize_rcu_tasks() waits until every task has passed a voluntary
 * context switch or user space. It begins and ends with an RCU grace period, which covers
 * interrupts and what runs with preemption off in the idle tasks. On kernels whose idle code
 * is traceable synchronize_rcu_tasks_rude() covers the rest of idle. Nobody sleeps
 * voluntarily between (a) and the instruction that counts the call into the image's in-flight
 * counter. So afterwards everybody of (a) is past that instruction, or out. An image without
 * a counter has nobody of (b) left, since nobody sleeps in such an image.
 *
 * A CPU on its way up is in no such group: RCU does not watch it before it reports itself. It
 * runs kernel functions, and may be inside an image, or on its way in. So CPUs in transit are
 * let through first, by taking cpu_hotplug_lock for a moment. A CPU that starts after that
 * finds the site pointing elsewhere.
 *
 * Then the sum of an in-flight counter can only fall. The CPUs' counters are read one after
 * the other, while tasks count down on whichever CPU they are. That can make the sum too high
 * but never too low: every call was counted up before the reading began. Calls in which the
 * task has died never come down (prog/died.c). Their number is read after the sum, so the sum
 * has each of them. When the two are equal, a call can only be in the image's tail, behind the
 * instruction that counts down. Nobody sleeps there: a second grace period of the same kind
 * covers it, which may be the first one of others.
 *
 * A task that sleeps for an hour in a traced function keeps one image for an hour, and the
 * programs that stay attached. A jump leaves out those that do not. They are released after
 * the first grace period that begins after the jump was written (before() and after(),
 * func/image.c).
 *
 * One worker waits for everything, so that detaching thousands of attachments costs a handful of
 * grace periods. Another frees what the first is done with: the next grace period does not wait for
 * that. After each grace period let_go() is called for all that it was for, before any of it is
 * freed. So a module whose functions were traced goes when nobody is inside any more. It does not
 * wait for the turn of its images among thousands.
 *
 * How long the lists become. Nothing limits what is added, so freeing has to keep up with
 * attaching. Where many attach, tramp_mutex may take a good part of a second to get. So the worker
 * takes it a few times for a batch, not for each thing in it, and freeing does not take it at all.
 * Freeing an image takes pack_mutex and text_mutex once each, to wipe it. Making it took each at
 * least once, to write it. It was made with tramp_mutex held, so one at a time, and mostly with
 * more to do for each, as a link and a file. So things are freed sooner than others are made, and
 * the lists have what was detached in the last two or three grace periods.
 *
 * The module itself: links hold a reference to it, so exit runs when no link is left. Exit
 * waits for the list to become empty, which takes a few grace periods. It must not have to
 * wait for a task that sleeps in an image, which may never come. So an image with a counter
 * takes a reference of its own when it is handed over, while the link still holds the module.
 * It drops it when nobody is inside; until then rmmod says "in use".
 */
#include <linux/cpu.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include "retire.h"
#include "tramp.h"
#include "turn.h"

/* How long the first of a batch waits for others. */
#define BATCH_DELAY	(HZ / 20 ?: 1)

/* How often in-flight counters are looked at: quickly at first, then rarely. */
#define DRAIN_POLL_MIN	(HZ / 50 ?: 1)
#define DRAIN_POLL_MAX	HZ

static DEFINE_SPINLOCK(tramp_retire_lock);	/* for pending, unused and waiting */
static LIST_HEAD(pending);			/* no grace period yet */
static LIST_HEAD(draining);			/* the worker's: somebody may be inside */
static LIST_HEAD(unused);			/* nobody is, nor can be: to be freed */
static atomic64_t grace_periods = ATOMIC64_INIT(0);
static u32 waiting;				/* on any list */
static DECLARE_WAIT_QUEUE_HEAD(all_retired);

static struct workqueue_struct *wq;
static unsigned long poll_delay;

static void retire_work(struct work_struct *work);
static DECLARE_DELAYED_WORK(worker, retire_work);
static void free_unused(struct work_struct *work);
static DECLARE_WORK(freeing, free_unused);

void tramp_retire_add(struct tramp_retire *r, const struct tramp_retire_ops *ops)
{
	bool first;

	r->ops = ops;
	if (ops->holds_module)
		__module_get(THIS_MODULE);
	spin_lock(&tramp_retire_lock);
	first = list_empty(&pending);
	list_add_tail(&r->node, &pending);
	WRITE_ONCE(waiting, waiting + 1);
	spin_unlock(&tramp_retire_lock);
	/* Whatever is added in the next moment shares the grace period. */
	if (first)
		mod_delayed_work(wq, &worker, BATCH_DELAY);
}

void tramp_retire_queue_work(struct work_struct *work)
{
	queue_work(wq, work);
}

u64 tramp_grace_periods(void)
{
	return atomic64_read(&grace_periods);
}

void tramp_grace_period(void)
{
	atomic64_inc(&grace_periods);
	cpus_read_lock();
	cpus_read_unlock();
	synchronize_rcu_tasks_rude();
	synchronize_rcu_tasks();
}

static void free_unused(struct work_struct *work)
{
	struct tramp_retire *r, *tmp;
	LIST_HEAD(list);
	u32 n = 0;

	spin_lock(&tramp_retire_lock);
	list_splice_init(&unused, &list);
	spin_unlock(&tramp_retire_lock);
	list_for_each_entry_safe(r, tmp, &list, node) {
		r->ops->free(r);
		n++;
		/* Nobody's grace period is to wait for all of them. */
		cond_resched_tasks_rcu_qs();
	}
	spin_lock(&tramp_retire_lock);
	WRITE_ONCE(waiting, waiting - n);
	if (!waiting)
		wake_up_all(&all_retired);
	spin_unlock(&tramp_retire_lock);
}

/* See the head comment. This very work is still flushed by exit before the text goes. */
static void release_module(struct tramp_retire *r)
{
	if (r->ops->holds_module)
		module_put(THIS_MODULE);
}

/* Tasks are in the tails of these at most: the grace period to come is their last. */
static void take_drained(struct list_head *batch)
{
	struct tramp_retire *r, *tmp;

	list_for_each_entry_safe(r, tmp, &draining, node) {
		if (!r->ops->drained(r))
			continue;
		release_module(r);
		list_move_tail(&r->node, batch);
	}
}

/*
 * For those that tasks can sleep in, the grace period to come is the first; for others it is the
 * only one. Return: whether anything was pending.
 */
static bool take_pending(struct list_head *batch)
{
	struct tramp_retire *r, *tmp;
	LIST_HEAD(list);

	spin_lock(&tramp_retire_lock);
	list_splice_init(&pending, &list);
	spin_unlock(&tramp_retire_lock);
	if (list_empty(&list))
		return false;
	list_for_each_entry_safe(r, tmp, &list, node)
		list_move_tail(&r->node, r->ops->drained ? &draining : batch);
	return true;
}

enum phase { BEFORE, AFTER, LET_GO };

/* Others have their turns between: the list is the worker's. */
static void call_all(struct list_head *list, enum phase phase)
{
	void (*func)(struct tramp_retire *r);
	struct tramp_turn turn;
	struct tramp_retire *r;
	bool locked = false;

	list_for_each_entry(r, list, node) {
		func = phase == BEFORE ? r->ops->before :
		       phase == AFTER  ? r->ops->after :
					 r->ops->let_go;
		if (!func)
			continue;
		if (!locked) {
			mutex_lock(&tramp_mutex);
			tramp_turn_begin(&turn);
			locked = true;
		}
		func(r);
		tramp_turn_pass(&turn);
	}
	if (locked)
		mutex_unlock(&tramp_mutex);
}

static void retire_work(struct work_struct *work)
{
	LIST_HEAD(batch);
	bool more;

	take_drained(&batch);
	more = take_pending(&batch);
	if (more || !list_empty(&batch)) {
		/* Draining images too: programs may have been left out of them since. */
		call_all(&draining, BEFORE);
		tramp_grace_period();
		call_all(&draining, AFTER);
		call_all(&batch, LET_GO);
		spin_lock(&tramp_retire_lock);
		list_splice_tail(&batch, &unused);
		spin_unlock(&tramp_retire_lock);
		queue_work(wq, &freeing);
		poll_delay = 0;
	}
	if (!list_empty(&draining)) {
		/* A no-op if somebody has queued it already, for a moment later at most. */
		queue_delayed_work(wq, &worker, poll_delay);
		poll_delay = clamp_t(unsigned long, poll_delay * 2, DRAIN_POLL_MIN, DRAIN_POLL_MAX);
	}
}

int __init tramp_retire_init(void)
{
	/* Unbound: waiting for grace periods must not hold up a CPU's own work. */
	wq = alloc_workqueue("trampoline", WQ_UNBOUND, 0);
	return wq ? 0 : -ENOMEM;
}

void tramp_retire_exit(void)
{
	wait_event_idle(all_retired, !READ_ONCE(waiting));
	cancel_delayed_work_sync(&worker);
	destroy_workqueue(wq);
	/*
	 * The last who called into this module from a link's dealloc, or from an
	 * image's helper, may have been preempted before its `ret`.
	 */
	tramp_grace_period();
}
