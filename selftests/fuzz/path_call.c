// SPDX-License-Identifier: GPL-2.0
/*
 * Calls of programs and helpers on a path through an image, see path.h.
 */
#include "path.h"

void path_clean(const struct path *s)
{
	FUZZ_CHECK(!s->preempt && !s->active && !s->entered && !s->counted);
	FUZZ_CHECK(!s->own_ctx && !s->timed && !s->rcu && !s->told && !s->irqs_off);
}

/* Whether it is a kprobe program, which gets registers. */
static bool on_regs(const struct paths *p, u32 i)
{
	const struct tramp_x86_fentry_req *req = p->req;

	return !req || i < req->nr_kprobe ||
	       i >= req->nr_kprobe + req->nr_fentry + req->nr_fmod_ret + req->nr_fexit;
}

static bool is_session(const struct paths *p, u32 i)
{
	return p->req && i >= p->img->nr - p->req->nr_session;
}

static bool is_fmod_ret(const struct paths *p, u32 i)
{
	u32 before = p->req ? p->req->nr_kprobe + p->req->nr_fentry : 0;

	return p->req && i >= before && i < before + p->req->nr_fmod_ret;
}

/* Programs of the kind of @i that come behind it; at the return of sessions, the outer ones. */
static u64 later(const struct paths *p, u32 i, bool after)
{
	const struct tramp_x86_fentry_req *req = p->req;
	u32 k, end = 0, begin = 0;

	if (!req)
		return ~0ULL << i << 1;
	const u32 nr[] = { req->nr_kprobe, req->nr_fentry, req->nr_fmod_ret, req->nr_fexit,
			   req->nr_kret, req->nr_session };
	for (k = 0; i >= end; k++) {
		begin = end;
		end += nr[k];
	}
	if (after)
		return (PATH_BIT(i) - 1) & ~(PATH_BIT(begin) - 1);
	return ~0ULL << i << 1 & (end < 64 ? PATH_BIT(end) - 1 : ~0ULL);
}

/* It ran, or it was missed, in its order. Neither may be a second time. */
static void done(const struct paths *p, struct path *s, u32 i)
{
	bool after = is_session(p, i) && s->after;
	u64 *sure = after ? &s->done_after : &s->done, *maybe = after ? &s->maybe_after : &s->maybe;

	FUZZ_CHECK(!(*maybe >> i & 1) && !(*maybe & later(p, i, after)));
	*sure |= PATH_BIT(i);
	*maybe |= PATH_BIT(i);
}

static void check_guards(const struct paths *p, const struct path *s, u32 i)
{
	const struct tramp_x86_env *env = p->img->env;
	const struct tramp_x86_call *c = &p->img->calls[i];
	u32 looks = TRAMP_X86_CALL_COOKIE;

	if (p->req && p->req->check_rcu && !p->req->many)
		FUZZ_CHECK(s->asked);
	/* it may block: nobody frees the image meanwhile */
	FUZZ_CHECK(!(c->flags & TRAMP_X86_CALL_SLEEPABLE) || s->inflight == 1);
	if (c->flags & TRAMP_X86_CALL_GUARDED) {
		FUZZ_CHECK(s->entered == i + 1 && s->found == PATH_ADMITTED);
		FUZZ_CHECK(s->counted == i + 1);
		FUZZ_CHECK(!s->preempt && !s->active && !s->own_ctx && !s->timed);
		return;
	}
	FUZZ_CHECK(!s->entered);
	FUZZ_CHECK(path_stays(p, s));
	FUZZ_CHECK(s->rcu == (p->req && env->rcu_read_lock));
	FUZZ_CHECK(s->told == (!p->req && env->probe_enter));
	FUZZ_CHECK(s->active && s->active_off == c->active && s->counted == i + 1);
	if (env->stats_key)
		FUZZ_CHECK(s->stats == (s->timed ? PATH_STATS_ON : PATH_STATS_OFF));
	/* only kprobe programs take a counter together */
	FUZZ_CHECK(!s->last || (on_regs(p, i) && on_regs(p, s->last - 1)));
	if (on_regs(p, i))
		looks |= TRAMP_X86_CALL_IP | (is_session(p, i) ? TRAMP_X86_CALL_MULTI : 0);
	FUZZ_CHECK(s->own_ctx || !(c->flags & looks));
	if (c->flags & looks)
		path_check_run_ctx(p, s, c, on_regs(p, i), is_session(p, i));
	else if (!on_regs(p, i))
		FUZZ_CHECK(!s->own_ctx);
}

/* In their order in struct pt_regs. Those that mean something at a function's entry, and return. */
static const u8 members[] = {
	TASM_R15, TASM_R14, TASM_R13, TASM_R12, TASM_RBP, TASM_RBX, TASM_R11, TASM_R10, TASM_R9,
	TASM_R8, TASM_RAX, TASM_RCX, TASM_RDX, TASM_RSI, TASM_RDI,
};

#define AT_ENTRY	(0xffffu & ~(PATH_BIT(TASM_RAX) | PATH_BIT(TASM_R10) | PATH_BIT(TASM_R11)))
#define AT_RETURN	(PATH_BIT(TASM_RBX) | PATH_BIT(TASM_RAX) | 0xf000u)

/* The members that are no registers, and rbp. @ret: at the function's return */
static void check_member(const struct paths *p, const struct path *s,
			 const struct tramp_x86_call *c, u32 m, bool ret)
{
	bool of_many = p->req && (p->req->many || c->link);
	const struct tramp_x86_env *env = p->img->env;
	s32 place = s->ctx - 8 * (s32)m;
	u64 ip = p->req ? p->req->site + 1 : p->ip;

	switch (m) {
	case 4:
		FUZZ_CHECK(path_word_is(s, place, PATH_RBP, 0));
		break;
	case 15:	/* orig_ax; those that were not loaded for many find the function there */
		if (of_many && !(c->flags & TRAMP_X86_CALL_MULTI))
			FUZZ_CHECK(path_word_is(s, place, PATH_FUNC, 0));
		else
			FUZZ_CHECK(path_word_is(s, place, PATH_NUMBER, !p->req || ret ? ~0ULL : 0));
		break;
	case 16:
		if (of_many || ret)
			FUZZ_CHECK(path_word_is(s, place, PATH_RETURN, 0));
		else
			FUZZ_CHECK(path_word_is(s, place, PATH_NUMBER, ip));
		break;
	case 17:
		FUZZ_CHECK(path_word_is(s, place, PATH_NUMBER, env->cs));
		break;
	case 18:
		FUZZ_CHECK(path_word_at(s, place).what == PATH_FLAGS);
		FUZZ_CHECK(p->req || path_word_at(s, place).number);
		break;
	case 19:
		FUZZ_CHECK(path_word_is(s, place, PATH_SP, 16));
		break;
	case 20:
		FUZZ_CHECK(path_word_is(s, place, PATH_NUMBER, env->ss));
		break;
	}
}

/* All that a kprobe program reads is in the frame, and registers are as they were. */
static void check_regs(const struct paths *p, const struct path *s, u32 i)
{
	bool ret = p->req && (is_session(p, i) ? s->after : i >= p->req->nr_kprobe);
	u32 read = !p->req ? p->regs : ret ? p->req->ret_regs : p->req->regs;
	u32 mean = !p->req ? 0xffff : ret ? AT_RETURN : AT_ENTRY, m;

	if (!read && p->img->env->no_regs) {
		FUZZ_CHECK(s->known & PATH_BIT(TASM_RDI));
		FUZZ_CHECK(s->value[TASM_RDI] == p->img->env->no_regs);
		return;
	}
	FUZZ_CHECK(s->ctx);
	for (m = 0; read >> m; m++) {
		s32 place = s->ctx - 8 * (s32)m;

		if (!(read >> m & 1))
			continue;
		FUZZ_CHECK(place > s->frame && place <= s->depth);
		if (m < sizeof(members) && members[m] != TASM_RBP && mean >> members[m] & 1)
			FUZZ_CHECK(s->where[members[m]] == place);
		check_member(p, s, &p->img->calls[i], m, ret);
	}
}

/* The arguments, how many there are, and the function's address. */
static void check_slots(const struct paths *p, const struct path *s, u32 i)
{
	static const u8 arg_reg[] = {
		TASM_RDI, TASM_RSI, TASM_RDX, TASM_RCX, TASM_R8, TASM_R9,
	};
	u32 flags = p->img->calls[i].flags, nr_stack, slots, k;
	u8 from[TRAMP_X86_MAX_SLOTS];
	u64 half;

	slots = path_slots(p->req->model, from, &nr_stack);
	/* of a single one its caller may have written no more */
	half = nr_stack == 1 && p->req->model->arg_size[p->req->model->nr_args - 1] <= 4 ?
	       PATH_HALF : 0;
	for (k = 0; k < slots; k++) {
		s32 place = s->ctx - 8 * (s32)k;

		if (from[k] >= 6)
			FUZZ_CHECK(path_word_is(s, place, PATH_STACK_ARG,
						(from[k] - 6u) | half));
		else if (!s->after)	/* behind that it is not known any more */
			FUZZ_CHECK(s->where[arg_reg[from[k]]] == place);
	}
	if (flags & TRAMP_X86_CALL_NARGS)
		FUZZ_CHECK(path_word_is(s, s->ctx + 8, PATH_NUMBER, slots));
	if (flags & TRAMP_X86_CALL_IP)
		FUZZ_CHECK(path_word_is(s, s->ctx + 16, PATH_NUMBER, p->req->func_addr));
}

static void check_context(const struct paths *p, const struct path *s, u32 i)
{
	u8 from[TRAMP_X86_MAX_SLOTS];
	u32 nr_stack, slots;

	if (on_regs(p, i)) {
		check_regs(p, s, i);
		return;
	}
	slots = path_slots(p->req->model, from, &nr_stack);
	FUZZ_CHECK(s->ctx >= s->frame && s->ctx <= s->depth);
	if (slots)
		FUZZ_CHECK(s->ctx - 8 * (s32)(slots - 1) > s->frame);
	check_slots(p, s, i);
}

static void call_program(const struct paths *p, struct path *s, u32 i)
{
	const struct tramp_x86_call *c = &p->img->calls[i];

	check_guards(p, s, i);
	check_context(p, s, i);
	if (is_session(p, i) && s->after)
		FUZZ_CHECK(path_word_at(s, s->frame + 16).what == PATH_SESSION);
	if (c->insns)
		FUZZ_CHECK(s->known & PATH_BIT(TASM_RSI) && s->value[TASM_RSI] == c->insns);
	done(p, s, i);
	s->last = i + 1;
	s->counted = 0;
	s->stats = PATH_STATS_UNKNOWN;
	path_called(s);
	/* what one of these returns is the function's result */
	if (is_fmod_ret(p, i))
		s->intact |= PATH_BIT(TASM_RAX);
	/* it says whether more is to run, and a session has something for its return */
	if (is_fmod_ret(p, i) || (is_session(p, i) && !s->after))
		s->reg[TASM_RAX] = PATH_WORD(RESULT, 0);
	if (is_session(p, i) && !s->after)
		path_word_set(s, s->frame + 16, PATH_WORD(SESSION, 0));
}

/* Return: the program that the first argument tells, by the member of struct tramp_x86_call. */
static u32 argument(const struct paths *p, const struct path *s, size_t member)
{
	u64 value;
	u32 i;

	FUZZ_CHECK(s->known & PATH_BIT(TASM_RDI));
	for (i = 0; i < p->img->nr; i++) {
		memcpy(&value, (const u8 *)&p->img->calls[i] + member, sizeof(value));
		if (value == s->value[TASM_RDI])
			return i;
	}
	FUZZ_CHECK(false);
	return 0;
}

/* Kernel policy. Return: whether it was one of the two. */
static bool call_policy(const struct paths *p, struct path *s, u64 dest)
{
	const struct tramp_x86_call *c = p->img->calls;
	u32 i;

	for (i = 0; i < p->img->nr; i++)
		if (c[i].flags & TRAMP_X86_CALL_GUARDED &&
		    (dest == c[i].enter || dest == c[i].exit))
			break;
	if (i == p->img->nr)
		return false;
	i = argument(p, s, offsetof(struct tramp_x86_call, prog));
	FUZZ_CHECK(!s->preempt && !s->active && !s->own_ctx);
	if (dest == c[i].enter) {
		FUZZ_CHECK(!s->entered);
		s->entered = i + 1;
		s->run_ctx = s->rsi_addr;
		path_check_run_ctx(p, s, &c[i], false, false);
	} else {
		FUZZ_CHECK(dest == c[i].exit && s->entered == i + 1 && !s->counted);
		FUZZ_CHECK(s->maybe >> i & 1 && s->frame_addr == s->run_ctx && s->start_in_rsi);
		s->entered = s->run_ctx = 0;
		s->asked = false;
		s->found = PATH_FOUND_NOTHING;
	}
	return true;
}

static void call_missed(const struct paths *p, struct path *s)
{
	u32 i = argument(p, s, offsetof(struct tramp_x86_call, missed_arg));
	const struct tramp_x86_call *c = &p->img->calls[i];

	FUZZ_CHECK(!s->counted && !s->timed && !s->own_ctx && !s->active);
	if (s->found == PATH_REFUSED)
		FUZZ_CHECK(c->flags & TRAMP_X86_CALL_GUARDED && s->entered == i + 1);
	else if (s->found == PATH_UP)
		FUZZ_CHECK(!(c->flags & TRAMP_X86_CALL_GUARDED) && s->looked_at == c->active);
	else
		FUZZ_CHECK(s->found == PATH_UNWATCHED);
	done(p, s, i);
}

static void call_stats(const struct paths *p, struct path *s, bool exit)
{
	FUZZ_CHECK(s->timed == exit);
	s->timed = !exit;
	FUZZ_CHECK(!exit || s->start_in_rsi);
	if (exit)
		FUZZ_CHECK(s->last && argument(p, s, offsetof(struct tramp_x86_call, prog)) ==
				   s->last - 1);
}

void path_call(const struct paths *p, struct path *s, u64 dest)
{
	const struct tramp_x86_env *env = p->img->env;
	struct path_word result = PATH_WORD(ANY, 0);
	u32 i;

	for (i = 0; i < p->img->nr; i++)
		if (dest == p->img->calls[i].func) {
			call_program(p, s, i);
			return;
		}
	if (dest == env->missed) {
		call_missed(p, s);
	} else if (env->stats_key && (dest == env->stats_enter || dest == env->stats_exit)) {
		call_stats(p, s, dest == env->stats_exit);
	} else if (env->resched && dest == env->resched) {
		path_clean(s);
	} else if (env->rcu_read_lock && (dest == env->rcu_read_lock ||
					  dest == env->rcu_read_unlock)) {
		FUZZ_CHECK(p->req && s->rcu == (dest == env->rcu_read_unlock) && s->preempt == 1);
		s->rcu = !s->rcu;
	} else if (env->probe_enter && (dest == env->probe_enter || dest == env->probe_exit)) {
		FUZZ_CHECK(!p->req && s->told == (dest == env->probe_exit) && s->active);
		s->told = !s->told;
	} else if (p->req && p->req->check_rcu && !p->req->many && dest == env->rcu_watching) {
		FUZZ_CHECK(!s->entered && !s->active);
		result = PATH_WORD(WATCHING, 0);
	} else if (env->multi_cookie && dest == env->multi_cookie) {
		argument(p, s, offsetof(struct tramp_x86_call, link));
		FUZZ_CHECK(!s->preempt && s->reg[TASM_RSI].what == PATH_FUNC);
		result = PATH_WORD(COOKIE, 0);
	} else {
		FUZZ_CHECK(call_policy(p, s, dest));
	}
	path_called(s);
	/* the start time, and what exit() wants to know of enter() */
	s->start_in_rax = s->timed || s->entered;
	s->reg[TASM_RAX] = result;
}
