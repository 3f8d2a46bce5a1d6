// SPDX-License-Identifier: GPL-2.0
/*
 * Counters on a path through an image, and what is compared there, see path.h.
 */
#include "path.h"

u64 path_percpu(const struct path *s, const struct path_op *op)
{
	if (op->rm == TASM_NO_BASE)
		return (u64)(s64)op->disp;
	FUZZ_CHECK(op->rm == TASM_RAX && s->known & PATH_BIT(TASM_RAX));
	return s->value[TASM_RAX] + (u64)(s64)op->disp;
}

/* It is taken where it was found free, and released behind what ran under it. */
static void recursion_counter(const struct paths *p, struct path *s, const struct path_op *op,
			      u64 off)
{
	bool inc = op->code == 0xff && !op->reg, dec = op->code == 0xff && op->reg == 1;

	FUZZ_CHECK(!op->wide);
	if (op->code == 0x83) {
		FUZZ_CHECK(op->reg == 7 && !op->imm);
		path_look(s, off);
		s->asks = PATH_ASKS_COUNTER;
		/* with statistics it is asked in cold code, where most know it taken */
		s->jcc = p->img->env->stats_key ? 0x84 : 0x85;
		return;
	}
	FUZZ_CHECK(path_stays(p, s));
	if (inc) {
		FUZZ_CHECK(!s->active && s->found == PATH_FREE && s->looked_at == off);
		s->last = 0;
	} else {
		FUZZ_CHECK(dec && s->active && s->active_off == off && s->last);
		s->asked = false;
	}
	path_look(s, 0);
	s->active = inc;
	s->active_off = inc ? off : 0;
}

/* A counter of recursion, or of hits. Return: whether it is one. */
static bool program_counter(const struct paths *p, struct path *s, const struct path_op *op,
			    u64 off)
{
	u32 i;

	for (i = 0; i < p->img->nr; i++) {
		const struct tramp_x86_call *c = &p->img->calls[i];

		if (off == c->active) {
			recursion_counter(p, s, op, off);
			return true;
		}
		if (off == c->hits) {
			FUZZ_CHECK(op->code == 0xff && !op->reg && op->wide && !s->counted);
			s->counted = i + 1;
			return true;
		}
	}
	return false;
}

void path_count(const struct paths *p, struct path *s, const struct path_op *op)
{
	const struct tramp_x86_env *env = p->img->env;
	u64 off = path_percpu(s, op);

	if (off == env->preempt_count) {
		FUZZ_CHECK(!op->wide);
		path_look(s, 0);
		if (op->code == 0xff && op->reg < 2) {
			s->preempt += op->reg ? -1 : 1;
			s->due = op->reg && env->resched;
			s->jcc = s->due ? 0x84 : 0;
		} else if (op->code == 0x81 && (op->reg == 0 || op->reg == 5)) {
			s->preempt += op->reg ? -(s32)op->imm : (s32)op->imm;
		} else {
			FUZZ_CHECK(false);
		}
	} else if (p->req && off == p->req->inflight) {
		FUZZ_CHECK(op->wide && op->code == 0xff && op->reg < 2);
		s->inflight += op->reg ? -1 : 1;
		FUZZ_CHECK(s->inflight == 0 || s->inflight == 1);
	} else if (env->has_call_depth && off == env->call_depth) {
		FUZZ_CHECK(op->wide && op->code == 0xc1 && op->reg == 7 && op->imm == 5);
		s->uncounted++;
	} else {
		FUZZ_CHECK(program_counter(p, s, op, off));
	}
}

void path_compare(const struct paths *p, struct path *s, const struct path_op *op, u64 end)
{
	const struct tramp_x86_env *env = p->img->env;

	if (op->rm == TASM_RBP) {
		/* a result: an fmod_ret program's, or that of a session at the entry */
		FUZZ_CHECK(op->wide && !op->imm && path_place(s, op->disp) == path_result(p, s));
		FUZZ_CHECK(path_result(p, s) <= s->depth);
		FUZZ_CHECK(path_word_at(s, path_result(p, s)).what == PATH_RESULT);
		s->jcc = s->after ? 0x84 : 0x85;
	} else if (op->rm == TASM_RIP) {
		FUZZ_CHECK(op->code == 0x83 && !op->wide && !op->imm);
		FUZZ_CHECK(env->stats_key && end + (u64)(s64)op->disp == env->stats_key);
		s->asks = PATH_ASKS_STATS;
		s->jcc = 0x85;
	} else {	/* the ENDBR in front of a function */
		FUZZ_CHECK(op->rm == TASM_RCX && op->code == 0x81 && !op->wide && env->endbr);
		FUZZ_CHECK((u32)op->imm == env->endbr_poison);
		FUZZ_CHECK(s->reg[TASM_RCX].what == PATH_ENDBR);
		s->reg[TASM_RCX].number |= 2;
		s->jcc = 0x84;
	}
}

void path_add_endbr(const struct paths *p, struct path *s, const struct path_op *op)
{
	const struct path_word *less = &s->reg[TASM_RAX];

	FUZZ_CHECK(op->rm == TASM_RCX && op->reg == TASM_RAX && !op->wide && !op->gs && !op->disp);
	FUZZ_CHECK(s->reg[TASM_RCX].what == PATH_ENDBR && p->img->env->endbr);
	FUZZ_CHECK(less->what == PATH_NUMBER && less->number == (u32)-p->img->env->endbr);
	path_lose(s, TASM_RAX);
	s->flags = false;
	s->reg[TASM_RCX].number |= 1;
	s->jcc = 0x84;
}
