// SPDX-License-Identifier: GPL-2.0
/*
 * Groups: many functions that share an ftrace_ops, each with an image of its own. One update of
 * ftrace puts the calls of all that come together there, and one takes back those that leave
 * together.
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
 *  - More join a group that is attached. The entries come first, as above. Then @calls gets them,
 *    in a copy that takes the place of the old array, which retires. Then they are added to the
 *    filter of the ops, which is an update of ftrace. To these functions it is an attach. The
 *    others' bytes stay as they are, and both arrays say the same of them. An update of a filter
 *    does not tell that ftrace has shut down in it, so it is asked. Then the filter has the
 *    functions, and they stay in it: @calls no longer says where they lead, and their images
 *    retire.
 *
 *  - Switch some functions to other images, as modify_ftrace_direct() does: a second ops, which
 *    does nothing, is registered for them. So each has two, and its bytes call ftrace's entry
 *    code: hits take the old image, by group_hit(). While it has two, no update of ftrace looks at
 *    the entry. Now @calls is changed, by one word each, and the entries. Then the second ops
 *    goes, and the bytes call the new image. Each hit takes the old image or the new one, at
 *    every moment. direct_mutex is held while entries are written, as they may be copied to
 *    another table. Single functions that have an ops of their own (site.c) are switched here, too.
 *    Their callback is ftrace's, which has the image's address from the ops or from the entry.
 *
 *  - Detach some. They are taken out of the filter of the ops, which is an update of ftrace; the
 *    others' bytes stay as they are. Then their entries go. An entry is read for a function that
 *    has a direct call, which these have no more. But who looks for another one may go over it,
 *    so it is kept for later, with the array. A CPU may be on its way to group_hit() still: @calls
 *    keeps the address of the image, which retires after that, as its caller has it retire. A
 *    copy, when another joins, has it no more: then that hit runs the function alone. The
 *    last of all unregister the ops, since an empty filter would be one of all functions.
 *
 * An ops in dynamic memory has ftrace wait when it is unregistered: see site.c, which also says
 * why it need not, and how it goes without. Our callback is no part of ftrace, and reads no entry,
 * so nothing else has to be waited for either. All goes when the last function is detached, by the
 * retire list: ops, filter, @calls, and the entries.
 *
 * Memory. Taking functions out of a filter allocates a new one. That does not fail in practice, for
 * so little memory, and is tried some times (shrink.c). If it fails for good, the functions stay,
 * as they do where ftrace has shut down, and their modules with them.
 *
 * Few that come together, or one alone, join a group that has room, or are the first of one. So
 * a thousand that leave together, as the links of a process do when it exits, take a few updates
 * however they came. The first that come one by one have an ops each nevertheless (site.c).
 * They need no memory to leave.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include "base/compat.h"
#include "base/ksyms.h"
#include "internal.h"
#include "room.h"
#include "update.h"

/**
 * struct calls - the functions of a group
 * @retire: how an array goes that another one has replaced
 * @nr: how many there are, with those that have left
 * @call: them, by address
 */
struct calls {
	struct tramp_retire retire;
	u32 nr;
	struct tramp_site_call call[];
};

/**
 * struct tramp_group - the site of many functions with an image each
 * @site: the site
 * @open: in @open_groups, if others may join
 * @left: how many are attached
 * @calls: the functions
 *
 * Protected by tramp_mutex; group_hit() reads @calls without, with preemption off.
 */
struct tramp_group {
	struct tramp_site site;
	struct list_head open;
	u32 left;
	struct calls __rcu *calls;
};

/* Those that others may join, and how many have room there: each time all are copied. */
static LIST_HEAD(open_groups);			/* tramp_mutex */
#define OPEN_MAX	128

static struct tramp_group *group_of(struct tramp_site *site)
{
	return container_of(site, struct tramp_group, site);
}

static notrace struct tramp_site_call *find_in(struct calls *calls, unsigned long ip)
{
	u32 mid, from = 0, to = calls->nr;

	while (from < to) {
		mid = from + (to - from) / 2;
		if (calls->call[mid].ip == ip)
			return &calls->call[mid];
		if (calls->call[mid].ip < ip)
			from = mid + 1;
		else
			to = mid;
	}
	return NULL;
}

static struct calls *calls_of(struct tramp_group *group)
{
	return rcu_dereference_protected(group->calls, true);
}

static struct tramp_site_call *find(struct tramp_group *group, unsigned long ip)
{
	return find_in(calls_of(group), ip);
}

/* Preemption is off. */
static notrace void group_hit(unsigned long ip, unsigned long parent_ip, struct ftrace_ops *ops,
			      struct ftrace_regs *fregs)
{
	struct tramp_group *group = container_of(ops, struct tramp_group, site.ops);
	const struct tramp_site_call *call = find_in(rcu_dereference_raw(group->calls), ip);
	unsigned long code = call ? READ_ONCE(call->code) : 0;

	if (code)
		tramp_set_direct_caller(fregs, code);
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

static void free_calls(struct calls *calls)
{
	u32 i;

	for (i = 0; calls && i < calls->nr; i++)
		kfree(calls->call[i].entry);
	kvfree(calls);
}

static void calls_retired(struct tramp_retire *r)
{
	free_calls(container_of(r, struct calls, retire));
}

static void free_group(struct tramp_group *group)
{
	free_calls(calls_of(group));
	ftrace_free_filter(&group->site.ops);
	kfree(group);
}

static void group_retired(struct tramp_retire *r)
{
	free_group(container_of(r, struct tramp_group, site.retire));
}

static void retire_group(struct tramp_group *group)
{
	static const struct tramp_retire_ops ops = { .free = group_retired };

	list_del(&group->open);
	tramp_retire_add(&group->site.retire, &ops);
}

/* Where the functions are, to be freed by kvfree(), or NULL. */
static unsigned long *ips_of(const struct tramp_site_call *calls, u32 nr)
{
	unsigned long *ips = kvmalloc_array(nr, sizeof(*ips), GFP_KERNEL);
	u32 i;

	for (i = 0; ips && i < nr; i++)
		ips[i] = calls[i].ip;
	return ips;
}

static int set_filter(struct ftrace_ops *ops, const struct tramp_site_call *calls, u32 nr)
{
	unsigned long *ips = ips_of(calls, nr);
	int err = ips ? tramp_ftrace_filter(ops, ips, nr, false) : -ENOMEM;

	kvfree(ips);
	return err;
}

/* One walk through ftrace's records for all of them. */
static int check_patched(const struct tramp_site_call *calls, u32 nr, struct tramp_refusal *why)
{
	unsigned long *ips = ips_of(calls, nr), blamed;
	int err;

	if (!ips)
		return tramp_refuse(why, TRAMP_REASON_NO_MEMORY, 0, NULL);
	err = tramp_site_check_patched(ips, nr, &blamed, why);
	kvfree(ips);
	return err;
}

/* The functions of @old that have not left, and @nr more. Return: NULL without memory. */
static struct calls *new_calls(const struct calls *old, const struct tramp_site_call *more, u32 nr)
{
	struct calls *calls = kvzalloc(struct_size(calls, call, (old ? old->nr : 0) + nr),
				       GFP_KERNEL);
	u32 i;

	if (!calls)
		return NULL;
	for (i = 0; old && i < old->nr; i++) {
		if (!old->call[i].entry)
			calls->call[calls->nr++] = old->call[i];
	}
	memcpy(calls->call + calls->nr, more, nr * sizeof(*more));
	calls->nr += nr;
	sort(calls->call, calls->nr, sizeof(*more), by_ip, NULL);
	return calls;
}

static struct tramp_group *new_group(const struct tramp_site_call *calls, u32 nr,
				     struct tramp_refusal *why)
{
	struct tramp_group *group = kzalloc(sizeof(*group), GFP_KERNEL);
	struct ftrace_ops *ops;
	int err = -ENOMEM;

	if (!group)
		return ERR_PTR(tramp_refuse(why, TRAMP_REASON_NO_MEMORY, 0, NULL));
	INIT_LIST_HEAD(&group->open);
	group->left = nr;
	RCU_INIT_POINTER(group->calls, new_calls(NULL, calls, nr));
	if (calls_of(group))
		err = set_filter(&group->site.ops, calls, nr);
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

static bool any_calls(const struct tramp_site_call *calls, u32 nr)
{
	while (nr--) {
		if (tramp_site_calls(calls[nr].ip, calls[nr].code))
			return true;
	}
	return false;
}

bool tramp_site_groups_possible(void)
{
	return tramp_direct_known() && tramp_ksyms.ftrace_regs_caller;
}

/* A new group. Return: it, or an ERR_PTR(). */
static struct tramp_group *register_group(const struct tramp_site_call *calls, u32 nr,
					  bool *entered, struct tramp_refusal *why)
{
	struct tramp_group *group;
	int err;
	u32 i;

	/* Before the ops is on ftrace's list. Of those that join a group ftrace looks first. */
	err = check_patched(calls, nr, why);
	if (err)
		return ERR_PTR(err);
	group = new_group(calls, nr, why);
	if (IS_ERR(group))
		return group;
	err = tramp_direct_add(calls, nr, why);
	if (err) {
		free_group(group);
		return ERR_PTR(err);
	}
	err = register_ftrace_function(&group->site.ops);
	/* If one calls it after all, all are attached and stay: detaching copes with that. */
	if (err && !any_calls(calls, nr)) {
		for (i = 0; i < nr; i++)
			forget(group, calls[i].ip);
		/* For a moment the ops may have been on ftrace's list. */
		retire_group(group);
		*entered = true;
		return ERR_PTR(tramp_site_error(err, calls[0].ip, why));
	}
	if (nr < OPEN_MAX)
		list_add(&group->open, &open_groups);
	return group;
}

/* A group with room for @nr more. */
static struct tramp_group *find_open(u32 nr)
{
	struct tramp_group *group;

	list_for_each_entry(group, &open_groups, open) {
		if (group->left + nr <= OPEN_MAX)
			return group;
	}
	return NULL;
}

/* More of them in @calls and in ftrace's table. Return: 0 or a negative errno. */
static int add_calls(struct tramp_group *group, const struct tramp_site_call *calls, u32 nr,
		     struct tramp_refusal *why)
{
	static const struct tramp_retire_ops ops = { .free = calls_retired };
	struct calls *old = calls_of(group), *all = new_calls(old, calls, nr);
	int err;

	if (!all)
		return tramp_refuse(why, TRAMP_REASON_NO_MEMORY, 0, NULL);
	err = tramp_direct_add(calls, nr, why);
	if (err) {
		kvfree(all);
		return err;
	}
	rcu_assign_pointer(group->calls, all);
	tramp_retire_add(&old->retire, &ops);
	group->left += nr;
	return 0;
}

/* Return: 0 or a negative errno. */
static int join(struct tramp_group *group, const struct tramp_site_call *calls, u32 nr,
		bool *entered, struct tramp_refusal *why)
{
	int err = add_calls(group, calls, nr, why);

	if (err)
		return err;
	err = set_filter(&group->site.ops, calls, nr);
	/* It does not say so where ftrace shuts down in the middle of it. */
	if (!err && tramp_ftrace_is_dead())
		err = -ENODEV;
	if (!err || any_calls(calls, nr))
		return 0;
	while (nr--) {
		/* It may be in the filter, for ever: another tracer's call leads to group_hit(). */
		WRITE_ONCE(find(group, calls[nr].ip)->code, 0);
		forget(group, calls[nr].ip);
	}
	*entered = true;
	return tramp_site_error(err, calls[0].ip, why);
}

int tramp_site_attach_each(const struct tramp_site_call *calls, u32 nr, struct tramp_site **site,
			   bool *entered, struct tramp_refusal *why)
{
	struct tramp_group *group = find_open(nr);
	int err = 0;

	lockdep_assert_held(&tramp_mutex);
	*entered = false;
	if (group)
		err = join(group, calls, nr, entered, why);
	else
		group = register_group(calls, nr, entered, why);
	if (IS_ERR(group))
		return PTR_ERR(group);
	if (!err)
		*site = &group->site;
	return err;
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

/* Have the callback lead to other images. */
static void set_callback(struct tramp_site *site, const struct tramp_site_call *calls, u32 nr)
{
	if (!tramp_site_is_group(site)) {
		tramp_set_direct_call(&site->ops, calls->code);
		return;
	}
	for (; nr--; calls++)
		WRITE_ONCE(find(group_of(site), calls->ip)->code, calls->code);
}

int tramp_site_switch_each(struct tramp_site *site, const struct tramp_site_call *calls, u32 nr,
			   struct tramp_refusal *why)
{
	struct tramp_site *second = new_second(calls, nr, why);
	int err;

	lockdep_assert_held(&tramp_mutex);
	if (IS_ERR(second))
		return PTR_ERR(second);
	err = register_ftrace_function(&second->ops);
	if (err) {
		tramp_site_retire(second);
		return tramp_site_error(err, calls[0].ip, why);
	}
	set_callback(site, calls, nr);
	tramp_direct_set(calls, nr);
	err = tramp_site_unregister(&second->ops);
	if (!err) {
		tramp_site_retire(second);
		return 0;
	}
	/* It stays on ftrace's list, and hits take the new images by the callback. */
	pr_err("ftrace has shut down (error %d): the callback at %pS stays\n", err,
	       (void *)calls[0].ip);
	__module_get(THIS_MODULE);
	return 0;
}

bool tramp_site_detach_each(struct tramp_site *site, const unsigned long *ips, u32 nr)
{
	struct tramp_group *group = group_of(site);
	int err;
	u32 i;

	lockdep_assert_held(&tramp_mutex);
	if (nr < group->left)
		err = tramp_site_filter_out(site, ips, nr);
	else
		err = tramp_site_unregister(&site->ops);
	for (i = 0; !err && i < nr; i++) {
		if (tramp_site_calls(ips[i], find(group, ips[i])->code))
			err = -ENODEV;
	}
	if (err) {
		/* They lead to our images for ever: keep everything, this module included. */
		if (err != -ENOMEM)
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
