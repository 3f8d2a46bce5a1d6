/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The retire list: what may still be executing or in use is freed by a worker, in batches, after
 * the grace periods that make it safe. See retire.c for the argument.
 */
#ifndef TRAMP_RETIRE_H
#define TRAMP_RETIRE_H

#include <linux/list.h>
#include <linux/types.h>
#include <linux/workqueue.h>

struct tramp_retire;

/**
 * struct tramp_retire_ops - how a kind of thing is retired
 * @before: called before each grace period that passes while somebody may be inside;
 *	may be NULL. tramp_mutex held.
 * @after: called after each of them, so at first when no task can enter any
 *	more; may be NULL. tramp_mutex held.
 * @drained: whether no task is inside; NULL: nobody sleeps in it, so the first
 *	grace period has already waited for everybody. Without tramp_mutex.
 * @let_go: nobody can be inside any more: leave what tramp_mutex guards, and drop references that
 *	others wait for, above all those to modules. Called for all of a batch before @free is
 *	for the first; may be NULL. tramp_mutex held.
 * @free: the end of it. May sleep; without tramp_mutex, and does not take it.
 * @holds_module: with @drained, where others can be inside: this module stays loaded until nobody
 *	is, so that rmmod is refused instead of having to wait
 *
 * All but @free are called by the retire worker. It takes tramp_mutex once for all that it calls
 * with it, and lets others have their turns (turn.h).
 */
struct tramp_retire_ops {
	void (*before)(struct tramp_retire *r);
	void (*after)(struct tramp_retire *r);
	bool (*drained)(struct tramp_retire *r);
	void (*let_go)(struct tramp_retire *r);
	void (*free)(struct tramp_retire *r);
	bool holds_module;
};

/**
 * struct tramp_retire - embedded in whatever is retired
 * @node: in the worker's lists
 * @ops: how it is retired
 */
struct tramp_retire {
	struct list_head node;
	const struct tramp_retire_ops *ops;
};

/**
 * tramp_retire_add() - hand something over to the worker
 * @r: embedded in it
 * @ops: how
 *
 * The caller has made it unreachable for newcomers (the site points elsewhere). With
 * @ops->holds_module it has a reference to this module, by a link or an open device.
 * Context: any process context.
 */
void tramp_retire_add(struct tramp_retire *r, const struct tramp_retire_ops *ops);

/* Run something on the module's workqueue; it has finished when tramp_retire_exit() returns. */
void tramp_retire_queue_work(struct work_struct *work);

/**
 * tramp_grace_period() - wait until every task has left what it was in
 *
 * RCU-tasks, and what covers idle tasks; see retire.c. Takes 100 ms and more, so once
 * for a whole batch.
 *
 * Context: may sleep, without tramp_mutex.
 */
void tramp_grace_period(void);

/* How many there have been since the module was loaded; for INFO. */
u64 tramp_grace_periods(void);

/* Module init and exit. Exit waits until the list is empty, however long. */
int tramp_retire_init(void);
void tramp_retire_exit(void);

#endif /* TRAMP_RETIRE_H */
