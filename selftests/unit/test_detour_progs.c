// SPDX-License-Identifier: GPL-2.0
/*
 * Detours, executed: what can be said of programs, one test per property. The checks of every
 * hit stand in hit.c.
 */
#include "../lib/ktap.h"
#include "hit.h"

static struct hit h;
static struct rng rng = { 0x3456789 };

static void begin(const char *name, u32 nr)
{
	hit_init(&h, name, &rng);
	while (nr--)
		hit_add(&h, INLINE, PERCPU_NEAR);
}

/* They run in order: the hit's list of calls says so. */
static void programs_1_to_64(void)
{
	u32 n, i;

	for (n = 1; n <= HIT_MAX_PROGS; n++) {
		begin("n programs", n);
		hit_run(&h);
		hit_execute(&h, HIT_JUMP);
		CHECK_EQ(h.pos, n, "calls");
		for (i = 0; i < n; i++)
			CHECK_EQ(h.ran[i], 1, "program %u", i);
	}
}

static void no_programs(void)
{
	begin("no programs", 0);
	h.env = (struct tramp_x86_env){ .task_bpf_ctx = h.env.task_bpf_ctx };
	hit_run(&h);
	CHECK_EQ(h.out.copy_off, 5, "a jump, then the copy");
	CHECK_EQ(h.out.copy_len, 10, "a NOP and a jump");
	CHECK_EQ(h.out.size, 15, "");
}

/* One counter for all: if it is up, every program is missed. */
static void recursion(void)
{
	u32 n, i, stats;

	for (n = 1; n <= 4; n++) {
		for (stats = 0; stats < 2; stats++) {
			begin("recursion", n);
			h.taken[0] = true;
			h.stats_on = stats;
			hit_run(&h);
			hit_execute(&h, HIT_ENTRY);
			for (i = 0; i < n; i++) {
				CHECK_EQ(h.ran[i], 0, "program %u", i);
				CHECK_EQ(h.missed[i], 1, "program %u", i);
			}
		}
	}
}

/* Programs with counters of their own, next to each other and mixed. */
static void several_counters(void)
{
	u32 taken, order, i;

	for (taken = 0; taken < 1 << 3; taken++) {
		for (order = 0; order < 1 << 10; order += 1 + rng_below(&rng, 7)) {
			begin("several recursion counters", 5);
			for (i = 0; i < 5; i++)
				hit_word(&h, &h.progs[i], order >> 2 * i & 3);
			for (i = 0; i < 3; i++)
				h.taken[i] = taken >> i & 1;
			hit_run(&h);
			hit_execute(&h, HIT_JUMP);
			for (i = 0; i < 5; i++)
				CHECK_EQ(h.ran[i], !h.taken[order >> 2 * i & 3], "program %u", i);
		}
	}
}

static void statistics(void)
{
	static const u32 keys[] = { 1, 2, 0x80000000, 0xffffffff };
	u32 i, j, n;

	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		for (n = 1; n <= 4; n++) {
			begin("statistics on", n);
			h.stats_on = keys[i];
			for (j = 0; j < n; j++)
				h.calls[j].flags = j & 1 ? COOKIE : INLINE;
			hit_run(&h);
			hit_execute(&h, HIT_JUMP);
			CHECK_EQ(h.pos, 3 * n, "calls with start and end");

			/* and off again in the same image */
			h.stats_on = 0;
			hit_rerun(&h);
		}
	}
	begin("no statistics on this kernel", 2);
	h.env.stats_key = 0;
	h.stats_on = 1;
	hit_run(&h);
}

/* Interrupts are off: whatever is due comes when the flags are restored. */
static void rescheduling(void)
{
	u32 i;

	for (i = 0; i < 6; i++) {
		begin("reschedule due", 3);
		h.progs[i % 3].resched_due = true;
		if (i >= 3)
			h.preempt_start = 0x80000001;
		hit_run(&h);
		hit_execute(&h, HIT_JUMP);
		CHECK_EQ(h.pos, 3, "not rescheduled");
	}
	begin("reschedule due before", 1);
	h.preempt_start = 0;
	hit_run(&h);
}

/* The deepest stack that a kernel allows. Bit 31 is not touched. */
static void counts(void)
{
	static const u32 start[] = { 0x80000000, 0x80000001, 0x80010000, 0x80ee00fe, 0x00ee0000 };
	u32 i;

	for (i = 0; i < sizeof(start) / sizeof(start[0]); i++) {
		begin("preemption count", 2);
		h.preempt_start = start[i];
		hit_run(&h);
		begin("another NMI count", 0);
		hit_scatter(&h, &rng);
		hit_add(&h, INLINE, PERCPU_NEAR);
		h.env.nmi_count = 0x400001 << i;
		h.preempt_start = start[i];
		h.taken[0] = i & 1;
		hit_run(&h);
	}
}

static void call_depth(void)
{
	u32 i;

	for (i = 0; i < 32; i++) {
		hit_init(&h, "call depth accounting", &rng);
		if (i & 16)
			hit_scatter(&h, &rng);
		hit_add(&h, INLINE, PERCPU_NEAR);
		hit_add(&h, INLINE, PERCPU_FAR);
		h.env.has_call_depth = true;
		h.stats_on = i & 1;
		h.preempt_start = i & 2 ? 0 : 0x80000000;
		h.taken[0] = i & 4;
		h.calls[1].flags = i & 8 ? COOKIE : INLINE;
		hit_run(&h);
	}
}

static void rcu_read_lock(void)
{
	u32 i;

	for (i = 0; i < 8; i++) {
		begin("rcu_read_lock", 4);
		h.env.probe_enter = machine_thunk(T_RCU_LOCK);
		h.env.probe_exit = machine_thunk(T_RCU_UNLOCK);
		h.env.has_call_depth = i & 1;
		h.stats_on = i & 2;
		h.progs[1].resched_due = true;
		h.calls[2].flags = COOKIE;
		hit_word(&h, &h.progs[3], 1);
		h.taken[1] = i & 4;
		hit_run(&h);
		hit_execute(&h, HIT_JUMP);
		if (!h.stats_on)
			CHECK_EQ(h.pos, 3 + 2 + (h.taken[1] ? 1 : 3), "calls");
	}
}

static void interpreter_argument(void)
{
	static const u64 insns[] = { 0x1000, 0xffffffff81000000, 0xffffc90000012345 };
	u32 i;

	for (i = 0; i < sizeof(insns) / sizeof(insns[0]); i++) {
		begin("insns", 2);
		h.calls[0].insns = insns[i];
		h.calls[1].insns = ~insns[i];
		h.stats_on = i & 1;
		hit_run(&h);
	}
}

static void cookies(void)
{
	static const u64 cookie[] = {
		0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 0xffffffff80000000, 0x123456789abcdef,
		0x8000000000000000, 0xffffffffffffffff,
	};
	u32 i, stats, regs;

	for (i = 0; i < sizeof(cookie) / sizeof(cookie[0]); i++) {
		for (stats = 0; stats < 2; stats++) {
			for (regs = 0; regs < 2; regs++) {
				hit_init(&h, "cookies", &rng);
				h.stats_on = stats;
				h.req.regs = regs ? TRAMP_X86_REGS_ALL : 1 << PT_DI | 1 << PT_SP;
				hit_add(&h, COOKIE, PERCPU_NEAR);
				hit_add(&h, INLINE, PERCPU_NEAR);
				hit_add(&h, COOKIE | NARGS, PERCPU_FAR);
				hit_add(&h, IP, PERCPU_NEAR);
				hit_word(&h, hit_add(&h, COOKIE | IP, PERCPU_NEAR), 1);
				hit_word(&h, hit_add(&h, COOKIE, PERCPU_NEAR), 2);
				h.calls[0].cookie = cookie[i];
				h.calls[2].cookie = ~cookie[i];
				h.calls[4].cookie = cookie[i];
				h.taken[2] = true;
				hit_run(&h);
			}
		}
	}
}

/* Run contexts of every size, the cookie anywhere in them; all else is 0. */
static void run_context_layouts(void)
{
	u32 size, cookie;

	for (size = 8; size <= TRAMP_X86_MAX_RUN_CTX; size += 8) {
		for (cookie = 0; cookie < size; cookie += 8) {
			begin("layout of the run context", 2);
			h.env.trace_ctx_size = size;
			h.env.trace_ctx_cookie = cookie;
			h.calls[1].flags = COOKIE;
			hit_run(&h);
		}
	}
}

/* A program that only looks whether there is a run context finds an empty one. */
static void function_address(void)
{
	begin("IP without a cookie", 1);
	h.calls[0].flags = IP;
	hit_run(&h);
	begin("NARGS", 1);
	h.calls[0].flags = NARGS;
	hit_run(&h);
}

/* With 64-bit offsets too, and in every distance from each other. */
static void percpu_offsets(void)
{
	u32 i, j;

	for (i = 0; i < 500; i++) {
		hit_init(&h, "per-CPU offsets", &rng);
		hit_scatter(&h, &rng);
		for (j = 0; j < 4; j++) {
			enum percpu_where where = rng_below(&rng, 3);

			hit_add(&h, rng_chance(&rng, 50) ? COOKIE : INLINE, where);
		}
		h.stats_on = i & 1;
		h.env.has_call_depth = i & 2;
		if (!hit_run(&h))
			return;
	}
}

static void muted_programs(void)
{
	u32 muted, stats, i;

	for (muted = 0; muted < 1u << 4; muted++) {
		for (stats = 0; stats < 2; stats++) {
			hit_init(&h, "muted", &rng);
			for (i = 0; i < 4; i++)
				hit_add(&h, i & 1 ? COOKIE : INLINE, PERCPU_FAR)->muted =
					muted >> i & 1;
			h.stats_on = stats;
			hit_run(&h);
			hit_execute(&h, HIT_JUMP);
			for (i = 0; i < 4; i++)
				CHECK_EQ(h.ran[i], !h.progs[i].muted, "program %u", i);
		}
	}
}

/* The first instruction can become a JMP at any time: here, to the copy. */
static void entry_patched(void)
{
	u32 saved;

	begin("entry patched", 1);
	hit_run(&h);
	machine_poke_jmp(h.image, h.image + h.out.copy_off);
	saved = h.nr;
	h.nr = 0;
	hit_rerun(&h);
	h.nr = saved;
}

static const struct ktap_test tests[] = {
	KTAP_TEST(programs_1_to_64),
	KTAP_TEST(no_programs),
	KTAP_TEST(recursion),
	KTAP_TEST(several_counters),
	KTAP_TEST(statistics),
	KTAP_TEST(rescheduling),
	KTAP_TEST(counts),
	KTAP_TEST(call_depth),
	KTAP_TEST(rcu_read_lock),
	KTAP_TEST(interpreter_argument),
	KTAP_TEST(cookies),
	KTAP_TEST(run_context_layouts),
	KTAP_TEST(function_address),
	KTAP_TEST(percpu_offsets),
	KTAP_TEST(muted_programs),
	KTAP_TEST(entry_patched),
};
KTAP_MAIN(tests)
