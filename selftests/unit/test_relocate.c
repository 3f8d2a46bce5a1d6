// SPDX-License-Identifier: GPL-2.0
/*
 * Relocation, executed: each form of instruction runs where it stands and then as its
 * copies, and the processor itself says what is right.
 */
#include <string.h>

#include "../lib/ktap.h"
#include "code.h"
#include "twice.h"

#define ARITHMETIC_FLAGS	0x8d5UL	/* OF SF ZF AF PF CF */

/* Begin with a code given as a string. */
#define BEGIN(t, code)	twice_begin(t, #code, code, sizeof(code) - 1)

static bool cpu_has_avx(void)
{
	return __builtin_cpu_supports("avx2");
}

/* Far targets for rel32, near ones for rel8, in both directions. */
static const u64 near_targets[] = { TWICE_CODE + 0x50, TWICE_CODE - 0x50 };
static const u64 far_targets[] = { TWICE_CODE + 0x50, TWICE_CODE - 0x50, TWICE_CODE + 0x4567,
				   TWICE_CODE - 0x4567 };

/*
 * No operand depends on the place: the copy is the same bytes. rsi and rdi point into
 * data, rsp to the middle of the stack.
 */
static void plain(void)
{
	static const struct code codes[] = {
		CODE("\x90"), CODE("\x0f\x1f\x44\x00\x00"), CODE("\xf3\x0f\x1e\xfa"),
		CODE("\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00"), CODE("\xf3\x90"),
		CODE("\x48\x89\xd8"), CODE("\x4d\x31\xc0"), CODE("\x48\x8b\x06"),
		CODE("\x48\x89\x5f\x08"), CODE("\x8b\x86\x00\x01\x00\x00"),
		CODE("\x48\xb8\1\2\3\4\5\6\7\x08"), CODE("\xc7\x07\1\2\3\4"),
		CODE("\x66\xc7\x47\x10\1\2"), CODE("\x80\x3e\x05"), CODE("\xf6\x06\x10"),
		/* what the kernel's own optimiser does not take everywhere */
		CODE("\x48\xc1\xe0\x05"), CODE("\xd1\xf8"), CODE("\x48\xd3\xe3"),
		CODE("\xf7\xd0"), CODE("\x48\xf7\xdb"), CODE("\xf7\xe3"), CODE("\x48\x0f\xaf\xd8"),
		CODE("\x6b\xc3\x11"), CODE("\x0f\x94\xc0"), CODE("\x48\x0f\x44\xc3"),
		CODE("\x0f\xba\xe0\x05"), CODE("\x48\x0f\xbc\xc3"), CODE("\x0f\xc8"),
		CODE("\xf0\x48\x0f\xb1\x1e"), CODE("\xf0\x48\x0f\xc1\x06"), CODE("\x48\x87\x1e"),
		CODE("\x0f\xa3\xc3"), CODE("\x48\x0f\xa4\xc3\x07"), CODE("\x99"), CODE("\x48\x98"),
		CODE("\x0f\xb6\x06"), CODE("\x48\x63\x06"), CODE("\x98"), CODE("\xf8"), CODE("\xf9"),
		CODE("\xfd"), CODE("\xfc"), CODE("\x9e"), CODE("\x9f"),
		/* the stack */
		CODE("\x53"), CODE("\x5b"), CODE("\x54"), CODE("\x41\x57"), CODE("\xff\x36"),
		CODE("\x8f\x07"), CODE("\x68\1\2\3\4"), CODE("\x6a\x80"), CODE("\x9c"),
		CODE("\x48\x83\xec\x18"), CODE("\x48\x8d\x64\x24\xf8"), CODE("\x48\x8b\x04\x24"),
		CODE("\xff\x74\x24\x08"), CODE("\x8f\x44\x24\x10"), CODE("\xc8\x20\x00\x00"),
		CODE("\x66\x50"),
		/* strings; SSE; 3-byte opcodes */
		CODE("\xa5"), CODE("\x48\xab"), CODE("\xa6"), CODE("\xac"),
		CODE("\x0f\x6e\xc3"), CODE("\xf3\x0f\x6f\x06"), CODE("\x0f\x11\x07"),
		CODE("\xf2\x48\x0f\x38\xf1\xc3"), CODE("\x66\x0f\x3a\x0f\xc1\x08"),
		CODE("\x0f\xae\xe8"), CODE("\x0f\xae\xf0"),
	};
	struct twice t;
	u32 i, f;

	for (i = 0; i < NR(codes); i++) {
		for (f = 0; f < 2; f++) {
			twice_begin(&t, hex(&codes[i]), codes[i].bytes, codes[i].len);
			t.flags |= f ? ARITHMETIC_FLAGS : 0;
			if (!twice_run(&t))
				return;
			CHECK_EQ(t.place, TWICE_BEHIND, "%s", t.name);
			CHECK(t.size == t.len && !memcmp(t.copy, t.code, t.len), "%s", t.name);
		}
	}
}

/* Those that need their registers to be just so. */
static void plain_with_setup(void)
{
	struct twice t;

	BEGIN(&t, "\xf3\xa4");				/* rep movsb */
	t.regs[RCX] = 300;
	CHECK(twice_run(&t) && t.out[RCX] == 0, "%s", t.name);

	BEGIN(&t, "\x5c");				/* pop rsp */
	twice_poke(&t, TWICE_STACK, TWICE_STACK + 0x100);
	CHECK(twice_run(&t) && t.out[RSP] == TWICE_STACK + 0x100, "%s", t.name);

	BEGIN(&t, "\xc9");				/* leave */
	t.regs[RBP] = TWICE_STACK + 0x40;
	CHECK(twice_run(&t) && t.out[RSP] == TWICE_STACK + 0x48, "%s", t.name);

	BEGIN(&t, "\xc8\x10\x00\x02");			/* enter, which copies a frame pointer */
	t.regs[RBP] = TWICE_STACK + 0x40;
	CHECK(twice_run(&t) && t.out[RSP] == TWICE_STACK - 8 - 16 - 16, "%s", t.name);

	BEGIN(&t, "\x9d");				/* popf */
	twice_poke(&t, TWICE_STACK, 0x202 | FLAG_CF | FLAG_ID);
	CHECK(twice_run(&t) && (t.out_flags & (FLAG_CF | FLAG_ID)) == (FLAG_CF | FLAG_ID), "%s",
	      t.name);

	BEGIN(&t, "\x48\x89\xc4");			/* mov rsp, rax */
	t.regs[RAX] = TWICE_STACK - 0x80;
	CHECK(twice_run(&t) && t.out[RSP] == TWICE_STACK - 0x80, "%s", t.name);

	BEGIN(&t, "\x48\xf7\xf3");			/* div rbx */
	t.regs[RDX] = 5;
	t.regs[RBX] = 0x1234567;
	CHECK(twice_run(&t) && t.out[RDX] < 0x1234567, "%s", t.name);

	BEGIN(&t, "\x48\xa1\1\2\3\4\5\6\7\x08");	/* mov rax, moffs */
	twice_put(&t, 2, 8, TWICE_DATA + 8);
	twice_poke(&t, TWICE_DATA + 8, 0xabcdef);
	CHECK(twice_run(&t) && t.out[RAX] == 0xabcdef, "%s", t.name);

	BEGIN(&t, "\x67\xa3\1\2\3\4");			/* mov moffs32, eax */
	twice_put(&t, 2, 4, TWICE_DATA + 8);
	CHECK(twice_run(&t) && t.size == t.len, "%s", t.name);

	BEGIN(&t, "\x8b\x04\x25\1\2\3\4");		/* mov eax, abs32 */
	twice_put(&t, 3, 4, TWICE_DATA + 16);
	twice_poke(&t, TWICE_DATA + 16, 0x12345);
	CHECK(twice_run(&t) && t.out[RAX] == 0x12345, "%s", t.name);
}

/* @off is where the displacement is. */
static const struct {
	struct code code;
	u32 off;
	bool avx;
} rip_operands[] = {
	{ CODE("\x48\x8d\x05\0\0\0\0"), 3, false },		/* lea rax */
	{ CODE("\x48\x8b\x1d\0\0\0\0"), 3, false },		/* load */
	{ CODE("\x44\x8b\x15\0\0\0\0"), 3, false },
	{ CODE("\x48\x89\x1d\0\0\0\0"), 3, false },		/* store */
	{ CODE("\x88\x1d\0\0\0\0"), 2, false },
	{ CODE("\xc7\x05\0\0\0\0\1\2\3\4"), 2, false },		/* imm32 behind it */
	{ CODE("\x48\xc7\x05\0\0\0\0\1\2\3\x84"), 3, false },
	{ CODE("\x66\xc7\x05\0\0\0\0\1\2"), 3, false },		/* imm16 */
	{ CODE("\xc6\x05\0\0\0\0\x55"), 2, false },		/* imm8 */
	{ CODE("\x83\x3d\0\0\0\0\x05"), 2, false },		/* cmp */
	{ CODE("\x48\x81\x05\0\0\0\0\1\2\3\4"), 3, false },	/* add */
	{ CODE("\xf6\x05\0\0\0\0\x10"), 2, false },		/* test */
	{ CODE("\x0f\xba\x2d\0\0\0\0\x05"), 3, false },		/* bts */
	{ CODE("\xc1\x25\0\0\0\0\x05"), 2, false },		/* shl */
	{ CODE("\x69\x1d\0\0\0\0\1\2\3\4"), 2, false },		/* imul */
	{ CODE("\xff\x05\0\0\0\0"), 2, false },			/* inc */
	{ CODE("\xf0\x48\xff\x0d\0\0\0\0"), 4, false },		/* lock dec */
	{ CODE("\xf0\x48\x0f\xb1\x1d\0\0\0\0"), 5, false },	/* lock cmpxchg */
	{ CODE("\xff\x35\0\0\0\0"), 2, false },			/* push */
	{ CODE("\x8f\x05\0\0\0\0"), 2, false },			/* pop */
	{ CODE("\x48\x87\x1d\0\0\0\0"), 3, false },		/* xchg */
	{ CODE("\x0f\xb6\x05\0\0\0\0"), 3, false },		/* movzx */
	{ CODE("\x48\x63\x05\0\0\0\0"), 3, false },		/* movsxd */
	{ CODE("\x48\x0f\x44\x1d\0\0\0\0"), 4, false },		/* cmove */
	{ CODE("\x0f\x94\x05\0\0\0\0"), 3, false },		/* sete */
	{ CODE("\x2e\x2e\x48\x8b\x05\0\0\0\0"), 5, false },
	{ CODE("\x41\x8b\x05\0\0\0\0"), 3, false },		/* REX.B does not count */
	{ CODE("\x0f\x1f\x05\0\0\0\0"), 3, false },		/* a NOP with an operand */
	{ CODE("\x67\x8d\x05\0\0\0\0"), 3, false },		/* relative to eip */
	{ CODE("\x67\x48\x8d\x05\0\0\0\0"), 4, false },
	{ CODE("\x67\x8b\x05\0\0\0\0"), 3, false },
	{ CODE("\x67\xc7\x05\0\0\0\0\1\2\3\4"), 3, false },
	{ CODE("\xf3\x0f\x6f\x05\0\0\0\0"), 4, false },		/* movdqu */
	{ CODE("\x0f\x11\x05\0\0\0\0"), 3, false },
	{ CODE("\x66\x0f\x3a\x16\x05\0\0\0\0\x01"), 5, false },	/* pextrd */
	{ CODE("\xf2\x48\x0f\x38\xf1\x1d\0\0\0\0"), 6, false },	/* crc32 */
	{ CODE("\xc5\xfe\x6f\x05\0\0\0\0"), 4, true },		/* vmovdqu */
	{ CODE("\xc5\xfe\x7f\x05\0\0\0\0"), 4, true },
	{ CODE("\xc4\xe3\x7d\x39\x05\0\0\0\0\x01"), 5, true },	/* vextracti128 */
	{ CODE("\xc4\xe2\xf0\xf2\x1d\0\0\0\0"), 5, true },	/* andn */
};

static void rip_relative(void)
{
	static const u64 words[] = { TWICE_DATA + 0x20, TWICE_DATA + 0x1ff0 };
	struct twice t;
	u32 i, w;

	for (i = 0; i < NR(rip_operands); i++) {
		const struct code *c = &rip_operands[i].code;

		for (w = 0; w < 2; w++) {
			/* room for the 32 bytes of the widest operand */
			u64 word = w ? words[w] - 16 : words[w];

			twice_begin(&t, hex(c), c->bytes, c->len);
			twice_rel(&t, rip_operands[i].off, 4, word);
			t.alien = rip_operands[i].avx && !cpu_has_avx();
			if (!twice_run(&t))
				return;
			CHECK_EQ(t.place, t.alien ? TWICE_NOWHERE : TWICE_BEHIND, "%s", t.name);
			CHECK_EQ(t.size, t.len, "%s", t.name);
		}
	}
	BEGIN(&t, "\x48\x8d\x05\0\0\0\0");
	twice_rel(&t, 3, 4, TWICE_DATA);
	CHECK(twice_run(&t) && t.out[RAX] == TWICE_DATA, "lea");
	/* its own address */
	BEGIN(&t, "\x48\x8d\x05\0\0\0\0");
	twice_rel(&t, 3, 4, TWICE_CODE);
	CHECK(twice_run(&t) && t.out[RAX] == TWICE_CODE, "lea");
}

/* A direct branch at every distance that it can go. */
static void run_branch(const char *code, u32 len, u32 off, void (*check)(const struct twice *t),
		       u64 flags, u64 rcx)
{
	u32 size = len - off, nr = size == 1 ? NR(near_targets) : NR(far_targets);
	const u64 *targets = size == 1 ? near_targets : far_targets;
	const struct code c = { code, len };
	struct twice t;
	u32 i;

	for (i = 0; i < nr; i++) {
		twice_begin(&t, hex(&c), code, len);
		twice_rel(&t, off, size, targets[i]);
		t.target = targets[i];
		t.flags |= flags;
		if (rcx)
			t.regs[RCX] = rcx - 1;
		if (twice_run(&t))
			check(&t);
	}
}

static void jumps(void)
{
	static const struct {
		struct code code;
		u32 off;
	} codes[] = {
		{ CODE("\xeb\x00"), 1 },
		{ CODE("\xe9\0\0\0\0"), 1 },
		{ CODE("\x2e\xe9\0\0\0\0"), 2 },
		{ CODE("\x48\xe9\0\0\0\0"), 2 },
		{ CODE("\x67\xeb\x00"), 2 },
		{ CODE("\xf2\xe9\0\0\0\0"), 2 },
		{ CODE("\xf2\xeb\x00"), 2 },
	};
	u32 i;

	for (i = 0; i < NR(codes); i++)
		run_branch(codes[i].code.bytes, codes[i].code.len, codes[i].off, twice_was_taken,
			   0, 0);
}

static u32 taken, not_taken;

static void count(const struct twice *t)
{
	CHECK(t->place == TWICE_TARGET || t->place == TWICE_BEHIND, "%s", t->name);
	taken += t->place == TWICE_TARGET;
	not_taken += t->place == TWICE_BEHIND;
}

/* Every condition, under every combination of the five flags that conditions look at. */
static void conditional_jumps(void)
{
	static const u64 bits[] = { 1 << 0, 1 << 2, 1 << 6, 1 << 7, 1 << 11 };
	u32 cc, set, i;

	for (cc = 0; cc < 16; cc++) {
		char rel8[] = { 0x70 | cc, 0 }, rel32[] = { 0x0f, 0x80 | cc, 0, 0, 0, 0 };
		char hint[] = { 0x3e, 0x0f, 0x80 | cc, 0, 0, 0, 0 };
		char bnd[] = { 0xf2, 0x70 | cc, 0 };

		taken = not_taken = 0;
		for (set = 0; set < 32; set++) {
			u64 flags = 0;

			for (i = 0; i < 5; i++)
				flags |= set & 1 << i ? bits[i] : 0;
			run_branch(rel8, sizeof(rel8), 1, count, flags, 0);
			run_branch(rel32, sizeof(rel32), 2, count, flags, 0);
			run_branch(hint, sizeof(hint), 3, count, flags, 0);
			run_branch(bnd, sizeof(bnd), 2, count, flags, 0);
			if (ktap_failures())
				return;
		}
		/* o, c, z, s, p halve them; be, l, le do not */
		CHECK(taken >= 64 && not_taken >= 64, "condition %u: %u taken, %u not", cc, taken,
		      not_taken);
		CHECK_EQ(taken + not_taken, 32 * 12, "condition %u", cc);
	}
}

static void loops(void)
{
	static const u64 counts[] = {
		0, 1, 2, 0x100000000, 0x100000001, 0xffffffff, 0xffffffff00000000, -1ULL - 1,
	};
	static const struct code codes[] = {
		CODE("\xe0\0"), CODE("\xe1\0"), CODE("\xe2\0"), CODE("\xe3\0"),
		CODE("\x67\xe0\0"), CODE("\x67\xe1\0"), CODE("\x67\xe2\0"), CODE("\x67\xe3\0"),
		CODE("\x48\xe2\0"), CODE("\x2e\xe3\0"),
	};
	u32 i, n, zf;

	for (i = 0; i < NR(codes); i++) {
		taken = not_taken = 0;
		for (n = 0; n < NR(counts); n++)
			for (zf = 0; zf < 2; zf++)
				run_branch(codes[i].bytes, codes[i].len, codes[i].len - 1, count,
					   zf ? 1 << 6 : 0, counts[n] + 1);
		CHECK(taken && not_taken, "%s: %u taken, %u not", hex(&codes[i]), taken, not_taken);
	}
}

static void calls(void)
{
	run_branch("\xe8\0\0\0\0", 5, 1, twice_was_called, 0, 0);
	run_branch("\xe8\0\0\0\0", 5, 1, twice_was_called, ARITHMETIC_FLAGS, 0);
	run_branch("\x2e\xe8\0\0\0\0", 6, 2, twice_was_called, 0, 0);
	run_branch("\x67\xe8\0\0\0\0", 6, 2, twice_was_called, 0, 0);
	run_branch("\x48\xe8\0\0\0\0", 6, 2, twice_was_called, 0, 0);
	run_branch("\xf2\xe8\0\0\0\0", 6, 2, twice_was_called, 0, 0);
}

static const struct ktap_test tests[] = {
	KTAP_TEST(plain),
	KTAP_TEST(plain_with_setup),
	KTAP_TEST(rip_relative),
	KTAP_TEST(jumps),
	KTAP_TEST(conditional_jumps),
	KTAP_TEST(loops),
	KTAP_TEST(calls),
};
KTAP_MAIN(tests)
