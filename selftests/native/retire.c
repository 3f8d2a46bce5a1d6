// SPDX-License-Identifier: GPL-2.0
/*
 * The retire worker, see retire.h. Its steps are those of retire_work() in
 * kernel/base/retire.c; where that sleeps for a grace period, this returns and is called again. It
 * frees at once what that leaves to another worker.
 */
#include "retire.h"

#include "plant.h"
#include "runner.h"

static struct retire *pending, *batch, *draining;
static struct grace grace;
static bool waiting;

u64 retire_graces, retire_freed;
u32 retire_waiting;

void retire_add(struct retire *r, const struct retire_ops *ops)
{
	retire_waiting++;
	r->ops = ops;
	r->next = pending;
	pending = r;
}

static bool over(void)
{
	return plant_is(PLANT_FREE_EARLY) || grace_over(&grace);
}

static void free_all(struct retire **list)
{
	struct retire *r;

	while ((r = *list)) {
		*list = r->next;
		native_doing("free", "", 0);
		r->ops->free(r);
		retire_freed++;
		retire_waiting--;
	}
}

/* Those in @from that @yes is true of go to @to. */
static void move(struct retire **from, struct retire **to, bool (*yes)(struct retire *r))
{
	struct retire *r;

	while ((r = *from)) {
		if (!yes(r)) {
			from = &r->next;
			continue;
		}
		*from = r->next;
		r->next = *to;
		*to = r;
	}
}

static bool drains(struct retire *r)
{
	return r->ops->drained;
}

static bool all(struct retire *r)
{
	(void)r;
	return true;
}

static bool has_drained(struct retire *r)
{
	return plant_is(PLANT_UNDRAINED) || r->ops->drained(r);
}

/* Calls are in the tails of these at most: the grace period to come is their last. */
static void take_drained(void)
{
	move(&draining, &batch, has_drained);
	if (plant_is(PLANT_TAIL))
		free_all(&batch);
}

static void begin(void)
{
	struct retire *r;

	take_drained();
	if (!pending && !batch)
		return;
	/* Of those that a task can sleep in it is the first. */
	move(&pending, &draining, drains);
	move(&pending, &batch, all);
	for (r = draining; r; r = r->next)
		r->ops->before(r);
	retire_graces++;
	grace_begin(&grace);
	waiting = true;
}

void retire_poll(void)
{
	struct retire *r;

	if (!waiting) {
		begin();
	} else if (over()) {
		for (r = draining; r; r = r->next)
			r->ops->after(r);
		free_all(&batch);
		waiting = false;
	}
}

void retire_end(void)
{
	u32 tries;

	for (tries = 0; pending || batch || draining; tries++) {
		if (tries > 100)
			native_die("images are in use although nobody is there");
		retire_poll();
	}
	waiting = false;
}
