// SPDX-License-Identifier: GPL-2.0
/*
 * The events that a call of a traced function should bring: the list of calls that its image
 * makes, in order, each with its arguments and the state around it.
 *
 * Written from the rules in fentry_image.h as a plain interpreter of the scene.
 * It knows nothing of code, frames or registers and shares nothing with the
 * emitter but the structs that describe the request.
 */
#include "scene.h"

#include <string.h>

#define NEED_RESCHED_INVERTED	0x80000000u

struct oracle {
	const struct scene *s;
	struct expect *log;
	u32 nr;
	u32 preempt;
	u64 result;
	bool in_run;		/* preemption is off for a run of programs */
};

static bool guarded(const struct scene *s, u32 i)
{
	return s->calls[i].flags & TRAMP_X86_CALL_GUARDED;
}

bool oracle_is_exit(const struct scene *s)
{
	u32 i;

	for (i = 0; i < s->nr; i++)
		if (s->progs[i].kind == SCENE_FMOD_RET || s->progs[i].kind == SCENE_FEXIT)
			return true;
	return false;
}

bool oracle_is_plain(const struct scene *s)
{
	return s->nr && s->progs[s->nr - 1].kind == SCENE_KPROBE;
}

bool oracle_is_counted(const struct scene *s)
{
	u32 i;

	for (i = 0; i < s->nr; i++)
		if (s->calls[i].flags & TRAMP_X86_CALL_SLEEPABLE)
			return true;
	return oracle_is_exit(s);
}

u32 oracle_slots(const struct scene *s, struct oracle_slot *slots, u32 *nr_stack)
{
	u32 free_regs = 6, stack = 0, nr = 0, i;
	u32 last_stack_size = 0, last_stack_slot = 0;

	for (i = 0; i < s->model.nr_args; i++) {
		u32 words = s->model.arg_size[i] > 8 ? 2 : 1;
		bool on_stack = words > free_regs;

		for (u32 w = 0; w < words; w++, nr++) {
			slots[nr].on_stack = on_stack;
			slots[nr].index = on_stack ? stack++ : 6 - free_regs--;
			slots[nr].seen = s->slot[nr];
			if (on_stack) {
				last_stack_size = s->model.arg_size[i];
				last_stack_slot = nr;
			}
		}
	}
	/* as the kernel's own trampoline (6.12) has it */
	if (stack == 1 && last_stack_size <= 4)
		slots[last_stack_slot].seen &= 0xffffffff;
	*nr_stack = stack;
	return nr;
}

static struct expect *event(struct oracle *o, u32 thunk, u64 a0, u64 a1)
{
	struct expect *e = &o->log[o->nr++];

	*e = (struct expect){
		.thunk = thunk, .a0 = a0, .a1 = a1, .preempt = o->preempt,
		.result_slot = o->result, .inflight = oracle_is_counted(o->s), .depth = 2,
	};
	return e;
}

static void run_begins(struct oracle *o)
{
	if (o->in_run)
		return;
	o->in_run = true;
	o->preempt++;
	if (o->s->env.rcu_read_lock)
		event(o, T_RCU_LOCK, 0, 0);
}

static void run_ends(struct oracle *o)
{
	if (!o->in_run)
		return;
	o->in_run = false;
	if (o->s->env.rcu_read_unlock)
		event(o, T_RCU_UNLOCK, 0, 0);
	o->preempt--;
	if (o->preempt == 0 && o->s->env.resched) {
		event(o, T_RESCHED, 0, 0);
		o->preempt |= NEED_RESCHED_INVERTED;
	}
}

static void program_runs(struct oracle *o, u32 i)
{
	const struct scene_prog *p = &o->s->progs[i];

	if (p->muted) {
		event(o, T_NOTHING + i, 0, 0);
		if (p->kind == SCENE_FMOD_RET)
			o->result = 0;
		return;
	}
	event(o, T_PROG + i, 0, o->s->calls[i].insns)->ret = p->result;
	if (p->resched_due)
		o->preempt &= ~NEED_RESCHED_INVERTED;
	if (p->kind == SCENE_FMOD_RET)
		o->result = p->result;
}

/* Where it is asked: whether RCU watches. If not, the program is missed. */
static bool watched(struct oracle *o, u32 i)
{
	if (!o->s->req.check_rcu)
		return true;
	event(o, T_RCU_WATCHING, 0, 0)->ret = !o->s->rcu_off;
	if (o->s->rcu_off)
		event(o, T_MISSED, o->s->calls[i].missed_arg, 0);
	return !o->s->rcu_off;
}

static void program(struct oracle *o, u32 i)
{
	const struct tramp_x86_call *c = &o->s->calls[i];
	const struct scene_prog *p = &o->s->progs[i];
	u64 start;

	if (guarded(o->s, i)) {
		run_ends(o);
		if (p->left_out || !watched(o, i))
			return;
		event(o, T_ENTER + i, c->prog, 0)->ret = p->start;
		if (p->start)
			program_runs(o, i);
		else
			event(o, T_MISSED, c->missed_arg, 0);
		event(o, T_EXIT + i, c->prog, p->start);
		return;
	}

	run_begins(o);
	if (p->left_out || !watched(o, i))
		return;
	if (p->taken) {
		event(o, T_MISSED, c->missed_arg, 0);
		return;
	}
	if (!o->s->env.stats_key || !o->s->stats_on) {
		program_runs(o, i);
		return;
	}
	start = 0x5a5a000000000000 + o->nr;
	event(o, T_STATS_ENTER, 0, 0)->ret = start;
	program_runs(o, i);
	event(o, T_STATS_EXIT, c->prog, start);
}

/* Kprobe programs, whose recursion counter is asked once for all of them. */
static u32 kprobes(struct oracle *o)
{
	const struct scene *s = o->s;
	bool watching = true;
	u64 start = 0;
	u32 i;

	if (!s->req.nr_kprobe)
		return 0;
	run_begins(o);
	if (s->req.check_rcu) {
		watching = !s->rcu_off;
		event(o, T_RCU_WATCHING, 0, 0)->ret = watching;
	}
	for (i = 0; i < s->req.nr_kprobe; i++) {
		const struct tramp_x86_call *c = &s->calls[i];
		bool timed = s->env.stats_key && s->stats_on;

		if (!watching || s->kprobes_taken) {
			event(o, T_MISSED, c->missed_arg, 0);
			continue;
		}
		if (timed) {
			start = 0x5a5a000000000000 + o->nr;
			event(o, T_STATS_ENTER, 0, 0)->ret = start;
		}
		program_runs(o, i);
		if (timed)
			event(o, T_STATS_EXIT, c->prog, start);
	}
	run_ends(o);
	for (i = 0; i < o->nr; i++) {
		o->log[i].inflight = false;
		o->log[i].kprobe = true;
	}
	return s->req.nr_kprobe;
}

u32 oracle(const struct scene *s, struct expect *log)
{
	struct oracle o = { .s = s, .log = log, .preempt = s->preempt_start };
	bool original = true;
	struct expect *e;
	u32 i;

	for (i = kprobes(&o); i < s->nr && s->progs[i].kind != SCENE_FEXIT; i++) {
		if (!original)
			continue;
		program(&o, i);
		if (s->progs[i].kind == SCENE_FMOD_RET && o.result)
			original = false;
	}
	run_ends(&o);

	if (!oracle_is_exit(s)) {
		/* the image returns into the function */
		e = event(&o, T_BODY, 0, 0);
		e->ret = s->orig_result;
		e->inflight = false;
		e->depth = 1;
		o.result = s->orig_result;
	} else {
		if (original) {
			event(&o, T_BODY, 0, 0)->ret = s->orig_result;
			o.result = s->orig_result;
		}
		for (; i < s->nr; i++)
			program(&o, i);
		run_ends(&o);
	}

	/* how it ended, behind the last event */
	log[o.nr] = (struct expect){ .preempt = o.preempt, .ret = o.result };
	return o.nr;
}
