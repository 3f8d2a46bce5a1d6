// SPDX-License-Identifier: GPL-2.0
/*
 * Requests that the emitter of detours refuses, how it does that, and the limits it keeps.
 * Nothing is executed here, so addresses are those of a kernel.
 */
#include <string.h>

#include "../../kernel/x86/detour_image.h"
#include "../../kernel/x86/relocate.h"
#include "emission.h"

#define PROBED		(KERNEL + 0x200010)

static struct tramp_x86_detour_req req;
static struct tramp_x86_detour_out out;
static u32 call_off[2 * TRAMP_X86_MAX_PROGS];
static u8 code[TRAMP_X86_MAX_REGION + 1];

static enum tramp_x86_err emit_detour(u8 *to, size_t len, u64 addr)
{
	return tramp_x86_emit_detour(&req, to, len, addr, &out);
}

static const struct emission detour = { .emit = emit_detour, .size = &out.size };

/* A request with @nr programs in which nothing is wrong. */
static void good(u32 nr)
{
	u32 i;

	emission_begin(&detour);
	for (i = 0; i <= TRAMP_X86_MAX_PROGS; i++)
		calls[i].active = NEAR_PERCPU + 0x1000;
	/* mov %rbx, %rax; lea 0x1000(%rip), %rsi: 10 bytes */
	memset(code, 0xcc, sizeof(code));
	memcpy(code, "\x48\x89\xd8\x48\x8d\x35\x00\x10\x00\x00", 10);
	req = (struct tramp_x86_detour_req){
		.env = &env,
		.ip = PROBED,
		.code = code,
		.len = 10,
		.progs = calls,
		.nr_progs = nr,
		.regs = TRAMP_X86_REGS_ALL,
	};
	out = (struct tramp_x86_detour_out){ .call_off = call_off };
}

static void good_code(const char *bytes, u32 len)
{
	memset(code, 0xcc, sizeof(code));
	memcpy(code, bytes, len);
	req.len = len;
}

/* Space ------------------------------------------------------------------- */

static void no_space(void)
{
	static const u32 nr[] = { 0, 1, 5, 64 };
	u32 i;

	for (i = 0; i < sizeof(nr) / sizeof(nr[0]); i++) {
		good(nr[i]);
		emission_lengths();
	}
}

static void size_independent_of_address(void)
{
	static const u64 addr[] = {
		0, IMAGE, IMAGE + 1, IMAGE + 0x12345, KERNEL - 0x100000, KERNEL + 0x123456,
		0xffffffffffff0000,
	};
	static const char *const region[] = {
		"\x48\x89\xd8\x48\x8d\x35\0\x10\0\0", "\x48\x89\xd8\x90\x90\x90\x90\x90\x74\x10",
		"\x48\x89\xd8\x90\x90\xe8\0\x10\0\0", "\x48\x89\xd8\x90\x90\xe9\0\x10\0\0",
		"\xe2\x10\x90\x90\xff\x35\0\x10\0\0",
	};
	u32 i, j, size = 0;

	for (j = 0; j < sizeof(region) / sizeof(region[0]); j++) {
		for (i = 0; i < sizeof(addr) / sizeof(addr[0]); i++) {
			good(3);
			good_code(region[j], 10);
			CHECK_EQ(emit(addr[i]), TRAMP_X86_OK, "%#lx", (long)addr[i]);
			if (i)
				CHECK_EQ(out.size, size, "%#lx", (long)addr[i]);
			size = out.size;
		}
	}
}

/* Everything moved by the same distance: the same bytes, but for ip + 1. */
static void moved(void)
{
	static u8 first[MACHINE_ROOM];
	u32 i, n;

	for (n = 0; n < 4; n++) {
		u64 by = n * 0x123457;

		good(2);
		req.regs &= ~(1 << 16);
		req.ip += by;
		env.probe_enter = KERNEL + 0x8000 + by;
		env.probe_exit = KERNEL + 0x9000 + by;
		env.stats_key += by;
		env.stats_enter += by;
		env.stats_exit += by;
		env.missed += by;
		for (i = 0; i < 2; i++)
			calls[i].func += by;
		CHECK_EQ(emit(IMAGE + by), TRAMP_X86_OK, "");
		if (n == 0)
			memcpy(first, buf, sizeof(first));
		CHECK(buf[0] == 0x68 && !memcmp(first + 5, buf + 5, sizeof(first) - 5),
		      "moved by %#lx", (long)by);
	}
}

/* Reach ------------------------------------------------------------------- */

/* Every address that an image can refer to, but for those of the code. */
static void all_targets(void)
{
	good(2);
	env.probe_enter = KERNEL + 0x8000;
	env.probe_exit = KERNEL + 0x9000;
}

static void out_of_reach(void)
{
	u64 *const targets[] = {
		&env.stats_key, &env.stats_enter, &env.stats_exit, &env.missed,
		&env.probe_enter, &env.probe_exit, &calls[0].func, &calls[1].func,
	};

	emission_reach(all_targets, targets, sizeof(targets) / sizeof(targets[0]));
	CHECK_EQ(out.reloc, TRAMP_X86_RELOC_OK, "not an instruction's fault");
}

/* The image out of reach of the probe, or of what its instructions refer to. */
static void copy_out_of_reach(void)
{
	static const struct {
		const char *code;
		u32 len, at;
		u64 target;
	} far[] = {
		/* backwards by nearly 2 GiB, from an image further up */
		{ "\x48\x89\xd8\x48\x8d\x35\x00\x00\x00\x80", 10, 3, PROBED + 10 - 0x80000000ULL },
		{ "\x90\x90\xe9\x00\x00\x00\x80", 7, 2, PROBED + 7 - 0x80000000ULL },
		{ "\x90\x0f\x84\x00\x00\x00\x80", 7, 1, PROBED + 7 - 0x80000000ULL },
		{ "\xe8\x00\x00\x00\x80", 5, 0, PROBED + 5 - 0x80000000ULL },
		{ "\x48\x8d\x35\x00\x00\x00\x80\x48\x8d\x35\x00\x00\x00\x80", 14, 0, 0 },
		/* a call comes last, and gets where it leads */
		{ "\x0f\x84\x00\x00\x00\x80\xe8\x00\x00\x00\x01", 11, 0, 0 },
	};
	u32 i;

	for (i = 0; i < sizeof(far) / sizeof(far[0]); i++) {
		good(1);
		good_code(far[i].code, far[i].len);
		CHECK_EQ(emit(IMAGE), TRAMP_X86_OUT_OF_REACH, "case %u", i);
		CHECK_EQ(out.reloc, TRAMP_X86_RELOC_REACH, "case %u", i);
		CHECK_EQ(out.reloc_at, far[i].at, "case %u", i);
		CHECK(out.size, "case %u", i);
		CHECK(all_bytes(buf, MACHINE_ROOM, 0xcc), "code was left in the buffer");
		/* the same where it is near enough */
		CHECK_EQ(emit(PROBED - 0x100000), TRAMP_X86_OK, "case %u", i);
		CHECK_EQ(out.reloc, TRAMP_X86_RELOC_OK, "case %u", i);
		CHECK_EQ(emit(0), TRAMP_X86_OK, "case %u, measuring", i);
	}

	/* the jump back, without anything else that is far */
	good(0);
	good_code("\x90", 1);
	req.ip = 0x1000;
	CHECK_EQ(emit(IMAGE), TRAMP_X86_OK, "an address that is near through 2^64");
	req.ip = 0x3ffffff0;
	CHECK_EQ(emit(IMAGE - 0x80000000ULL), TRAMP_X86_OUT_OF_REACH, "the jump back");
	CHECK_EQ(out.reloc, TRAMP_X86_RELOC_OK, "");
}

/* Code -------------------------------------------------------------------- */

static void no_instruction(void)
{
	static const struct {
		const char *code;
		u32 len, at;
	} bad[] = {
		{ "\x06", 1, 0 },
		{ "\x90\x90\x06\x90\x90", 5, 2 },
		{ "\x48", 1, 0 },				/* cut short */
		{ "\x90\x48\x8d\x35\x00\x10", 6, 1 },
		{ "\x90\x90\x90\x90\xe9\x00\x00\x00", 8, 4 },
	};
	u32 i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		good(1);
		good_code(bad[i].code, bad[i].len);
		EXPECT(BAD_REQUEST, "case %u", i);
		CHECK_EQ(out.reloc, TRAMP_X86_RELOC_OK, "case %u", i);
		CHECK_EQ(out.reloc_at, bad[i].at, "case %u", i);
	}
}

static void not_relocatable(void)
{
	static const struct {
		const char *code;
		u32 len, at;
		enum tramp_x86_reloc why;
	} bad[] = {
		{ "\xcc", 1, 0, TRAMP_X86_RELOC_FIXED },
		{ "\xcd\x80", 2, 0, TRAMP_X86_RELOC_FIXED },
		{ "\x0f\x0b", 2, 0, TRAMP_X86_RELOC_FIXED },
		{ "\xf4", 1, 0, TRAMP_X86_RELOC_FIXED },
		{ "\x0f\x05", 2, 0, TRAMP_X86_RELOC_FIXED },
		{ "\x48\xcf", 2, 0, TRAMP_X86_RELOC_FIXED },
		{ "\x48\x89\xd8\x0f\x0b", 5, 3, TRAMP_X86_RELOC_FIXED },
		{ "\x90\x90\x90\x90\xcc", 5, 4, TRAMP_X86_RELOC_FIXED },
		{ "\xff\xd4", 2, 0, TRAMP_X86_RELOC_RSP },
		{ "\x90\x90\x90\xff\xd4", 5, 3, TRAMP_X86_RELOC_RSP },
	};
	u32 i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		good(1);
		good_code(bad[i].code, bad[i].len);
		EXPECT(BAD_REQUEST, "case %u", i);
		CHECK_EQ(out.reloc, bad[i].why, "case %u", i);
		CHECK_EQ(out.reloc_at, bad[i].at, "case %u", i);
	}
	/* with 32 bits exhausted, a return address behind the call is not among them */
	good(0);
	good_code("\xe8\x00\x00\x00\x00", 5);
	req.ip = 0x7ffffffc;
	EXPECT(BAD_REQUEST, "a return address that cannot be pushed");
	CHECK_EQ(out.reloc, TRAMP_X86_RELOC_RETURN, "");
}

/* A call in the middle would return into the jump at the probe. */
static void call_in_the_middle(void)
{
	good(1);
	good_code("\xff\xd0\x48\x89\xd8", 5);
	EXPECT(BAD_REQUEST, "call *%%rax, mov");
	CHECK_EQ(out.reloc, TRAMP_X86_RELOC_OK, "");
	CHECK_EQ(out.reloc_at, 0, "");
	good_code("\x90\xff\xd0\x48\x89\xd8", 6);
	EXPECT(BAD_REQUEST, "nop, call *%%rax, mov");
	CHECK_EQ(out.reloc_at, 1, "");
	good_code("\x90\xe8\0\0\0\0\x90", 7);
	EXPECT(BAD_REQUEST, "nop, call, nop");
	CHECK_EQ(out.reloc_at, 1, "");
	good_code("\x90\x90\x90\xff\xd0", 5);
	EXPECT(OK, "a call at the end");
}

/* Requests ---------------------------------------------------------------- */

#define BAD(what, change)							\
	do {									\
		good(3);							\
		calls[1].flags = TRAMP_X86_CALL_COOKIE;				\
		calls[2].flags = TRAMP_X86_CALL_IP | TRAMP_X86_CALL_NARGS;	\
		EXPECT(OK, "before: " what);					\
		change;								\
		EXPECT(BAD_REQUEST, what);					\
		CHECK_EQ(out.reloc, TRAMP_X86_RELOC_OK, what);			\
	} while (0)

static void bad_request(void)
{
	u32 i;

	BAD("no code", req.len = 0);
	BAD("20 bytes of code", req.len = TRAMP_X86_MAX_REGION + 1);
	BAD("2^32 - 1 bytes of code", req.len = ~0u);
	BAD("65 programs", req.nr_progs = 65);
	BAD("2^32 - 1 programs", req.nr_progs = ~0u);
	BAD("an address beyond imm32", req.ip = 0x7fffffff);
	BAD("an address before imm32", req.ip = 0xffffffff7ffffffe);
	BAD("an address of 48 bits", req.ip = 0x7f1234567890);
	for (i = 21; i < 32; i++)
		BAD("a member that pt_regs has not", req.regs |= 1u << i);
	BAD("no missed helper", env.missed = 0);
	BAD("no start of statistics", env.stats_enter = 0);
	BAD("no end of statistics", env.stats_exit = 0);
	BAD("rcu_read_lock only", env.rcu_read_lock = KERNEL);
	BAD("rcu_read_unlock only", env.rcu_read_unlock = KERNEL);
	BAD("probe_enter only", env.probe_enter = KERNEL);
	BAD("probe_exit only", env.probe_exit = KERNEL);
	BAD("no NMI count", env.nmi_count = 0);
	BAD("a negative NMI count", env.nmi_count = -1);
	for (i = 0; i < 3; i++) {
		BAD("no program", calls[i].func = 0);
		BAD("a program with kernel policy", calls[i].flags |= TRAMP_X86_CALL_GUARDED);
		BAD("a sleepable program", calls[i].flags |= TRAMP_X86_CALL_SLEEPABLE);
	}
	for (i = 6; i < 32; i++)
		BAD("unknown flag", calls[i % 3].flags |= 1u << i);
	BAD("run context of 0 bytes", env.trace_ctx_size = 0);
	BAD("run context of 20 bytes", env.trace_ctx_size = 20);
	BAD("run context of 72 bytes", env.trace_ctx_size = 72);
	BAD("run context of 2^32 - 8 bytes", env.trace_ctx_size = 0xfffffff8);
	BAD("cookie behind the run context", env.trace_ctx_cookie = 16);
	BAD("cookie partly behind the run context", env.trace_ctx_cookie = 9);
	BAD("cookie at 2^32 - 8", env.trace_ctx_cookie = 0xfffffff8);
	BAD("bpf_ctx at 2^31", env.task_bpf_ctx = 0x80000000);
}

/* Unused parts of a request may hold anything. */
static void unused_parts(void)
{
	good(1);
	req.regs = 1 << 14;
	env.run_ctx_size = env.run_ctx_cookie = env.run_ctx_saved = 0xffffffff;
	env.trace_ctx_size = env.trace_ctx_cookie = env.task_bpf_ctx = 0xffffffff;
	env.current_task = env.call_depth = env.return_thunk = 0xdeadbeefdeadbeef;
	memset(env.indirect_thunk, 0xff, sizeof(env.indirect_thunk));
	calls[0].enter = calls[0].exit = 1;
	out.call_off = NULL;
	EXPECT(OK, "one program without flags");

	good(0);
	memset(&env, 0xff, sizeof(env));	/* the code has nothing for thunks */
	req.progs = NULL;
	out.call_off = NULL;
	EXPECT(OK, "no programs");

	good(1);
	env.stats_key = env.stats_enter = env.stats_exit = env.resched = 0;
	EXPECT(OK, "a kernel without statistics and preemption");

	good(1);
	good_code("\xc3\x06\x06\x06\x06", 5);
	EXPECT(OK, "behind a return");
}

/* The ends of what a sign-extended imm32 can hold. */
static void first_and_last_address(void)
{
	static const u64 ip[] = {
		0xffffffff7fffffff, 0xffffffff80000000, 0xffffffffc0000000, 0xfffffffffffffff0,
		0x7ffffffe, 0x1000,
	};
	u32 i;

	for (i = 0; i < sizeof(ip) / sizeof(ip[0]); i++) {
		good(0);
		good_code("\x90", 1);
		req.ip = ip[i];
		CHECK_EQ(emit(ip[i] - 0x1000000), TRAMP_X86_OK, "%#lx", (long)ip[i]);
	}
}

/* Size -------------------------------------------------------------------- */

/* The bound that entry images have holds for detours as well. */
static void largest_image(void)
{
	u32 i, usual;

	good(TRAMP_X86_MAX_PROGS);
	EXPECT(OK, "64 programs");
	usual = out.size;

	good(TRAMP_X86_MAX_PROGS);
	env.trace_ctx_size = TRAMP_X86_MAX_RUN_CTX;
	env.trace_ctx_cookie = 56;
	env.task_bpf_ctx = 0x7fffffff;
	env.probe_enter = KERNEL + 0x8000;
	env.probe_exit = KERNEL + 0x9000;
	env.has_call_depth = true;
	/* no two of them within reach of each other */
	env.preempt_count = 0x100000000000;
	env.current_task = 0x200000000000;
	env.call_depth = 0x300000000000;
	for (i = 0; i < TRAMP_X86_MAX_PROGS; i++) {
		calls[i].flags = TRAMP_X86_CALL_COOKIE | TRAMP_X86_CALL_IP;
		calls[i].insns = 0xffffc90000012345;
		calls[i].cookie = 0x123456789abcdef;
		calls[i].active = FAR_PERCPU + ((u64)i << 33);
		calls[i].hits = 0x500000000000 + ((u64)i << 33);
	}
	/* the instruction that becomes most: four loops and a fifth */
	good_code("\x67\xe2\x10\x67\xe2\x10\x67\xe2\x10\x67\xe2\x10\x67\xe2\x10", 15);
	EXPECT(OK, "64 programs with everything");
	ktap_note("64 programs: %u bytes without any options, %u with all; the bound is %u", usual,
		  out.size, TRAMP_X86_MAX_IMAGE);
	CHECK(out.size <= TRAMP_X86_MAX_IMAGE, "%u bytes", out.size);
}

/* One program: what an attachment usually takes. */
static void usual_size(void)
{
	good(1);
	calls[0].flags = TRAMP_X86_CALL_COOKIE;
	calls[0].hits = FAR_PERCPU;
	EXPECT(OK, "one program");
	ktap_note("one program that reads all and its cookie: %u bytes", out.size);
	CHECK(out.size <= 512, "%u bytes", out.size);
}

static const struct ktap_test tests[] = {
	KTAP_TEST(no_space),
	KTAP_TEST(size_independent_of_address),
	KTAP_TEST(moved),
	KTAP_TEST(out_of_reach),
	KTAP_TEST(copy_out_of_reach),
	KTAP_TEST(no_instruction),
	KTAP_TEST(not_relocatable),
	KTAP_TEST(call_in_the_middle),
	KTAP_TEST(bad_request),
	KTAP_TEST(unused_parts),
	KTAP_TEST(first_and_last_address),
	KTAP_TEST(largest_image),
	KTAP_TEST(usual_size),
};
KTAP_MAIN(tests)
