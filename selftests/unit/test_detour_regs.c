// SPDX-License-Identifier: GPL-2.0
/*
 * Detours, executed: registers and flags, as programs see them and as they are
 * afterwards. The checks of every hit stand in hit.c.
 */
#define _GNU_SOURCE	/* REG_RIP */
#include <signal.h>
#include <string.h>
#include <ucontext.h>

#include "../lib/ktap.h"
#include "hit.h"

static struct hit h;
static struct rng rng = { 0x2345678 };

static const u64 flag_bits[] = {
	FLAG_CF, 1 << 2, 1 << 4, 1 << 6, 1 << 7, FLAG_DF, 1 << 11, FLAG_ID,
};
#define NR_FLAGS (sizeof(flag_bits) / sizeof(flag_bits[0]))

static void begin(const char *name)
{
	hit_init(&h, name, &rng);
	hit_add(&h, INLINE, PERCPU_NEAR);
}

static void registers(void)
{
	static const u64 values[] = {
		0, 1, -1, 0x7fffffff, 0x80000000, 0xffffffff80000000, 0x7fffffffffffffff,
		0x8000000000000000,
	};
	u32 i, j;

	for (i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		for (j = 0; j < NR_REGS; j++) {
			begin("registers");
			h.regs[j] = values[i];
			hit_run(&h);
			memset(h.regs, values[i], sizeof(h.regs));
			hit_rerun(&h);
		}
	}
}

/* Every combination, with a program that reads them and with one that does not. */
static void flags(void)
{
	u32 set, regs, i;

	for (regs = 0; regs < 2; regs++) {
		for (set = 0; set < 1 << NR_FLAGS; set++) {
			begin("flags");
			h.req.regs = regs ? TRAMP_X86_REGS_ALL : 1 << PT_DI;
			h.flags = 0;
			for (i = 0; i < NR_FLAGS; i++)
				if (set >> i & 1)
					h.flags |= flag_bits[i];
			if (!hit_run(&h))
				return;
		}
	}
}

/* clac is not for user space: do it here, and go on behind it. */
static u32 clacs;

static void on_sigill(int sig, siginfo_t *info, void *context)
{
	mcontext_t *m = &((ucontext_t *)context)->uc_mcontext;
	u8 *rip;

	/* AC is still set, and the compiler does not care about alignment */
	__asm__ volatile("pushfq; andl %0, (%%rsp); popfq" : : "i"(~(int)FLAG_AC) : "memory", "cc");
	(void)sig;
	(void)info;
	rip = (u8 *)m->gregs[REG_RIP];
	if (memcmp(rip, "\x0f\x01\xca", 3))
		ktap_die("an illegal instruction at %p", (void *)rip);
	m->gregs[REG_RIP] += 3;
	m->gregs[REG_EFL] &= ~FLAG_AC;
	clacs++;
}

static void alignment_check_flag(void)
{
	struct sigaction sa = { .sa_sigaction = on_sigill, .sa_flags = SA_SIGINFO };
	u32 ac, df, sp;

	REQUIRE(!sigaction(SIGILL, &sa, NULL), "sigaction: %m");
	for (ac = 0; ac < 2; ac++) {
		for (df = 0; df < 2; df++) {
			for (sp = 0; sp < 2; sp++) {
				begin("AC");
				h.env.smap = true;
				h.flags = (ac ? FLAG_AC : 0) | (df ? FLAG_DF : 0) | FLAG_CF;
				h.req.regs = sp ? TRAMP_X86_REGS_ALL : 1 << PT_CX;
				clacs = 0;
				hit_run(&h);
				CHECK_EQ(clacs, 2, "once in each form that runs programs");
			}
		}
	}
}

static void segments(void)
{
	static const u16 value[] = { 0x8, 0x10, 0x18, 0x60, 0x7f, 0x80, 0x7fff, 0x8000, 0xffff };
	u32 i;

	for (i = 0; i < sizeof(value) / sizeof(value[0]); i++) {
		begin("cs and ss");
		h.env.cs = value[i];
		h.env.ss = ~value[i];
		hit_run(&h);
	}
}

static void stack_alignment(void)
{
	u32 odd, regs;

	for (odd = 0; odd < 2; odd++) {
		for (regs = 0; regs < 2; regs++) {
			begin("alignment of the stack");
			h.odd_stack = odd;
			h.req.regs = regs ? TRAMP_X86_REGS_ALL : 0;
			hit_run(&h);
		}
	}
}

/* Programs that read one, two, or all but one or two members. */
static void few_members(void)
{
	u32 i, j;

	for (i = 0; i < NR_PT; i++) {
		for (j = i; j < NR_PT; j++) {
			begin("two members of pt_regs");
			h.req.regs = 1u << i | 1u << j;
			if (!hit_run(&h))
				return;
			h.req.regs ^= TRAMP_X86_REGS_ALL;
			if (!hit_run(&h))
				return;
		}
	}
}

/* Any set of members, without and with a run context above them. */
static void any_members(void)
{
	u32 i;

	for (i = 0; i < 20000; i++) {
		hit_init(&h, "members of pt_regs", &rng);
		hit_add(&h, i & 1 ? COOKIE : INLINE, PERCPU_NEAR);
		h.req.regs = rng_u64(&rng) & TRAMP_X86_REGS_ALL;
		if (rng_chance(&rng, 50))
			h.req.regs &= rng_u64(&rng);
		if (rng_chance(&rng, 30))
			h.req.regs |= rng_u64(&rng) & TRAMP_X86_REGS_ALL;
		if (!hit_run(&h)) {
			hit_show(&h);
			return;
		}
	}
}

static const struct ktap_test tests[] = {
	KTAP_TEST(registers),
	KTAP_TEST(flags),
	KTAP_TEST(alignment_check_flag),
	KTAP_TEST(segments),
	KTAP_TEST(stack_alignment),
	KTAP_TEST(few_members),
	KTAP_TEST(any_members),
};
KTAP_MAIN(tests)
