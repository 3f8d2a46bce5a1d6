// SPDX-License-Identifier: GPL-2.0
/*
 * Many attachments in one call, all or none.
 *
 * It goes in parts. Of each part the links are made first: programs looked at, places prepared,
 * file descriptors reserved, all without tramp_mutex. Then the members are attached under it,
 * as many at a time as their kind can (attach_many). The mutex is dropped after each turn
 * (base/turn.h).
 *
 * Nobody can use or see a link yet (link.c). When all are attached and their results are with the
 * caller, they become visible, in our index and in the core's, all under one hold of the mutex
 * (publish_all()). Then their descriptors are open.
 *
 * A signal is looked for before each link and each step. Then, and at any failure, all are detached
 * together. After that the kernel may call again for the task, as after any signal whose handler
 * allows it.
 */
#include <linux/file.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include "internal.h"

/* A link that is to be, and what its caller is to know of it. */
struct born {
	struct bpf_link_primer primer;
	u32 mode;
	u32 reason;
	u64 addr;
	u64 key;
};

/**
 * struct work - one call
 * @b: the call
 * @born: its links
 * @reqs: the requests of the part at hand
 * @joins: its members
 * @first: the link that this part begins with
 * @nr: how many links have been made
 */
struct work {
	struct tramp_batch *b;
	struct born *born;
	struct tramp_attach *reqs;
	struct tramp_join *joins;
	u32 first, nr;
};

static struct tramp_link *link_of(const struct work *w, u32 i)
{
	return tramp_to_link(w->born[i].primer.link);
}

/* Make the links of the next part. */
static int open_part(struct work *w, struct tramp_refusal *why)
{
	u32 end = min_t(u32, w->b->count, w->nr + TRAMP_BATCH_MANY);
	struct tramp_attach *req = w->reqs;
	struct tramp_join *join = w->joins;
	struct tramp_link *link;
	int err;

	w->first = w->nr;
	for (; w->nr < end; w->nr++, req++, join++) {
		if (signal_pending(current))
			return -ERESTARTNOHAND;
		err = w->b->fetch(w->b->arg, w->nr, req, why);
		link = err ? ERR_PTR(err) :
			     tramp_link_open(NULL, req, &w->born[w->nr].primer, why);
		if (IS_ERR(link)) {
			w->b->failed = w->nr;
			return PTR_ERR(link);
		}
		*join = (struct tramp_join){ .member = &link->member, .req = req };
		cond_resched();
	}
	return 0;
}

/* Attach some from link @at on: at least one. In @nr how many at most, then how many. */
static int attach_some(struct work *w, u32 at, u32 *nr, struct tramp_refusal *why)
{
	const struct tramp_point_ops *ops = link_of(w, at)->ops;
	const struct tramp_join *joins = w->joins + (at - w->first);
	u32 same = 1;

	while (same < *nr && link_of(w, at + same)->ops == ops)
		same++;
	*nr = same;
	return ops->attach_many(joins, nr, why);
}

/* Link @i is attached: note what its caller is to know. */
static void note(struct work *w, u32 i)
{
	struct tramp_link *link = link_of(w, i);
	struct born *born = &w->born[i];
	struct tramp_described d;

	tramp_link_count_one(1);
	tramp_link_describe(link, &d);
	born->mode = d.mode;
	born->reason = d.reason;
	born->addr = d.addr;
	born->key = d.key;
}

static int attach_part(struct work *w, struct tramp_refusal *why)
{
	u32 nr, at = w->first;
	struct tramp_turn turn;
	int err = 0;

	mutex_lock(&tramp_mutex);
	tramp_turn_begin(&turn);
	while (!err && at < w->nr) {
		nr = w->nr - at;
		err = attach_some(w, at, &nr, why);
		if (err) {
			w->b->failed = at + nr;
			break;
		}
		for (; nr--; at++)
			note(w, at);
		if (signal_pending(current))
			err = -ERESTARTNOHAND;
		tramp_turn_pass(&turn);
	}
	mutex_unlock(&tramp_mutex);
	return err;
}

static int reply_all(struct work *w)
{
	const struct tramp_member *member;
	struct tramp_described d = {};
	const struct born *born;
	int err = 0;
	u32 i;

	for (i = 0; !err && i < w->nr; i++) {
		born = &w->born[i];
		member = &link_of(w, i)->member;
		d.link_id = member->link_id;
		d.kind = member->kind;
		d.key = born->key;
		d.mode = born->mode;
		d.reason = born->reason;
		d.addr = born->addr;
		err = w->b->reply(w->b->arg, i, &d, born->primer.fd);
		if (err)
			w->b->failed = i;
		cond_resched();
	}
	return err;
}

static int publish_all(const struct work *w, struct tramp_refusal *why)
{
	int err = 0;
	u32 i;

	mutex_lock(&tramp_mutex);
	for (i = 0; !err && i < w->nr; i++)
		err = tramp_link_enter(link_of(w, i), why);
	for (i = 0; i < w->nr; i++) {
		if (err)
			tramp_link_forget(link_of(w, i));
		else
			tramp_link_show(link_of(w, i));
	}
	mutex_unlock(&tramp_mutex);
	return err;
}

static void undo(struct work *w)
{
	struct tramp_parting p;
	u32 i;

	tramp_parting_begin(&p);
	for (i = 0; i < w->nr; i++)
		tramp_parting_take(&p, link_of(w, i));
	tramp_parting_end(&p);
	for (i = 0; i < w->nr; i++) {
		tramp_link_abandon(&w->born[i].primer);
		cond_resched();
	}
}

int tramp_link_attach_batch(struct tramp_batch *b, struct tramp_refusal *why)
{
	u32 i, part = min_t(u32, b->count, TRAMP_BATCH_MANY);
	struct work w = { .b = b };
	int err = 0;

	b->failed = b->count;
	/* Held while requests are read, which the caller's memory may delay. */
	w.born = kvcalloc(b->count, sizeof(*w.born), GFP_KERNEL_ACCOUNT);
	w.reqs = kvmalloc_array(part, sizeof(*w.reqs), GFP_KERNEL_ACCOUNT);
	w.joins = kvmalloc_array(part, sizeof(*w.joins), GFP_KERNEL_ACCOUNT);
	if (!w.born || !w.reqs || !w.joins)
		err = tramp_refuse(why, TRAMP_REASON_NO_MEMORY, 0, NULL);
	while (!err && w.nr < b->count)
		err = open_part(&w, why) ?: attach_part(&w, why);
	if (!err)
		err = reply_all(&w) ?: publish_all(&w, why);
	if (err && w.nr)
		undo(&w);
	for (i = 0; !err && i < w.nr; i++)
		fd_install(w.born[i].primer.fd, w.born[i].primer.file);
	kvfree(w.joins);
	kvfree(w.reqs);
	kvfree(w.born);
	return err;
}
