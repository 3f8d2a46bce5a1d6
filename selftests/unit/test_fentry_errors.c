// SPDX-License-Identifier: GPL-2.0
/*
 * Requests that the emitter refuses, how it does that, and the limits it keeps. Nothing is
 * executed here, so addresses are those of a kernel.
 */
#include <Zydis/Zydis.h>
#include <stdio.h>
#include <string.h>

#include "emission.h"

static struct tramp_x86_model model;
static struct tramp_x86_fentry_req req;
static u32 skip_off[TRAMP_X86_MAX_PROGS + 1], skip_to[TRAMP_X86_MAX_PROGS + 1];
static struct tramp_x86_fentry_out out;

static enum tramp_x86_err emit_fentry(u8 *to, size_t len, u64 addr)
{
	return tramp_x86_emit_fentry(&req, to, len, addr, &out);
}

static const struct emission fentry = { .emit = emit_fentry, .size = &out.size };

/* A request with @nr programs of each kind in which nothing is wrong. */
static void good(u32 nr_fentry, u32 nr_fmod_ret, u32 nr_fexit)
{
	u32 i;

	emission_begin(&fentry);
	for (i = 0; i <= TRAMP_X86_MAX_PROGS; i++) {
		calls[i].active = NEAR_PERCPU + 0x1000 + i * 0x10;
		calls[i].hits = NEAR_PERCPU + 0x1008 + i * 0x10;
		calls[i].enter = KERNEL + 0x6000;
		calls[i].exit = KERNEL + 0x7000;
	}
	model = (struct tramp_x86_model){ .nr_args = 3, .ret_size = 4, .arg_size = { 8, 16, 4 } };
	req = (struct tramp_x86_fentry_req){
		.env = &env,
		.model = &model,
		.func_addr = KERNEL + 0x200000,
		.orig = KERNEL + 0x200005,
		.inflight = NEAR_PERCPU + 16,
		.fentry = calls,
		.fmod_ret = calls + nr_fentry,
		.fexit = calls + nr_fentry + nr_fmod_ret,
		.nr_fentry = nr_fentry,
		.nr_fmod_ret = nr_fmod_ret,
		.nr_fexit = nr_fexit,
	};
	out = (struct tramp_x86_fentry_out){ .skip_off = skip_off, .skip_to = skip_to };
}

/* Space ------------------------------------------------------------------ */

static void no_space(void)
{
	static const u32 nr[][3] = { { 1, 0, 0 }, { 0, 0, 1 }, { 2, 2, 2 }, { 0, 64, 0 } };
	u32 i;

	for (i = 0; i < sizeof(nr) / sizeof(nr[0]); i++) {
		good(nr[i][0], nr[i][1], nr[i][2]);
		emission_lengths();
	}
}

static void size_independent_of_address(void)
{
	static const u64 addr[] = {
		0, IMAGE, IMAGE + 1, IMAGE + 0x12345, KERNEL - 0x100000, KERNEL + 0x123456,
		0xffffffffffff0000,
	};
	u32 i, size = 0;

	for (i = 0; i < sizeof(addr) / sizeof(addr[0]); i++) {
		good(2, 3, 4);
		CHECK_EQ(emit(addr[i]), TRAMP_X86_OK, "%#lx", (long)addr[i]);
		if (i)
			CHECK_EQ(out.size, size, "%#lx", (long)addr[i]);
		size = out.size;
	}
}

/* Everything moved by the same distance: the same bytes. */
static void moved(void)
{
	static u8 first[MACHINE_ROOM];
	u32 i, n;

	for (n = 0; n < 4; n++) {
		u64 by = n * 0x123457;

		good(2, 2, 2);
		env.rcu_read_lock = KERNEL + 0x8000 + by;
		env.rcu_read_unlock = KERNEL + 0x9000 + by;
		env.return_thunk = KERNEL + 0xa000 + by;
		calls[1].flags = calls[5].flags = TRAMP_X86_CALL_GUARDED;
		env.stats_key += by;
		env.stats_enter += by;
		env.stats_exit += by;
		env.resched += by;
		env.missed += by;
		req.orig += by;
		for (i = 0; i < 6; i++) {
			calls[i].func += by;
			calls[i].enter += by;
			calls[i].exit += by;
		}
		CHECK_EQ(emit(IMAGE + by), TRAMP_X86_OK, "");
		if (n == 0)
			memcpy(first, buf, sizeof(first));
		CHECK(!memcmp(first, buf, sizeof(first)), "moved by %#lx", (long)by);
	}
}

/* Reach ------------------------------------------------------------------ */

/* Every address that an image can refer to. */
static void all_targets(void)
{
	good(1, 1, 2);
	env.rcu_read_lock = KERNEL + 0x8000;
	env.rcu_read_unlock = KERNEL + 0x9000;
	env.return_thunk = KERNEL + 0xa000;
	calls[3].flags = TRAMP_X86_CALL_GUARDED;
}

static void out_of_reach(void)
{
	u64 *const targets[] = {
		&env.stats_key, &env.stats_enter, &env.stats_exit, &env.resched, &env.missed,
		&env.rcu_read_lock, &env.rcu_read_unlock, &env.return_thunk, &req.orig,
		&calls[0].func, &calls[1].func, &calls[2].func, &calls[3].func,
		&calls[3].enter, &calls[3].exit,
	};

	emission_reach(all_targets, targets, sizeof(targets) / sizeof(targets[0]));
}

/* The end of the instruction that refers to @target. */
static u32 find_reference(u64 target)
{
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction insn;
	ZydisDecoder decoder;
	u32 off, i, found = 0;
	ZyanU64 addr;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	for (off = 0; off < out.size; off += insn.length) {
		REQUIRE(ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, buf + off, out.size - off,
							    &insn, ops)), "at %#x", off);
		for (i = 0; i < insn.operand_count_visible; i++)
			if (ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&insn, &ops[i], IMAGE + off,
								  &addr)) && addr == target)
				found = off + insn.length;
	}
	return found;
}

/* To the byte: the last target in reach is reached, the next one is refused. */
static void reach_to_the_byte(void)
{
	u64 *target[] = { &calls[0].func, &req.orig, &env.stats_key, &env.return_thunk };
	u32 i, j, end;

	for (i = 0; i < sizeof(target) / sizeof(target[0]); i++) {
		for (j = 0; j < 2; j++) {
			u64 limit;

			good(0, 0, 1);
			env.return_thunk = KERNEL + 0xa000;
			if (i == 0)
				env.stats_key = 0;	/* one call of the program only */
			REQUIRE(emit(IMAGE) == TRAMP_X86_OK, "");
			end = find_reference(*target[i]);
			REQUIRE(end, "target %u is not referred to", i);

			limit = IMAGE + end + (j ? 0x7fffffffULL : -0x80000000ULL);
			*target[i] = limit;
			CHECK_EQ(emit(IMAGE), TRAMP_X86_OK, "target %u", i);
			CHECK_EQ(find_reference(limit), end, "target %u", i);
			*target[i] = limit + (j ? 1 : -1);
			CHECK_EQ(emit(IMAGE), TRAMP_X86_OUT_OF_REACH, "target %u", i);
		}
	}
}

/* Prototypes -------------------------------------------------------------- */

static void bad_model(void)
{
	u32 i, size;

	for (i = 0; i < TRAMP_X86_MAX_ARGS; i++) {
		for (size = 0; size < 256; size++) {
			good(1, 0, 1);
			model.nr_args = TRAMP_X86_MAX_ARGS;
			memset(model.arg_size, 8, sizeof(model.arg_size));
			model.arg_size[i] = size;
			if (size == 0 || size > 16)
				EXPECT(BAD_MODEL, "argument %u of size %u", i, size);
			else if (size > 8)
				EXPECT(TOO_MANY_SLOTS, "argument %u of size %u", i, size);
			else
				EXPECT(OK, "argument %u of size %u", i, size);
		}
	}
	for (size = 0; size < 256; size++) {
		good(1, 0, 1);
		model.ret_size = size;
		if (size > 8)
			EXPECT(BAD_MODEL, "result of size %u", size);
		else
			EXPECT(OK, "result of size %u", size);
	}
	for (i = TRAMP_X86_MAX_ARGS + 1; i < 256; i++) {
		good(1, 0, 0);
		memset(model.arg_size, 8, sizeof(model.arg_size));
		model.nr_args = i;
		EXPECT(TOO_MANY_SLOTS, "%u arguments", i);
	}
	/* what stands behind the arguments does not matter */
	good(1, 0, 0);
	model.nr_args = 0;
	memset(model.arg_size, 0xff, sizeof(model.arg_size));
	EXPECT(OK, "no arguments");
}

static void model_slots(void)
{
	static const struct {
		u8 nr, size[TRAMP_X86_MAX_ARGS];
		u32 slots, stack;
	} m[] = {
		{ 0, { 0 }, 0, 0 },
		{ 1, { 1 }, 1, 0 },
		{ 1, { 8 }, 1, 0 },
		{ 1, { 9 }, 2, 0 },
		{ 1, { 16 }, 2, 0 },
		{ 3, { 16, 16, 16 }, 6, 0 },
		{ 4, { 16, 16, 16, 16 }, 8, 2 },
		{ 6, { 8, 8, 8, 8, 8, 16 }, 7, 2 },
		{ 7, { 8, 8, 8, 8, 8, 16, 8 }, 8, 2 },
		{ 8, { 8, 8, 8, 8, 8, 16, 8, 8 }, 9, 3 },
		{ 9, { 8, 8, 8, 8, 8, 16, 16, 16, 8 }, 12, 6 },
		{ 12, { 1, 2, 4, 8, 1, 2, 4, 8, 1, 2, 4, 8 }, 12, 6 },
		{ 12, { 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16 }, 24, 18 },
	};
	u32 i, stack;

	for (i = 0; i < sizeof(m) / sizeof(m[0]); i++) {
		struct tramp_x86_model x = { .nr_args = m[i].nr };

		memcpy(x.arg_size, m[i].size, sizeof(x.arg_size));
		CHECK_EQ(tramp_x86_model_slots(&x, NULL, &stack), m[i].slots, "model %u", i);
		CHECK_EQ(stack, m[i].stack, "model %u", i);
		CHECK_EQ(tramp_x86_model_slots(&x, NULL, NULL), m[i].slots, "model %u", i);
	}
	for (i = TRAMP_X86_MAX_ARGS + 1; i < 256; i++) {
		struct tramp_x86_model x = { .nr_args = i };

		CHECK(tramp_x86_model_slots(&x, NULL, NULL) > 0, "");
		memset(x.arg_size, 8, sizeof(x.arg_size));
		CHECK(tramp_x86_model_slots(&x, NULL, &stack) > TRAMP_X86_MAX_SLOTS, "%u arguments", i);
	}
}

/* Requests ---------------------------------------------------------------- */

#define BAD(what, change)							\
	do {									\
		good(1, 1, 1);							\
		calls[1].flags = TRAMP_X86_CALL_GUARDED | TRAMP_X86_CALL_COOKIE; \
		calls[2].flags = TRAMP_X86_CALL_COOKIE;				\
		EXPECT(OK, "before: " what);					\
		change;								\
		EXPECT(BAD_REQUEST, what);					\
	} while (0)

static void bad_request(void)
{
	u32 i;

	BAD("no programs", req.nr_fentry = req.nr_fmod_ret = req.nr_fexit = 0);
	BAD("65 fentry", req.nr_fentry = 65);
	BAD("65 fmod_ret", req.nr_fmod_ret = 65);
	BAD("65 fexit", req.nr_fexit = 65);
	BAD("65 in all", req.nr_fentry = 63);
	BAD("2^32 - 1 fentry", req.nr_fentry = ~0u);
	BAD("a sum that overflows", req.nr_fentry = req.nr_fmod_ret = 0x80000000);
	BAD("no original", req.orig = 0);
	BAD("no missed helper", env.missed = 0);
	BAD("no start of statistics", env.stats_enter = 0);
	BAD("no end of statistics", env.stats_exit = 0);
	BAD("no rcu_watching", req.check_rcu = true);
	BAD("rcu_read_lock only", env.rcu_read_lock = KERNEL);
	BAD("rcu_read_unlock only", env.rcu_read_unlock = KERNEL);
	for (i = 0; i < 3; i++) {
		BAD("no program", calls[i].func = 0);
		BAD("sleepable without enter and exit",
		    calls[i].flags = TRAMP_X86_CALL_SLEEPABLE);
	}
	for (i = 6; i < 32; i++)
		BAD("unknown flag", calls[i % 3].flags |= 1u << i);
	BAD("no enter", calls[1].enter = 0);
	BAD("no exit", calls[1].exit = 0);
	BAD("run_ctx of 0 bytes", env.run_ctx_size = 0);
	BAD("run_ctx of 20 bytes", env.run_ctx_size = 20);
	BAD("run_ctx of 72 bytes", env.run_ctx_size = 72);
	BAD("run_ctx of 2^32 - 8 bytes", env.run_ctx_size = 0xfffffff8);
	BAD("cookie behind the run_ctx", env.run_ctx_cookie = 16);
	BAD("cookie partly behind the run_ctx", env.run_ctx_cookie = 9);
	BAD("cookie at 2^32 - 8", env.run_ctx_cookie = 0xfffffff8);
	BAD("saved behind the run_ctx", env.run_ctx_saved = 16);
	BAD("saved in place of the cookie", env.run_ctx_saved = env.run_ctx_cookie);
	BAD("saved partly over the cookie", env.run_ctx_saved = env.run_ctx_cookie + 7);
	BAD("saved at 2^32 - 1", env.run_ctx_saved = 0xffffffff);
	BAD("bpf_ctx at 2^31", env.task_bpf_ctx = 0x80000000);
}

/* Unused parts of a request may hold anything. */
static void unused_parts(void)
{
	good(1, 0, 0);
	req.orig = 0;
	req.inflight = 0xdeadbeefdeadbeef;
	req.fexit = req.fmod_ret = NULL;
	env.run_ctx_size = env.run_ctx_cookie = env.run_ctx_saved = env.task_bpf_ctx = 0xffffffff;
	env.current_task = env.call_depth = 0xdeadbeefdeadbeef;
	calls[0].enter = calls[0].exit = 1;
	out.skip_off = out.skip_to = NULL;
	EXPECT(OK, "an entry image");
	CHECK_EQ(out.after_call, 0, "");

	good(0, 0, 3);
	out.skip_off = out.skip_to = NULL;
	EXPECT(OK, "skip_off and skip_to not asked for");
	CHECK(out.after_call, "");

	good(1, 0, 0);
	env.stats_key = env.stats_enter = env.stats_exit = env.resched = 0;
	EXPECT(OK, "a kernel without statistics and preemption");
}

/* As many entries as there are exit programs, and no more. */
static void skip_arrays(void)
{
	u32 n, i;

	for (n = 0; n <= TRAMP_X86_MAX_PROGS; n++) {
		memset(skip_off, 0xee, sizeof(skip_off));
		memset(skip_to, 0xee, sizeof(skip_to));
		good(n == TRAMP_X86_MAX_PROGS ? 0 : 1, 0, n);
		EXPECT(OK, "%u exit programs", n);
		for (i = 0; i <= TRAMP_X86_MAX_PROGS; i++) {
			CHECK_EQ(skip_off[i] != 0xeeeeeeee, i < n, "skip_off[%u] of %u", i, n);
			CHECK_EQ(skip_to[i] != 0xeeeeeeee, i < n, "skip_to[%u] of %u", i, n);
		}
		for (i = 0; i < n; i++) {
			CHECK(skip_off[i] > out.after_call && skip_to[i] > skip_off[i] + 5,
			      "exit program %u", i);
			CHECK(i == 0 || skip_off[i] >= skip_to[i - 1], "exit program %u", i);
		}
	}
}

/* Size -------------------------------------------------------------------- */

static u32 largest_with(u32 kinds, u32 policies, bool call_depth, bool far)
{
	u32 n = TRAMP_X86_MAX_PROGS, i;

	good(kinds == 0 ? n : kinds == 3 ? n / 3 : 0, kinds == 1 ? n : kinds == 3 ? n / 3 : 0,
	     kinds == 2 ? n : kinds == 3 ? n - n / 3 * 2 : 0);
	model = (struct tramp_x86_model){
		.nr_args = 9, .ret_size = 8, .arg_size = { 8, 8, 8, 8, 8, 16, 16, 16, 8 },
	};
	req.func_addr = 0x123456789abcdef0;
	req.inflight = FAR_PERCPU;
	env.run_ctx_size = TRAMP_X86_MAX_RUN_CTX;
	env.run_ctx_cookie = 56;
	env.run_ctx_saved = 48;
	env.task_bpf_ctx = 0x7fffffff;
	env.rcu_read_lock = KERNEL + 0x8000;
	env.rcu_read_unlock = KERNEL + 0x9000;
	env.return_thunk = KERNEL + 0xa000;
	env.has_call_depth = call_depth;
	if (far) {
		/* no two of them within reach of each other */
		env.preempt_count = 0x100000000000;
		env.current_task = 0x200000000000;
		env.call_depth = 0x300000000000;
	}
	for (i = 0; i < n; i++) {
		calls[i].flags = TRAMP_X86_CALL_COOKIE | TRAMP_X86_CALL_IP;
		if (policies == 1 || (policies == 2 && i % 2))
			calls[i].flags |= TRAMP_X86_CALL_GUARDED | TRAMP_X86_CALL_SLEEPABLE;
		calls[i].insns = 0xffffc90000012345;
		calls[i].cookie = 0x123456789abcdef;
		if (far) {
			calls[i].active = FAR_PERCPU + ((u64)i << 33);
			calls[i].hits = 0x500000000000 + ((u64)i << 33);
		}
	}
	EXPECT(OK, "kinds %u, policies %u", kinds, policies);
	return out.size;
}

/* The bound holds whatever is asked for. Sessions take more: test_ends_errors.largest_image. */
static void largest_image(void)
{
	u32 kinds, policies, call_depth, far, size, largest = 0, usual = 0;

	for (kinds = 0; kinds < 4; kinds++)
		for (policies = 0; policies < 3; policies++)
			for (call_depth = 0; call_depth < 2; call_depth++)
				for (far = 0; far < 2; far++) {
					size = largest_with(kinds, policies, call_depth, far);
					if (size > largest)
						largest = size;
				}
	good(0, 0, TRAMP_X86_MAX_PROGS);
	EXPECT(OK, "64 exit programs");
	usual = out.size;
	ktap_note("64 programs: %u bytes without any options, %u with all; the bound is %u", usual,
		  largest, TRAMP_X86_MAX_IMAGE);
	CHECK(largest <= TRAMP_X86_MAX_IMAGE, "%u bytes", largest);
}

static const struct ktap_test tests[] = {
	KTAP_TEST(no_space),
	KTAP_TEST(size_independent_of_address),
	KTAP_TEST(moved),
	KTAP_TEST(out_of_reach),
	KTAP_TEST(reach_to_the_byte),
	KTAP_TEST(bad_model),
	KTAP_TEST(model_slots),
	KTAP_TEST(bad_request),
	KTAP_TEST(unused_parts),
	KTAP_TEST(skip_arrays),
	KTAP_TEST(largest_image),
};
KTAP_MAIN(tests)
