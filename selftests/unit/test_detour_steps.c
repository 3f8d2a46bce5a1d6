// SPDX-License-Identifier: GPL-2.0
/*
 * Detours, one instruction at a time (by the trap flag): how many a hit executes,
 * and what an interrupt does at each of them (an NMI, where those are off).
 */
#define _GNU_SOURCE	/* REG_RIP */
#include <signal.h>
#include <string.h>
#include <ucontext.h>

#include "../lib/ktap.h"
#include "hit.h"

static struct hit h;
static struct rng rng = { 0x56789ab };

static u64 steps;		/* instructions of the image that were executed */
static void (*interrupt)(void);	/* comes before each of them */

static void on_step(int sig, siginfo_t *info, void *context)
{
	u64 rip = (u64)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];

	(void)sig;
	(void)info;
	if (rip < (u64)h.image || rip >= (u64)h.image + h.out.size)
		return;
	steps++;
	if (interrupt)
		interrupt();
}

static void begin(const char *name)
{
	struct sigaction sa = { .sa_sigaction = on_step, .sa_flags = SA_SIGINFO };

	hit_init(&h, name, &rng);
	REQUIRE(!sigaction(SIGTRAP, &sa, NULL), "sigaction: %m");
}

/* The cost of a hit ------------------------------------------------------- */

#define DI	(1u << PT_DI)
#define SI	(1u << PT_SI)
#define BX	(1u << PT_BX)
#define BP	(1u << PT_BP)
#define R12	(1u << PT_R12)
#define SP	(1u << PT_SP)
#define PC	(1u << PT_IP)
#define FLAGS	(1u << PT_FLAGS)
#define ALL	TRAMP_X86_REGS_ALL

/*
 * Limits of what the hot path may cost: image, one copied instruction, the jump back, with
 * clac. A limit is the number of today; lower it when the image gets better. The program, and
 * the jump at the probe, come on top.
 */
static void instructions_per_hit(void)
{
	static const struct {
		const char *what;
		u32 regs, nr, flags;
		enum percpu_where where;
		u32 limit;
	} hit[] = {
		{ "nothing read", 0, 1, INLINE, PERCPU_NEAR, 41 },
		{ "di", DI, 1, INLINE, PERCPU_NEAR, 41 },
		{ "di, si", DI | SI, 1, INLINE, PERCPU_NEAR, 41 },
		{ "di, si, 64-bit per-CPU hits", DI | SI, 1, INLINE, PERCPU_FAR, 42 },
		{ "di, bx", DI | BX, 1, INLINE, PERCPU_NEAR, 43 },
		{ "bx, bp", BX | BP, 1, INLINE, PERCPU_NEAR, 43 },
		{ "bx, r12", BX | R12, 1, INLINE, PERCPU_NEAR, 44 },
		{ "ip, di", PC | DI, 1, INLINE, PERCPU_NEAR, 42 },
		{ "sp, di", SP | DI, 1, INLINE, PERCPU_NEAR, 44 },
		{ "flags", FLAGS, 1, INLINE, PERCPU_NEAR, 41 },
		{ "flags, r12", FLAGS | R12, 1, INLINE, PERCPU_NEAR, 44 },
		{ "flags, ip, di", FLAGS | PC | DI, 1, INLINE, PERCPU_NEAR, 44 },
		{ "all", ALL, 1, INLINE, PERCPU_NEAR, 55 },
		{ "all, 64-bit per-CPU hits", ALL, 1, INLINE, PERCPU_FAR, 56 },
		{ "di, si, cookie", DI | SI, 1, COOKIE, PERCPU_NEAR, 54 },
		{ "di, si, 2 programs", DI | SI, 2, INLINE, PERCPU_NEAR, 46 },
		{ "di, si, 4 programs", DI | SI, 4, INLINE, PERCPU_NEAR, 56 },
		{ "di, si, 8 programs", DI | SI, 8, INLINE, PERCPU_NEAR, 76 },
		{ "di, si, 8 programs, cookies", DI | SI, 8, COOKIE, PERCPU_NEAR, 96 },
		{ "no programs", 0, 0, INLINE, PERCPU_NEAR, 3 },
	};
	u32 i, j, nr;

	for (i = 0; i < sizeof(hit) / sizeof(hit[0]); i++) {
		begin(hit[i].what);
		h.req.regs = hit[i].regs;
		for (j = 0; j < hit[i].nr; j++)
			hit_add(&h, hit[i].flags, hit[i].where);

		/* stepped without clac, which user space has not */
		h.flags |= FLAG_TF;
		hit_emit(&h);
		interrupt = NULL;
		steps = 0;
		hit_execute(&h, HIT_JUMP);
		nr = hit_path(&h);
		CHECK_EQ(nr, steps, "%s: counted by reading and by stepping", hit[i].what);

		h.env.smap = true;
		hit_emit(&h);
		nr = hit_path(&h);
		CHECK_EQ(nr, steps + !!h.nr, "%s: clac", hit[i].what);
		ktap_note("%-30s %3u instructions, %4u bytes", hit[i].what, nr, h.out.size);
		CHECK(nr <= hit[i].limit, "%s: %u instructions, %u allowed", hit[i].what, nr,
		      hit[i].limit);
	}
}

/* Whatever two members a program reads, and whatever it reads at all. */
static void most_instructions(void)
{
	u32 i, j, nr, most = 0, total = 0, pairs = 0;

	for (i = 0; i < NR_PT; i++) {
		for (j = 0; j < i; j++) {
			begin("two members");
			hit_add(&h, INLINE, PERCPU_NEAR);
			h.env.smap = true;
			h.req.regs = 1u << i | 1u << j;
			hit_emit(&h);
			nr = hit_path(&h);
			most = nr > most ? nr : most;
			total += nr;
			pairs++;
		}
	}
	ktap_note("any two: at most %u, %u.%u on average", most, total / pairs,
		  total * 10 / pairs % 10);
	CHECK(most <= 45, "%u instructions", most);

	for (most = 0, i = 0; i < 20000; i++) {
		begin("any members");
		hit_add(&h, INLINE, PERCPU_NEAR);
		h.env.smap = true;
		h.req.regs = rng_u64(&rng) & rng_u64(&rng) & TRAMP_X86_REGS_ALL;
		hit_emit(&h);
		nr = hit_path(&h);
		most = nr > most ? nr : most;
	}
	ktap_note("any set: at most %u", most);
	CHECK(most < 60, "%u instructions", most);
}

/* An interrupt before every instruction ----------------------------------- */

/*
 * Each interrupt calls the probed function. So the programs are entered at every
 * place where they could be interrupted, between the compare and the increment of
 * the recursion counter among them.
 */
static u32 depth;			/* 1 in an interrupt */
static u64 runs[2][HIT_MAX_PROGS], misses[2][HIT_MAX_PROGS];
static struct machine_call nested;

static u64 hook(u32 thunk, struct thunk_frame *f)
{
	const u64 *pt = (const u64 *)f->regs[RDI];
	u64 run_ctx;
	u32 i;

	switch (thunk) {
	case T_MISSED:
		misses[depth][(f->regs[RDI] - h.calls[0].missed_arg) / 0x40]++;
		return 0;
	case T_STATS_ENTER:
		return 0x7777 + depth;
	case T_STATS_EXIT:
		CHECK_EQ(f->regs[RSI], 0x7777 + depth, "start time, depth %u", depth);
		return 0;
	}
	REQUIRE(thunk >= T_PROG && thunk < T_PROG + h.nr, "thunk %u", thunk);
	i = thunk - T_PROG;
	CHECK_EQ(*h.word[0], 1, "program %u runs, depth %u", i, depth);
	CHECK_EQ(pt[PT_DI], depth ? nested.in[RDI] : h.call.in[RDI], "di, depth %u", depth);
	CHECK_EQ(pt[PT_BX], depth ? nested.in[RBX] : h.call.in[RBX], "bx, depth %u", depth);
	if (h.calls[i].flags & COOKIE) {
		run_ctx = *(u64 *)(h.task + h.env.task_bpf_ctx);
		CHECK_EQ(*(u64 *)(run_ctx + h.env.trace_ctx_cookie), h.calls[i].cookie,
			 "cookie of program %u, depth %u", i, depth);
	}
	runs[depth][i]++;
	return 0;
}

static void check_regs(const struct machine_call *call, const char *where)
{
	u32 i;

	for (i = 0; i < NR_REGS; i++)
		CHECK_EQ(call->out[i], i == RCX ? 0 : call->in[i], "register %u %s", i, where);
	CHECK_EQ(call->out_flags, call->in_flags, "flags %s", where);
}

static void interrupted(void)
{
	u64 run_ctx = *(u64 *)(h.task + h.env.task_bpf_ctx);
	u32 preempt = *h.preempt_count, active = *h.word[0], i;

	depth = 1;
	nested = (struct machine_call){
		.target = HIT_SITE, .in_flags = rng_u64(&rng) & (0x8d5 | FLAG_DF), .nr_stack = 2,
	};
	nested.in_flags |= FLAG_IF | 2;
	for (i = 0; i < NR_REGS; i++)
		nested.in[i] = rng_u64(&rng);
	nested.in[RCX] = 2;
	machine_run(&nested);
	depth = 0;

	check_regs(&nested, "in the interrupt");
	CHECK_EQ(*h.preempt_count, preempt, "preemption count after the interrupt");
	CHECK_EQ(*h.word[0], active, "recursion counter after the interrupt");
	CHECK_EQ(*(u64 *)(h.task + h.env.task_bpf_ctx), run_ctx, "bpf_ctx after the interrupt");
}

static void run_interrupted(u32 nr, u32 regs, u32 flags, enum percpu_where where, bool stats)
{
	/* nop; loop to the nop; ret: the probe is hit as often as rcx says */
	static const char code[] = "\x0f\x1f\x44\0\0\xe2\xf9\xc3";
	u32 i;

	begin("interrupts");
	hit_scatter(&h, &rng);
	for (i = 0; i < nr; i++)
		hit_add(&h, flags, where);
	hit_code(&h, code, sizeof(code) - 1, 5);
	h.req.regs = regs;
	h.regs[RCX] = 1;
	hit_run(&h);
	hit_execute(&h, HIT_JUMP);

	memset(runs, 0, sizeof(runs));
	memset(misses, 0, sizeof(misses));
	for (i = 0; i < h.nr; i++)
		*h.progs[i].hits = 0;
	*(u32 *)machine_word(0) = stats;
	machine_hook = hook;
	interrupt = interrupted;
	steps = 0;
	h.call.in_flags |= FLAG_TF;
	h.call.in[RCX] = 3;
	machine_run(&h.call);

	CHECK(steps > 3 * 40, "%lu steps", steps);
	check_regs(&h.call, "afterwards");
	CHECK_EQ(*h.preempt_count, 0x80000000, "");
	CHECK_EQ(*h.word[0], 0, "");
	for (i = 0; i < h.nr; i++) {
		CHECK_EQ(runs[0][i], 3, "program %u", i);
		CHECK_EQ(misses[0][i], 0, "program %u", i);
		CHECK_EQ(runs[1][i] + misses[1][i], 2 * steps,
			 "every hit run or missed, program %u", i);
		CHECK(runs[1][i] > 100 && misses[1][i] > 10, "%lu run, %lu missed", runs[1][i],
		      misses[1][i]);
		CHECK_EQ(*h.progs[i].hits, runs[0][i] + runs[1][i], "hits of program %u", i);
	}
}

static void interrupts(void)
{
	static const u32 nr[] = { 1, 2, 4 };
	u32 i, regs, where, flags, stats;

	for (i = 0; i < sizeof(nr) / sizeof(nr[0]); i++)
		for (regs = 0; regs < 2; regs++)
			for (where = 0; where < 3; where++)
				for (flags = 0; flags < 2; flags++)
					for (stats = 0; stats < 2; stats++)
						run_interrupted(nr[i], regs ? ALL : DI | BX,
								flags ? COOKIE : INLINE, where,
								stats);
}

static const struct ktap_test tests[] = {
	KTAP_TEST(instructions_per_hit),
	KTAP_TEST(most_instructions),
	KTAP_TEST(interrupts),
};
KTAP_MAIN(tests)
