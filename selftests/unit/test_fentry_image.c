// SPDX-License-Identifier: GPL-2.0
/*
 * Entry and exit images, executed: one test per property, each with scenes made
 * for it. What every scene is checked for stands in scene.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/ktap.h"
#include "lint.h"
#include "scene.h"

#define INLINE		0
#define GUARDED		TRAMP_X86_CALL_GUARDED
#define COOKIE		TRAMP_X86_CALL_COOKIE
#define IP		TRAMP_X86_CALL_IP
#define NARGS		TRAMP_X86_CALL_NARGS
#define SLEEPABLE	(TRAMP_X86_CALL_GUARDED | TRAMP_X86_CALL_SLEEPABLE)

static struct scene s;
static struct rng rng = { 0x1234567 };

static void model(const char *sizes, u32 ret_size)
{
	char *end;

	s.model = (struct tramp_x86_model){ .ret_size = ret_size };
	while (*sizes) {
		REQUIRE(s.model.nr_args < TRAMP_X86_MAX_ARGS, "too many arguments");
		s.model.arg_size[s.model.nr_args++] = strtoul(sizes, &end, 10);
		sizes = end + strspn(end, " ");
	}
}

static void begin(const char *name)
{
	static bool ready;

	if (!ready)
		machine_init();
	ready = true;
	scene_init(&s, name, &rng);
}

/* One program of each kind that is asked for. */
static void simple(const char *name, const char *sizes, u32 nr_fentry, u32 nr_fmod_ret, u32 nr_fexit)
{
	begin(name);
	model(sizes, 8);
	while (nr_fentry--)
		scene_add(&s, SCENE_FENTRY, INLINE, PERCPU_NEAR);
	while (nr_fmod_ret--)
		scene_add(&s, SCENE_FMOD_RET, INLINE, PERCPU_NEAR);
	while (nr_fexit--)
		scene_add(&s, SCENE_FEXIT, INLINE, PERCPU_NEAR);
}

/* Arguments -------------------------------------------------------------- */

/* Every kind of image for the prototype in s.model; the scene is rebuilt each time. */
static void all_images(const char *name, const char *sizes)
{
	static const u8 nr[][3] = {
		{ 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 }, { 1, 0, 1 }, { 1, 1, 1 }, { 2, 2, 2 },
	};
	u32 i;

	for (i = 0; i < sizeof(nr) / sizeof(nr[0]); i++) {
		simple(name, sizes, nr[i][0], nr[i][1], nr[i][2]);
		s.odd_stack = i & 1;
		if (!scene_run(&s))
			return;
		simple(name, sizes, nr[i][0], nr[i][1], nr[i][2]);
		s.odd_stack = !(i & 1);
		s.flags |= FLAG_DF;
		scene_call(&s, &s.progs[0])->flags |= NARGS;
		if (!scene_run(&s))
			return;
	}
}

/* 0 to 12 arguments of 8 bytes. */
static void args_register_sized(void)
{
	char sizes[64] = "";
	u32 i;

	for (i = 0; i <= TRAMP_X86_MAX_ARGS; i++) {
		all_images("register-sized", sizes);
		strcat(sizes, "8 ");
	}
}

/* Every size at every place of 1 to 8 arguments; the lone stack slot included. */
static void args_every_size(void)
{
	u32 nr, at, size, i;

	for (nr = 1; nr <= 8; nr++) {
		for (at = 0; at < nr; at++) {
			for (size = 1; size <= 16; size++) {
				char sizes[64] = "";

				for (i = 0; i < nr; i++)
					sprintf(sizes + strlen(sizes), "%u ", i == at ? size : 8);
				all_images("every size", sizes);
			}
		}
	}
}

/*
 * Every sequence of one-slot and two-slot arguments of up to 12 slots: those in
 * which a later argument gets a register after a struct did not are among them.
 */
static u32 sequences(char *sizes, u32 slots)
{
	size_t end = strlen(sizes);
	u32 nr = 1;

	if (ktap_failures())
		return 0;
	all_images("one and two slots", sizes);
	if (slots + 1 <= TRAMP_X86_MAX_SLOTS) {
		strcpy(sizes + end, "4 ");
		nr += sequences(sizes, slots + 1);
	}
	if (slots + 2 <= TRAMP_X86_MAX_SLOTS) {
		strcpy(sizes + end, "12 ");
		nr += sequences(sizes, slots + 2);
	}
	sizes[end] = 0;
	return nr;
}

static void args_every_sequence(void)
{
	char sizes[64] = "";

	ktap_note("%u prototypes", sequences(sizes, 0));
}

/* Known values, written down: the oracle places arguments by a rule of its own. */
static void args_disorder(void)
{
	/* five registers, a struct that no longer fits, a sixth argument that does */
	simple("disorder", "8 8 8 8 8 16 1", 1, 0, 1);
	s.regs[R9] = 0x66;
	s.slot[7] = 0x66;
	scene_run(&s);
	CHECK_EQ(s.call.in[R9], 0x66, "the last argument is passed in r9");
	CHECK_EQ(s.call.stack[0], s.slot[5], "the struct is passed on the stack");
	CHECK_EQ(s.call.stack[1], s.slot[6], "the struct is passed on the stack");
	CHECK_EQ(s.call.nr_stack, 2, "");
}

/* Programs --------------------------------------------------------------- */

/* 1 to 64 programs of one kind, and all three kinds together. */
static void programs_1_to_64(void)
{
	u32 n, third;

	for (n = 1; n <= SCENE_MAX_PROGS; n++) {
		simple("n fentry", "8 4", n, 0, 0);
		scene_run(&s);
		simple("n fmod_ret", "8 4", 0, n, 0);
		scene_run(&s);
		simple("n fexit", "8 4", 0, 0, n);
		scene_run(&s);
		third = n / 3;
		simple("n of all kinds", "8 4", third, third, n - 2 * third);
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
		simple("result of the function", "8", 1, 1, 2);
		s.orig_result = values[i];
		scene_run(&s);
		CHECK_EQ(s.rax, values[i], "");

		for (j = 0; j <= 8; j++) {
			simple("result of a function by size", "", 0, 0, 1);
			s.model.ret_size = j;
			s.orig_result = values[i];
			scene_run(&s);
			CHECK_EQ(s.rax, values[i], "");
		}

		simple("result of an fmod_ret program", "8", 1, 1, 2);
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
				begin("fmod_ret skips");
				model("8 8", 4);
				scene_add(&s, SCENE_FENTRY, INLINE, PERCPU_NEAR);
				for (i = 0; i < n; i++)
					scene_add(&s, SCENE_FMOD_RET,
						  policies >> i & 1 ? GUARDED : INLINE, PERCPU_NEAR);
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
		simple("recursion", "8 8 8", 2, 2, 2);
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
		simple("statistics on", "8 8 8", 2, 2, 2);
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

		simple("statistics on, result replaced", "8", 0, 1, 1);
		s.stats_on = keys[i];
		s.progs[0].result = -1;
		scene_run(&s);
		CHECK_EQ(s.rax, -1, "");
	}
	simple("no statistics on this kernel", "8 8 8", 2, 2, 2);
	s.env.stats_key = 0;
	s.stats_on = 1;
	scene_run(&s);
}

static void rescheduling(void)
{
	u32 i;

	for (i = 0; i < 6; i++) {
		simple("reschedule due", "8 8 8", 2, 2, 2);
		s.progs[i].resched_due = true;
		scene_run(&s);
		CHECK_EQ(s.pos, 6 + 1 + 1, "rescheduled once");

		simple("reschedule due, preemption off outside", "8 8 8", 2, 2, 2);
		s.progs[i].resched_due = true;
		s.preempt_start = 0x80000001;
		scene_run(&s);
		CHECK_EQ(s.pos, 6 + 1, "not rescheduled");

		simple("reschedule due, no preemption on this kernel", "8 8 8", 2, 2, 2);
		s.progs[i].resched_due = true;
		s.env.resched = 0;
		scene_run(&s);
		CHECK_EQ(s.pos, 6 + 1, "not rescheduled");
	}
	simple("reschedule due before", "8 8 8 8 8 8 8", 1, 1, 1);
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
					begin("policies");
					model("8 16", 8);
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
		begin("sleepable");
		model("8 8 8 8 8 8 4", 8);
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
				begin("cookies");
				model("8 8 4", 8);
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
	simple("run_ctx of 64 bytes", "8", 1, 1, 1);
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
				begin("ctx[-1] and ctx[-2]");
				model("8 8 8 8 8 8 8 8", 8);
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
		simple("per-CPU offsets", "8 8 8 8 8 8 1", 0, 0, 0);
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
			begin("call depth accounting");
			model("8 8 4", 8);
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
		begin("return thunk");
		model("8 8 8 8 8 8 8", 8);
		scene_add(&s, kind, INLINE, PERCPU_NEAR);
		s.return_thunk = true;
		scene_run(&s);
	}
}

static void rcu_read_lock(void)
{
	u32 kind;

	for (kind = SCENE_FENTRY; kind <= SCENE_FEXIT; kind++) {
		begin("rcu_read_lock");
		model("8 8", 8);
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
			begin("insns");
			model("8 8", 8);
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
	simple("ENDBR64", "8 16 8 8 8", 1, 1, 1);
	s.endbr = true;
	scene_run(&s);
	simple("ENDBR64", "8 16 8 8 8", 1, 0, 0);
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
				begin("left out");
				model("8 8 8 8 8 8 8", 8);
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

/* The frame at its largest: displacements that do not fit into a byte. */
static void largest_frame(void)
{
	u32 odd;

	for (odd = 0; odd < 2; odd++) {
		simple("largest frame", "8 8 8 8 8 16 16 16 8", 1, 1, 1);
		s.env.run_ctx_size = TRAMP_X86_MAX_RUN_CTX;
		s.env.run_ctx_cookie = 56;
		s.env.run_ctx_saved = 48;
		s.calls[0].flags = GUARDED | COOKIE | IP;
		s.calls[1].flags = COOKIE | NARGS;
		s.odd_stack = odd;
		scene_run(&s);
	}
}

static const struct ktap_test tests[] = {
	KTAP_TEST(args_register_sized),
	KTAP_TEST(args_every_size),
	KTAP_TEST(args_every_sequence),
	KTAP_TEST(args_disorder),
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
	KTAP_TEST(largest_frame),
};
KTAP_MAIN(tests)
