// SPDX-License-Identifier: GPL-2.0
/*
 * Groups: many functions that share an ftrace_ops, each with an image of its own. One update of
 * ftrace puts all calls there, and one takes them back.
 *
 * ftrace's registration of direct calls knows one address for an ops. But where a site leads is
 * an entry of ftrace's table, for each function, and its updates look there. So we make the
 * entries (room.c), and register the ops as one that has direct calls. That is how ftrace itself
 * had its direct calls before 6.4: one ops for all.
 *
 * Two ways lead to an image. Where nobody else traces the function its bytes call the image. Where
 * somebody does they call ftrace's entry code (ftrace_regs_caller), which calls the callbacks of
 * all. Ours, group_hit(), has the image's address from @calls, and the entry code jumps there.
 * For each function both say the same, but while it is being switched.
 *
 *  - Attach. The images are complete and executable before anything else. Then come the entries:
 *    nobody looks at them, since no function has a direct call yet. Others who want one there
 *    find the entry, and are refused. Then ftrace registers the ops. A call that enters while
 *    the bytes change sees the NOP, the call of its image, or ftrace's entry code. If ftrace
 *    refuses it has changed nothing, or has undone it; the entries go again.
 *
 *  - Switch some functions to other images, as modify_ftrace_direct() does: a second ops, which
 *    does nothing, is registered for them. So each has two, and its bytes call ftrace's entry
 *    code: hits take the old image, by group_hit(). While it has two, no update of ftrace looks at
 *    the entry. Now @calls is changed, by one word each, and the entries. Then the second ops
 *    goes, and the bytes call the new image. Each hit takes the old image or the new one, at
 *    every moment. direct_mutex is held while entries are written, as they may be copied to
 *    another table.
 *
 *  - Detach some. They are taken out of the filter of the ops, which is an update of ftrace; the
 *    others' bytes stay as they are. Then their entries go. An entry is read for a function that
 *    has a direct call, which these have no more. But who looks for another one may go over it,
 *    so it is kept for later. A CPU may be on its way to group_hit() still: @calls keeps the
 *    address of the image, which retires after that, as its caller has it retire. The last of all
 *    unregister the ops, since an empty filter would be one of all functions.
 *
 * An ops in dynamic memory has ftrace wait when it is unregistered: see site.c, which also says
 * why it need not. Our callback is no part of ftrace, and reads no entry, so nothing else has
 * to be waited for either. All goes when the last function is detached, by the retire list:
 * ops, filter, @calls, and the entries.
 *
 * Memory. Taking functions out of a filter allocates a new one. That does not fail in practice, for
 * so little memory, and is tried some times. If it fails for good, the functions stay, as they do
 * where ftrace has shut down.
 */
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include "base/compat.h"
#include "base/ksyms.h"
#include "group.h"
#include "room.h"

/**
 * struct tramp_group - the site of many functions with an image each
 * @site: the site
 * @nr: how many there were
 * @left: how many are still attached
 * @calls: the functions, by address
 *
 * Protected by tramp_mutex; group_hit() reads @nr and @calls without.
 */
struct tramp_group {
	struct tramp_site site;
	u32 nr;
	u32 left;
	struct tramp_site_call calls[];
};

/* How often a filter without some functions is tried, so many milliseconds apart. */
#define TRIES	10
#define WAIT	20

static struct tramp_group *group_of(struct tramp_site *site)
{
	return container_of(site, struct tramp_group, site);
}

static notrace struct tramp_site_call *find(struct tramp_group *group, unsigned long ip)
{
	u32 mid, from = 0, to = group->nr;

	while (from < to) {
		mid = from + (to - from) / 2;
		if (group->calls[mid].ip == ip)
			return &group->calls[mid];
		if (group->calls[mid].ip < ip)
			from = mid + 1;
		else
			to = mid;
	}
	return NULL;
}

/* Preemption is off. */
static notrace void group_hit(unsigned long ip, unsigned long parent_ip, struct ftrace_ops *ops,
			      struct ftrace_regs *fregs)
{
	struct tramp_group *group = container_of(ops, struct tramp_group, site.ops);
	const struct tramp_site_call *call = find(group, ip);

	if (call)
		tramp_set_direct_caller(fregs, READ_ONCE(call->code));
}

/* Of the ops that makes ftrace's entry code be called. */
static notrace void no_hit(unsigned long ip, unsigned long parent_ip, struct ftrace_ops *ops,
			   struct ftrace_regs *fregs)
{
}

u32 tramp_site_left(struct tramp_site *site)
{
	return group_of(site)->left;
}

static int by_ip(const void *a, const void *b)
{
	const struct tramp_site_call *x = a, *y = b;

	return x->ip < y->ip ? -1 : x->ip > y->ip;
}

static void free_group(struct tramp_group *group)
{
	u32 i;

	for (i = 0; i < group->nr; i++)
		kfree(group->calls[i].entry);
	ftrace_free_filter(&group->site.ops);
	kvfree(group);
}

static void group_retired(struct tramp_retire *r)
{
	free_group(container_of(r, struct tramp_group, site.retire));
}

static void retire_group(struct tramp_group *group)
{
	static const struct tramp_retire_ops ops = { .free = group_retired };

	tramp_retire_add(&group->site.retire, &ops);
}

static int set_filter(struct ftrace_ops *ops, const struct tramp_site_call *calls, u32 nr)
{
	unsigned long *ips = kvmalloc_array(nr, sizeof(*ips), GFP_KERNEL);
	int err;
	u32 i;

	if (!ips)
		return -ENOMEM;
	for (i = 0; i < nr; i++)
		ips[i] = calls[i].ip;
	err = ftrace_set_filter_ips(ops, ips, nr, 0, 0);
	kvfree(ips);
	return err;
}

static struct tramp_group *new_group(const struct tramp_site_call *calls, u32 nr,
				     struct tramp_refusal *why)
{
	struct tramp_group *group = kvzalloc(struct_size(group, calls, nr), GFP_KERNEL);
	struct ftrace_ops *ops;
	int err;

	if (!group)
		return ERR_PTR(tramp_refuse(why, TRAMP_REASON_NO_MEMORY, 0, NULL));
	group->nr = nr;
	group->left = nr;
	memcpy(group->calls, calls, nr * sizeof(*calls));
	sort(group->calls, nr, sizeof(*calls), by_ip, NULL);
	err = set_filter(&group->site.ops, group->calls, nr);
	if (err) {
		free_group(group);
		return ERR_PTR(tramp_site_error(err, calls[0].ip, why));
	}
	ops = &group->site.ops;
	ops->func = group_hit;
	ops->private = group;
	ops->trampoline = tramp_ksyms.ftrace_regs_caller;
	ops->flags |= FTRACE_OPS_FL_DIRECT | FTRACE_OPS_FL_SAVE_REGS | FTRACE_OPS_FL_PERMANENT;
	return group;
}

/* The function is not called any more: let go of its entry. */
static void forget(struct tramp_group *group, unsigned long ip)
{
	find(group, ip)->entry = tramp_direct_remove(ip);
	group->left--;
}

static bool any_calls(struct tramp_group *group)
{
	u32 i;

	for (i = 0; i < group->nr; i++) {
		if (tramp_site_calls(group->calls[i].ip, group->calls[i].code))
			return true;
	}
	return false;
}

int tramp_site_attach_each(const struct tramp_site_call *calls, u32 nr, struct tramp_site **site,
			   bool *entered, struct tramp_refusal *why)
{
	struct tramp_group *group;
	int err;
	u32 i;

	lockdep_assert_held(&tramp_mutex);
	*entered = false;
	if (!tramp_direct_known() || !tramp_ksyms.ftrace_regs_caller)
		return -EOPNOTSUPP;
	group = new_group(calls, nr, why);
	if (IS_ERR(group))
		return PTR_ERR(group);
	err = tramp_direct_add(group->calls, nr, why);
	if (err) {
		free_group(group);
		return err;
	}
	err = register_ftrace_function(&group->site.ops);
	/* If one calls it after all, all are attached and stay: detaching copes with that. */
	if (err && !any_calls(group)) {
		err = tramp_site_error(err, group->calls[0].ip, why);
		for (i = 0; i < nr; i++)
			forget(group, group->calls[i].ip);
		/* For a moment the ops may have been on ftrace's list. */
		retire_group(group);
		*entered = true;
		return err;
	}
	*site = &group->site;
	return 0;
}

/* The second ops of some functions. Return: it, as a site, or an ERR_PTR(). */
static struct tramp_site *new_second(const struct tramp_site_call *calls, u32 nr,
				     struct tramp_refusal *why)
{
	struct tramp_site *second = kzalloc(sizeof(*second), GFP_KERNEL);
	int err;

	if (!second)
		return ERR_PTR(tramp_refuse(why, TRAMP_REASON_NO_MEMORY, 0, NULL));
	err = set_filter(&second->ops, calls, nr);
	if (err) {
		tramp_site_free(second);
		return ERR_PTR(tramp_site_error(err, calls[0].ip, why));
	}
	second->ops.func = no_hit;
	second->ops.trampoline = tramp_ksyms.ftrace_regs_caller;
	second->ops.flags |= FTRACE_OPS_FL_STUB;
	return second;
}

int tramp_site_switch_each(struct tramp_site *site, const struct tramp_site_call *calls, u32 nr,
			   struct tramp_refusal *why)
{
	struct tramp_site *second = new_second(calls, nr, why);
	int err;
	u32 i;

	lockdep_assert_held(&tramp_mutex);
	if (IS_ERR(second))
		return PTR_ERR(second);
	err = register_ftrace_function(&second->ops);
	if (err) {
		tramp_site_retire(second);
		return tramp_site_error(err, calls[0].ip, why);
	}
	for (i = 0; i < nr; i++)
		WRITE_ONCE(find(group_of(site), calls[i].ip)->code, calls[i].code);
	tramp_direct_set(calls, nr);
	second->ops.flags &= ~FTRACE_OPS_FL_DYNAMIC;
	err = unregister_ftrace_function(&second->ops);
	if (!err) {
		tramp_site_retire(second);
		return 0;
	}
	/* It stays on ftrace's list, and hits take the new images by group_hit(). */
	pr_err("ftrace has shut down (error %d): the callback at %pS stays\n", err,
	       (void *)calls[0].ip);
	__module_get(THIS_MODULE);
	return 0;
}

/* Take some out of the filter, not all. */
static int shrink(struct tramp_group *group, const unsigned long *ips, u32 nr)
{
	int tries, err;

	for (tries = 0; tries < TRIES; tries++) {
		err = ftrace_set_filter_ips(&group->site.ops, (unsigned long *)ips, nr, 1, 0);
		if (err != -ENOMEM)
			break;
		msleep(WAIT);
	}
	return err;
}

bool tramp_site_detach_each(struct tramp_site *site, const unsigned long *ips, u32 nr)
{
	struct tramp_group *group = group_of(site);
	int err;
	u32 i;

	lockdep_assert_held(&tramp_mutex);
	if (nr < group->left) {
		err = shrink(group, ips, nr);
	} else {
		site->ops.flags &= ~FTRACE_OPS_FL_DYNAMIC;
		err = unregister_ftrace_function(&site->ops);
	}
	for (i = 0; !err && i < nr; i++) {
		if (tramp_site_calls(ips[i], find(group, ips[i])->code))
			err = -ENODEV;
	}
	if (err) {
		/* They lead to our images for ever: keep everything, this module included. */
		pr_err("ftrace has shut down (error %d): %u attachments, the first at %pS, stay\n",
		       err, nr, (void *)ips[0]);
		__module_get(THIS_MODULE);
		return false;
	}
	for (i = 0; i < nr; i++)
		forget(group, ips[i]);
	if (!group->left)
		retire_group(group);
	return true;
}
