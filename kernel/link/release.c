// SPDX-License-Identifier: GPL-2.0
/*
 * Links go: many together, and what is left of them is freed.
 *
 * The BPF core releases one link after the other, and each that is a jump needs syncs of all CPUs.
 * A process that exits closes all of its links; so does close_range(). The kernel puts the work of
 * such closes into one list of the task (task works), which it goes through before the task is
 * back in user space, or gone. A task work that is added meanwhile comes after all of the list.
 *
 * So release() detaches nothing: it puts the link into a list of ours and adds a task work. The
 * first of these task works takes its own link off the list, and with it those behind it that can
 * go together with it, be they other tasks'. So the syncs are for all of them. Until then hits run
 * the program, as they do while close() is under way.
 *
 * Each close() returns when its link is detached, and none waits for all that others release.
 * Links are taken off the list, and detached, with tramp_mutex held. So a later task work that gets
 * the mutex finds its link detached. Where a link of many functions is half detached it waits for
 * the rest.
 *
 * A kernel thread has no such moment. On 6.12 it releases links whose last reference was a pin's,
 * or that of a system call other than close(), for which the core schedules it. The module's
 * workqueue goes through the list for it. Without task_work_add(), or in a task that
 * cannot take one any more, release() does what the task work would do.
 *
 * A link's memory and the module. The BPF core keeps calling into a link through our ops and
 * has no idea of our module, so every link holds a reference to it. Neither release() nor
 * dealloc() nor the task work may drop it: they would return into text that rmmod may have freed.
 * A link has three users: the core, which ends with dealloc(); the list; and the task work, whose
 * memory is in the link. The last of them hands it to the module's workqueue, whose worker frees it
 * and drops the reference. Module exit flushes the queue. Then it waits one RCU-tasks grace period
 * for tasks that have been preempted in what they did last here (base/retire.c).
 */
#include <linux/list.h>
#include <linux/llist.h>
#include <linux/module.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/uaccess.h>
#include "base/ksyms.h"
#include "base/rights.h"
#include "internal.h"

/* Together ---------------------------------------------------------------------- */

static struct tramp_member *parting[TRAMP_BATCH_MANY];	/* tramp_mutex */

static bool goes_together(const struct tramp_link *link)
{
	const struct tramp_point_ops *ops = link->ops;

	return ops->detach_many && (!ops->together || ops->together(&link->member));
}

static void detach_taken(struct tramp_parting *p)
{
	if (p->nr)
		p->ops->detach_many(parting, p->nr);
	p->nr = 0;
	tramp_turn_pass(&p->turn);
}

void tramp_parting_begin(struct tramp_parting *p)
{
	mutex_lock(&tramp_mutex);
	*p = (struct tramp_parting){};
	tramp_turn_begin(&p->turn);
}

void tramp_parting_take(struct tramp_parting *p, struct tramp_link *link)
{
	lockdep_assert_held(&tramp_mutex);
	if (p->nr && (p->ops != link->ops || p->nr == TRAMP_BATCH_MANY))
		detach_taken(p);
	if (!tramp_link_is_attached(link) || link->parted)
		return;
	link->parted = true;
	tramp_link_count_one(-1);
	if (goes_together(link)) {
		p->ops = link->ops;
		parting[p->nr++] = &link->member;
		return;
	}
	tramp_link_detach_member(link);
	if (tramp_turn_over(&p->turn))
		detach_taken(p);
}

void tramp_parting_end(struct tramp_parting *p)
{
	detach_taken(p);
	mutex_unlock(&tramp_mutex);
}

/* Released by the core ---------------------------------------------------------- */

/* The last one first, as the kernel goes through task works. */
static LIST_HEAD(released);
static DEFINE_SPINLOCK(released_lock);	/* links leave with tramp_mutex held, too */

static LLIST_HEAD(unused);

static void free_unused(struct work_struct *work)
{
	struct tramp_link *link, *tmp;

	llist_for_each_entry_safe(link, tmp, llist_del_all(&unused), unused) {
		tramp_link_free(link);
		module_put(THIS_MODULE);
		cond_resched();
	}
}

static void put_link(struct tramp_link *link)
{
	static DECLARE_WORK(work, free_unused);

	if (!refcount_dec_and_test(&link->users))
		return;
	llist_add(&link->unused, &unused);
	tramp_retire_queue_work(&work);
}

static void list_released(struct tramp_link *link)
{
	refcount_inc(&link->users);
	spin_lock(&released_lock);
	list_add(&link->released, &released);
	link->listed = true;
	spin_unlock(&released_lock);
}

/* Off the list, and then it is @p's. */
static void take_released(struct tramp_parting *p, struct tramp_link *link,
			  struct list_head *taken)
{
	spin_lock(&released_lock);
	link->listed = false;
	list_move_tail(&link->released, taken);
	spin_unlock(&released_lock);
	tramp_parting_take(p, link);
}

/*
 * The link that was released before @link, or last of all if that is NULL; or NULL. It stays where
 * it is: tramp_mutex is held.
 */
static struct tramp_link *next_released(struct tramp_link *link)
{
	struct list_head *next;

	lockdep_assert_held(&tramp_mutex);
	spin_lock(&released_lock);
	next = link ? link->released.next : released.next;
	spin_unlock(&released_lock);
	return next == &released ? NULL : list_entry(next, struct tramp_link, released);
}

/*
 * Can @link go with those that wait in @p, or has it gone already? If none waits there the mutex
 * may have been dropped.
 */
static bool joins(const struct tramp_parting *p, const struct tramp_link *link)
{
	return p->nr && link && (!tramp_link_is_attached(link) ||
				 (p->ops == link->ops && goes_together(link)));
}

/*
 * Detach @own, which the caller has a reference to, or the first of the list if it is NULL. Those
 * behind it come along as far as they go together with it. Return: there was one in the list.
 */
static bool detach_released(struct tramp_link *own)
{
	struct tramp_link *link = own, *next, *tmp;
	struct tramp_parting p;
	LIST_HEAD(taken);
	u32 nr = 0;

	tramp_parting_begin(&p);
	if (!own)
		link = next_released(NULL);
	if (link && link->listed) {
		do {
			next = next_released(link);
			take_released(&p, link, &taken);
			link = next;
		} while (++nr < TRAMP_BATCH_MANY && joins(&p, link));
	} else if (own) {
		if (WARN_ON_ONCE(tramp_link_is_attached(own)))
			tramp_parting_take(&p, own);
		tramp_link_forget(own);
	}
	list_for_each_entry(link, &taken, released)
		tramp_link_forget(link);
	tramp_parting_end(&p);
	if (own)
		tramp_link_wait_detached(own);
	list_for_each_entry_safe(link, tmp, &taken, released)
		put_link(link);
	return nr;
}

static void released_work(struct work_struct *work)
{
	while (detach_released(NULL))
		cond_resched();
}

static void left(struct callback_head *work)
{
	struct tramp_link *link = container_of(work, struct tramp_link, left);

	detach_released(link);
	put_link(link);
}

static bool leave_to_task_work(struct tramp_link *link)
{
	if (!tramp_ksyms.has_task_work_add)
		return false;
	refcount_inc(&link->users);
	init_task_work(&link->left, left);
	if (!KSYM(task_work_add)(current, &link->left, TWA_RESUME))
		return true;
	refcount_dec(&link->users);
	return false;
}

void tramp_link_release(struct bpf_link *bpf_link)
{
	static DECLARE_WORK(work, released_work);
	struct tramp_link *link = tramp_to_link(bpf_link);

	list_released(link);
	if (current->flags & PF_KTHREAD)
		tramp_retire_queue_work(&work);
	else if (!leave_to_task_work(link))
		detach_released(link);
}

void tramp_link_dealloc(struct bpf_link *bpf_link)
{
	put_link(tramp_to_link(bpf_link));
}

/* DETACH_BATCH ------------------------------------------------------------------ */

static int get_links(struct tramp_link **links, const s32 __user *fds, u32 count, u32 *got,
		     struct tramp_refusal *why)
{
	struct bpf_link *link;
	int err;
	s32 fd;

	for (*got = 0; *got < count; links[(*got)++] = tramp_to_link(link)) {
		if (get_user(fd, fds + *got))
			return -EFAULT;
		err = tramp_lsm_permits_detach(fd, why);
		if (err)
			return err;
		link = KSYM(bpf_link_get_from_fd)(fd);
		if (IS_ERR(link) && PTR_ERR(link) != -EINVAL)
			return PTR_ERR(link);
		if (IS_ERR(link) || link->ops != &tramp_link_ops) {
			if (!IS_ERR(link))
				bpf_link_put(link);
			return tramp_refuse(why, TRAMP_REASON_SYNTAX, 0, "fd %d is no link of ours",
					    fd);
		}
		cond_resched();
	}
	return 0;
}

int tramp_link_detach_batch(const s32 __user *fds, u32 count, u32 *failed,
			    struct tramp_refusal *why)
{
	/* Held while descriptors are read, which the caller's memory may delay. */
	struct tramp_link **links = kvmalloc_array(count, sizeof(*links), GFP_KERNEL_ACCOUNT);
	struct tramp_parting p;
	u32 i, got;
	int err;

	if (!links)
		return tramp_refuse(why, TRAMP_REASON_NO_MEMORY, 0, NULL);
	err = get_links(links, fds, count, &got, why);
	*failed = got;
	if (!err) {
		tramp_parting_begin(&p);
		for (i = 0; i < got; i++)
			tramp_parting_take(&p, links[i]);
		tramp_parting_end(&p);
	}
	for (i = 0; i < got; i++) {
		/* Another task may be in the middle of detaching it. */
		if (!err)
			tramp_link_wait_detached(links[i]);
		bpf_link_put(&links[i]->link);
	}
	kvfree(links);
	return err;
}
