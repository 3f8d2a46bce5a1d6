// SPDX-License-Identifier: GPL-2.0
/*
 * Functions that leave an ops which stays.
 *
 * They are taken out of its filter, which is an update of ftrace: it makes NOPs of their calls, and
 * leaves those of the others alone. Then they leave the table of direct calls (site.c).
 *
 * Memory. ftrace makes a new filter, and there may be no memory for it. It is tried some times, the
 * reserves are used, and then the functions stay: they call their image for ever, which is never
 * freed. So it is for the caller to see to it that this image does no more than return.
 *
 * A function that stays is in the filter still, and in the table. Its module must not go: ftrace
 * would forget the function's record, and not the filter's entry. If a module came to the same
 * place later, a function of it would have that entry. So the module gets a reference that nobody
 * puts. Then nobody can take the function's text away, and what is left in the filter is right.
 *
 * A module that is going takes no reference. Then it is tried until there is memory, with the
 * reserves as sure as for the kernel's allocations that must not fail. The notifier of modules
 * comes here with tramp_mutex held, or waits for it: the module's text and records are there till
 * then.
 */
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include "base/ksyms.h"
#include "internal.h"
#include "room.h"
#include "update.h"

/* How often it is tried, so many milliseconds apart, before functions are left. */
#define TRIES	10
#define WAIT	20

/* Let the module that @ip lies in have a reference, if it is in one. Return: false: it is going. */
static bool keep_module(unsigned long ip)
{
	struct module *mod;
	bool kept;

	/* It is not freed meanwhile: see base/peek.h. */
	preempt_disable();
	mod = KSYM(__module_address)(ip);
	kept = !mod || tramp_module_get_live(mod);
	preempt_enable();
	return kept;
}

static void put_modules(const unsigned long *ips, u32 nr)
{
	while (nr--) {
		preempt_disable();
		module_put(KSYM(__module_address)(ips[nr]));	/* NULL is fine */
		preempt_enable();
	}
}

/* @kept have their module already. Return: whether all have. */
static bool keep_modules(const unsigned long *ips, u32 nr, u32 *kept)
{
	while (*kept < nr && keep_module(ips[*kept]))
		++*kept;
	return *kept == nr;
}

/*
 * With @reserves memory is taken from those: a detach frees more than it takes. But the kernel
 * frees nothing for it then, not even to have pages side by side. So it is one way by turns.
 */
static int try_filter(struct ftrace_ops *ops, const unsigned long *ips, u32 nr, bool remove,
		      bool reserves)
{
	unsigned int flags = reserves ? memalloc_noreclaim_save() : 0;
	int err = tramp_ftrace_filter(ops, ips, nr, remove);

	if (reserves)
		memalloc_noreclaim_restore(flags);
	return err;
}

static int change_filter(struct ftrace_ops *ops, const unsigned long *ips, u32 nr, bool remove)
{
	u32 kept = 0;
	int tries, err;

	err = try_filter(ops, ips, nr, remove, false);
	for (tries = 1; err == -ENOMEM; tries++) {
		if (tries >= TRIES && keep_modules(ips, nr, &kept)) {
			pr_err("no memory to take %u calls back, the first at %pS: they stay, with their modules\n",
			       nr, (void *)ips[0]);
			return err;
		}
		msleep(WAIT);
		err = try_filter(ops, ips, nr, remove, tries % 2);
	}
	put_modules(ips, kept);
	return err;
}

int tramp_site_filter_out(struct tramp_site *site, const unsigned long *ips, u32 nr)
{
	return change_filter(&site->ops, ips, nr, true);
}

/**
 * struct left - functions that have left
 * @retire: how it goes
 * @entries: what they had in ftrace's table of direct calls
 */
struct left {
	struct tramp_retire retire;
	struct ftrace_func_entry *entries;
};

static void left_retired(struct tramp_retire *r)
{
	struct left *left = container_of(r, struct left, retire);

	tramp_direct_free(left->entries);
	kfree(left);
}

/* Their entries go by themselves, or with the site if there is no memory for that. */
static void retire_entries(struct tramp_site *site, const unsigned long *ips, u32 nr,
			   unsigned long code)
{
	static const struct tramp_retire_ops ops = { .free = left_retired };
	struct left *left = kzalloc(sizeof(*left), GFP_KERNEL | __GFP_NOWARN);

	tramp_site_wait_lookups();
	tramp_direct_remove_some(ips, nr, code, left ? &left->entries : &site->gone);
	if (left && left->entries)
		tramp_retire_add(&left->retire, &ops);
	else
		kfree(left);
}

int tramp_site_shrink(struct tramp_site *site, const unsigned long *ips, u32 nr,
		      unsigned long code)
{
	static struct ftrace_ops filter;	/* tramp_mutex; of them, as a stand-in needs one */
	bool known = tramp_direct_known();
	int err = 0;
	u32 i;

	lockdep_assert_held(&tramp_mutex);
	if (!known)
		err = change_filter(&filter, ips, nr, false);
	if (!err)
		err = tramp_site_filter_out(site, ips, nr);
	for (i = 0; !err && i < nr; i++) {
		if (tramp_site_calls(ips[i], code))
			err = -ENODEV;
	}
	if (!err && known)
		retire_entries(site, ips, nr, code);
	else if (!err)
		tramp_site_forget(site, filter.func_hash, site->ops.flags, code);
	if (!known) {
		ftrace_free_filter(&filter);
		memset(&filter, 0, sizeof(filter));
	}
	return err;
}
