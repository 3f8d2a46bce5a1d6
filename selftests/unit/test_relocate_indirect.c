// SPDX-License-Identifier: GPL-2.0
/*
 * Relocation, executed: indirect branches and returns, whose operand is a register, or
 * memory found in every way there is, the stack itself among them.
 */
#include <string.h>

#include "../lib/ktap.h"
#include "code.h"
#include "twice.h"

#define TARGET	(TWICE_CODE + 0x1230)

/* FF /2 and FF /4 through every register but rsp. */
static void indirect_registers(void)
{
	struct twice t;
	u32 r, prefix;

	for (r = 0; r < NR_REGS; r++) {
		if (r == RSP)
			continue;
		for (prefix = 0; prefix < 3; prefix++) {
			static const char prefixes[] = { 0x3e, 0xf2 };
			char code[4], *p = code;

			if (prefix)
				*p++ = prefixes[prefix - 1];
			if (r >= R8)
				*p++ = 0x41;
			*p++ = 0xff;
			*p++ = 0xd0 | (r & 7);
			twice_begin(&t, "call reg", code, p - code);
			t.regs[r] = t.target = TARGET;
			if (twice_run(&t))
				twice_was_called(&t);

			p[-1] = 0xe0 | (r & 7);
			twice_begin(&t, "jmp reg", code, p - code);
			t.regs[r] = t.target = TARGET;
			if (twice_run(&t))
				twice_was_taken(&t);
		}
	}
}

#define PTR	(TWICE_DATA + 0x100)	/* where a pointer to TARGET is */

/*
 * One indirect branch through memory, as a call (FF /2) and as a jump (FF /4). The offset of
 * ModRM is @off. Its operand is at @ptr, found by @reg = @value, if any.
 */
static void run_indirect(const char *code, u32 len, u32 off, u64 ptr, u32 reg, u64 value)
{
	const struct code c = { code, len };
	struct twice t;
	u32 jump;

	for (jump = 0; jump < 2; jump++) {
		twice_begin(&t, hex(&c), code, len);
		twice_put(&t, off, 1, ((u8)code[off] & ~0x38) | (jump ? 4 : 2) << 3);
		if ((code[off] & 0xc7) == 0x05)
			twice_rel(&t, off + 1, 4, ptr);
		if (reg < NR_REGS)
			t.regs[reg] = value;
		t.target = TARGET;
		twice_poke(&t, ptr, TARGET);
		if (!twice_run(&t))
			continue;
		if (jump)
			twice_was_taken(&t);
		else
			twice_was_called(&t);
	}
}

#define INDIRECT(code, off, ptr, reg, value) \
	run_indirect(code, sizeof(code) - 1, off, ptr, reg, value)

static void indirect_memory(void)
{
	INDIRECT("\xff\x13", 1, PTR, RBX, PTR);
	INDIRECT("\xff\x53\x08", 1, PTR, RBX, PTR - 8);
	INDIRECT("\xff\x53\xf8", 1, PTR, RBX, PTR + 8);
	INDIRECT("\xff\x93\x00\x10\x00\x00", 1, PTR, RBX, PTR - 0x1000);
	INDIRECT("\xff\x55\x00", 1, PTR, RBP, PTR);
	INDIRECT("\x41\xff\x55\x00", 2, PTR, R13, PTR);
	INDIRECT("\x41\xff\x14\x24", 2, PTR, R12, PTR);		/* r12 needs a SIB, too */
	INDIRECT("\x41\xff\x54\x24\x10", 2, PTR, R12, PTR - 16);
	INDIRECT("\x48\xff\x13", 2, PTR, RBX, PTR);
	INDIRECT("\x3e\xff\x13", 2, PTR, RBX, PTR);		/* notrack */
	INDIRECT("\xff\x14\xdd\x00\x01\xe1\x7f", 1, PTR, RBX, 0);	/* [rbx * 8 + disp32] */
	INDIRECT("\xff\x14\xde", 1, PTR, RBX, 0x100 / 8);	/* [rsi + rbx * 8] */
	INDIRECT("\xff\x54\xde\x10", 1, PTR, RBX, 0xf0 / 8);
	INDIRECT("\xff\x15\0\0\0\0", 1, PTR, NR_REGS, 0);	/* rip */
	INDIRECT("\x2e\xff\x15\0\0\0\0", 2, PTR, NR_REGS, 0);
	INDIRECT("\x67\xff\x15\0\0\0\0", 2, PTR, NR_REGS, 0);	/* eip */
	INDIRECT("\x67\xff\x13", 2, PTR, RBX, 0xabcdef0100000000 | PTR);
	INDIRECT("\xff\x14\x25\x00\x01\xe1\x7f", 1, PTR, NR_REGS, 0);	/* abs32 */
}

/* The push before the jump moves rsp. */
static void indirect_rsp(void)
{
	INDIRECT("\xff\x14\x24", 1, TWICE_STACK, NR_REGS, 0);
	INDIRECT("\xff\x54\x24\x00", 1, TWICE_STACK, NR_REGS, 0);
	INDIRECT("\xff\x54\x24\x08", 1, TWICE_STACK + 8, NR_REGS, 0);
	INDIRECT("\xff\x54\x24\x70", 1, TWICE_STACK + 0x70, NR_REGS, 0);
	INDIRECT("\xff\x54\x24\x77", 1, TWICE_STACK + 0x77, NR_REGS, 0);
	INDIRECT("\xff\x54\x24\x78", 1, TWICE_STACK + 0x78, NR_REGS, 0);	/* needs disp32 */
	INDIRECT("\xff\x54\x24\x7f", 1, TWICE_STACK + 0x7f, NR_REGS, 0);
	INDIRECT("\xff\x94\x24\x08\x00\x00\x00", 1, TWICE_STACK + 8, NR_REGS, 0);
	INDIRECT("\xff\x94\x24\x00\x02\x00\x00", 1, TWICE_STACK + 0x200, NR_REGS, 0);
	INDIRECT("\xff\x54\x24\xf0", 1, TWICE_STACK - 16, NR_REGS, 0);	/* just below the push */
	INDIRECT("\xff\x94\x24\x00\xff\xff\xff", 1, TWICE_STACK - 0x100, NR_REGS, 0);
	INDIRECT("\xff\x14\xdc", 1, TWICE_STACK + 0x40, RBX, 8);	/* [rsp + rbx * 8] */
	INDIRECT("\xff\x54\xdc\x08", 1, TWICE_STACK + 0x40, RBX, 7);
	INDIRECT("\xff\x54\xdc\xf8", 1, TWICE_STACK + 0x40, RBX, 9);
	INDIRECT("\x42\xff\x54\xe4\x08", 2, TWICE_STACK + 0x40, R12, 7);	/* r12 as the index */
	INDIRECT("\x48\xff\x54\x24\x08", 2, TWICE_STACK + 8, NR_REGS, 0);
	INDIRECT("\x67\xff\x54\x24\x08", 2, TWICE_STACK + 8, NR_REGS, 0);	/* esp */
	INDIRECT("\x3e\xff\x54\x24\x08", 2, TWICE_STACK + 8, NR_REGS, 0);
}

/* Through a per-CPU pointer, as paravirt calls and such may be. */
static void indirect_percpu(void)
{
	struct twice t;
	u64 off, *ptr;
	u32 jump;

	machine_init();
	ptr = machine_percpu(PERCPU_NEAR, 8, &off);
	*ptr = TARGET;
	for (jump = 0; jump < 2; jump++) {
		twice_begin(&t, "gs", "\x65\xff\x14\x25\0\0\0\0", 8);
		twice_put(&t, 2, 1, jump ? 0x24 : 0x14);
		twice_put(&t, 4, 4, off);
		t.target = TARGET;
		if (!twice_run(&t))
			continue;
		if (jump)
			twice_was_taken(&t);
		else
			twice_was_called(&t);
	}
}

static void returns(void)
{
	static const struct {
		struct code code;
		u32 pops;
	} codes[] = {
		{ CODE("\xc3"), 8 },
		{ CODE("\xf3\xc3"), 8 },
		{ CODE("\xf2\xc3"), 8 },
		{ CODE("\x48\xc3"), 8 },
		{ CODE("\xc2\x00\x00"), 8 },
		{ CODE("\xc2\x18\x00"), 32 },
	};
	struct twice t;
	u32 i;

	for (i = 0; i < NR(codes); i++) {
		twice_begin(&t, hex(&codes[i].code), codes[i].code.bytes, codes[i].code.len);
		t.target = TARGET;
		twice_poke(&t, TWICE_STACK, TARGET);
		if (!twice_run(&t))
			continue;
		twice_was_taken(&t);
		CHECK_EQ(t.out[RSP], TWICE_STACK + codes[i].pops, "%s", t.name);
		CHECK(t.size == t.len && !memcmp(t.copy, t.code, t.len), "%s", t.name);
	}
}

/* The jump that a copy ends in leads to a thunk. */
static void jumps_to(const struct twice *t, u64 thunk)
{
	u32 rel = (u32)(thunk - (TWICE_NEAR + t->size));

	CHECK(t->size >= 5 && t->copy[t->size - 5] == 0xe9 &&
	      !memcmp(t->copy + t->size - 4, &rel, 4), "%s", t->name);
}

/* Where branches have to go through thunks: the same happens, and by way of them. */
static void thunks(void)
{
	static const struct code rets[] = { CODE("\xc3"), CODE("\xf3\xc3"), CODE("\x48\xc3") };
	struct twice t;
	u32 r, i;

	machine_init();
	for (r = 0; r < NR_REGS; r++) {
		const char call[] = { r >= R8 ? 0x41 : 0x3e, 0xff, 0xd0 | (r & 7) };
		const char jump[] = { call[0], 0xff, 0xe0 | (r & 7) };

		if (r == RSP)
			continue;
		twice_begin(&t, "call reg", call, sizeof(call));
		machine_branch_thunks(&t.env);
		t.regs[r] = t.target = TARGET;
		if (twice_run(&t))
			twice_was_called(&t);
		jumps_to(&t, t.env.indirect_thunk[r]);

		twice_begin(&t, "jmp reg", jump, sizeof(jump));
		machine_branch_thunks(&t.env);
		t.regs[r] = t.target = TARGET;
		if (twice_run(&t))
			twice_was_taken(&t);
		jumps_to(&t, t.env.indirect_thunk[r]);
	}
	for (i = 0; i < NR(rets); i++) {
		twice_begin(&t, "ret", rets[i].bytes, rets[i].len);
		machine_branch_thunks(&t.env);
		t.target = TARGET;
		twice_poke(&t, TWICE_STACK, TARGET);
		if (twice_run(&t))
			twice_was_taken(&t);
		CHECK_EQ(t.out[RSP], TWICE_STACK + 8, "%s", hex(&rets[i]));
		jumps_to(&t, t.env.return_thunk);
	}
}

static const struct ktap_test tests[] = {
	KTAP_TEST(indirect_registers),
	KTAP_TEST(indirect_memory),
	KTAP_TEST(indirect_rsp),
	KTAP_TEST(indirect_percpu),
	KTAP_TEST(returns),
	KTAP_TEST(thunks),
};
KTAP_MAIN(tests)
