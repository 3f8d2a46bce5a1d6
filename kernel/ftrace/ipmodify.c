// SPDX-License-Identifier: GPL-2.0
/*
 * Functions whose instruction pointer somebody changes.
 *
 * ftrace refuses a direct call there, and with it all functions that were to get one at the same
 * time, and does not say which of them is to blame. Its records do: a flag is set while an ops with
 * FTRACE_OPS_FL_IPMODIFY has the function (__ftrace_hash_update_ipmodify() in
 * kernel/trace/ftrace.c).
 *
 * Records come and go with modules, and the flag with an ops, all with ftrace_lock held, as is
 * the iterator, of which ftrace has one. So we hold it while we read, and take no lock inside.
 */
#include <linux/ftrace.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include "base/ksyms.h"
#include "base/sorted.h"
#include "ipmodify.h"

/* Call @see for each; it returns false when it has seen enough. */
static void for_each(bool (*see)(unsigned long ip, void *arg), void *arg)
{
	struct ftrace_rec_iter *iter;
	const struct dyn_ftrace *rec;

	if (!tramp_ksyms.ftrace_lock || !tramp_ksyms.has_ftrace_rec_iter_start ||
	    !tramp_ksyms.has_ftrace_rec_iter_next || !tramp_ksyms.has_ftrace_rec_iter_record)
		return;
	mutex_lock((struct mutex *)tramp_ksyms.ftrace_lock);
	iter = KSYM(ftrace_rec_iter_start)();
	for (; iter; iter = KSYM(ftrace_rec_iter_next)(iter)) {
		rec = KSYM(ftrace_rec_iter_record)(iter);
		if ((rec->flags & FTRACE_FL_IPMODIFY) && !see(rec->ip, arg))
			break;
	}
	mutex_unlock((struct mutex *)tramp_ksyms.ftrace_lock);
}

/* A list, and for how many there is room. */
struct filling {
	struct tramp_ipmodify *found;
	u32 room;
};

static bool note(unsigned long ip, void *arg)
{
	struct filling *f = arg;

	if (f->found->nr < f->room)
		f->found->ips[f->found->nr] = ip;
	f->found->nr++;
	return true;
}

static int compare(const void *a, const void *b)
{
	const unsigned long *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

int tramp_ipmodify_find(struct tramp_ipmodify *found)
{
	struct filling f = { .found = found };

	memset(found, 0, sizeof(*found));
	for_each(note, &f);
	/* There may be more by the time that there is room for them. */
	while (found->nr > f.room) {
		f.room = found->nr;
		kvfree(found->ips);
		found->nr = 0;
		found->ips = kvmalloc_array(f.room, sizeof(*found->ips), GFP_KERNEL);
		if (!found->ips)
			return -ENOMEM;
		for_each(note, &f);
	}
	sort(found->ips, found->nr, sizeof(*found->ips), compare, NULL);
	return 0;
}

void tramp_ipmodify_free(struct tramp_ipmodify *found)
{
	kvfree(found->ips);
	memset(found, 0, sizeof(*found));
}

bool tramp_ipmodify_has(const struct tramp_ipmodify *found, unsigned long ip)
{
	u32 at = tramp_first_from(found->ips, found->nr, ip);

	return at < found->nr && found->ips[at] == ip;
}

/* Sites, and the first of them that was seen. */
struct among {
	const unsigned long *ips;
	u32 nr;
	unsigned long first;
};

static bool is_among(unsigned long ip, void *arg)
{
	struct among *a = arg;
	u32 i;

	for (i = 0; i < a->nr && !a->first; i++) {
		if (a->ips[i] == ip)
			a->first = ip;
	}
	return !a->first;
}

unsigned long tramp_ipmodify_among(const unsigned long *ips, u32 nr)
{
	struct among a = { .ips = ips, .nr = nr };

	for_each(is_among, &a);
	return a.first;
}
