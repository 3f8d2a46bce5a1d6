// SPDX-License-Identifier: GPL-2.0
/*
 * Hits: emit a detour, execute the probed function, check every step.
 *
 * The test executes the function without a probe to find out what it does. With one, every
 * register and flag and the function's data must come out the same, whatever way the detour is
 * reached. All calls that the image makes come in at hook(), which walks along a list of what
 * should happen. It checks the programs' pt_regs against the registers and flags that the
 * function was called with.
 */
#include "hit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/ktap.h"

#define NEED_RESCHED_INVERTED	0x80000000u
#define NMI_COUNT	0x110001
#define HITS_START(i)		(0xffffffffUL + (i))
#define MISSED_ARG(i)		(0xffff888200000000 + (i) * 0x40)

/* A task, and a bpf_trace_run_ctx, such as no kernel has them. */
#define TASK_BYTES	0x2008
#define TASK_BPF_CTX	0x1a38
#define TRACE_CTX_SIZE	24
#define TRACE_CTX_COOKIE 8

/* The members of pt_regs that are general-purpose registers, all but sp. */
static const u8 gp_reg[] = {
	R15, R14, R13, R12, RBP, RBX, R11, R10, R9, R8, RAX, RCX, RDX, RSI, RDI,
};

/* The one that is being executed. */
static struct hit *on;

/* Every failure says which hit it was in. */
#define HIT_CHECK(h, cond, fmt, ...)						\
	do {									\
		if (!CHECK(cond, fmt, ##__VA_ARGS__))				\
			hit_describe(h);					\
	} while (0)
#define HIT_CHECK_EQ(h, a, b, fmt, ...)						\
	do {									\
		if (!CHECK_EQ(a, b, fmt, ##__VA_ARGS__))			\
			hit_describe(h);					\
	} while (0)

static struct lint lint_of(const struct hit *h)
{
	return (struct lint){
		.code = h->image,
		.size = h->out.size,
		.env = &h->env,
		.calls = h->calls,
		.nr = h->nr,
		.call_off = h->call_off,
		.copy_off = h->out.copy_off,
		.copy_len = h->out.copy_len,
	};
}

void hit_describe(const struct hit *h)
{
	if (ktap_failures() > 10)
		return;
	ktap_note("hit %s: %u programs; registers %#x; region of %u bytes; image %p, %u bytes; form %u",
		  h->name, h->nr, h->req.regs, h->req.len, (void *)h->image, h->out.size, h->form);
}

void hit_show(const struct hit *h)
{
	struct lint l = lint_of(h);

	lint_show(&l);
}

/* Setting up -------------------------------------------------------------- */

static void set_variables(struct hit *h, const enum percpu_where *where)
{
	u32 i;

	machine_percpu_reset();
	h->preempt_count = machine_percpu(where[0], 4, &h->env.preempt_count);
	h->current_task = machine_percpu(where[1], 8, &h->env.current_task);
	h->call_depth = machine_percpu(where[2], 8, &h->env.call_depth);
	for (i = 0; i < HIT_MAX_WORDS; i++)
		h->word[i] = machine_percpu(where[3], 4, &h->word_off[i]);
}

void hit_init(struct hit *h, const char *name, struct rng *rng)
{
	static u8 task[TASK_BYTES];
	static struct expect log[SCENE_MAX_EVENTS];
	static const enum percpu_where near[4];
	u32 i;

	machine_init();
	memset(h, 0, sizeof(*h));
	h->name = name;
	h->task = task;
	h->log = log;
	h->env = (struct tramp_x86_env){
		.nmi_count = NMI_COUNT,
		.task_bpf_ctx = TASK_BPF_CTX,
		.trace_ctx_size = TRACE_CTX_SIZE,
		.trace_ctx_cookie = TRACE_CTX_COOKIE,
		.stats_key = (u64)machine_word(0),
		.stats_enter = machine_thunk(T_STATS_ENTER),
		.stats_exit = machine_thunk(T_STATS_EXIT),
		.resched = machine_thunk(T_RESCHED),
		.missed = machine_thunk(T_MISSED),
		.no_regs = MACHINE_ZEROS,	/* what programs that read no register find */
		.cs = 0x10,
		.ss = 0x18,
	};
	set_variables(h, near);
	h->req = (struct tramp_x86_detour_req){
		.env = &h->env,
		.ip = HIT_SITE,
		.code = h->code,
		.progs = h->calls,
		.regs = TRAMP_X86_REGS_ALL,
	};
	hit_code(h, "\x0f\x1f\x44\0\0\xc3", 6, 5);
	h->preempt_start = NEED_RESCHED_INVERTED;
	h->outer_ctx = rng_u64(rng);
	h->flags = rng_u64(rng) & (0x8d5 | FLAG_ID | FLAG_DF);
	for (i = 0; i < NR_REGS; i++)
		h->regs[i] = rng_u64(rng);
	for (i = 0; i < 2; i++)
		h->words[i] = rng_u64(rng);
}

void hit_scatter(struct hit *h, struct rng *rng)
{
	enum percpu_where where[4];
	u32 i;

	REQUIRE(!h->nr, "programs have their variables already");
	for (i = 0; i < 4; i++)
		where[i] = rng_below(rng, 3);
	set_variables(h, where);
}

void hit_code(struct hit *h, const void *code, u32 len, u32 region)
{
	REQUIRE(len <= HIT_MAX_CODE && region <= len, "%u bytes, region %u", len, region);
	memset(h->code, 0xcc, sizeof(h->code));
	memcpy(h->code, code, len);
	h->req.len = region;
}

void hit_code_of(struct hit *h, const struct tasm *a, u32 region)
{
	REQUIRE(a->addr == HIT_SITE && !a->overflow && !a->out_of_reach, "bad code");
	hit_code(h, a->buf, a->off, region);
}

struct hit_prog *hit_add(struct hit *h, u32 flags, enum percpu_where where)
{
	u32 i = h->nr++;
	struct tramp_x86_call *c = &h->calls[i];
	struct hit_prog *p = &h->progs[i];

	REQUIRE(i < HIT_MAX_PROGS, "too many programs");
	h->req.nr_progs = h->nr;
	c->func = machine_thunk(T_PROG + i);
	c->flags = flags;
	c->prog = 0xffff888100000000 + i * 0x1000;
	c->missed_arg = MISSED_ARG(i);
	c->cookie = 0x1000 + i;
	p->hits = machine_percpu(where, 8, &c->hits);
	hit_word(h, p, 0);
	return p;
}

void hit_word(struct hit *h, struct hit_prog *p, u32 word)
{
	p->word = word;
	h->calls[p - h->progs].active = h->word_off[word];
}

/* What should happen ------------------------------------------------------ */

struct oracle {
	struct hit *h;
	u32 preempt;
};

static struct expect *event(struct oracle *o, u32 thunk, u64 a0, u64 a1)
{
	struct expect *e = &o->h->log[o->h->nr_log++];

	*e = (struct expect){ .thunk = thunk, .a0 = a0, .a1 = a1, .preempt = o->preempt };
	return e;
}

static void oracle_program(struct oracle *o, u32 i)
{
	const struct hit *h = o->h;
	const struct tramp_x86_call *c = &h->calls[i];
	u64 start = 0x5a5a000000000000 + i;
	bool timed = h->env.stats_key && h->stats_on;

	if (h->taken[h->progs[i].word]) {
		event(o, T_MISSED, c->missed_arg, 0);
		return;
	}
	if (timed)
		event(o, T_STATS_ENTER, 0, 0)->ret = start;
	event(o, (h->progs[i].muted ? T_NOTHING : T_PROG) + i, 0, c->insns);
	if (h->progs[i].resched_due && !h->progs[i].muted)
		o->preempt &= ~NEED_RESCHED_INVERTED;
	if (timed)
		event(o, T_STATS_EXIT, c->prog, start);
}

/*
 * Neighbours from @first on that share a counter. The functions that checkers want are called
 * with the counter up, since they may be probed. Return: how many they are.
 */
static u32 oracle_programs(struct oracle *o, u32 first)
{
	const struct hit *h = o->h;
	u32 word = h->progs[first].word, i = first;
	bool told = h->env.probe_enter && !h->taken[word];

	if (told)
		event(o, T_RCU_LOCK, word, 0);
	for (; i < h->nr && h->progs[i].word == word; i++)
		oracle_program(o, i);
	if (told)
		event(o, T_RCU_UNLOCK, word, 0);
	return i - first;
}

/* The list of calls, and behind it the preemption count when all is over. */
static void make_log(struct hit *h)
{
	struct oracle o = { .h = h, .preempt = h->preempt_start };
	u32 i, nr;

	h->nr_log = 0;
	if (h->nr && (h->form == HIT_JUMP || h->form == HIT_ENTRY)) {
		o.preempt += h->env.nmi_count;
		for (i = 0; i < h->nr; i += nr)
			nr = oracle_programs(&o, i);
		o.preempt -= h->env.nmi_count;
	}
	h->log[h->nr_log].preempt = o.preempt;
}

/* Steps ------------------------------------------------------------------- */

static u64 *bpf_ctx(const struct hit *h)
{
	return (u64 *)(h->task + h->env.task_bpf_ctx);
}

static bool needs_run_ctx(const struct hit *h, u32 i)
{
	return h->calls[i].flags & (TRAMP_X86_CALL_COOKIE | TRAMP_X86_CALL_IP);
}

/* rsp at the probed instruction: the function's return address is there. */
static u64 probed_sp(const struct hit *h)
{
	return h->call.in[RSP] - 8;
}

static void check_regs(const struct hit *h, const u64 *pt)
{
	u64 want[NR_PT];
	u32 i;

	for (i = 0; i < sizeof(gp_reg); i++)
		want[i] = h->call.in[gp_reg[i]];
	want[PT_ORIG_AX] = -1UL;
	want[PT_IP] = h->req.ip + 1;
	want[PT_CS] = h->env.cs;
	want[PT_SS] = h->env.ss;
	want[PT_FLAGS] = h->call.in_flags;
	want[PT_SP] = probed_sp(h);
	for (i = 0; i < NR_PT; i++)
		if (h->req.regs >> i & 1)
			HIT_CHECK_EQ(h, pt[i], want[i], "member %u of pt_regs", i);
}

static void check_run_ctx(const struct hit *h, u32 i, const struct thunk_frame *f)
{
	const struct tramp_x86_call *c = &h->calls[i];
	u64 addr = *bpf_ctx(h), want, off;

	if (addr % 8 || addr < f->regs[RSP] || addr + h->env.trace_ctx_size > f->regs[RBP]) {
		HIT_CHECK(h, false, "current->bpf_ctx %#lx is not in the frame", (long)addr);
		return;
	}
	for (off = 0; off < h->env.trace_ctx_size; off += 8) {
		want = off == h->env.trace_ctx_cookie && (c->flags & COOKIE) ? c->cookie : 0;
		HIT_CHECK_EQ(h, *(u64 *)(addr + off), want, "byte %lu of the run context of program %u",
			     (long)off, i);
	}
}

static void check_program(struct hit *h, u32 i, const struct thunk_frame *f)
{
	u64 ctx = f->regs[RDI];
	bool any = false;
	u32 j;

	HIT_CHECK(h, ctx % 8 == 0, "ctx %#lx", (long)ctx);
	if (h->req.regs)
		HIT_CHECK(h, ctx < f->regs[RBP], "ctx %#lx is not in the frame", (long)ctx);
	else
		HIT_CHECK_EQ(h, ctx, h->env.no_regs, "ctx of a program that reads nothing");
	check_regs(h, (const u64 *)ctx);
	if (h->calls[i].insns)
		HIT_CHECK_EQ(h, f->regs[RSI], h->calls[i].insns, "rsi of program %u", i);
	HIT_CHECK_EQ(h, *h->word[h->progs[i].word], 1, "recursion counter of program %u", i);
	for (j = 0; j < h->nr; j++)
		any |= needs_run_ctx(h, j);
	if (needs_run_ctx(h, i))
		check_run_ctx(h, i, f);
	else if (!any)
		HIT_CHECK_EQ(h, *bpf_ctx(h), h->outer_ctx, "current->bpf_ctx in program %u", i);
	h->ran[i]++;
	if (h->progs[i].resched_due)
		*h->preempt_count &= ~NEED_RESCHED_INVERTED;
}

/* The frame that an unwinder finds, and the state that all C code may count on. */
static void check_surroundings(const struct hit *h, const struct thunk_frame *f)
{
	const u64 *fp = (const u64 *)f->regs[RBP];

	HIT_CHECK_EQ(h, fp[0], h->call.in[RBP], "rbp in the frame");
	HIT_CHECK_EQ(h, fp[1], h->req.ip + 1, "the return address in the frame");
	HIT_CHECK_EQ(h, (u64)(fp + 2), probed_sp(h), "what the frame says of rsp");
	HIT_CHECK_EQ(h, f->flags & (FLAG_DF | FLAG_AC), 0, "flags in a call");
	HIT_CHECK_EQ(h, machine_clis, 1, "interrupts turned off");
}

static u64 hook(u32 thunk, struct thunk_frame *f)
{
	struct hit *h = on;
	const struct expect *e = &h->log[h->pos];

	if (h->pos >= h->nr_log || thunk != e->thunk) {
		CHECK(false, "call %u is of thunk %u, expected %d", h->pos, thunk,
		      h->pos < h->nr_log ? (int)e->thunk : -1);
		hit_describe(h);
		/* nothing after this can be right */
		exit(1);
	}
	HIT_CHECK_EQ(h, *h->preempt_count, e->preempt, "preemption count in call %u (thunk %u)",
		     h->pos, thunk);
	if (h->env.has_call_depth)
		HIT_CHECK_EQ(h, *h->call_depth, (u64)((s64)(1UL << 63) >> 5), "call depth in call %u",
			     h->pos);
	check_surroundings(h, f);

	if (thunk == T_MISSED || thunk == T_STATS_EXIT)
		HIT_CHECK_EQ(h, f->regs[RDI], e->a0, "first argument of thunk %u", thunk);
	if (thunk == T_STATS_EXIT)
		HIT_CHECK_EQ(h, f->regs[RSI], e->a1, "start time of the statistics");
	if (thunk == T_RCU_LOCK || thunk == T_RCU_UNLOCK)
		HIT_CHECK_EQ(h, *h->word[e->a0], 1, "recursion counter in thunk %u", thunk);
	if (thunk == T_MISSED)
		h->missed[(f->regs[RDI] - MISSED_ARG(0)) / 0x40 % HIT_MAX_PROGS]++;
	else if (thunk >= T_PROG && thunk < T_NOTHING)
		check_program(h, thunk - T_PROG, f);
	if (h->env.has_call_depth)
		*h->call_depth <<= 5;
	h->pos++;
	return e->ret ? e->ret : 0xbad0bad0bad0bad0;
}

/* The whole --------------------------------------------------------------- */

static void prepare(struct hit *h)
{
	u32 i;

	machine_clis = 0;
	*h->preempt_count = h->preempt_start;
	*h->current_task = (u64)h->task;
	*h->call_depth = 1UL << 63;
	*bpf_ctx(h) = h->outer_ctx;
	*(u32 *)machine_word(0) = h->stats_on;
	for (i = 0; i < HIT_MAX_WORDS; i++)
		*h->word[i] = h->taken[i] ? 1 + i : 0;
	for (i = 0; i < h->nr; i++) {
		*h->progs[i].hits = HITS_START(i);
		h->ran[i] = 0;
		h->missed[i] = 0;
	}
	memcpy(machine_word(WORD_DATA), h->words, sizeof(h->words));
	h->pos = 0;

	memset(&h->call, 0, sizeof(h->call));
	memcpy(h->call.in, h->regs, sizeof(h->regs));
	h->call.in_flags = h->flags | FLAG_IF | 2;
	h->call.odd = h->odd_stack;
	h->call.nr_stack = 2;	/* for what the function may drop */
}

/* The function, probed or not, and where to call it. */
static u64 place_code(const struct hit *h)
{
	u8 *site = (u8 *)HIT_SITE;

	memcpy(site, h->code, sizeof(h->code));
	switch (h->form) {
	case HIT_JUMP:
		memset(site, 0xcc, h->req.len);
		machine_poke_jmp(site, h->image);
		return HIT_SITE;
	case HIT_ENTRY:
		site[0] = 0xcc;
		return (u64)h->image;
	case HIT_COPY:
		site[0] = 0xcc;
		return (u64)h->image + h->out.copy_off;
	default:
		return HIT_SITE;
	}
}

static void check_end(const struct hit *h)
{
	u32 i, ran;

	HIT_CHECK_EQ(h, h->pos, h->nr_log, "number of calls made");
	HIT_CHECK_EQ(h, machine_clis, h->nr_log ? 1 : 0, "interrupts turned off");
	for (i = 0; i < NR_REGS; i++)
		HIT_CHECK_EQ(h, h->call.out[i], h->plain.out[i], "register %u afterwards", i);
	HIT_CHECK_EQ(h, h->call.out_flags, h->plain.out_flags, "flags afterwards");
	HIT_CHECK(h, !memcmp(machine_word(WORD_DATA), h->plain_words, sizeof(h->plain_words)),
		  "the function's data");
	HIT_CHECK_EQ(h, *h->preempt_count, h->log[h->nr_log].preempt, "preemption count afterwards");
	HIT_CHECK_EQ(h, *bpf_ctx(h), h->outer_ctx, "current->bpf_ctx afterwards");
	if (h->env.has_call_depth)
		HIT_CHECK_EQ(h, *h->call_depth, 1UL << 63, "call depth afterwards");
	for (i = 0; i < HIT_MAX_WORDS; i++)
		HIT_CHECK_EQ(h, *h->word[i], h->taken[i] ? 1 + i : 0,
			     "recursion counter %u afterwards", i);
	for (i = 0; i < h->nr; i++) {
		ran = h->nr_log && !h->taken[h->progs[i].word];
		HIT_CHECK_EQ(h, *h->progs[i].hits, HITS_START(i) + ran, "hits of program %u", i);
	}
}

/* Not inlined: the stack is at the same address whatever the form. */
static __attribute__((noinline)) void execute(struct hit *h, enum hit_form form)
{
	on = h;
	machine_hook = hook;
	h->form = form;
	make_log(h);
	prepare(h);
	h->call.target = place_code(h);
	machine_run(&h->call);
}

bool hit_execute(struct hit *h, enum hit_form form)
{
	unsigned int failures = ktap_failures();

	execute(h, HIT_PLAIN);
	h->plain = h->call;
	memcpy(h->plain_words, machine_word(WORD_DATA), sizeof(h->plain_words));
	execute(h, form);
	check_end(h);
	return ktap_failures() == failures;
}

void hit_emit(struct hit *h)
{
	size_t room = MACHINE_ROOM + 1024;

	REQUIRE(h->image_off <= AREA_SIZE - AREA_IMAGES - room, "image_off %#x", h->image_off);
	h->image = machine_area + AREA_IMAGES + h->image_off;
	h->out = (struct tramp_x86_detour_out){ .call_off = h->call_off };
	memset(h->call_off, 0xee, sizeof(h->call_off));
	h->err = tramp_x86_emit_detour(&h->req, h->image, room, (u64)h->image, &h->out);
}

static bool lint(const struct hit *h)
{
	unsigned int failures = ktap_failures();
	u32 end = h->out.copy_off + h->out.copy_len;
	struct lint l = lint_of(h);

	if (!lint_image(&l))
		return false;
	HIT_CHECK(h, h->out.copy_len && lint_starts(h->out.copy_off) &&
		  (end == h->out.size || lint_starts(end)), "a copy of %u bytes at %u",
		  h->out.copy_len, h->out.copy_off);
	/* a JMP can be written over the first instruction */
	HIT_CHECK(h, lint_starts(5), "the first instruction");
	return ktap_failures() == failures;
}

/* Point both calls of a muted program at something that does nothing. */
static void patch_muted(const struct hit *h)
{
	u32 i, j;

	for (i = 0; i < h->nr; i++)
		for (j = 2 * i; h->progs[i].muted && j < 2 * i + 2; j++)
			if (h->call_off[j])
				machine_poke_call(h->image + h->call_off[j],
						  machine_thunk(T_NOTHING + i));
}

bool hit_rerun(struct hit *h)
{
	u32 form;
	bool ok = true;

	patch_muted(h);
	for (form = HIT_PLAIN + 1; form < NR_HIT_FORMS; form++)
		if (form != HIT_JUMP || h->req.len >= TRAMP_X86_JUMP_SIZE)
			ok &= hit_execute(h, form);
	return ok;
}

bool hit_run(struct hit *h)
{
	hit_emit(h);
	if (!CHECK_EQ(h->err, TRAMP_X86_OK, "emitting") || !lint(h)) {
		hit_describe(h);
		return false;
	}
	return hit_rerun(h);
}

u32 hit_path(const struct hit *h)
{
	return lint(h) ? lint_path() : ~0u;
}
