// SPDX-License-Identifier: GPL-2.0
/*
 * Scenes: emit an image, call the function it is on, check every step.
 *
 * All calls that an image makes come in at hook(), which walks along the list that the oracle
 * made and checks each against it. It also checks everything that can be seen at that moment:
 * the context, counters, current->bpf_ctx, the frame that an unwinder would follow. Around the
 * whole, registers, flags and all variables are compared.
 */
#include "scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/ktap.h"
#include "lint.h"

#define NEED_RESCHED_INVERTED	0x80000000u

/* Counters start where 32 bits are not enough. */
#define INFLIGHT_START	0xffffffffUL
#define HITS_START(i)	(0xffffffffUL + (i))

extern const u8 machine_back[];

/* The one that is being executed. */
static struct scene *on;

/* Tells what the function leaves in registers from what others do (machine.h). */
#define BODY_SALT	0x5eed0000

static const u8 arg_regs[6] = { RDI, RSI, RDX, RCX, R8, R9 };

/* Every failure says which scene it was in, once. */
#define SCENE_CHECK(s, cond, fmt, ...)						\
	do {									\
		if (!CHECK(cond, fmt, ##__VA_ARGS__))				\
			scene_describe(s);					\
	} while (0)
#define SCENE_CHECK_EQ(s, a, b, fmt, ...)					\
	do {									\
		if (!CHECK_EQ(a, b, fmt, ##__VA_ARGS__))			\
			scene_describe(s);					\
	} while (0)

void scene_describe(const struct scene *s)
{
	char args[128] = "", *p = args;
	u32 i;

	if (ktap_failures() > 10)
		return;
	for (i = 0; i < s->model.nr_args && i < TRAMP_X86_MAX_ARGS; i++)
		p += snprintf(p, args + sizeof(args) - p, " %u", s->model.arg_size[i]);
	ktap_note("scene %s: args%s; %u kprobe (registers %#x) %u fentry %u fmod_ret %u fexit; image %p, %u bytes",
		  s->name, args, s->req.nr_kprobe, s->req.regs, s->req.nr_fentry,
		  s->req.nr_fmod_ret, s->req.nr_fexit, (void *)s->image, s->out.size);
}

/* Steps ----------------------------------------------------------------- */

static u64 *bpf_ctx(const struct scene *s)
{
	return (u64 *)(s->task + s->env.task_bpf_ctx);
}

static u64 run_ctx_member(u64 run_ctx, u32 off)
{
	return *(u64 *)(run_ctx + off);
}

/* An address in the image's frame, below rbp and not below rsp. */
static bool in_frame(const struct thunk_frame *f, u64 addr, u32 size)
{
	return addr % 8 == 0 && addr >= f->regs[RSP] && addr + size <= f->regs[RBP];
}

static void check_unwinding(const struct scene *s, const struct thunk_frame *f)
{
	const u64 *fp = (const u64 *)f->regs[RBP];

	SCENE_CHECK_EQ(s, fp[0], s->call.in[RBP], "rbp at the end of the frame chain");
	SCENE_CHECK_EQ(s, fp[1], machine_site_after(0, s->endbr), "the image's return address");
	SCENE_CHECK_EQ(s, fp[2], (u64)machine_back, "the function's return address");
}

static void check_ctx(const struct scene *s, const struct expect *e, u64 ctx, u32 flags)
{
	struct oracle_slot slots[TRAMP_X86_MAX_SLOTS];
	u32 nr_stack, nr, i;
	const u64 *v = (const u64 *)ctx;

	nr = oracle_slots(s, slots, &nr_stack);
	for (i = 0; i < nr; i++)
		SCENE_CHECK_EQ(s, v[i], slots[i].seen, "ctx[%u] of %u", i, nr);
	if (oracle_is_exit(s))
		SCENE_CHECK_EQ(s, v[nr], e->result_slot, "the result in ctx[%u]", nr);
	if (flags & TRAMP_X86_CALL_NARGS)
		SCENE_CHECK_EQ(s, v[-1], nr, "ctx[-1]");
	if (flags & TRAMP_X86_CALL_IP)
		SCENE_CHECK_EQ(s, v[-2], s->req.func_addr, "ctx[-2]");
}

/* The registers as they are where the image is called. */
static void check_pt_regs(const struct scene *s, const u64 *pt)
{
	static const u8 gp_reg[] = {
		R15, R14, R13, R12, RBP, RBX, R11, R10, R9, R8, RAX, RCX, RDX, RSI, RDI,
	};
	u64 want[21] = {}, flags = ~0UL;
	u32 i;

	for (i = 0; i < sizeof(gp_reg); i++)
		want[i] = s->call.in[gp_reg[i]];
	want[16] = s->req.site + 1;
	want[17] = s->env.cs;
	want[18] = s->call.in_flags;
	want[19] = s->call.in[RSP] - 8;
	want[20] = s->env.ss;
	/* accounting for the call changes those of arithmetic */
	if (s->env.has_call_depth)
		flags = FLAG_DF | FLAG_IF | FLAG_ID;
	for (i = 0; i < 21; i++)
		if (s->req.regs >> i & 1)
			SCENE_CHECK_EQ(s, pt[i] & (i == 18 ? flags : ~0UL),
				       want[i] & (i == 18 ? flags : ~0UL), "member %u of pt_regs", i);
}

static bool needs_trace_ctx(const struct scene *s, u32 i)
{
	return s->calls[i].flags & (TRAMP_X86_CALL_COOKIE | TRAMP_X86_CALL_IP);
}

/* All but the cookie is 0. */
static void check_trace_ctx(const struct scene *s, u32 i, const struct thunk_frame *f)
{
	const struct tramp_x86_call *c = &s->calls[i];
	u64 addr = *bpf_ctx(s), want;
	u32 off;

	if (!CHECK(in_frame(f, addr, s->env.trace_ctx_size),
		   "current->bpf_ctx %#lx is not in the frame", (long)addr))
		return;
	for (off = 0; off < s->env.trace_ctx_size; off += 8) {
		want = off == s->env.trace_ctx_cookie && (c->flags & COOKIE) ? c->cookie : 0;
		SCENE_CHECK_EQ(s, run_ctx_member(addr, off), want,
			       "byte %u of the run context of program %u", off, i);
	}
}

static void check_kprobe(struct scene *s, u32 i, const struct thunk_frame *f)
{
	u64 ctx = f->regs[RDI];
	bool any = false;
	u32 j;

	if (s->req.regs)
		SCENE_CHECK(s, ctx % 8 == 0 && ctx < f->regs[RBP], "ctx %#lx is not in the frame",
			    (long)ctx);
	else
		SCENE_CHECK_EQ(s, ctx, s->env.no_regs, "ctx of a program that reads nothing");
	check_pt_regs(s, (const u64 *)ctx);
	if (s->calls[i].insns)
		SCENE_CHECK_EQ(s, f->regs[RSI], s->calls[i].insns, "rsi of program %u", i);
	SCENE_CHECK_EQ(s, *s->progs[i].active, 1, "recursion counter of program %u", i);
	for (j = 0; j < s->req.nr_kprobe; j++)
		any |= needs_trace_ctx(s, j);
	if (needs_trace_ctx(s, i))
		check_trace_ctx(s, i, f);
	else if (!any)
		SCENE_CHECK_EQ(s, *bpf_ctx(s), s->outer_ctx, "current->bpf_ctx in program %u", i);
	s->ran[i]++;
	if (s->progs[i].resched_due)
		*s->preempt_count &= ~NEED_RESCHED_INVERTED;
}

static void check_program(struct scene *s, const struct expect *e, u32 i,
			  const struct thunk_frame *f)
{
	const struct tramp_x86_call *c = &s->calls[i];
	u64 ctx = f->regs[RDI], run_ctx = *bpf_ctx(s);
	bool guarded = c->flags & TRAMP_X86_CALL_GUARDED;

	SCENE_CHECK(s, ctx % 8 == 0 && ctx >= f->regs[RSP] && ctx <= f->regs[RBP],
		    "ctx %#lx is not in the frame", (long)ctx);
	check_ctx(s, e, ctx, c->flags);
	if (c->insns)
		SCENE_CHECK_EQ(s, f->regs[RSI], c->insns, "rsi of program %u", i);
	if (!guarded)
		SCENE_CHECK_EQ(s, *s->progs[i].active, 1, "recursion counter of program %u", i);

	if (guarded || (c->flags & TRAMP_X86_CALL_COOKIE)) {
		if (guarded)
			SCENE_CHECK_EQ(s, run_ctx, s->run_ctx, "current->bpf_ctx");
		else if (!CHECK(in_frame(f, run_ctx, s->env.run_ctx_size),
				"current->bpf_ctx %#lx is not in the frame", (long)run_ctx))
			return;
		SCENE_CHECK_EQ(s, run_ctx_member(run_ctx, s->env.run_ctx_saved), s->outer_ctx,
			       "saved run_ctx of program %u", i);
		SCENE_CHECK_EQ(s, run_ctx_member(run_ctx, s->env.run_ctx_cookie),
			       c->flags & TRAMP_X86_CALL_COOKIE ? c->cookie : 0,
			       "cookie of program %u", i);
	} else {
		SCENE_CHECK_EQ(s, run_ctx, s->outer_ctx, "current->bpf_ctx in program %u", i);
	}
	s->ran[i]++;
	if (s->progs[i].resched_due)
		*s->preempt_count &= ~NEED_RESCHED_INVERTED;
}

/* The kernel's own enter and exit functions do this with current->bpf_ctx. */
static void check_enter(struct scene *s, u32 i, const struct thunk_frame *f)
{
	u64 run_ctx = f->regs[RSI];

	SCENE_CHECK_EQ(s, f->regs[RDI], s->calls[i].prog, "first argument of enter %u", i);
	if (!CHECK(in_frame(f, run_ctx, s->env.run_ctx_size), "run_ctx %#lx is not in the frame",
		   (long)run_ctx))
		return;
	s->run_ctx = run_ctx;
	*(u64 *)(run_ctx + s->env.run_ctx_saved) = *bpf_ctx(s);
	*bpf_ctx(s) = run_ctx;
}

static void check_exit(struct scene *s, const struct expect *e, const struct thunk_frame *f)
{
	SCENE_CHECK_EQ(s, f->regs[RDI], e->a0, "first argument of exit");
	SCENE_CHECK_EQ(s, f->regs[RSI], e->a1, "start time at exit");
	SCENE_CHECK_EQ(s, f->regs[RDX], s->run_ctx, "run_ctx at exit");
	if (f->regs[RDX] == s->run_ctx)
		*bpf_ctx(s) = run_ctx_member(s->run_ctx, s->env.run_ctx_saved);
}

/* Point both calls of a muted program at something that does nothing. */
static void patch_muted(struct scene *s)
{
	u32 i, j;

	for (i = 0; i < s->nr; i++)
		for (j = 2 * i; s->progs[i].muted && j < 2 * i + 2; j++)
			if (s->call_off[j])
				machine_poke_call(s->image + s->call_off[j],
						  machine_thunk(T_NOTHING + i));
}

static void patch_left_out(struct scene *s)
{
	u32 i, nr = 0;

	for (i = 0; i < s->nr; i++) {
		if (s->progs[i].kind != SCENE_FEXIT)
			continue;
		if (s->progs[i].left_out)
			machine_poke_jmp(s->image + s->skip_off[nr], s->image + s->skip_to[nr]);
		nr++;
	}
}

/* The function must find everything as if nobody had been there. */
static void check_body(struct scene *s, const struct thunk_frame *f)
{
	static const u8 saved[] = { RBX, R12, R13, R14, R15 };
	struct oracle_slot slots[TRAMP_X86_MAX_SLOTS];
	const u64 *stack = (const u64 *)f->regs[RSP];
	u32 nr, nr_stack, i;

	nr = oracle_slots(s, slots, &nr_stack);
	for (i = 0; i < nr; i++) {
		if (slots[i].on_stack)
			SCENE_CHECK_EQ(s, stack[slots[i].index], s->slot[i],
				       "stack argument %u in the function", slots[i].index);
		else
			SCENE_CHECK_EQ(s, f->regs[arg_regs[slots[i].index]], s->slot[i],
				       "register argument %u in the function", slots[i].index);
	}
	for (i = 0; i < sizeof(saved); i++)
		SCENE_CHECK_EQ(s, f->regs[saved[i]], s->call.in[saved[i]],
			       "register %u in the function", saved[i]);
	SCENE_CHECK_EQ(s, f->flags & (FLAG_DF | FLAG_IF | FLAG_ID),
		       s->call.in_flags & (FLAG_DF | FLAG_IF | FLAG_ID), "flags in the function");

	if (oracle_is_exit(s)) {
		SCENE_CHECK_EQ(s, f->ret, (u64)s->image + s->out.after_call, "after_call");
		if (nr_stack)
			SCENE_CHECK_EQ(s, f->regs[RSP] % 16, s->call.in[RSP] % 16,
				       "alignment of the stack in the function");
		check_unwinding(s, f);
	} else {
		SCENE_CHECK_EQ(s, f->regs[RSP], s->call.in[RSP], "rsp in the function");
		SCENE_CHECK_EQ(s, f->regs[RBP], s->call.in[RBP], "rbp in the function");
		SCENE_CHECK_EQ(s, f->ret, (u64)machine_back, "the function's return address");
	}
	/* Also those that its prototype does not have, which may be another function's. */
	for (i = 0; i < sizeof(arg_regs); i++)
		SCENE_CHECK_EQ(s, f->regs[arg_regs[i]], s->call.in[arg_regs[i]],
			       "register %u in the function", arg_regs[i]);
	if (oracle_is_plain(s))
		SCENE_CHECK_EQ(s, f->regs[RAX], s->call.in[RAX], "rax in the function");
	s->body_ran++;
	if (s->patch_in_body)
		patch_left_out(s);
}

static void check_state(const struct scene *s, const struct expect *e, u32 thunk)
{
	s64 depth = (s64)(1UL << 63) >> 5 * e->depth;

	SCENE_CHECK_EQ(s, *s->preempt_count, e->preempt, "preemption count in call %u (thunk %u)",
		       s->pos, thunk);
	SCENE_CHECK_EQ(s, *s->inflight, INFLIGHT_START + e->inflight,
		       "in-flight count in call %u (thunk %u)", s->pos, thunk);
	if (s->env.has_call_depth)
		SCENE_CHECK_EQ(s, *s->call_depth, (u64)depth, "call depth in call %u (thunk %u)",
			       s->pos, thunk);
}

static u64 hook(u32 thunk, struct thunk_frame *f)
{
	struct scene *s = on;
	const struct expect *e = &s->log[s->pos];

	if (s->pos >= s->nr_log || thunk != e->thunk) {
		CHECK(false, "call %u is of thunk %u, expected %d", s->pos, thunk,
		      s->pos < s->nr_log ? (int)e->thunk : -1);
		scene_describe(s);
		/* nothing after this can be right */
		exit(1);
	}
	check_state(s, e, thunk);

	if (thunk == T_BODY) {
		check_body(s, f);
	} else {
		check_unwinding(s, f);
		if (thunk >= T_NOTHING)
			s->did_nothing[thunk - T_NOTHING]++;
		else if (thunk >= T_EXIT)
			check_exit(s, e, f);
		else if (thunk >= T_ENTER)
			check_enter(s, thunk - T_ENTER, f);
		else if (thunk >= T_PROG && e->kprobe)
			check_kprobe(s, thunk - T_PROG, f);
		else if (thunk >= T_PROG)
			check_program(s, e, thunk - T_PROG, f);
		else if (thunk == T_RESCHED)
			*s->preempt_count |= NEED_RESCHED_INVERTED;
		else if (thunk == T_MISSED || thunk == T_STATS_EXIT)
			SCENE_CHECK_EQ(s, f->regs[RDI], e->a0, "first argument of thunk %u", thunk);
		if (thunk == T_STATS_EXIT)
			SCENE_CHECK_EQ(s, f->regs[RSI], e->a1, "start time of the statistics");
	}
	if (thunk == T_MISSED) {
		u32 i = (u32)(f->regs[RDI] - 0xffff888200000000) / 0x40;

		if (i < s->nr)
			s->missed[i]++;
	}
	/* the return takes back what the call has accounted for */
	if (s->env.has_call_depth && (thunk != T_BODY || oracle_is_exit(s)))
		*s->call_depth <<= 5;
	s->pos++;
	machine_salt = thunk == T_BODY ? BODY_SALT : s->pos;
	return e->ret;
}

/* The whole ------------------------------------------------------------- */

/* At the call, and afterwards. Not 1 alone: others may have found it up, and raised it, too. */
static u32 taken(const struct scene *s, u32 i)
{
	if (s->progs[i].kind == SCENE_KPROBE)
		return s->kprobes_taken;
	return s->progs[i].taken ? 1 + i : 0;
}

static void prepare_state(struct scene *s)
{
	u32 i;

	*s->preempt_count = s->preempt_start;
	s->preempt_count[1] = 0xffffffff;	/* not part of it */
	*s->current_task = (u64)s->task;
	*s->inflight = INFLIGHT_START;
	*s->call_depth = 1UL << 63;
	*bpf_ctx(s) = s->outer_ctx;
	*(u32 *)machine_word(0) = s->stats_on;
	((u32 *)machine_word(0))[1] = 0xffffffff;	/* not part of it */
	*s->thunk_count = 0;
	for (i = 0; i < s->nr; i++) {
		*s->progs[i].active = taken(s, i);
		*s->progs[i].hits = HITS_START(i);
		s->ran[i] = 0;
		s->did_nothing[i] = 0;
		s->missed[i] = 0;
	}
	s->body_ran = 0;
	s->pos = 0;
	s->run_ctx = 0;
}

static void prepare_call(struct scene *s, u64 target)
{
	struct oracle_slot slots[TRAMP_X86_MAX_SLOTS];
	u32 nr_stack, nr, i;

	memset(&s->call, 0, sizeof(s->call));
	memcpy(s->call.in, s->regs, sizeof(s->regs));
	nr = oracle_slots(s, slots, &nr_stack);
	for (i = 0; i < nr; i++) {
		if (slots[i].on_stack)
			s->call.stack[slots[i].index] = s->slot[i];
		else
			s->call.in[arg_regs[slots[i].index]] = s->slot[i];
	}
	s->call.nr_stack = nr_stack;
	s->call.odd = s->odd_stack;
	s->call.in_flags = s->flags | FLAG_IF | 2;
	s->call.target = target;
}

static void check_end(struct scene *s)
{
	static const u8 saved[] = { RBX, RSP, RBP, R12, R13, R14, R15 };
	const struct expect *end = &s->log[s->nr_log];
	u32 i;

	SCENE_CHECK_EQ(s, s->pos, s->nr_log, "number of calls made");
	for (i = 0; i < sizeof(saved); i++)
		SCENE_CHECK_EQ(s, s->call.out[saved[i]], s->call.in[saved[i]],
			       "register %u afterwards", saved[i]);
	SCENE_CHECK_EQ(s, s->call.out_flags & (FLAG_DF | FLAG_IF | FLAG_ID),
		       s->call.in_flags & (FLAG_DF | FLAG_IF | FLAG_ID), "flags afterwards");
	SCENE_CHECK_EQ(s, s->call.out[RAX], end->ret, "the result");
	if (s->body_ran)
		SCENE_CHECK_EQ(s, s->call.out[RDX], machine_garbage[RDX] + BODY_SALT,
			       "its second half");
	SCENE_CHECK_EQ(s, *s->preempt_count, end->preempt, "preemption count afterwards");
	SCENE_CHECK_EQ(s, *s->inflight, INFLIGHT_START, "in-flight count afterwards");
	SCENE_CHECK_EQ(s, *bpf_ctx(s), s->outer_ctx, "current->bpf_ctx afterwards");
	if (s->env.has_call_depth)
		SCENE_CHECK_EQ(s, *s->call_depth, (u64)((s64)(1UL << 63) >> 5),
			       "call depth afterwards, less the image's own return");
	if (s->return_thunk)
		SCENE_CHECK_EQ(s, *s->thunk_count, 1, "returns through the thunk");
	for (i = 0; i < s->nr; i++) {
		SCENE_CHECK_EQ(s, *s->progs[i].active, taken(s, i),
			       "recursion counter of program %u afterwards", i);
		SCENE_CHECK_EQ(s, *s->progs[i].hits,
			       HITS_START(i) + s->ran[i] + s->did_nothing[i],
			       "hits of program %u", i);
	}
	s->rax = s->call.out[RAX];
}

void scene_emit(struct scene *s)
{
	size_t room = AREA_SIZE - AREA_IMAGES;

	s->image = machine_area + AREA_IMAGES + s->image_off;
	s->req.orig = machine_site_after(0, s->endbr);
	s->req.site = s->req.orig - 5;
	if (s->return_thunk)
		s->env.return_thunk = machine_return_thunk(s->thunk_count);
	s->out = (struct tramp_x86_fentry_out){
		.skip_off = s->skip_off, .skip_to = s->skip_to, .call_off = s->call_off,
	};
	if (room > MACHINE_ROOM)
		room = MACHINE_ROOM;
	s->err = tramp_x86_emit_fentry(&s->req, s->image, room, (u64)s->image, &s->out);
}

bool scene_rerun(struct scene *s)
{
	unsigned int failures = ktap_failures();

	on = s;
	machine_hook = hook;
	s->nr_log = oracle(s, s->log);
	prepare_state(s);
	prepare_call(s, machine_site(0, s->endbr, (u64)s->image, T_BODY));
	patch_muted(s);
	if (!s->patch_in_body)
		patch_left_out(s);
	machine_run(&s->call);
	check_end(s);
	return ktap_failures() == failures;
}

bool scene_run(struct scene *s)
{
	scene_emit(s);
	if (!CHECK_EQ(s->err, TRAMP_X86_OK, "emitting")) {
		scene_describe(s);
		return false;
	}
	if (!lint_scene(s)) {
		scene_describe(s);
		return false;
	}
	return scene_rerun(s);
}
