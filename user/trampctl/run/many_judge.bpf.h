/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which calls count: by task, by arguments and by result. Part of many.bpf.c, with the
 * configuration that decides.
 */
#ifndef TRAMPCTL_MANY_JUDGE_BPF_H
#define TRAMPCTL_MANY_JUDGE_BPF_H

#include "filter.bpf.h"
#include "many.h"
#include "many_member.bpf.h"

/*
 * Asked at the entry of a call, as wanted_now() is. At its exit the answer may differ: execve()
 * gives a thread the number of its process.
 */
static __always_inline bool task_counts(void)
{
	return process_wanted(&cfg.filter, bpf_get_current_pid_tgid());
}

static __always_inline bool wanted_now(void)
{
	char comm[FILTER_COMM_LEN] = {};

	if (!moment_wanted(&cfg.filter))
		return false;
	if (cfg.filter.by & FILTER_BY_COMM)
		bpf_get_current_comm(comm, sizeof(comm));
	return comm_wanted(&cfg.filter, comm);
}

/* Argument slots by many_term::where. Filled once, the registers first. */
struct slots {
	__u64 reg[8];
	__u64 sp;
};

static __always_inline void take_slots(struct slots *s, struct pt_regs *ctx)
{
	s->reg[0] = PT_REGS_PARM1(ctx);
	s->reg[1] = PT_REGS_PARM2(ctx);
	s->reg[2] = PT_REGS_PARM3(ctx);
	s->reg[3] = PT_REGS_PARM4(ctx);
	s->reg[4] = PT_REGS_PARM5(ctx);
	s->reg[5] = ctx->r9;
	s->reg[6] = 0;
	s->reg[7] = 0;
	s->sp = ctx->sp;
}

/* Not static: the verifier looks at it once, not for each slot. */
__noinline __u64 many_slot(const struct slots *s, __u32 where)
{
	__u64 val = 0;

	if (!s)
		return 0;
	if (where < 8)
		return s->reg[where];
	/* Behind the return address, which the stack pointer points to. */
	bpf_probe_read_kernel(&val, sizeof(val),
			      (void *)(s->sp + 8 + 8 * (where & (MANY_ON_STACK - 1))));
	return val;
}

static __always_inline bool compare(const struct many_term *t, __u64 val)
{
	__u64 want = t->value;
	__u32 unused = (64 - t->bits) & 63;
	bool less, equal;

	val = val >> (t->shift & 63) << unused;
	if (t->is_signed) {
		val = (__s64)val >> unused;
		less = (__s64)val < (__s64)want;
	} else {
		val >>= unused;
		less = val < want;
	}
	equal = val == want;
	switch (t->op) {
	case MANY_EQ: return equal;
	case MANY_NE: return !equal;
	case MANY_LT: return less;
	case MANY_LE: return less || equal;
	case MANY_GT: return !less && !equal;
	case MANY_GE: return !less;
	default: return val & want;
	}
}

/*
 * Does comparison @nr of function @func hold? One whose member cannot be read does not. Not
 * static: the verifier looks at it once, and knows nothing of what comes out.
 */
__noinline int many_compare(const struct many_term *t, __u64 slot, __u32 func, __u32 nr)
{
	struct many_value v = { .value = slot };
	const struct many_path *p;
	__u32 key;
	int equal;

	if (!t)
		return 0;
	if (t->by_path) {
		key = func * cfg.nr_paths + nr;
		p = bpf_map_lookup_elem(&paths, &key);
		if (!p || many_fetch(p, slot, &v))
			return 0;
		if (p->kind == MANY_PATH_TEXT) {
			equal = many_text_is(v.value, p->text_len, nr);
			return equal >= 0 && equal == (t->op == MANY_EQ);
		}
	}
	return compare(t, v.value);
}

static __always_inline bool is_in(const volatile struct many_outcomes *set, __u32 outcome)
{
	/* The compiler knows that this is so already, and 6.1's verifier does not. */
	barrier_var(outcome);
	outcome &= MANY_OUTCOMES - 1;
	return set->bits[outcome / 64] >> (outcome % 64) & 1;
}

/* The comparisons of arguments that hold, as bits. */
static __always_inline __u32 argument_terms(const struct many_func *f, const struct slots *s,
					    __u32 func)
{
	__u32 terms = 0;
	int i;

	for (i = 0; i < MANY_MAX_TERMS; i++) {
		const struct many_term *t = &f->terms[i];

		if (i >= f->nr_terms)
			break;
		if (t->where != MANY_RESULT)
			terms |= (many_compare(t, many_slot(s, t->where), func, i) & 1) << i;
	}
	return terms;
}

/* May the conditions hold, whatever the result is? @terms: (out) for result_wanted() */
static __always_inline bool arguments_wanted(const struct many_func *f, const struct slots *s,
					     __u32 func, __u32 *terms)
{
	if (!(cfg.flags & MANY_F_TERMS))
		return true;
	*terms = argument_terms(f, s, func);
	return is_in(&cfg.may_hold, *terms);
}

/* Do they hold, with this result? */
static __always_inline bool result_wanted(const struct many_func *f, __u64 ret, __u32 func,
					  __u32 terms)
{
	int i;

	if (!(cfg.flags & MANY_F_TERMS))
		return true;
	for (i = 0; i < MANY_MAX_TERMS; i++) {
		if (i >= f->nr_terms)
			break;
		if (f->terms[i].where == MANY_RESULT)
			terms |= (many_compare(&f->terms[i], ret, func, i) & 1) << i;
	}
	return is_in(&cfg.holds, terms);
}

#endif /* TRAMPCTL_MANY_JUDGE_BPF_H */
