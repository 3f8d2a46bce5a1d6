// SPDX-License-Identifier: GPL-2.0
/*
 * Entry and exit images, executed: what can be said of programs, one test per
 * property. The checks of every scene stand in scene.c.
 */
#include "../lib/ktap.h"
#include "scene.h"

static struct scene s;
static struct rng rng = { 0x1234567 };

/* 1 to 64 programs of one kind, and all three kinds together. */
static void programs_1_to_64(void)
{
	u32 n, third;

	for (n = 1; n <= SCENE_MAX_PROGS; n++) {
		scene_simple(&s, "n fentry", &rng, "8 4", n, 0, 0);
		scene_run(&s);
		scene_simple(&s, "n fmod_ret", &rng, "8 4", 0, n, 0);
		scene_run(&s);
		scene_simple(&s, "n fexit", &rng, "8 4", 0, 0, n);
		scene_run(&s);
		third = n / 3;
		scene_simple(&s, "n of all kinds", &rng, "8 4", third, third, n - 2 * third);
		scene_run(&s);
		CHECK_EQ(s.pos, n + 1, "every program and the function ran");
	}
}

static void results(void)
{
	static const u64 values[] = {
		0, 1, -1, -4095, 0x7fffffff, 0x80000000, 0xffffffff, 0xfffffff3,
		0x7fffffffffffffff, 0x8000000000000000, 0x00000001ffffffff,
	};
	u32 i, j;

	for (i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		scene_simple(&s, "result of the function", &rng, "8", 1, 1, 2);
		s.orig_result = values[i];
		scene_run(&s);
		CHECK_EQ(s.rax, values[i], "");

		for (j = 0; j <= 8; j++) {
			scene_simple(&s, "result of a function by size", &rng, "", 0, 0, 1);
			s.model.ret_size = j;
			s.orig_result = values[i];
			scene_run(&s);
			CHECK_EQ(s.rax, values[i], "");
		}

		scene_simple(&s, "result of an fmod_ret program", &rng, "8", 1, 1, 2);
		s.progs[1].result = values[i];
		scene_run(&s);
		CHECK_EQ(s.rax, values[i] ? values[i] : s.orig_result, "");
		CHECK_EQ(s.body_ran, !values[i], "");
	}
}

/* The one at @at of @n fmod_ret programs returns something else than 0. */
static void fmod_ret_skips(void)
{
	u32 n, at, policies, i;

	for (n = 1; n <= 4; n++) {
		for (at = 0; at < n; at++) {
			for (policies = 0; policies < 1u << n; policies++) {
				scene_init(&s, "fmod_ret skips", &rng);
				scene_model(&s, "8 8", 4);
				scene_add(&s, SCENE_FENTRY, INLINE, PERCPU_NEAR);
				for (i = 0; i < n; i++)
					scene_add(&s, SCENE_FMOD_RET, policies >> i & 1 ?
						  GUARDED : INLINE, PERCPU_NEAR);
				scene_add(&s, SCENE_FEXIT, INLINE, PERCPU_NEAR);
				s.progs[1 + at].result = -13;
				scene_run(&s);
				CHECK_EQ(s.rax, -13, "");
				CHECK_EQ(s.body_ran, 0, "");
				for (i = 0; i < n; i++)
					CHECK_EQ(s.ran[1 + i], i <= at, "fmod_ret program %u", i);
				CHECK_EQ(s.ran[1 + n], 1, "the fexit program");

				/* but not if it is missed */
				s.progs[1 + at].taken = true;
				s.progs[1 + at].start = 0;
				scene_rerun(&s);
				CHECK_EQ(s.body_ran, 1, "");
				CHECK_EQ(s.missed[1 + at], 1, "");
			}
		}
	}
}

/* A program that is running already is missed, and only that one. */
static void recursion(void)
{
	u32 taken, i;

	for (taken = 0; taken < 1u << 6; taken++) {
		scene_simple(&s, "recursion", &rng, "8 8 8", 2, 2, 2);
		for (i = 0; i < 6; i++)
			s.progs[i].taken = taken >> i & 1;
		scene_run(&s);
		for (i = 0; i < 6; i++) {
			CHECK_EQ(s.ran[i], !s.progs[i].taken, "program %u", i);
			CHECK_EQ(s.missed[i], s.progs[i].taken, "program %u", i);
		}
	}
}

static void statistics(void)
{
	static const u32 keys[] = { 1, 2, 0x80000000, 0xffffffff };
	u32 i, j;

	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		scene_simple(&s, "statistics on", &rng, "8 8 8", 2, 2, 2);
		s.stats_on = keys[i];
		for (j = 0; j < 6; j++)
			scene_call(&s, &s.progs[j])->flags = j & 1 ? COOKIE : INLINE;
		s.progs[3].taken = true;
		scene_run(&s);
		CHECK_EQ(s.pos, 5 * 3 + 2, "calls with start and end");

		/* and off again in the same image */
		s.stats_on = 0;
		scene_rerun(&s);
		CHECK_EQ(s.pos, 5 + 2, "");

		scene_simple(&s, "statistics on, result replaced", &rng, "8", 0, 1, 1);
		s.stats_on = keys[i];
		s.progs[0].result = -1;
		scene_run(&s);
		CHECK_EQ(s.rax, -1, "");
	}
	scene_simple(&s, "no statistics on this kernel", &rng, "8 8 8", 2, 2, 2);
	s.env.stats_key = 0;
	s.stats_on = 1;
	scene_run(&s);
}

static void rescheduling(void)
{
	u32 i;

	for (i = 0; i < 6; i++) {
		scene_simple(&s, "reschedule due", &rng, "8 8 8", 2, 2, 2);
		s.progs[i].resched_due = true;
		scene_run(&s);
		CHECK_EQ(s.pos, 6 + 1 + 1, "rescheduled once");

		scene_simple(&s, "reschedule due, preemption off outside", &rng, "8 8 8", 2, 2, 2);
		s.progs[i].resched_due = true;
		s.preempt_start = 0x80000001;
		scene_run(&s);
		CHECK_EQ(s.pos, 6 + 1, "not rescheduled");

		scene_simple(&s, "reschedule due, no preemption on this kernel", &rng, "8 8 8", 2, 2, 2);
		s.progs[i].resched_due = true;
		s.env.resched = 0;
		scene_run(&s);
		CHECK_EQ(s.pos, 6 + 1, "not rescheduled");
	}
	scene_simple(&s, "reschedule due before", &rng, "8 8 8 8 8 8 8", 1, 1, 1);
	s.preempt_start = 0;
	scene_run(&s);
	CHECK_EQ(s.pos, 3 + 1 + 1, "rescheduled once");
}

/* Every sequence of up to four programs with either policy, run or missed. */
static void kernel_policy(void)
{
	u32 n, policies, misses, kind, i;

	for (kind = SCENE_FENTRY; kind <= SCENE_FEXIT; kind++) {
		for (n = 1; n <= 4; n++) {
			for (policies = 0; policies < 1u << n; policies++) {
				for (misses = 0; misses < 1u << n; misses++) {
					scene_init(&s, "policies", &rng);
					scene_model(&s, "8 16", 8);
					for (i = 0; i < n; i++) {
						struct scene_prog *p;

						p = scene_add(&s, kind, policies >> i & 1 ?
							      GUARDED : INLINE, PERCPU_NEAR);
						p->taken = misses >> i & 1;
						p->start = p->taken ? 0 : rng_u64(&rng) | 1;
					}
					scene_run(&s);
					for (i = 0; i < n; i++)
						CHECK_EQ(s.missed[i], misses >> i & 1, "");
				}
			}
		}
	}
}

/* A sleepable program makes an entry image count itself in use. */
static void sleepable(void)
{
	u32 kind;

	for (kind = SCENE_FENTRY; kind <= SCENE_FEXIT; kind++) {
		scene_init(&s, "sleepable", &rng);
		scene_model(&s, "8 8 8 8 8 8 4", 8);
		scene_add(&s, kind, INLINE, PERCPU_NEAR);
		scene_add(&s, kind, SLEEPABLE, PERCPU_NEAR);
		scene_add(&s, kind, SLEEPABLE | COOKIE, PERCPU_NEAR);
		scene_run(&s);
	}
}

static void cookies(void)
{
	static const u64 cookie[] = {
		0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 0xffffffff80000000, 0x123456789abcdef,
		0x8000000000000000, 0xffffffffffffffff,
	};
	u32 i, kind, stats;

	for (i = 0; i < sizeof(cookie) / sizeof(cookie[0]); i++) {
		for (kind = SCENE_FENTRY; kind <= SCENE_FEXIT; kind++) {
			for (stats = 0; stats < 2; stats++) {
				scene_init(&s, "cookies", &rng);
				scene_model(&s, "8 8 4", 8);
				s.stats_on = stats;
				scene_add(&s, kind, COOKIE, PERCPU_NEAR);
				scene_add(&s, kind, INLINE, PERCPU_NEAR);
				scene_add(&s, kind, COOKIE | GUARDED, PERCPU_NEAR);
				scene_add(&s, kind, COOKIE, PERCPU_FAR)->taken = true;
				scene_add(&s, kind, COOKIE | NARGS | IP, PERCPU_FAR);
				s.calls[0].cookie = cookie[i];
				s.calls[2].cookie = cookie[i];
				s.calls[4].cookie = ~cookie[i];
				scene_run(&s);
			}
		}
	}
	/* another layout of the run_ctx, as long as it may be */
	scene_simple(&s, "run_ctx of 64 bytes", &rng, "8", 1, 1, 1);
	s.env.run_ctx_size = TRAMP_X86_MAX_RUN_CTX;
	s.env.run_ctx_cookie = 56;
	s.env.run_ctx_saved = 0;
	for (i = 0; i < 3; i++)
		s.calls[i].flags = i == 1 ? GUARDED | COOKIE : COOKIE;
	scene_run(&s);
}

static void context_head(void)
{
	static const u64 addr[] = {
		0x1000, 0x7fffffff, 0x80000000, 0xffffffff81000000, 0xffffffffc0123456,
		0xffff888012345678, 0x123456789abcdef0,
	};
	u32 i, flags, kind;

	for (i = 0; i < sizeof(addr) / sizeof(addr[0]); i++) {
		for (flags = 0; flags < 4; flags++) {
			for (kind = SCENE_FENTRY; kind <= SCENE_FEXIT; kind++) {
				scene_init(&s, "ctx[-1] and ctx[-2]", &rng);
				scene_model(&s, "8 8 8 8 8 8 8 8", 8);
				s.req.func_addr = addr[i];
				scene_add(&s, kind, flags & 1 ? NARGS : INLINE, PERCPU_NEAR);
				scene_add(&s, kind, flags & 2 ? IP : INLINE, PERCPU_NEAR);
				scene_run(&s);
			}
		}
	}
}

/* With 64-bit offsets too, and in every distance from each other. */
static void percpu_offsets(void)
{
	u32 i, j;

	for (i = 0; i < 500; i++) {
		scene_simple(&s, "per-CPU offsets", &rng, "8 8 8 8 8 8 1", 0, 0, 0);
		scene_scatter(&s, &rng);
		for (j = 0; j < 6; j++) {
			u32 flags = rng_chance(&rng, 30) ? GUARDED : INLINE;

			if (rng_chance(&rng, 50))
				flags |= COOKIE;
			scene_add(&s, j / 2, flags, rng_below(&rng, 3));
		}
		s.stats_on = i & 1;
		s.env.has_call_depth = i & 2;
		if (!scene_run(&s))
			return;
	}
}

static void call_depth(void)
{
	u32 i, kind;

	for (kind = SCENE_FENTRY; kind <= SCENE_FEXIT; kind++) {
		for (i = 0; i < 8; i++) {
			scene_init(&s, "call depth accounting", &rng);
			scene_model(&s, "8 8 4", 8);
			s.env.has_call_depth = true;
			s.return_thunk = i & 1;
			s.stats_on = i & 2;
			s.preempt_start = i & 4 ? 0 : 0x80000000;
			scene_add(&s, kind, INLINE, PERCPU_NEAR);
			scene_add(&s, kind, GUARDED, PERCPU_NEAR);
			scene_add(&s, kind, COOKIE, PERCPU_NEAR)->taken = true;
			scene_run(&s);
		}
	}
}

static void return_thunk(void)
{
	u32 kind;

	for (kind = SCENE_FENTRY; kind <= SCENE_FEXIT; kind++) {
		scene_init(&s, "return thunk", &rng);
		scene_model(&s, "8 8 8 8 8 8 8", 8);
		scene_add(&s, kind, INLINE, PERCPU_NEAR);
		s.return_thunk = true;
		scene_run(&s);
	}
}

static void rcu_read_lock(void)
{
	u32 kind;

	for (kind = SCENE_FENTRY; kind <= SCENE_FEXIT; kind++) {
		scene_init(&s, "rcu_read_lock", &rng);
		scene_model(&s, "8 8", 8);
		s.env.rcu_read_lock = machine_thunk(T_RCU_LOCK);
		s.env.rcu_read_unlock = machine_thunk(T_RCU_UNLOCK);
		scene_add(&s, kind, INLINE, PERCPU_NEAR)->resched_due = true;
		scene_add(&s, kind, INLINE, PERCPU_NEAR);
		scene_add(&s, kind, GUARDED, PERCPU_NEAR);
		scene_add(&s, kind, INLINE, PERCPU_FAR);
		scene_run(&s);
		CHECK_EQ(s.pos, 4 + 1 + 2 * 2 + 2 + 1, "calls");
	}
}

static void interpreter_argument(void)
{
	static const u64 insns[] = { 0x1000, 0xffffffff81000000, 0xffffc90000012345 };
	u32 i, kind;

	for (i = 0; i < sizeof(insns) / sizeof(insns[0]); i++) {
		for (kind = SCENE_FENTRY; kind <= SCENE_FEXIT; kind++) {
			scene_init(&s, "insns", &rng);
			scene_model(&s, "8 8", 8);
			scene_add(&s, kind, INLINE, PERCPU_NEAR);
			scene_add(&s, kind, GUARDED, PERCPU_NEAR);
			s.calls[0].insns = insns[i];
			s.calls[1].insns = ~insns[i];
			s.stats_on = i & 1;
			scene_run(&s);
		}
	}
}

/* The call is four bytes into the function, behind ENDBR64. */
static void site_behind_endbr(void)
{
	scene_simple(&s, "ENDBR64", &rng, "8 16 8 8 8", 1, 1, 1);
	s.endbr = true;
	scene_run(&s);
	scene_simple(&s, "ENDBR64", &rng, "8 16 8 8 8", 1, 0, 0);
	s.endbr = true;
	scene_run(&s);
}

/* Late returns leave out exactly the exit programs whose NOP was patched. */
static void skipping_exit_programs(void)
{
	u32 out, policies, i, late;

	for (out = 0; out < 1u << 4; out++) {
		for (policies = 0; policies < 1u << 4; policies++) {
			for (late = 0; late < 2; late++) {
				scene_init(&s, "left out", &rng);
				scene_model(&s, "8 8 8 8 8 8 8", 8);
				scene_add(&s, SCENE_FENTRY, INLINE, PERCPU_NEAR);
				for (i = 0; i < 4; i++) {
					struct scene_prog *p;

					p = scene_add(&s, SCENE_FEXIT, policies >> i & 1 ?
						      GUARDED | COOKIE : INLINE, i & 1 ?
						      PERCPU_FAR : PERCPU_NEAR);
					p->left_out = out >> i & 1;
				}
				s.patch_in_body = late;
				scene_run(&s);
				CHECK_EQ(s.ran[0], 1, "");
				for (i = 0; i < 4; i++)
					CHECK_EQ(s.ran[1 + i], !(out >> i & 1), "fexit program %u", i);
				CHECK_EQ(s.rax, s.orig_result, "");
			}
		}
	}
}

/*
 * Programs whose calls were pointed at something that does nothing: they are
 * not run any more, under statistics or not, and all else is as before.
 */
static void muted_programs(void)
{
	u32 muted, stats, i;

	for (muted = 0; muted < 1u << 6; muted++) {
		for (stats = 0; stats < 2; stats++) {
			scene_init(&s, "muted", &rng);
			scene_model(&s, "8 8 8 8 8 8 8", 8);
			for (i = 0; i < 6; i++) {
				struct scene_prog *p;

				p = scene_add(&s, i / 2, i % 2 ? GUARDED : COOKIE, PERCPU_FAR);
				p->muted = muted >> i & 1;
			}
			/* would skip the function, but for being muted */
			s.progs[2].result = s.progs[2].muted ? -1 : 0;
			s.stats_on = stats;
			scene_run(&s);
			for (i = 0; i < 6; i++)
				CHECK_EQ(s.ran[i], !s.progs[i].muted, "program %u", i);
			CHECK_EQ(s.body_ran, 1, "");
			CHECK_EQ(s.rax, s.orig_result, "");
		}
	}
}

static const struct ktap_test tests[] = {
	KTAP_TEST(programs_1_to_64),
	KTAP_TEST(results),
	KTAP_TEST(fmod_ret_skips),
	KTAP_TEST(recursion),
	KTAP_TEST(statistics),
	KTAP_TEST(rescheduling),
	KTAP_TEST(kernel_policy),
	KTAP_TEST(sleepable),
	KTAP_TEST(cookies),
	KTAP_TEST(context_head),
	KTAP_TEST(percpu_offsets),
	KTAP_TEST(call_depth),
	KTAP_TEST(return_thunk),
	KTAP_TEST(rcu_read_lock),
	KTAP_TEST(interpreter_argument),
	KTAP_TEST(site_behind_endbr),
	KTAP_TEST(skipping_exit_programs),
	KTAP_TEST(muted_programs),
};
KTAP_MAIN(tests)
