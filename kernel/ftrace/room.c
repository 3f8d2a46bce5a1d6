// SPDX-License-Identifier: GPL-2.0
/*
 * ftrace's table of direct calls: room in it, and entries of ours.
 *
 * An entry says where a function's site leads. ftrace's registration of direct calls writes one
 * address for all functions of an ops. In a group (group.c) each function has its own. So we make
 * the entries, as that registration does. A new table gets the entries of the old one and ours,
 * and takes its place under direct_mutex.
 *
 * Others' updates of ftrace, and a callback, look at the table without the mutex. They see the old
 * one or the new one, and ask for a function that has a direct call, which is in both. The old one
 * goes on the retire list. An entry of ours is there from before the update that makes its site
 * a call until after the one that takes the call back. So ftrace always finds in it what the
 * bytes call, or are to call.
 *
 * A single entry is added to the table in place, if there are two or fewer a bucket. It is
 * complete before hlist_add_head_rcu() shows it. Those who walk the bucket meanwhile see it or
 * not, and do not look for it: its site is no call yet. They walk with preemption off, and
 * an entry that is taken out goes to the retire list, which waits for them. Only who holds
 * direct_mutex writes entries or their count. An empty table is left alone: it may be the
 * kernel's constant one (EMPTY_HASH), which all empty hashes share.
 *
 * Before 6.4 ftrace_add_rec_direct() (kernel/trace/ftrace.c) adds one function at a time. It
 * makes a new table whenever there are more than two entries a bucket, and never gives a table
 * more than 4,096 buckets. So from 8,193 functions on each further one moves all others to a
 * new table. All these tables but the last are lost: 32 KiB for each function, 800 MiB for
 * an attachment of 35,000. So before functions are registered there must be buckets enough.
 *
 * It also makes a new table whenever the one it has is empty, even if that is large. The new one
 * grows from 32 buckets on. Those on the way are lost, and so is ours. So ours is never empty. It
 * has an entry for an address that is no function's, which nobody looks for.
 *
 * We do what that function does, but with as many buckets as it takes, under the mutex that
 * it holds. Those who read the table meanwhile (ftrace's callback for hits that a tracer shares)
 * see the old one or the new one. The old one's entries are copied, not moved, so none is missing
 * from either. The old one goes on the retire list, which waits for such readers. The
 * new one is the kernel's: it adds to it, removes from it, and frees it by kfree() if it
 * ever makes another. It stays when this module goes.
 *
 * The table's struct is private, so the kernel's BTF must describe it as it is below. Otherwise
 * there are no groups, and before 6.4 room for 4,096 functions at once.
 */
#include <linux/ftrace.h>
#include <linux/hash.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#include "base/btf_layout.h"
#include "base/compat.h"
#include "base/ksyms.h"
#include "base/retire.h"
#include "room.h"
#include "site.h"
#include "update.h"

/* The kernel's struct ftrace_hash. */
struct table {
	unsigned long size_bits;
	struct hlist_head *buckets;
	unsigned long count;
	unsigned long flags;
	struct rcu_head rcu;
};

/* A table that has been replaced. */
struct old_table {
	struct tramp_retire retire;
	struct table *table;
};

/* The kernel does well up to here (FTRACE_HASH_MAX_BITS). */
#define KERNEL_BITS	12
#define KERNEL_ROOM	(2u << KERNEL_BITS)
/* It puts one of 32 buckets in the place of an empty one. */
#define FIRST_ROOM	(2u << 5)
/* More buckets than functions are of no use. */
#define MAX_BITS	16

static bool known __ro_after_init;

static bool __init layout_known(void)
{
	u32 size_bits, buckets, count, flags, size;
	const struct tramp_btf_wanted in_table[] = {
		{ "size_bits", sizeof(long), &size_bits },
		{ "buckets", sizeof(void *), &buckets },
		{ "count", sizeof(long), &count },
		{ "flags", sizeof(long), &flags },
	};

	return tramp_ksyms.direct_functions &&
	       tramp_btf_layout("ftrace_hash", in_table, ARRAY_SIZE(in_table), &size) &&
	       size == sizeof(struct table) && size_bits == offsetof(struct table, size_bits) &&
	       buckets == offsetof(struct table, buckets) &&
	       count == offsetof(struct table, count) && flags == offsetof(struct table, flags);
}

int __init tramp_ftrace_room_init(void)
{
	known = layout_known();
	if (!known)
		pr_info("ftrace's table of direct calls is not as expected: many functions take longer%s\n",
			TRAMP_DIRECT_TABLE_READ ? ", and there is room for some thousand" : "");
	return 0;
}

static void free_table(struct table *t)
{
	struct hlist_node *next;
	struct ftrace_func_entry *e;
	u32 i;

	for (i = 0; i < 1u << t->size_bits; i++) {
		hlist_for_each_entry_safe(e, next, &t->buckets[i], hlist)
			kfree(e);
	}
	kfree(t->buckets);
	kfree(t);
}

static void table_retired(struct tramp_retire *r)
{
	struct old_table *old = container_of(r, struct old_table, retire);

	free_table(old->table);
	kfree(old);
}

static struct hlist_head *bucket(const struct table *t, unsigned long ip)
{
	return &t->buckets[t->size_bits ? hash_long(ip, t->size_bits) : 0];
}

static bool add_entry(struct table *t, unsigned long ip, unsigned long direct)
{
	struct ftrace_func_entry *e = kmalloc(sizeof(*e), GFP_KERNEL);

	if (!e)
		return false;
	e->ip = ip;
	e->direct = direct;
	hlist_add_head_rcu(&e->hlist, bucket(t, ip));
	t->count++;
	return true;
}

static bool copy_entries(struct table *to, const struct table *from)
{
	/* The table's own address, which is in data. It stays, as the table does. */
	const unsigned long of_nobody = tramp_ksyms.direct_functions;
	const struct ftrace_func_entry *e;
	u32 i;

	for (i = 0; i < 1u << from->size_bits; i++) {
		hlist_for_each_entry(e, &from->buckets[i], hlist) {
			if (e->ip != of_nobody && !add_entry(to, e->ip, e->direct))
				return false;
		}
	}
	return add_entry(to, of_nobody, 0);
}

static bool add_calls(struct table *to, const struct tramp_site_call *calls, u32 nr)
{
	while (nr--) {
		if (!add_entry(to, calls[nr].ip, calls[nr].code))
			return false;
	}
	return true;
}

/*
 * A copy with @nr_calls new entries. It has one to two buckets for each of @nr, but no more than
 * MAX_BITS says, and half as many if memory is scarce.
 */
static struct table *copy_table(const struct table *from, u32 nr,
				const struct tramp_site_call *calls, u32 nr_calls)
{
	u32 bits = clamp_t(u32, order_base_2(nr), 5, MAX_BITS);
	struct table *t = kzalloc(sizeof(*t), GFP_KERNEL);

	if (!t)
		return NULL;
	t->flags = from->flags;
	t->size_bits = bits;
	t->buckets = kcalloc(1u << bits, sizeof(*t->buckets), GFP_KERNEL | __GFP_NOWARN);
	if (!t->buckets && 2u << (bits - 1) >= nr) {
		t->size_bits = --bits;
		t->buckets = kcalloc(1u << bits, sizeof(*t->buckets), GFP_KERNEL);
	}
	if (!t->buckets) {
		kfree(t);
		return NULL;
	}
	if (copy_entries(t, from) && add_calls(t, calls, nr_calls))
		return t;
	free_table(t);
	return NULL;
}

static int grow(struct table **where, u32 nr, const struct tramp_site_call *calls, u32 nr_calls,
		struct tramp_refusal *why)
{
	static const struct tramp_retire_ops ops = { .free = table_retired };
	struct old_table *old = kzalloc(sizeof(*old), GFP_KERNEL);
	struct table *from = *where, *to = NULL;

	if (old)
		to = copy_table(from, nr, calls, nr_calls);
	if (!to) {
		kfree(old);
		return tramp_refuse(why, TRAMP_REASON_NO_MEMORY, 0, NULL);
	}
	/* Pairs with rcu_dereference() of ftrace's lookups: the copy is complete. */
	smp_store_release(where, to);
	old->table = from;
	/* Without buckets it is the kernel's empty one, which is no allocation. */
	if (from->size_bits)
		tramp_retire_add(&old->retire, &ops);
	else
		kfree(old);
	return 0;
}

int tramp_ftrace_room(u32 nr, struct tramp_refusal *why)
{
	struct table **where = (struct table **)tramp_ksyms.direct_functions;
	u32 total, room;
	int err = 0;

	lockdep_assert_held(&tramp_mutex);
	if (!TRAMP_DIRECT_TABLE_READ)
		return 0;
	if (!known)
		return nr < KERNEL_ROOM / 2 ? 0 :
		       tramp_refuse(why, TRAMP_REASON_MISSING_SYMBOL, 0, "direct_functions");
	tramp_direct_lock();
	total = (*where)->count + nr;
	room = (*where)->count ? 2u << (*where)->size_bits : FIRST_ROOM;
	/* The kernel would move the entries to its new table: hits meanwhile would miss them. */
	if (total > room)
		err = grow(where, total, NULL, 0, why);
	tramp_direct_unlock();
	return err;
}

/* Entries ------------------------------------------------------------------------ */

bool tramp_direct_known(void)
{
	return known;
}

static struct table **lock_table(void)
{
	tramp_direct_lock();
	return (struct table **)tramp_ksyms.direct_functions;
}

static void unlock_table(void)
{
	tramp_direct_unlock();
}

static struct ftrace_func_entry *find_entry(const struct table *t, unsigned long ip)
{
	struct ftrace_func_entry *e;

	hlist_for_each_entry(e, bucket(t, ip), hlist) {
		if (e->ip == ip)
			return e;
	}
	return NULL;
}

/* For one more, where others may be looking. An empty one may be the kernel's constant. */
static bool has_room(const struct table *t)
{
	return t->count && t->count < 2ul << t->size_bits;
}

int tramp_direct_add(const struct tramp_site_call *calls, u32 nr, struct tramp_refusal *why)
{
	struct table **where;
	int err = 0;
	u32 i;

	lockdep_assert_held(&tramp_mutex);
	where = lock_table();
	for (i = 0; !err && i < nr; i++) {
		if (find_entry(*where, calls[i].ip))
			err = tramp_refuse(why, TRAMP_REASON_SITE_HELD, calls[i].ip, NULL);
	}
	if (err)
		goto unlock;
	if (nr > 1 || !has_room(*where))
		err = grow(where, (*where)->count + nr, calls, nr, why);
	else if (!add_entry(*where, calls->ip, calls->code))
		err = tramp_refuse(why, TRAMP_REASON_NO_MEMORY, 0, NULL);
unlock:
	unlock_table();
	return err;
}

void tramp_direct_set(const struct tramp_site_call *calls, u32 nr)
{
	struct ftrace_func_entry *e;
	struct table *t;

	lockdep_assert_held(&tramp_mutex);
	for (t = *lock_table(); nr--; calls++) {
		e = find_entry(t, calls->ip);
		if (!WARN_ON_ONCE(!e))
			WRITE_ONCE(e->direct, calls->code);
	}
	unlock_table();
}

struct ftrace_func_entry *tramp_direct_remove(unsigned long ip)
{
	struct ftrace_func_entry *e;
	struct table *t;

	lockdep_assert_held(&tramp_mutex);
	t = *lock_table();
	e = find_entry(t, ip);
	if (!WARN_ON_ONCE(!e)) {
		hlist_del_rcu(&e->hlist);
		t->count--;
	}
	unlock_table();
	return e;
}

/*
 * Take the entry of @ip out, if it leads to @code. Readers of one that has left go on by its next
 * alone: the other pointer chains them in @gone.
 */
static void take_out(struct table *t, unsigned long ip, unsigned long code,
		     struct ftrace_func_entry **gone)
{
	struct ftrace_func_entry *e = find_entry(t, ip);

	if (!e || e->direct != code)
		return;
	hlist_del_rcu(&e->hlist);
	t->count--;
	e->hlist.pprev = (struct hlist_node **)*gone;
	*gone = e;
}

void tramp_direct_remove_some(const unsigned long *ips, u32 nr, unsigned long code,
			      struct ftrace_func_entry **gone)
{
	struct table *t;

	lockdep_assert_held(&tramp_mutex);
	for (t = *lock_table(); nr--; ips++)
		take_out(t, *ips, code, gone);
	unlock_table();
}

void tramp_direct_remove_all(const struct ftrace_hash *hash, unsigned long code,
			     struct ftrace_func_entry **gone)
{
	const struct table *funcs = (const struct table *)hash;
	const struct ftrace_func_entry *func;
	struct table *t;
	u32 i;

	lockdep_assert_held(&tramp_mutex);
	t = *lock_table();
	for (i = 0; i < 1u << funcs->size_bits; i++) {
		hlist_for_each_entry(func, &funcs->buckets[i], hlist)
			take_out(t, func->ip, code, gone);
	}
	unlock_table();
}

void tramp_direct_free(struct ftrace_func_entry *gone)
{
	struct ftrace_func_entry *e;

	while ((e = gone)) {
		gone = (struct ftrace_func_entry *)e->hlist.pprev;
		kfree(e);
	}
}
