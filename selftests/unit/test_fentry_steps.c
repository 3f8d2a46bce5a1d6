// SPDX-License-Identifier: GPL-2.0
/*
 * Entry and exit images, one instruction at a time (by the trap flag): how many
 * a hit executes, and what an interrupt does at each of them.
 */
#define _GNU_SOURCE	/* REG_RIP */
#include <signal.h>
#include <string.h>
#include <ucontext.h>

#include "../lib/ktap.h"
#include "lint.h"
#include "scene.h"

static struct scene s;
static struct rng rng = { 0x7654321 };

static u64 steps;		/* instructions of the image that were executed */
static void (*interrupt)(void);	/* comes before each of them */

static void on_step(int sig, siginfo_t *info, void *context)
{
	u64 rip = (u64)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];

	(void)sig;
	(void)info;
	if (rip < (u64)s.image || rip >= (u64)s.image + s.out.size)
		return;
	steps++;
	if (interrupt)
		interrupt();
}

static void begin(const char *name, u32 nr_args)
{
	static bool ready;
	struct sigaction sa = { .sa_sigaction = on_step, .sa_flags = SA_SIGINFO };

	if (!ready) {
		machine_init();
		REQUIRE(!sigaction(SIGTRAP, &sa, NULL), "sigaction: %m");
	}
	ready = true;
	scene_init(&s, name, &rng);
	s.model.ret_size = 8;
	while (nr_args--)
		s.model.arg_size[s.model.nr_args++] = 8;
}

/* The cost of a hit ------------------------------------------------------ */

static u64 count(void)
{
	s.flags |= FLAG_TF;
	interrupt = NULL;
	steps = 0;
	scene_run(&s);
	return steps;
}

/*
 * Limits of what the hot path may cost. A limit is the number of today; lower it when the image
 * gets better. The program, and the call at the site, come on top.
 */
static void instructions_per_hit(void)
{
	static const struct {
		const char *what;
		u32 nr_args;
		u32 nr[3];		/* programs of each kind */
		u32 flags;
		enum percpu_where where;
		u32 limit;
	} hit[] = {
		{ "fentry, 0 arguments", 0, { 1, 0, 0 }, INLINE, PERCPU_NEAR, 27 },
		{ "fentry, 1 argument", 1, { 1, 0, 0 }, INLINE, PERCPU_NEAR, 27 },
		{ "fentry, 6 arguments", 6, { 1, 0, 0 }, INLINE, PERCPU_NEAR, 27 },
		{ "fentry, 1 argument, 64-bit per-CPU", 1, { 1, 0, 0 }, INLINE, PERCPU_FAR, 29 },
		{ "fentry, 1 argument, cookie", 1, { 1, 0, 0 }, COOKIE, PERCPU_NEAR, 37 },
		{ "fentry, 1 argument, 2 programs", 1, { 2, 0, 0 }, INLINE, PERCPU_NEAR, 35 },
		{ "fentry, 1 argument, 10 programs", 1, { 10, 0, 0 }, INLINE, PERCPU_NEAR, 99 },
		{ "fexit, 1 argument", 1, { 0, 0, 1 }, INLINE, PERCPU_NEAR, 27 },
		{ "fexit, 6 arguments", 6, { 0, 0, 1 }, INLINE, PERCPU_NEAR, 32 },
		{ "fexit, 1 argument, 64-bit per-CPU", 1, { 0, 0, 1 }, INLINE, PERCPU_FAR, 29 },
		{ "fentry and fexit, 1 argument", 1, { 1, 0, 1 }, INLINE, PERCPU_NEAR, 48 },
		{ "fmod_ret, 1 argument", 1, { 0, 1, 0 }, INLINE, PERCPU_NEAR, 37 },
		{ "fentry, 1 argument, kernel policy", 1, { 1, 0, 0 }, GUARDED, PERCPU_NEAR, 31 },
	};
	u32 i, kind, j;
	u64 nr;

	for (i = 0; i < sizeof(hit) / sizeof(hit[0]); i++) {
		begin(hit[i].what, hit[i].nr_args);
		for (kind = 0; kind < 3; kind++)
			for (j = 0; j < hit[i].nr[kind]; j++)
				scene_add(&s, kind, hit[i].flags, hit[i].where);
		nr = count();
		ktap_note("%-36s %3lu instructions, %4u bytes", hit[i].what, nr, s.out.size);
		CHECK(nr <= hit[i].limit, "%s: %lu instructions, %u allowed", hit[i].what, nr,
		      hit[i].limit);
		if (!hit[i].nr[1])
			CHECK_EQ(nr, lint_hot_path(&s), "%s: counted by stepping and by reading",
				 hit[i].what);
	}
}

/* An interrupt before every instruction ---------------------------------- */

/*
 * Each interrupt calls the traced function, with every program on it. So the
 * programs are entered at every place where they could be interrupted: between the look at a
 * recursion counter and its increment, too.
 */
static u32 depth;			/* 1 in an interrupt */
static u64 bodies[2], runs[2][SCENE_MAX_PROGS], misses[2][SCENE_MAX_PROGS];
static struct machine_call nested;

static void check_run_ctx(u32 i)
{
	u64 run_ctx = *(u64 *)(s.task + s.env.task_bpf_ctx);

	if (s.calls[i].flags & COOKIE)
		CHECK_EQ(*(u64 *)(run_ctx + s.env.run_ctx_cookie), s.calls[i].cookie,
			 "cookie of program %u, depth %u", i, depth);
}

static u64 hook(u32 thunk, struct thunk_frame *f)
{
	u32 i;

	switch (thunk) {
	case T_BODY:
		bodies[depth]++;
		CHECK_EQ(f->regs[RDI], depth ? 0x1111 : s.slot[0], "first argument, depth %u", depth);
		return depth ? 0x2222 : s.orig_result;
	case T_MISSED:
		i = (u32)(f->regs[RDI] - s.calls[0].missed_arg) / 0x40;
		misses[depth][i]++;
		return 0;
	case T_STATS_ENTER:
		return 0x7777 + depth;
	case T_STATS_EXIT:
		CHECK_EQ(f->regs[RSI], 0x7777 + depth, "start time, depth %u", depth);
		return 0;
	default:
		REQUIRE(thunk >= T_PROG && thunk < T_PROG + s.nr, "thunk %u", thunk);
		i = thunk - T_PROG;
		CHECK_EQ(*s.progs[i].active, 1, "recursion counter of program %u, depth %u", i,
			 depth);
		CHECK_EQ(*(u64 *)f->regs[RDI], depth ? 0x1111 : s.slot[0], "ctx[0], depth %u", depth);
		check_run_ctx(i);
		runs[depth][i]++;
		return 0;
	}
}

static void interrupted(void)
{
	u64 run_ctx = *(u64 *)(s.task + s.env.task_bpf_ctx);
	u32 preempt = *s.preempt_count, i;
	u32 active[SCENE_MAX_PROGS] = { 0 };
	u64 inflight = *s.inflight;

	for (i = 0; i < s.nr; i++)
		active[i] = *s.progs[i].active;

	depth = 1;
	nested = (struct machine_call){ .target = s.call.target, .in_flags = FLAG_IF | 2 };
	nested.in[RDI] = 0x1111;
	machine_run(&nested);
	depth = 0;

	CHECK_EQ(nested.out[RAX], 0x2222, "result in the interrupt");
	CHECK_EQ(*s.preempt_count, preempt, "preemption count after the interrupt");
	CHECK_EQ(*s.inflight, inflight, "in-flight count after the interrupt");
	CHECK_EQ(*(u64 *)(s.task + s.env.task_bpf_ctx), run_ctx, "bpf_ctx after the interrupt");
	for (i = 0; i < s.nr; i++)
		CHECK_EQ(*s.progs[i].active, active[i], "recursion counter after the interrupt");
}

static void run_interrupted(const char *name, const u32 *nr, u32 flags, enum percpu_where where,
			    bool stats)
{
	u32 kind, i;

	begin(name, 7);
	for (kind = 0; kind < 3; kind++)
		for (i = 0; i < nr[kind]; i++)
			scene_add(&s, kind, flags, where);
	for (i = 0; i < s.nr; i++)
		s.progs[i].result = 0;
	scene_run(&s);

	memset(bodies, 0, sizeof(bodies));
	memset(runs, 0, sizeof(runs));
	memset(misses, 0, sizeof(misses));
	for (i = 0; i < s.nr; i++)
		*s.progs[i].hits = 0;
	*(u32 *)machine_word(0) = stats;
	machine_hook = hook;
	interrupt = interrupted;
	steps = 0;
	s.call.in_flags |= FLAG_TF;
	machine_run(&s.call);

	CHECK(steps > 15, "%lu steps", steps);
	CHECK_EQ(s.call.out[RAX], s.orig_result, "");
	CHECK_EQ(bodies[0], 1, "");
	CHECK_EQ(bodies[1], steps, "the function in the interrupts");
	CHECK_EQ(*s.preempt_count, 0x80000000, "");
	for (i = 0; i < s.nr; i++) {
		CHECK_EQ(runs[0][i], 1, "program %u", i);
		CHECK_EQ(misses[0][i], 0, "program %u", i);
		CHECK_EQ(runs[1][i] + misses[1][i], steps, "every hit run or missed, program %u", i);
		CHECK(runs[1][i] > 10 && misses[1][i] >= 2, "%lu run, %lu missed", runs[1][i],
		      misses[1][i]);
		CHECK_EQ(*s.progs[i].active, 0, "recursion counter of program %u", i);
		CHECK_EQ(*s.progs[i].hits, runs[0][i] + runs[1][i], "hits of program %u", i);
	}
}

static void interrupts(void)
{
	static const u32 nr[][3] = {
		{ 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 }, { 2, 0, 2 }, { 1, 2, 1 },
	};
	u32 i, where, flags, stats;

	for (i = 0; i < sizeof(nr) / sizeof(nr[0]); i++)
		for (where = 0; where < 3; where++)
			for (flags = 0; flags < 2; flags++)
				for (stats = 0; stats < 2; stats++)
					run_interrupted("interrupts", nr[i], flags ? COOKIE : INLINE,
							where, stats);
}

static const struct ktap_test tests[] = {
	KTAP_TEST(instructions_per_hit),
	KTAP_TEST(interrupts),
};
KTAP_MAIN(tests)
