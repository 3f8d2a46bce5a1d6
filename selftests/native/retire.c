// SPDX-License-Identifier: GPL-2.0
/*
 * The retire worker, see retire.h. Its steps are those of retire_work() in
 * kernel/base/retire.c; where that sleeps for a grace period, this returns and is called again.
 */
#include "retire.h"

#include "plant.h"
#include "runner.h"

static struct retire *pending, *batch, *draining, *done;
static struct grace grace;
static enum { IDLE, FIRST, SECOND } state;

u64 retire_graces, retire_freed;
u32 retire_waiting;

void retire_add(struct retire *r, const struct retire_ops *ops)
{
	retire_waiting++;
	r->ops = ops;
	r->next = pending;
	pending = r;
}

static void begin_grace(void)
{
	retire_graces++;
	grace_begin(&grace);
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

static bool has_drained(struct retire *r)
{
	return plant_is(PLANT_UNDRAINED) || r->ops->drained(r);
}

static void begin(void)
{
	struct retire *r;

	batch = pending;
	pending = NULL;
	move(&batch, &draining, drains);
	for (r = draining; r; r = r->next)
		r->ops->before(r);
	begin_grace();
	state = FIRST;
}

static void look_for_drained(void)
{
	move(&draining, &done, has_drained);
	state = IDLE;
	if (!done)
		return;
	begin_grace();
	state = SECOND;
}

void retire_poll(void)
{
	struct retire *r;

	switch (state) {
	case IDLE:
		if (pending)
			begin();
		else if (draining)
			look_for_drained();
		break;
	case FIRST:
		if (!over())
			break;
		for (r = draining; r; r = r->next)
			r->ops->after(r);
		free_all(&batch);
		look_for_drained();
		break;
	case SECOND:
		if (!over() && !plant_is(PLANT_TAIL))
			break;
		free_all(&done);
		state = IDLE;
		break;
	}
}

void retire_end(void)
{
	u32 tries;

	for (tries = 0; pending || batch || draining || done; tries++) {
		if (tries > 100)
			native_die("images are in use although nobody is there");
		retire_poll();
	}
	state = IDLE;
}
