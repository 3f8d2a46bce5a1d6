// SPDX-License-Identifier: GPL-2.0
/*
 * Relocation where it ends: what is refused, what is out of reach, sizes and bounds.
 * At addresses of a kernel, so nothing is executed here.
 */
#include <string.h>

#include "../../kernel/x86/fentry_image.h"
#include "../../kernel/x86/relocate.h"
#include "../lib/ktap.h"
#include "code.h"
#include "machine.h"

#define TEXT	0xffffffff81234567ULL	/* where instructions stand */
#define IMAGE	0xffffffffc0123450ULL	/* where copies go: module space */
#define CANARY	0x5e

static u8 buf[64];
static struct tasm a;
static struct tramp_x86_env env;

/* Relocate one from @ip to @addr. */
static enum tramp_x86_reloc relocate(const struct code *c, u64 ip, u64 addr)
{
	struct tramp_x86_insn insn;

	REQUIRE(tramp_x86_decode((const u8 *)c->bytes, c->len, &insn) && insn.len == c->len, "%s",
		hex(c));
	memset(buf, CANARY, sizeof(buf));
	a = (struct tasm){ .buf = buf, .len = sizeof(buf), .addr = addr };
	return tramp_x86_relocate(&a, &insn, ip, &env);
}

/* One of each form that there is, and what it becomes in module space. */
static const struct {
	struct code code, copy;
} forms[] = {
	{ CODE("\x90"), CODE("\x90") },
	{ CODE("\xfa"), CODE("\xfa") },
	{ CODE("\xfb"), CODE("\xfb") },
	{ CODE("\x9c"), CODE("\x9c") },
	{ CODE("\x9d"), CODE("\x9d") },
	{ CODE("\x0f\x01\xf8"), CODE("\x0f\x01\xf8") },
	{ CODE("\x0f\x22\xd8"), CODE("\x0f\x22\xd8") },
	{ CODE("\xf3\x0f\x1e\xfa"), CODE("\xf3\x0f\x1e\xfa") },
	{ CODE("\xc3"), CODE("\xc3") },
	{ CODE("\xff\xe4"), CODE("\xff\xe4") },			/* jmp rsp: nothing is pushed */
	{ CODE("\xff\x64\x24\xf8"), CODE("\xff\x64\x24\xf8") },
	{ CODE("\xff\xe0"), CODE("\xff\xe0") },
	/* jmp to TEXT + 7 and TEXT + 0x15; IMAGE is 0x3eeeeee9 further up */
	{ CODE("\xeb\x05"), CODE("\xe9\x19\x11\x11\xc1") },
	{ CODE("\xe9\x10\0\0\0"), CODE("\xe9\x27\x11\x11\xc1") },
	{ CODE("\xf2\xe9\x0f\0\0\0"), CODE("\xf2\xe9\x26\x11\x11\xc1") },
	{ CODE("\x74\x05"), CODE("\x0f\x84\x18\x11\x11\xc1") },
	{ CODE("\x0f\x8f\x0f\0\0\0"), CODE("\x0f\x8f\x26\x11\x11\xc1") },
	{ CODE("\x3e\x7f\x04"), CODE("\x0f\x8f\x18\x11\x11\xc1") },
	{ CODE("\xe2\x05"), CODE("\xe2\x02\xeb\x05\xe9\x15\x11\x11\xc1") },
	{ CODE("\x67\xe3\x04"), CODE("\x67\xe3\x02\xeb\x05\xe9\x14\x11\x11\xc1") },
	/* the pushed addresses are TEXT + 5, TEXT + 2, TEXT + 4, TEXT + 7 */
	{ CODE("\xe8\x10\0\0\0"), CODE("\x68\x6c\x45\x23\x81\xe9\x22\x11\x11\xc1") },
	{ CODE("\xff\xd0"), CODE("\x68\x69\x45\x23\x81\xff\xe0") },
	{ CODE("\xff\x54\x24\x08"), CODE("\x68\x6b\x45\x23\x81\xff\x64\x24\x10") },
	{ CODE("\xff\x54\x24\x78"), CODE("\x68\x6b\x45\x23\x81\xff\xa4\x24\x80\0\0\0") },
	{ CODE("\xff\x14\x24"), CODE("\x68\x6a\x45\x23\x81\xff\x64\x24\x08") },
	{ CODE("\xff\x94\x24\x08\0\0\0"), CODE("\x68\x6e\x45\x23\x81\xff\xa4\x24\x10\0\0\0") },
	{ CODE("\xff\x15\x10\0\0\0"), CODE("\x68\x6d\x45\x23\x81\xff\x25\x22\x11\x11\xc1") },
	/* an operand at TEXT + 0x17, and one at TEXT + 0x1b with an immediate behind it */
	{ CODE("\x48\x8b\x05\x10\0\0\0"), CODE("\x48\x8b\x05\x27\x11\x11\xc1") },
	{ CODE("\x48\xc7\x05\x10\0\0\0\1\2\3\4"), CODE("\x48\xc7\x05\x27\x11\x11\xc1\1\2\3\4") },
	{ CODE("\x67\x8b\x05\x10\0\0\0"), CODE("\x67\x8b\x05\x27\x11\x11\xc1") },
};

static void kernel_addresses(void)
{
	u32 i;

	for (i = 0; i < NR(forms); i++) {
		const struct code *copy = &forms[i].copy;

		CHECK_EQ(relocate(&forms[i].code, TEXT, IMAGE), TRAMP_X86_RELOC_OK, "%s",
			 hex(&forms[i].code));
		CHECK(a.off == copy->len && !memcmp(buf, copy->bytes, copy->len), "%s",
		      hex(&forms[i].code));
	}
}

static void refused(void)
{
	static const struct {
		enum tramp_x86_reloc why;
		struct code code;
	} codes[] = {
		{ TRAMP_X86_RELOC_FIXED, CODE("\xcc") },
		{ TRAMP_X86_RELOC_FIXED, CODE("\xcd\x80") },
		{ TRAMP_X86_RELOC_FIXED, CODE("\xf1") },
		{ TRAMP_X86_RELOC_FIXED, CODE("\x0f\x0b") },
		{ TRAMP_X86_RELOC_FIXED, CODE("\x0f\x0bxen\x0f\xa2") },
		{ TRAMP_X86_RELOC_FIXED, CODE("\x0f\xb9\xc1") },
		{ TRAMP_X86_RELOC_FIXED, CODE("\x0f\xff\xc1") },
		{ TRAMP_X86_RELOC_FIXED, CODE("\x48\xcf") },
		{ TRAMP_X86_RELOC_FIXED, CODE("\x0f\x05") },
		{ TRAMP_X86_RELOC_FIXED, CODE("\x48\x0f\x07") },
		{ TRAMP_X86_RELOC_FIXED, CODE("\x0f\x34") },
		{ TRAMP_X86_RELOC_FIXED, CODE("\x0f\x35") },
		{ TRAMP_X86_RELOC_FIXED, CODE("\xf4") },
		{ TRAMP_X86_RELOC_FIXED, CODE("\x8e\xd0") },
		{ TRAMP_X86_RELOC_FIXED, CODE("\xc7\xf8\1\2\3\4") },
		{ TRAMP_X86_RELOC_FIXED, CODE("\xcb") },
		{ TRAMP_X86_RELOC_FIXED, CODE("\xff\x2b") },
		{ TRAMP_X86_RELOC_FIXED, CODE("\x66\xe9\1\2\3\4") },
		{ TRAMP_X86_RELOC_FIXED, CODE("\x66\xff\xd0") },
		{ TRAMP_X86_RELOC_FIXED, CODE("\x66\xc3") },
		{ TRAMP_X86_RELOC_RSP, CODE("\xff\xd4") },			/* call rsp */
		{ TRAMP_X86_RELOC_RSP, CODE("\xff\x54\x24\xff") },		/* where the push */
		{ TRAMP_X86_RELOC_RSP, CODE("\xff\x54\x24\xf8") },		/* writes */
		{ TRAMP_X86_RELOC_RSP, CODE("\xff\x54\x24\xf1") },
		{ TRAMP_X86_RELOC_RSP, CODE("\xff\x94\x24\xf8\xff\xff\xff") },
		{ TRAMP_X86_RELOC_RSP, CODE("\xff\x94\x24\xf8\xff\xff\x7f") },	/* no room above */
		{ TRAMP_X86_RELOC_OK, CODE("\xff\x94\x24\xf7\xff\xff\x7f") },
		{ TRAMP_X86_RELOC_OK, CODE("\xff\x54\x24\xf0") },
		{ TRAMP_X86_RELOC_OK, CODE("\x41\xff\xd4") },			/* call r12 */
		/* prefixes that leave no byte for a displacement, or just enough */
		{ TRAMP_X86_RELOC_RSP, CODE("\x3e\x3e\x3e\x3e\x3e\x3e\x3e\x3e\x3e\x3e\x3e\x3e"
					    "\xff\x14\x24") },
		{ TRAMP_X86_RELOC_OK, CODE("\x3e\x3e\x3e\x3e\x3e\x3e\x3e\x3e\x3e\x3e\x3e"
					   "\xff\x14\x24") },
		{ TRAMP_X86_RELOC_RSP, CODE("\x3e\x3e\x3e\x3e\x3e\x3e\x3e\x3e\x3e"
					    "\xff\x54\x24\x78") },
		{ TRAMP_X86_RELOC_OK, CODE("\x3e\x3e\x3e\x3e\x3e\x3e\x3e\x3e"
					   "\xff\x54\x24\x78") },
	};
	u32 i, k;

	for (i = 0; i < NR(codes); i++) {
		CHECK_EQ(relocate(&codes[i].code, TEXT, IMAGE), codes[i].why, "%s",
			 hex(&codes[i].code));
		CHECK(!a.out_of_reach, "%s", hex(&codes[i].code));
		if (codes[i].why == TRAMP_X86_RELOC_OK)
			continue;
		CHECK_EQ(a.off, 0, "%s", hex(&codes[i].code));
		for (k = 0; k < sizeof(buf); k++)
			CHECK(buf[k] == CANARY, "%s", hex(&codes[i].code));
	}
}

#define THUNKS	0xffffffff82000020ULL

/* The kernel's thunks, 64 bytes apart; that for returns behind the others. None for rsp. */
static void set_thunks(void)
{
	u32 reg;

	env.has_indirect_thunks = true;
	for (reg = 0; reg < 16; reg++)
		env.indirect_thunk[reg] = reg == RSP ? 0 : THUNKS + 64 * reg;
	env.return_thunk = THUNKS + 64 * 16;
}

/* Returns and indirect branches where they have to go through thunks. */
static void thunks(void)
{
	static const struct {
		enum tramp_x86_reloc why;
		struct code code;
		s32 thunk, pushed;	/* number of the thunk; what a call adds to TEXT */
	} codes[] = {
		{ TRAMP_X86_RELOC_OK, CODE("\xc3"), 16, 0 },
		{ TRAMP_X86_RELOC_OK, CODE("\xf3\xc3"), 16, 0 },
		{ TRAMP_X86_RELOC_OK, CODE("\xf2\xc3"), 16, 0 },
		{ TRAMP_X86_RELOC_OK, CODE("\x48\xc3"), 16, 0 },
		{ TRAMP_X86_RELOC_OK, CODE("\xff\xe0"), RAX, 0 },
		{ TRAMP_X86_RELOC_OK, CODE("\x3e\xff\xe7"), RDI, 0 },
		{ TRAMP_X86_RELOC_OK, CODE("\x41\xff\xe4"), R12, 0 },
		{ TRAMP_X86_RELOC_OK, CODE("\x48\xff\xe5"), RBP, 0 },
		{ TRAMP_X86_RELOC_OK, CODE("\xff\xd0"), RAX, 2 },
		{ TRAMP_X86_RELOC_OK, CODE("\x2e\x41\xff\xd3"), R11, 4 },
		{ TRAMP_X86_RELOC_FIXED, CODE("\xc2\x00\x00"), 0, 0 },
		{ TRAMP_X86_RELOC_FIXED, CODE("\xc2\x08\x00"), 0, 0 },
		{ TRAMP_X86_RELOC_FIXED, CODE("\xff\xe4"), 0, 0 },
		{ TRAMP_X86_RELOC_FIXED, CODE("\xff\x20"), 0, 0 },
		{ TRAMP_X86_RELOC_FIXED, CODE("\xff\x10"), 0, 0 },
		{ TRAMP_X86_RELOC_FIXED, CODE("\xff\x25\0\0\0\0"), 0, 0 },
		{ TRAMP_X86_RELOC_FIXED, CODE("\xff\x15\0\0\0\0"), 0, 0 },
		{ TRAMP_X86_RELOC_FIXED, CODE("\xff\x14\x24"), 0, 0 },
		{ TRAMP_X86_RELOC_FIXED, CODE("\xff\x54\x24\xf0"), 0, 0 },
		{ TRAMP_X86_RELOC_RSP, CODE("\xff\xd4"), 0, 0 },
		{ TRAMP_X86_RELOC_FIXED, CODE("\x66\xc3"), 0, 0 },
	};
	u32 i, rel, at;

	set_thunks();
	for (i = 0; i < NR(codes); i++) {
		CHECK_EQ(relocate(&codes[i].code, TEXT, IMAGE), codes[i].why, "%s",
			 hex(&codes[i].code));
		at = a.off - 5;
		if (codes[i].why != TRAMP_X86_RELOC_OK) {
			CHECK(!a.off && buf[0] == CANARY, "%s", hex(&codes[i].code));
			continue;
		}
		rel = (u32)(THUNKS + 64 * codes[i].thunk - (IMAGE + a.off));
		CHECK(a.off == (codes[i].pushed ? 10 : 5) && buf[at] == 0xe9 &&
		      !memcmp(buf + at + 1, &rel, 4), "%s", hex(&codes[i].code));
		if (codes[i].pushed) {
			u32 to = (u32)TEXT + codes[i].pushed;

			CHECK(buf[0] == 0x68 && !memcmp(buf + 1, &to, 4), "%s",
			      hex(&codes[i].code));
		}
		/* as large when it is measured; out of reach is noticed */
		CHECK_EQ(relocate(&codes[i].code, TEXT, 0), TRAMP_X86_RELOC_OK, "%s",
			 hex(&codes[i].code));
		CHECK_EQ(a.off, at + 5, "%s", hex(&codes[i].code));
		CHECK_EQ(relocate(&codes[i].code, TEXT, IMAGE - 0x100000000), TRAMP_X86_RELOC_REACH,
			 "%s", hex(&codes[i].code));
		CHECK_EQ(a.off, at + 5, "%s", hex(&codes[i].code));
	}
	/* one without the other */
	env.has_indirect_thunks = false;
	CHECK_EQ(relocate(&codes[13].code, TEXT, IMAGE), TRAMP_X86_RELOC_OK, "jmp *(%%rax)");
	CHECK_EQ(relocate(&codes[10].code, TEXT, IMAGE), TRAMP_X86_RELOC_FIXED, "ret 0");
	set_thunks();
	env.return_thunk = 0;
	CHECK_EQ(relocate(&codes[13].code, TEXT, IMAGE), TRAMP_X86_RELOC_FIXED, "jmp *(%%rax)");
	CHECK_EQ(relocate(&codes[10].code, TEXT, IMAGE), TRAMP_X86_RELOC_OK, "ret 0");
	env = (struct tramp_x86_env){ 0 };
}

/* Where the kernel counts calls, each makes an entry in the return stack; nothing else changes. */
static void call_depth(void)
{
#define CALL_STORE(low)	"\xe8\1\0\0\0\xcc\x48\xc7\x04\x24" low "\x45\x23\x81"
	static const struct {
		struct code code, copy;
	} calls[] = {
		{ CODE("\xe8\x10\0\0\0"), CODE(CALL_STORE("\x6c") "\xe9\x19\x11\x11\xc1") },
		{ CODE("\xff\xd0"), CODE(CALL_STORE("\x69") "\xff\xe0") },
		{ CODE("\xff\x54\x24\x08"), CODE(CALL_STORE("\x6b") "\xff\x64\x24\x10") },
		{ CODE("\xff\x15\x10\0\0\0"),
		  CODE(CALL_STORE("\x6d") "\xff\x25\x19\x11\x11\xc1") },
	};
	static const struct code ret = CODE("\xc3");
	u32 i;

	env.has_call_depth = true;
	for (i = 0; i < NR(calls); i++) {
		const struct code *copy = &calls[i].copy;

		CHECK_EQ(relocate(&calls[i].code, TEXT, IMAGE), TRAMP_X86_RELOC_OK, "%s",
			 hex(&calls[i].code));
		CHECK(a.off == copy->len && a.off <= TRAMP_X86_MAX_RELOCATED &&
		      !memcmp(buf, copy->bytes, copy->len), "%s", hex(&calls[i].code));
		CHECK_EQ(relocate(&calls[i].code, TEXT, 0), TRAMP_X86_RELOC_OK, "%s",
			 hex(&calls[i].code));
		CHECK_EQ(a.off, copy->len, "%s", hex(&calls[i].code));
	}
	for (i = 0; i < NR(forms); i++) {
		const struct code *copy = &forms[i].copy;

		relocate(&forms[i].code, TEXT, IMAGE);
		if (copy->bytes[0] != 0x68)
			CHECK(a.off == copy->len && !memcmp(buf, copy->bytes, copy->len), "%s",
			      hex(&forms[i].code));
		else
			CHECK_EQ(a.off, copy->len + 9, "%s", hex(&forms[i].code));
	}
	/* and through a thunk */
	set_thunks();
	relocate(&calls[1].code, TEXT, IMAGE);
	CHECK(a.off == 19 && buf[0] == 0xe8 && buf[14] == 0xe9, "call *%%rax");
	/* a plain return is none that is counted */
	CHECK_EQ(relocate(&ret, TEXT, IMAGE), TRAMP_X86_RELOC_OK, "ret");
	CHECK(a.off == 1 && buf[0] == 0xc3, "ret");
	env = (struct tramp_x86_env){ 0 };
}

/* push sign-extends 32 bits: return addresses are within 2 GiB of 0, on either side. */
static void return_addresses(void)
{
	static const struct code calls[] = { CODE("\xe8\1\2\3\4"), CODE("\xff\xd0"),
					     CODE("\xff\x15\1\2\3\4") };
	static const u64 good[] = { 0x1000, 0x7fffffff, -0x80000000ULL, -1ULL };
	static const u64 bad[] = { 0x80000000, 0xffffffff, 0x100000000, -0x80000001ULL,
				   0x8000000000000000, 0x4000000000 };
	u32 c, i;

	for (c = 0; c < NR(calls); c++) {
		for (i = 0; i < NR(good); i++) {
			u64 ip = good[i] - calls[c].len;

			CHECK_EQ(relocate(&calls[c], ip, ip + 0x1000), TRAMP_X86_RELOC_OK,
				 "%sreturning to %#lx", hex(&calls[c]), good[i]);
			CHECK(buf[0] == 0x68 && !memcmp(buf + 1, &good[i], 4), "%#lx", good[i]);
		}
		for (i = 0; i < NR(bad); i++) {
			u64 ip = bad[i] - calls[c].len;

			CHECK_EQ(relocate(&calls[c], ip, ip + 0x1000), TRAMP_X86_RELOC_RETURN,
				 "%sreturning to %#lx", hex(&calls[c]), bad[i]);
			CHECK_EQ(a.off, 0, "%s", hex(&calls[c]));
		}
	}
}

/* @end is how far the displacement's field ends from the end of the copy. */
static const struct {
	struct code code;
	u32 size, end;
} reaching[] = {
	{ CODE("\xeb\x00"), 5, 0 },
	{ CODE("\xe9\0\0\0\0"), 5, 0 },
	{ CODE("\x74\x00"), 6, 0 },
	{ CODE("\x0f\x84\0\0\0\0"), 6, 0 },
	{ CODE("\xe2\x00"), 9, 0 },
	{ CODE("\xe8\0\0\0\0"), 10, 0 },
	{ CODE("\x8b\x05\0\0\0\0"), 6, 0 },
	{ CODE("\xc7\x05\0\0\0\0\1\2\3\4"), 10, 4 },
	{ CODE("\xc6\x05\0\0\0\0\1"), 7, 1 },
	{ CODE("\xff\x15\0\0\0\0"), 11, 0 },
	{ CODE("\xff\x25\0\0\0\0"), 6, 0 },
};

/* The farthest places that rel32 leads from, one byte further, and much further. */
static void reach(void)
{
	u32 i;

	for (i = 0; i < NR(reaching); i++) {
		const struct code *c = &reaching[i].code;
		u64 target = TEXT + c->len;
		/* from the end of the copy */
		u64 low = target - 0x7fffffff - reaching[i].size;
		u64 high = target + 0x80000000 - reaching[i].size;
		const u64 out[] = { low - 1, high + 1, low - 0x100000000, high + 0x10000000000 };
		u32 k;

		CHECK_EQ(relocate(c, TEXT, low), TRAMP_X86_RELOC_OK, "%s", hex(c));
		CHECK(!a.out_of_reach && a.off == reaching[i].size, "%s", hex(c));
		CHECK(!memcmp(buf + a.off - reaching[i].end - 4, "\xff\xff\xff\x7f", 4), "%s", hex(c));
		CHECK_EQ(relocate(c, TEXT, high), TRAMP_X86_RELOC_OK, "%s", hex(c));
		CHECK(!a.out_of_reach && a.off == reaching[i].size, "%s", hex(c));
		CHECK(!memcmp(buf + a.off - reaching[i].end - 4, "\0\0\0\x80", 4), "%s", hex(c));
		for (k = 0; k < NR(out); k++) {
			CHECK_EQ(relocate(c, TEXT, out[k]), TRAMP_X86_RELOC_REACH, "%s", hex(c));
			CHECK(a.out_of_reach, "%s", hex(c));
			CHECK_EQ(a.off, reaching[i].size, "%s", hex(c));
		}
	}
}

/* An address of 32 bits wraps around: everything is within reach. */
static void reach_of_eip(void)
{
	static const struct code lea = CODE("\x67\x8d\x05\x10\0\0\0");
	static const u64 places[] = { TEXT + 0x80000000, TEXT - 0x7fffffff00, 0x1000 };
	u32 i, disp;

	for (i = 0; i < NR(places); i++) {
		CHECK_EQ(relocate(&lea, TEXT, places[i]), TRAMP_X86_RELOC_OK, "%#lx", places[i]);
		CHECK(!a.out_of_reach && a.off == 7, "%#lx", places[i]);
		memcpy(&disp, buf + 3, 4);
		CHECK_EQ((u32)(places[i] + 7 + disp), (u32)(TEXT + 7 + 0x10), "%#lx", places[i]);
	}
}

/* A target out of reach stays so, and the next instruction is not blamed for it. */
static void reach_is_sticky(void)
{
	static const struct code far = CODE("\xe9\0\0\0\0"), nop = CODE("\x90");
	struct tramp_x86_insn insn;

	CHECK_EQ(relocate(&far, TEXT, TEXT + 0x100000000), TRAMP_X86_RELOC_REACH, "");
	tramp_x86_decode((const u8 *)nop.bytes, nop.len, &insn);
	CHECK_EQ(tramp_x86_relocate(&a, &insn, TEXT, &env), TRAMP_X86_RELOC_OK, "");
	CHECK(a.out_of_reach, "");
}

/* Measured, with no address, or anywhere: the size is the same. */
static void sizes(void)
{
	static const u64 places[] = { IMAGE, IMAGE + 1, TEXT, TEXT + 100, 0x1000, 1ULL << 62 };
	struct tramp_x86_insn insn;
	u32 i, k, size;

	for (i = 0; i < NR(forms); i++) {
		const struct code *c = &forms[i].code;

		tramp_x86_decode((const u8 *)c->bytes, c->len, &insn);
		a = (struct tasm){ 0 };
		CHECK_EQ(tramp_x86_relocate(&a, &insn, TEXT, &env), TRAMP_X86_RELOC_OK, "%s", hex(c));
		CHECK(!a.overflow && !a.out_of_reach, "%s", hex(c));
		size = a.off;
		CHECK_EQ(size, forms[i].copy.len, "%s", hex(c));
		CHECK(size <= TRAMP_X86_MAX_RELOCATED, "%s", hex(c));
		CHECK_EQ(relocate(c, TEXT, 0), TRAMP_X86_RELOC_OK, "%s", hex(c));
		CHECK_EQ(a.off, size, "%s", hex(c));
		for (k = 0; k < NR(places); k++) {
			enum tramp_x86_reloc err = relocate(c, TEXT, places[k]);

			CHECK(err == TRAMP_X86_RELOC_OK || err == TRAMP_X86_RELOC_REACH, "%s", hex(c));
			CHECK_EQ(a.off, size, "%s at %#lx", hex(c), places[k]);
		}
	}
}

/* At every length of the buffer: nothing behind it is written. */
static void bounds(void)
{
	struct tramp_x86_insn insn;
	u32 i, len, k;

	for (i = 0; i < NR(forms); i++) {
		const struct code *c = &forms[i].code;
		u32 size = forms[i].copy.len;

		tramp_x86_decode((const u8 *)c->bytes, c->len, &insn);
		for (len = 0; len <= size; len++) {
			memset(buf, CANARY, sizeof(buf));
			a = (struct tasm){ .buf = buf, .len = len, .addr = IMAGE };
			tramp_x86_relocate(&a, &insn, TEXT, &env);
			CHECK_EQ(a.overflow, len < size, "%s", hex(c));
			CHECK_EQ(a.off, size, "%s", hex(c));
			for (k = len; k < sizeof(buf); k++)
				CHECK(buf[k] == CANARY, "%swrites byte %u of %u", hex(c), k, len);
		}
	}
}

static const struct ktap_test tests[] = {
	KTAP_TEST(kernel_addresses),
	KTAP_TEST(refused),
	KTAP_TEST(thunks),
	KTAP_TEST(call_depth),
	KTAP_TEST(return_addresses),
	KTAP_TEST(reach),
	KTAP_TEST(reach_of_eip),
	KTAP_TEST(reach_is_sticky),
	KTAP_TEST(sizes),
	KTAP_TEST(bounds),
};
KTAP_MAIN(tests)
