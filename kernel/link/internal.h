/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A link as this room's files see it.
 */
#ifndef TRAMP_LINK_INTERNAL_H
#define TRAMP_LINK_INTERNAL_H

#include <linux/list.h>
#include <linux/llist.h>
#include <linux/refcount.h>
#include <linux/task_work.h>
#include <linux/workqueue.h>
#include "base/turn.h"
#include "link.h"

/**
 * struct tramp_link - one attachment
 * @link: what the BPF core knows; @link.prog is the program
 * @ops: the kind of place
 * @users: the BPF core, the list of released links, and the task work
 * @parted: taken off its place by a struct tramp_parting
 * @listed: in the list of released links
 * @released: its node there, and where its taker keeps it
 * @unused: when the last of @users has gone, in the list of links to be freed
 * @left: the task work
 * @busy: it is being detached, which may take some holds of tramp_mutex
 * @member: the program at its place, or where it was. Its counts outlive a change of program; its
 *	link_id is known before the core shows the id
 *
 * @member is protected by tramp_mutex, @listed by release.c's lock; it is cleared with both held.
 */
struct tramp_link {
	struct bpf_link link;
	const struct tramp_point_ops *ops;
	refcount_t users;
	bool parted;
	bool busy;
	bool listed;
	union {
		struct list_head released;
		struct llist_node unused;
	};
	struct callback_head left;
	struct tramp_member member;
};

static inline struct tramp_link *tramp_to_link(const struct bpf_link *link)
{
	return container_of(link, struct tramp_link, link);
}

static inline bool tramp_link_is_attached(const struct tramp_link *link)
{
	lockdep_assert_held(&tramp_mutex);
	return link->member.point;
}

/* link.c -------------------------------------------------------------------- */

extern const struct bpf_link_ops tramp_link_ops;

/**
 * tramp_link_open() - make a link for a request, with a file descriptor that nobody can see
 * @ops: the kind of place; NULL: the one that programs of its type go to
 * @req: the request, checked for its form
 * @primer: (out) its file
 * @why: why not
 *
 * The next is attaching it, then tramp_link_enter(), tramp_link_show() and fd_install(), or
 * tramp_link_abandon().
 * Context: process, no locks, may sleep.
 * Return: the link or an ERR_PTR().
 */
struct tramp_link *tramp_link_open(const struct tramp_point_ops *ops,
				   const struct tramp_attach *req,
				   struct bpf_link_primer *primer, struct tramp_refusal *why);
/* Give up a link that is not attached and was not shown. No locks. */
void tramp_link_abandon(struct bpf_link_primer *primer);

/* Put it into the index by id, take it out. tramp_mutex held. Return: 0 or a negative errno. */
int tramp_link_enter(struct tramp_link *link, struct tramp_refusal *why);
void tramp_link_forget(struct tramp_link *link);

/*
 * Let the core give it to whoever asks for its id. It was entered under the same hold of
 * tramp_mutex, and cannot be given up any more.
 */
void tramp_link_show(struct tramp_link *link);

/*
 * Take the program off the places that it is at. tramp_mutex held; if they are many it is dropped
 * now and then, and the link counts as detached meanwhile.
 */
void tramp_link_detach_member(struct tramp_link *link);

/* Wait until nobody is in the middle of that. Without tramp_mutex, with a reference. May sleep. */
void tramp_link_wait_detached(struct tramp_link *link);

/* One more is attached, or one less. tramp_mutex held. */
void tramp_link_count_one(int change);

/* Free everything of it but its attachment. */
void tramp_link_free(struct tramp_link *link);

/* release.c ----------------------------------------------------------------- */

/*
 * Detaching several links together. From begin to end tramp_mutex is held, and dropped now and
 * then, but never between taking a link and the next call that may detach it. A link must stay
 * until the end. One that is not attached is not detached; others may be, that were taken before.
 */
struct tramp_parting {
	struct tramp_turn turn;			/* since tramp_mutex was taken */
	const struct tramp_point_ops *ops;	/* of those that wait to be detached */
	u32 nr;					/* how many members these have */
};

void tramp_parting_begin(struct tramp_parting *p);
void tramp_parting_take(struct tramp_parting *p, struct tramp_link *link);
void tramp_parting_end(struct tramp_parting *p);

/* For link.c's table. */
void tramp_link_release(struct bpf_link *link);
void tramp_link_dealloc(struct bpf_link *link);

#endif /* TRAMP_LINK_INTERNAL_H */
