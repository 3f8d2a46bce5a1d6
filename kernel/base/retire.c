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
 * covers it.
 *
 * A task that sleeps for an hour in a traced function keeps one image for an hour, and the
 * programs that stay attached. A jump leaves out those that do not. They are released after
 * the first grace period that begins after the jump was written (before() and after(),
 * func/image.c).
 *
 * One worker does it for everything that waits, so that detaching thousands of attachments
 * costs a handful of grace periods.
 *
 * How long the list becomes. Nothing limits what is added, so freeing has to keep up with
 * attaching. Where many attach, tramp_mutex may take a good part of a second to get. So the worker
 * takes it a few times for a batch, not for each thing in it. The rest undoes what was done to make
 * the thing, and takes the same locks as often: pack_mutex and text_mutex to write an image, and to
 * wipe it. Things are made one at a time, with tramp_mutex held, and making one takes more than
 * that: text at the site, a link, a file. So a batch is freed sooner than it was made. The next
 * one is what came meanwhile and in a grace period, and batches shrink to what comes in one or two
 * of these.
 *
 * A module whose functions were traced goes when nobody is inside any more. It does not wait for
 * its images' turn among thousands: let_go() is called for all of a batch first.
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

/* How long the first of a batch waits for others. */
#define BATCH_DELAY	(HZ / 20 ?: 1)

/* How often in-flight counters are looked at: quickly at first, then rarely. */
#define DRAIN_POLL_MIN	(HZ / 50 ?: 1)
#define DRAIN_POLL_MAX	HZ

static DEFINE_SPINLOCK(tramp_retire_lock);	/* for pending and waiting */
static LIST_HEAD(pending);			/* no grace period yet */
static LIST_HEAD(draining);			/* the worker's: first one passed */
static atomic64_t grace_periods = ATOMIC64_INIT(0);
static u32 waiting;				/* on any list */
static DECLARE_WAIT_QUEUE_HEAD(all_retired);

static struct workqueue_struct *wq;
static unsigned long poll_delay;

static void retire_work(struct work_struct *work);
static DECLARE_DELAYED_WORK(worker, retire_work);

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

/* Nobody can be in any of them: see the head comment. */
static void free_all(struct list_head *list)
{
	struct tramp_retire *r, *tmp;
	u32 n = 0;

	mutex_lock(&tramp_mutex);
	list_for_each_entry(r, list, node) {
		if (r->ops->let_go)
			r->ops->let_go(r);
	}
	mutex_unlock(&tramp_mutex);
	list_for_each_entry_safe(r, tmp, list, node) {
		list_del(&r->node);
		r->ops->free(r);
		n++;
		/* Grace periods of others are not to wait for all of the batch. */
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

static void retire_work(struct work_struct *work)
{
	LIST_HEAD(batch);
	LIST_HEAD(done);
	struct tramp_retire *r, *tmp;

	spin_lock(&tramp_retire_lock);
	list_splice_init(&pending, &batch);
	spin_unlock(&tramp_retire_lock);

	if (!list_empty(&batch)) {
		/* Draining images too: programs may have been left out of them since. */
		list_for_each_entry_safe(r, tmp, &batch, node) {
			if (r->ops->drained)
				list_move_tail(&r->node, &draining);
		}
		mutex_lock(&tramp_mutex);
		list_for_each_entry(r, &draining, node) {
			if (r->ops->before)
				r->ops->before(r);
		}
		mutex_unlock(&tramp_mutex);
		tramp_grace_period();
		mutex_lock(&tramp_mutex);
		list_for_each_entry(r, &draining, node) {
			if (r->ops->after)
				r->ops->after(r);
		}
		mutex_unlock(&tramp_mutex);
		free_all(&batch);
		poll_delay = DRAIN_POLL_MIN;
	}

	list_for_each_entry_safe(r, tmp, &draining, node) {
		if (!r->ops->drained(r))
			continue;
		release_module(r);
		list_move_tail(&r->node, &done);
	}
	if (!list_empty(&done)) {
		tramp_grace_period();
		free_all(&done);
	}

	if (!list_empty(&draining)) {
		/* No-op if somebody has queued it for right now. */
		queue_delayed_work(wq, &worker, poll_delay);
		poll_delay = min_t(unsigned long, poll_delay * 2, DRAIN_POLL_MAX);
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
