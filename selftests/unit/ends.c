// SPDX-License-Identifier: GPL-2.0
/*
 * Ends: call a function with kprobe programs, check every step.
 *
 * All calls that an image makes come in at hook(). It walks along the list that the oracle
 * (ends_oracle.c) made. It checks each call against the list, and all that can be seen at that
 * moment: pt_regs, run contexts, counters, the frame that an unwinder would follow.
 */
#include "ends.h"

#include <stdlib.h>
#include <string.h>

#include "../lib/ktap.h"
#include "ends_oracle.h"

#define NEED_RESCHED_INVERTED	0x80000000u
#define FLAGS_KEPT	(FLAG_DF | FLAG_IF | FLAG_ID)

extern const u8 machine_back[];

/* The one that is being executed. */
static struct ends *on;

static const u8 arg_regs[6] = { RDI, RSI, RDX, RCX, R8, R9 };
static const u8 kept[] = { RBX, R12, R13, R14, R15 };
static const u8 gp_reg[] = {
	R15, R14, R13, R12, RBP, RBX, R11, R10, R9, R8, RAX, RCX, RDX, RSI, RDI,
};

static u64 *bpf_ctx(const struct ends *s)
{
	return (u64 *)(s->task + s->env.task_bpf_ctx);
}

static bool in_frame(const struct thunk_frame *f, u64 addr, u32 size)
{
	return addr % 8 == 0 && addr >= f->regs[RSP] && addr + size <= f->regs[RBP];
}

/* pt_regs ----------------------------------------------------------------- */

static void entry_regs(const struct ends *s, u32 i, u64 *want)
{
	const struct ends_level *l = s->level;
	u32 j;

	for (j = 0; j < sizeof(gp_reg); j++)
		want[j] = l->call.in[gp_reg[j]];
	want[PT_ORIG_AX] = 0;
	want[PT_IP] = s->req.many || s->calls[i].link ? l->site + 5 : l->site + 1;
	want[PT_FLAGS] = l->call.in_flags;
	want[PT_SP] = l->call.in[RSP] - 8;
}

static void return_regs(const struct ends *s, u64 *want)
{
	const struct ends_level *l = s->level;
	u32 i;

	for (i = 0; i < sizeof(gp_reg); i++)
		want[i] = machine_garbage[gp_reg[i]] ? machine_garbage[gp_reg[i]] + l->salt :
						       l->call.in[gp_reg[i]];
	want[PT_AX] = l->log[l->nr_log].ret;
	want[PT_ORIG_AX] = -1UL;
	want[PT_IP] = (u64)machine_back;
	want[PT_FLAGS] = l->call.in_flags;
	want[PT_SP] = l->call.in[RSP];
}

#define KEPT_MEMBERS	(1u << PT_BX | 1u << PT_BP | 1u << PT_R12 | 1u << PT_R13 | 1u << PT_R14 | \
			 1u << PT_R15)
#define OTHERS		(1u << PT_ORIG_AX | 1u << PT_IP | 1u << PT_CS | 1u << PT_FLAGS | \
			 1u << PT_SP | 1u << PT_SS)

/* Members that must be right at a return. */
static u32 meaningful(const struct ends *s, u32 i)
{
	const struct ends_level *l = s->level;
	u32 always = KEPT_MEMBERS | OTHERS | 1u << PT_AX;

	/* if the original was skipped, or fexit programs have run since, that is all */
	if (!l->body_ran || s->req.nr_fexit)
		return always;
	always |= 1u << PT_DX;
	/* another program has run since: sessions come first, the last of them before the others */
	if (s->progs[i].kind == ENDS_SESSION ? i + 1 < s->nr :
	    s->req.nr_session || (i && s->progs[i - 1].kind == ENDS_KRET))
		return always;
	always |= 1u << PT_SI | 1u << PT_DI | 1u << PT_R8 | 1u << PT_R9;
	/* what programs of many functions need on the way */
	return s->calls[i].link ? always : always | 1u << PT_R10 | 1u << PT_R11 | 1u << PT_CX;
}

static void check_regs(const struct ends *s, const struct ends_event *e, u32 i, const u64 *pt)
{
	u32 read = e->at_return ? s->req.ret_regs : s->req.regs;
	u64 want[NR_PT], mask;
	u32 j;

	if (e->at_return)
		return_regs(s, want);
	else
		entry_regs(s, i, want);
	/* the image counts the call that led to it before anything else */
	if (!e->at_return && s->env.has_call_depth)
		read &= ~(1u << PT_AX | 1u << PT_FLAGS);
	want[PT_CS] = s->env.cs;
	want[PT_SS] = s->env.ss;
	/* a program that was not loaded for many functions has no helper that tells it its own */
	if (s->calls[i].link && !(s->calls[i].flags & MULTI))
		want[PT_ORIG_AX] = s->level->entry_ip;
	if (e->at_return)
		read &= meaningful(s, i);
	/* those of that layer */
	if (e->later)
		read &= ~(1u << PT_R10 | 1u << PT_R11 | 1u << PT_FLAGS);
	if (e->within)
		read &= ~(1u << PT_SP | 1u << PT_BP | 1u << PT_R10 | 1u << PT_R11 |
			  1u << (e->at_return ? PT_IP : PT_AX));
	for (j = 0; j < NR_PT; j++) {
		/* those of arithmetic mean nothing behind a call */
		mask = e->at_return && j == PT_FLAGS ? FLAGS_KEPT : ~0UL;
		if (read >> j & 1)
			CHECK_EQ(pt[j] & mask, want[j] & mask,
				 "member %u of pt_regs of program %u at the %s", j, i,
				 e->at_return ? "return" : "entry");
	}
}

/* Run contexts ------------------------------------------------------------- */

static void check_session(struct ends *s, const struct ends_event *e, u32 i, u64 data,
			  const struct thunk_frame *f)
{
	struct ends_level *l = s->level;

	if (s->progs[i].kind != ENDS_SESSION) {
		CHECK_EQ(data, 0, "session cookie of program %u", i);
		return;
	}
	if (!CHECK(in_frame(f, data, 8), "session cookie of program %u at %#lx", i, (long)data))
		return;
	CHECK_EQ(*(u64 *)data, l->data[i], "session cookie of program %u", i);
	if (!e->at_return)
		*(u64 *)data = l->data[i] = ~data ^ l->salt;
}

static void check_multi_ctx(struct ends *s, const struct ends_event *e, u32 i,
			    const struct thunk_frame *f)
{
	const struct tramp_x86_env *env = &s->env;
	u64 ctx = *bpf_ctx(s), v;
	u32 off;

	if (!CHECK(in_frame(f, ctx, env->multi_ctx_size), "current->bpf_ctx %#lx in program %u",
		   (long)ctx, i))
		return;
	for (off = 0; off < env->multi_ctx_size; off += 8) {
		v = *(u64 *)(ctx + off);
		if (off == env->multi_ctx_is_return)
			CHECK_EQ(v, e->at_return && s->progs[i].kind == ENDS_SESSION,
				 "is_return of program %u", i);
		else if (off == env->multi_ctx_link)
			CHECK_EQ(v, s->calls[i].link, "link of program %u", i);
		else if (off == env->multi_ctx_ip)
			CHECK_EQ(v, s->level->entry_ip, "entry_ip of program %u", i);
		else if (off == env->multi_ctx_data)
			check_session(s, e, i, v, f);
		else
			CHECK_EQ(v, 0, "byte %u of the run context of program %u", off, i);
	}
}

static void check_trace_ctx(const struct ends *s, u32 i, const struct thunk_frame *f)
{
	const struct tramp_x86_call *c = &s->calls[i];
	u64 ctx = *bpf_ctx(s), want;
	u32 off;

	if (!CHECK(in_frame(f, ctx, s->env.trace_ctx_size), "current->bpf_ctx %#lx in program %u",
		   (long)ctx, i))
		return;
	for (off = 0; off < s->env.trace_ctx_size; off += 8) {
		want = 0;
		if (off == s->env.trace_ctx_cookie && c->link)
			want = ends_cookie(c->link, s->level->entry_ip);
		else if (off == s->env.trace_ctx_cookie && (c->flags & COOKIE))
			want = c->cookie;
		CHECK_EQ(*(u64 *)(ctx + off), want, "byte %u of the run context of program %u", off,
			 i);
	}
}

static void check_program(struct ends *s, const struct ends_event *e, u32 i,
			  const struct thunk_frame *f)
{
	struct ends_prog *p = &s->progs[i];
	u32 read = e->at_return ? s->req.ret_regs : s->req.regs, j;
	bool any = false;

	p->ran++;
	if (p->resched_due)
		*s->preempt_count &= ~NEED_RESCHED_INVERTED;
	if (s->calls[i].insns)
		CHECK_EQ(f->regs[RSI], s->calls[i].insns, "rsi of program %u", i);
	if (p->kind >= ENDS_FENTRY && p->kind <= ENDS_FEXIT) {
		if (p->kind == ENDS_FEXIT)
			CHECK_EQ(*(u64 *)(f->regs[RDI] + 8 * s->model.nr_args),
				 s->level->log[s->level->nr_log].ret, "result in ctx");
		if ((s->calls[i].flags & (COOKIE | IP)) != COOKIE)
			CHECK_EQ(*bpf_ctx(s), s->outer_ctx, "current->bpf_ctx in program %u", i);
		CHECK_EQ(*p->active, 1, "recursion counter in program %u", i);
		return;
	}
	if (!read && s->env.no_regs)
		CHECK_EQ(f->regs[RDI], s->env.no_regs, "ctx of a program that reads nothing");
	else
		CHECK(f->regs[RDI] % 8 == 0 && f->regs[RDI] <= f->regs[RBP], "ctx %#lx",
		      (long)f->regs[RDI]);
	check_regs(s, e, i, (const u64 *)f->regs[RDI]);
	CHECK_EQ(*s->word[p->word], 1, "recursion counter in program %u", i);
	for (j = 0; j < s->nr; j++)
		any |= ends_has_multi_ctx(s, j) || ends_has_trace_ctx(s, j);
	if (ends_has_multi_ctx(s, i))
		check_multi_ctx(s, e, i, f);
	else if (ends_has_trace_ctx(s, i))
		check_trace_ctx(s, i, f);
	else if (!any)
		CHECK_EQ(*bpf_ctx(s), s->outer_ctx, "current->bpf_ctx in program %u", i);
	if (s->in_prog)
		s->in_prog(s, i);
}

/* Steps -------------------------------------------------------------------- */

static void patch_left_out(struct ends *s)
{
	u32 i, nr = 0;

	for (i = 0; i < s->nr; i++) {
		if (s->progs[i].kind < ENDS_FEXIT)
			continue;
		if (s->progs[i].left_out)
			machine_poke_jmp(s->image + s->skip_off[nr], s->image + s->skip_to[nr]);
		nr++;
	}
}

static void patch_muted(struct ends *s)
{
	u32 i, at;

	for (at = 0; at < 2 * (s->nr + s->req.nr_session); at++) {
		i = at / 2 < s->nr ? at / 2 : at / 2 - s->req.nr_session;
		if (s->progs[i].muted && s->call_off[at])
			machine_poke_call(s->image + s->call_off[at],
					  machine_thunk(T_NOTHING + i));
	}
}

/* The function must find everything as if nobody had been there. */
static void check_body(struct ends *s, const struct thunk_frame *f)
{
	struct ends_level *l = s->level;
	const u64 *stack = (const u64 *)f->regs[RSP];
	u32 i, nr_args = s->req.many || s->model.nr_args > 6 ? 6 : s->model.nr_args;

	for (i = 0; i < nr_args; i++)
		CHECK_EQ(f->regs[arg_regs[i]], l->call.in[arg_regs[i]], "argument %u in the function",
			 i);
	for (i = 0; i < s->nr_stack; i++)
		CHECK_EQ(stack[i], l->call.stack[i], "stack argument %u in the function", i);
	for (i = 0; i < sizeof(kept); i++)
		CHECK_EQ(f->regs[kept[i]], l->call.in[kept[i]], "register %u in the function",
			 kept[i]);
	CHECK_EQ(f->flags & FLAGS_KEPT, l->call.in_flags & FLAGS_KEPT, "flags in the function");
	if (ends_is_exit(s)) {
		/* with sessions it is where the outermost comes back to */
		if (s->req.many || s->req.nr_session + ends_is_tracing(s) < 2)
			CHECK_EQ(f->ret, (u64)s->image + s->out.after_call, "after_call");
		if (s->nr_stack)
			CHECK_EQ(f->regs[RSP] % 16, l->call.in[RSP] % 16, "alignment of the stack");
	} else {
		CHECK_EQ(f->regs[RSP], l->call.in[RSP], "rsp in the function");
		CHECK_EQ(f->regs[RBP], l->call.in[RBP], "rbp in the function");
		CHECK_EQ(f->ret, (u64)machine_back, "the function's return address");
	}
	l->body_ran = true;
	for (i = 0; s->free_in_body && i < HIT_MAX_WORDS; i++)
		*s->word[i] = 0;
	if (s->patch_in_body)
		patch_left_out(s);
	if (s->in_body)
		s->in_body(s);
}

/* Programs at the return have a frame whose return address is the function's. */
static void check_unwinding(const struct ends *s, const struct ends_event *e,
			    const struct thunk_frame *f)
{
	const u64 *fp = (const u64 *)f->regs[RBP];
	const struct ends_level *l = s->level;

	/* the layer's frame is next */
	if (e->within)
		return;
	CHECK_EQ(fp[0], l->call.in[RBP], "rbp in the frame");
	fp++;
	if (!e->at_return)
		CHECK_EQ(*fp++, l->site + 5, "the image's return address");
	CHECK_EQ(fp[0], (u64)machine_back, "the function's return address");
	CHECK_EQ((u64)(fp + 1), l->call.in[RSP], "the frame");
}

static void check_args(const struct ends *s, u32 thunk, const struct ends_event *e,
		       const struct thunk_frame *f)
{
	bool two = thunk == T_STATS_EXIT || thunk == T_MULTI_COOKIE;

	if (two || thunk == T_MISSED)
		CHECK_EQ(f->regs[RDI], e->a0, "first argument of thunk %u", thunk);
	if (two)
		CHECK_EQ(f->regs[RSI], e->a1, "second argument of thunk %u", thunk);
	if (thunk == T_MISSED)
		on->progs[(f->regs[RDI] - s->calls[0].missed_arg) / 0x40 % s->nr].missed++;
}

/* How often the image returns. */
static u32 nr_returns(const struct ends *s)
{
	if (s->req.many)
		return 1 + (s->env.no_indirect && ends_is_exit(s));
	return s->req.nr_session ? s->req.nr_session + ends_is_tracing(s) : 1;
}

static u64 hook(u32 thunk, struct thunk_frame *f)
{
	struct ends *s = on;
	struct ends_level *l = s->level;
	const struct ends_event *e = &l->log[l->pos];

	if (l->pos >= l->nr_log || thunk != e->thunk) {
		CHECK(false, "%s: call %u is of thunk %u, expected %d", s->name, l->pos, thunk,
		      l->pos < l->nr_log ? (int)e->thunk : -1);
		/* nothing after this can be right */
		exit(1);
	}
	CHECK_EQ(*s->preempt_count, e->preempt, "preemption count in thunk %u", thunk);
	CHECK_EQ(*s->inflight, e->inflight, "in-flight count in thunk %u", thunk);
	if (s->env.has_call_depth && !l->outer)
		CHECK_EQ(*s->call_depth, (u64)((s64)(1UL << 63) >> 5 * e->depth),
			 "call depth in thunk %u", thunk);
	l->pos++;
	if (thunk == T_BODY) {
		check_body(s, f);
	} else {
		check_unwinding(s, e, f);
		check_args(s, thunk, e, f);
		if (thunk == T_RESCHED)
			*s->preempt_count |= NEED_RESCHED_INVERTED;
		else if (thunk >= T_PROG && thunk < T_PROG + TRAMP_X86_MAX_PROGS)
			check_program(s, e, thunk - T_PROG, f);
		else if (thunk >= T_NOTHING && thunk < T_NOTHING + TRAMP_X86_MAX_PROGS)
			s->progs[thunk - T_NOTHING].did_nothing++;
	}
	if (s->env.has_call_depth)
		*s->call_depth <<= 5 * e->taken_back;
	machine_salt = thunk == T_BODY ? l->salt : rng_u64(s->rng);
	return e->ret;
}

/* The whole --------------------------------------------------------------- */

static void prepare(struct ends *s, struct ends_level *l, u64 site)
{
	u32 front, i;

	memcpy(&front, (u8 *)site - 4, 4);
	l->site = l->entry_ip = site;
	if (s->env.endbr && (front == s->env.endbr || front == s->env.endbr_poison))
		l->entry_ip -= 4;
	l->result = rng_u64(s->rng);
	l->salt = rng_u64(s->rng);
	for (i = 0; i < NR_REGS; i++)
		l->call.in[i] = rng_u64(s->rng);
	l->call.in_flags = (rng_u64(s->rng) & (0x8d5 | FLAG_ID | FLAG_DF)) | FLAG_IF | 2;
	for (i = 0; i < s->nr_stack; i++)
		l->call.stack[i] = rng_u64(s->rng);
	l->call.nr_stack = s->nr_stack;
	l->call.odd = s->odd_stack;
	l->call.target = site;
	l->bpf_ctx = *bpf_ctx(s);
	if (l->outer)
		return;
	l->bpf_ctx = s->outer_ctx;
	l->call.in_flags |= s->more_flags;
	*s->current_task = (u64)s->task;
	*s->call_depth = 1UL << 63;
	*s->thunk_count = 0;
	*bpf_ctx(s) = s->outer_ctx;
	*(u32 *)machine_word(0) = s->stats_on;
	for (i = 0; i < HIT_MAX_WORDS; i++)
		*s->word[i] = s->taken[i];
	for (i = 0; i < s->nr; i++)
		if (s->progs[i].active)
			*s->progs[i].active = s->progs[i].taken ? 1 + i : 0;
}

static void check_end(struct ends *s, const struct ends_level *l)
{
	const struct ends_event *end = &l->log[l->nr_log];
	u32 i;

	CHECK_EQ(l->pos, l->nr_log, "number of calls made");
	for (i = 0; i < sizeof(kept); i++)
		CHECK_EQ(l->call.out[kept[i]], l->call.in[kept[i]], "register %u afterwards",
			 kept[i]);
	CHECK_EQ(l->call.out[RSP], l->call.in[RSP], "rsp afterwards");
	CHECK_EQ(l->call.out[RBP], l->call.in[RBP], "rbp afterwards");
	CHECK_EQ(l->call.out_flags & FLAGS_KEPT, l->call.in_flags & FLAGS_KEPT, "flags afterwards");
	CHECK_EQ(l->call.out[RAX], end->ret, "the result");
	if (l->body_ran && !s->req.nr_fexit && (s->req.nr_kret || s->req.nr_session))
		CHECK_EQ(l->call.out[RDX], machine_garbage[RDX] + l->salt, "its second half");
	CHECK_EQ(*s->preempt_count, end->preempt, "preemption count afterwards");
	CHECK_EQ(*bpf_ctx(s), l->bpf_ctx, "current->bpf_ctx afterwards");
	if (l->outer)
		return;
	/* nested calls go through it, too */
	if (s->env.return_thunk && !s->in_body && !s->in_prog && !(s->more_flags & FLAG_TF))
		CHECK_EQ(*s->thunk_count, nr_returns(s), "returns through the thunk");
	CHECK_EQ(*s->inflight, 0xffffffff, "in-flight count afterwards");
	if (s->env.has_call_depth)
		CHECK_EQ(*s->call_depth, (u64)((s64)(1UL << 63) >> 5 * end->depth), "call depth afterwards");
	for (i = 0; i < HIT_MAX_WORDS; i++)
		CHECK_EQ(*s->word[i], s->taken[i] && !(s->free_in_body && l->body_ran),
			 "recursion counter %u afterwards", i);
	for (i = 0; i < s->nr; i++) {
		if (s->progs[i].active)
			CHECK_EQ(*s->progs[i].active, s->progs[i].taken ? 1 + i : 0,
				 "recursion counter of program %u afterwards", i);
		CHECK_EQ(*s->progs[i].hits, s->progs[i].ran + s->progs[i].did_nothing,
			 "hits of program %u", i);
	}
}

bool ends_call(struct ends *s, u64 site)
{
	unsigned int failures = ktap_failures();
	struct ends_level l = { .outer = s->level };

	l.log = calloc(ENDS_MAX_EVENTS, sizeof(*l.log));
	REQUIRE(l.log, "no memory");
	prepare(s, &l, site);
	if (!l.outer) {
		patch_muted(s);
		if (!s->patch_in_body)
			patch_left_out(s);
	}
	ends_oracle(s, &l);
	on = s;
	machine_hook = hook;
	s->level = &l;
	machine_run(&l.call);
	check_end(s, &l);
	s->level = l.outer;
	free(l.log);
	if (ktap_failures() != failures && !l.outer && ktap_failures() < 10)
		ktap_note("in %s", s->name);
	return ktap_failures() == failures;
}

bool ends_run(struct ends *s)
{
	return ends_emit(s) && ends_call(s, ends_site(s, 0, 0, FRONT_NOTHING));
}
