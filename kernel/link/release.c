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
 * first of these task works detaches all links that are in the list then, those of other tasks
 * too; the others find it empty. So the syncs are for all of them, and still each close() returns
 * when its link is detached. Until then hits run the program, as they do while close() is under
 * way. A task work waits for another task that is at the list (released_mutex): that one may
 * have this one's link.
 *
 * A kernel thread has no such moment. It releases the links whose last pin was removed, after
 * unlink() has returned; and since 6.12 those of which a system call dropped the last reference.
 * It hands the list to the module's workqueue. Without task_work_add(), or in a task that cannot
 * take one any more, release() goes through the list itself.
 *
 * A link's memory and the module. The BPF core keeps calling into a link through our ops and
 * has no idea of our module, so every link holds a reference to it. Neither release() nor
 * dealloc() nor the task work may drop it: they would return into text that rmmod may have freed.
 * A link has three users: the core, which ends with dealloc(); the list; and the task work, whose
 * memory is in the link. The last of them hands it to the module's workqueue, whose worker frees it
 * and drops the reference. Module exit flushes the queue. Then it waits one RCU-tasks grace period
 * for tasks that have been preempted in what they did last here (base/retire.c).
 */
#include <linux/llist.h>
#include <linux/module.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>
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

static LLIST_HEAD(released);
static DEFINE_MUTEX(released_mutex);	/* outside of tramp_mutex */

static LLIST_HEAD(unused);

static void free_unused(struct work_struct *work)
{
	struct tramp_link *link, *tmp;

	llist_for_each_entry_safe(link, tmp, llist_del_all(&unused), going) {
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
	llist_add(&link->going, &unused);
	tramp_retire_queue_work(&work);
}

/* Detach all links that were released; when it returns nobody else is at one of them either. */
static void detach_released(void)
{
	struct tramp_link *link, *tmp;
	struct tramp_parting p;
	struct llist_node *all;

	mutex_lock(&released_mutex);
	all = llist_del_all(&released);
	if (all) {
		all = llist_reverse_order(all);
		tramp_parting_begin(&p);
		llist_for_each_entry(link, all, going)
			tramp_parting_take(&p, link);
		llist_for_each_entry(link, all, going)
			tramp_link_forget(link);
		tramp_parting_end(&p);
		llist_for_each_entry_safe(link, tmp, all, going)
			put_link(link);
	}
	mutex_unlock(&released_mutex);
}

static void released_work(struct work_struct *work)
{
	detach_released();
}

static void left(struct callback_head *work)
{
	struct tramp_link *link = container_of(work, struct tramp_link, left);

	detach_released();
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

	refcount_inc(&link->users);
	llist_add(&link->going, &released);
	if (current->flags & PF_KTHREAD)
		tramp_retire_queue_work(&work);
	else if (!leave_to_task_work(link))
		detach_released();
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
