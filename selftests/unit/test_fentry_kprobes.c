// SPDX-License-Identifier: GPL-2.0
/*
 * Kprobe programs in entry and exit images, executed: the values that they see, what function and
 * other programs find behind them. The last tests say what a hit costs, and what requests are
 * refused. The checks of every scene stand in scene.c.
 */
#include <string.h>

#include "../../kernel/x86/detour_image.h"
#include "../lib/ktap.h"
#include "emission.h"
#include "lint.h"
#include "scene.h"

#define NR_PT	21
#define ALL	TRAMP_X86_REGS_ALL

static struct scene s;
static struct rng rng = { 0x6789abc };

static void begin(const char *name, u32 nr)
{
	scene_init(&s, name, &rng);
	while (nr--)
		scene_add_kprobe(&s, INLINE, PERCPU_NEAR);
}

/* Programs that read nothing, one, two, or all but one or two members. */
static void members(void)
{
	u32 i, j;

	begin("no member", 1);
	s.req.regs = 0;
	scene_run(&s);
	for (i = 0; i < NR_PT; i++) {
		for (j = i; j < NR_PT; j++) {
			begin("two members of pt_regs", 1);
			s.req.regs = 1u << i | 1u << j;
			if (!scene_run(&s))
				return;
			s.req.regs ^= ALL;
			s.odd_stack = s.endbr = true;
			if (!scene_run(&s))
				return;
		}
	}
}

/* Any set of them, with and without a run context, and what stands around the image. */
static void any_members(void)
{
	u32 i;

	for (i = 0; i < 3000; i++) {
		scene_init(&s, "any members", &rng);
		if (rng_chance(&rng, 50))
			scene_scatter(&s, &rng);
		scene_add_kprobe(&s, rng_chance(&rng, 50) ? COOKIE : INLINE, rng_below(&rng, 3));
		s.req.regs = rng_u64(&rng) & (rng_chance(&rng, 50) ? rng_u64(&rng) : ~0UL) & ALL;
		s.endbr = rng_chance(&rng, 50);
		s.odd_stack = rng_chance(&rng, 50);
		s.return_thunk = rng_chance(&rng, 50);
		s.stats_on = rng_chance(&rng, 30);
		s.kprobes_taken = rng_chance(&rng, 20);
		if (!scene_run(&s))
			return;
	}
}

static void programs_1_to_64(void)
{
	u32 n;

	for (n = 1; n <= SCENE_MAX_PROGS; n++) {
		begin("n kprobe", n);
		scene_run(&s);
		CHECK_EQ(s.pos, n + 1, "every program and the function ran");
		s.kprobes_taken = 3;
		scene_rerun(&s);
		CHECK_EQ(s.missed[n - 1], 1, "");
		s.kprobes_taken = 0;
		s.stats_on = 7;
		scene_rerun(&s);
		CHECK_EQ(s.pos, 3 * n + 1, "each with a start and an end");
	}
}

/* Where RCU does not watch, all are missed, and the question is asked once. */
static void rcu(void)
{
	begin("RCU", 3);
	s.req.check_rcu = true;
	scene_run(&s);
	CHECK_EQ(s.ran[2], 1, "");
	s.rcu_off = true;
	scene_rerun(&s);
	CHECK_EQ(s.missed[2], 1, "");
	CHECK_EQ(s.pos, 5, "the question, three misses, the function");

	begin("checkers of RCU", 2);
	s.env.rcu_read_lock = machine_thunk(T_RCU_LOCK);
	s.env.rcu_read_unlock = machine_thunk(T_RCU_UNLOCK);
	/* for probes at other instructions, whose interrupts are off */
	s.env.probe_enter = machine_thunk(T_BODY);
	s.env.probe_exit = machine_thunk(T_BODY);
	scene_run(&s);
}

static void reschedule(void)
{
	begin("a reschedule is due", 2);
	s.progs[1].resched_due = true;
	scene_run(&s);
	CHECK_EQ(s.pos, 4, "programs, reschedule, function");
}

static void muted(void)
{
	u32 i;

	for (i = 0; i < 3; i++) {
		begin("muted", 3);
		scene_add(&s, SCENE_FENTRY, INLINE, PERCPU_NEAR);
		s.progs[i].muted = true;
		scene_run(&s);
		s.stats_on = 1;
		scene_rerun(&s);
		CHECK_EQ(s.did_nothing[i], 1, "");
	}
}

static void call_depth(void)
{
	u32 exit;

	for (exit = 0; exit < 2; exit++) {
		begin("call depth accounting", 2);
		if (exit)
			scene_add(&s, SCENE_FEXIT, INLINE, PERCPU_NEAR);
		s.env.has_call_depth = true;
		scene_run(&s);
	}
}

/*
 * Beside programs of all other kinds. Flags of either must not reach the other: the run
 * contexts are two, in two frames, and IP means one of them for kprobe programs only.
 */
static void beside(void)
{
	static const u32 flags[] = { INLINE, COOKIE, IP, IP | NARGS, GUARDED, SLEEPABLE };
	u32 kprobe, other, kind, args;

	for (kprobe = 0; kprobe < 3; kprobe++) {
		for (other = 0; other < sizeof(flags) / sizeof(flags[0]); other++) {
			for (kind = SCENE_FENTRY; kind <= SCENE_FEXIT; kind++) {
				for (args = 0; args < 2; args++) {
					scene_init(&s, "beside another", &rng);
					scene_model(&s, args ? "8 8 8 8 8 8 8 4" : "8 4", 8);
					scene_add_kprobe(&s, flags[kprobe], PERCPU_NEAR);
					scene_add_kprobe(&s, INLINE, PERCPU_FAR);
					s.req.regs = rng_u64(&rng) & ALL;
					scene_add(&s, kind, flags[other], PERCPU_NEAR);
					scene_add(&s, SCENE_FEXIT, INLINE, PERCPU_NEAR);
					if (!scene_run(&s))
						return;
				}
			}
		}
	}
}

/* Programs alone, and the end of a list whose others may do anything. */
static void many_beside(void)
{
	u32 i, n, kind;

	for (i = 0; i < 1500; i++) {
		scene_init(&s, "many beside", &rng);
		scene_model(&s, "8 16 4", 8);
		for (n = 1 + rng_below(&rng, 4); n; n--)
			scene_add_kprobe(&s, rng_chance(&rng, 30) ? COOKIE : INLINE,
					 rng_below(&rng, 3));
		for (kind = SCENE_FENTRY; kind <= SCENE_FEXIT; kind++)
			for (n = rng_below(&rng, 3); n; n--)
				scene_add(&s, kind, rng_chance(&rng, 30) ? GUARDED | COOKIE :
					  INLINE, rng_below(&rng, 3));
		s.req.check_rcu = rng_chance(&rng, 20);
		s.rcu_off = rng_chance(&rng, 30);
		s.kprobes_taken = rng_chance(&rng, 20);
		s.stats_on = rng_chance(&rng, 20);
		for (n = 0; n < s.nr; n++) {
			s.progs[n].taken = s.progs[n].kind != SCENE_KPROBE && rng_chance(&rng, 20);
			s.progs[n].muted = rng_chance(&rng, 5);
		}
		if (!scene_run(&s))
			return;
	}
}

/*
 * Limits of what the hot path may cost, without the program and the call at the function's
 * entry. A limit is the number of today; lower it when the image gets better.
 */
static void instructions_per_hit(void)
{
	static const struct {
		const char *what;
		u32 regs, nr, flags, limit;
	} hit[] = {
		{ "nothing read", 0, 1, INLINE, 29 },
		{ "di, si", 3u << 13, 1, INLINE, 29 },
		{ "ip, di", 1u << 16 | 1u << 14, 1, INLINE, 31 },
		{ "all", ALL, 1, INLINE, 44 },
		{ "di, si, cookie", 3u << 13, 1, COOKIE, 43 },
		{ "di, si, 4 programs", 3u << 13, 4, INLINE, 44 },
	};
	u32 i, j, nr;

	for (i = 0; i < sizeof(hit) / sizeof(hit[0]); i++) {
		scene_init(&s, hit[i].what, &rng);
		for (j = 0; j < hit[i].nr; j++)
			scene_add_kprobe(&s, hit[i].flags, PERCPU_NEAR);
		s.req.regs = hit[i].regs;
		scene_emit(&s);
		nr = lint_hot_path(&s);
		ktap_note("%-30s %3u instructions, %4u bytes", hit[i].what, nr, s.out.size);
		CHECK(nr <= hit[i].limit, "%s: %u instructions, %u allowed", hit[i].what, nr,
		      hit[i].limit);
	}
}

/* Refusals ------------------------------------------------------------------ */

static struct tramp_x86_model model;
static struct tramp_x86_fentry_req req;
static struct tramp_x86_fentry_out out;

static enum tramp_x86_err emit_fentry(u8 *to, size_t len, u64 addr)
{
	return tramp_x86_emit_fentry(&req, to, len, addr, &out);
}

static const struct emission fentry = { .emit = emit_fentry, .size = &out.size };

static void good(void)
{
	emission_begin(&fentry);
	calls[2].active = NEAR_PERCPU + 0x1000;
	env.trace_ctx_size = 24;
	env.trace_ctx_cookie = 8;
	model = (struct tramp_x86_model){ .nr_args = 1, .arg_size = { 8 } };
	req = (struct tramp_x86_fentry_req){
		.env = &env,
		.model = &model,
		.func_addr = KERNEL + 0x200000,
		.orig = KERNEL + 0x200005,
		.site = KERNEL + 0x200000,
		.kprobe = calls,
		.nr_kprobe = 2,
		.regs = ALL,
		.fentry = calls + 2,
		.nr_fentry = 1,
	};
	calls[1].flags = COOKIE;
	out = (struct tramp_x86_fentry_out){ 0 };
}

#define BAD(what, change)							\
	do {									\
		good();								\
		EXPECT(OK, "before: " what);					\
		change;								\
		EXPECT(BAD_REQUEST, what);					\
	} while (0)

static void refused(void)
{
	u32 i;

	for (i = 21; i < 32; i++)
		BAD("a member that pt_regs has not", req.regs |= 1u << i);
	BAD("no program", calls[1].func = 0);
	BAD("kernel policy", calls[0].flags = GUARDED);
	BAD("a sleepable program", calls[0].flags = SLEEPABLE);
	BAD("an unknown flag", calls[0].flags = 1u << 9);
	BAD("run context of 0 bytes", env.trace_ctx_size = 0);
	BAD("cookie behind the run context", env.trace_ctx_cookie = 24);
	BAD("65 programs", req.nr_kprobe = 64);
	BAD("2^32 - 1 programs", req.nr_kprobe = ~0u);
	BAD("a site beyond imm32", req.site = 0x7fffffff);
	BAD("nothing to call", req.nr_kprobe = req.nr_fentry = 0);

	good();
	req.nr_fentry = 0;
	model.arg_size[0] = 17;
	EXPECT(OK, "kprobe programs alone need no prototype");
	req.nr_fentry = 1;
	EXPECT(BAD_MODEL, "a program of tracing type does");
	good();
	emission_lengths();
}

static const struct ktap_test tests[] = {
	KTAP_TEST(members),
	KTAP_TEST(any_members),
	KTAP_TEST(programs_1_to_64),
	KTAP_TEST(rcu),
	KTAP_TEST(reschedule),
	KTAP_TEST(muted),
	KTAP_TEST(call_depth),
	KTAP_TEST(beside),
	KTAP_TEST(many_beside),
	KTAP_TEST(instructions_per_hit),
	KTAP_TEST(refused),
};
KTAP_MAIN(tests)
