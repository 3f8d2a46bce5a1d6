// SPDX-License-Identifier: GPL-2.0
/*
 * Where the parts of an instruction are, which depends on the decoder too, and what they
 * refer to.
 */
#include <Zydis/Zydis.h>
#include <string.h>

#include "../../kernel/x86/insn.h"
#include "../lib/ktap.h"
#include "code.h"
#include "machine.h"

#define IP	0xffffffff81234560ULL

#define P66	TRAMP_X86_PFX_66
#define P67	TRAMP_X86_PFX_67
#define PF2	TRAMP_X86_PFX_F2
#define PF3	TRAMP_X86_PFX_F3
#define LOCK	TRAMP_X86_PFX_LOCK
#define SEG	TRAMP_X86_PFX_SEG

/* Offsets of opcode, ModRM, displacement and immediates, sizes of the last two. */
struct layout {
	struct code code;
	u8 map, opcode;
	bool vex;
	u8 prefixes, rex;
	u8 opcode_off, modrm_off, disp_off, disp_size, imm_off, imm_size;
};

static const struct layout layouts[] = {
	/* one byte, with and without operands */
	{ CODE("\x90"), 0, 0x90, 0, 0, 0, 0, 0, 1, 0, 1, 0 },
	{ CODE("\xf3\x90"), 0, 0x90, 0, PF3, 0, 1, 0, 2, 0, 2, 0 },
	{ CODE("\x66\x90"), 0, 0x90, 0, P66, 0, 1, 0, 2, 0, 2, 0 },
	{ CODE("\x41\x57"), 0, 0x57, 0, 0, 0x41, 1, 0, 2, 0, 2, 0 },
	{ CODE("\xc3"), 0, 0xc3, 0, 0, 0, 0, 0, 1, 0, 1, 0 },
	{ CODE("\xc2\x10\x00"), 0, 0xc2, 0, 0, 0, 0, 0, 1, 0, 1, 2 },
	{ CODE("\xc8\x20\x00\x01"), 0, 0xc8, 0, 0, 0, 0, 0, 1, 0, 1, 3 },	/* enter */
	{ CODE("\x6a\xff"), 0, 0x6a, 0, 0, 0, 0, 0, 1, 0, 1, 1 },
	{ CODE("\x68\x01\x02\x03\x04"), 0, 0x68, 0, 0, 0, 0, 0, 1, 0, 1, 4 },
	{ CODE("\xb8\x01\x02\x03\x04"), 0, 0xb8, 0, 0, 0, 0, 0, 1, 0, 1, 4 },
	{ CODE("\x66\xb8\x01\x02"), 0, 0xb8, 0, P66, 0, 1, 0, 2, 0, 2, 2 },
	{ CODE("\x48\xb8\1\2\3\4\5\6\7\x08"), 0, 0xb8, 0, 0, 0x48, 1, 0, 2, 0, 2, 8 },
	{ CODE("\x49\xbf\1\2\3\4\5\6\7\x08"), 0, 0xbf, 0, 0, 0x49, 1, 0, 2, 0, 2, 8 },
	/* moffs: an address of 8 bytes, or of 4 */
	{ CODE("\xa1\1\2\3\4\5\6\7\x08"), 0, 0xa1, 0, 0, 0, 0, 0, 1, 0, 1, 8 },
	{ CODE("\x48\xa3\1\2\3\4\5\6\7\x08"), 0, 0xa3, 0, 0, 0x48, 1, 0, 2, 0, 2, 8 },
	{ CODE("\x65\x48\xa1\1\2\3\4\5\6\7\x08"), 0, 0xa1, 0, SEG, 0x48, 2, 0, 3, 0, 3, 8 },
	{ CODE("\x67\xa0\1\2\3\4"), 0, 0xa0, 0, P67, 0, 1, 0, 2, 0, 2, 4 },
	/* ModRM in all its shapes */
	{ CODE("\x89\xd8"), 0, 0x89, 0, 0, 0, 0, 1, 2, 0, 2, 0 },
	{ CODE("\x48\x89\xd8"), 0, 0x89, 0, 0, 0x48, 1, 2, 3, 0, 3, 0 },
	{ CODE("\x8b\x03"), 0, 0x8b, 0, 0, 0, 0, 1, 2, 0, 2, 0 },
	{ CODE("\x8b\x43\x08"), 0, 0x8b, 0, 0, 0, 0, 1, 2, 1, 3, 0 },
	{ CODE("\x8b\x83\1\2\3\4"), 0, 0x8b, 0, 0, 0, 0, 1, 2, 4, 6, 0 },
	{ CODE("\x8b\x04\x24"), 0, 0x8b, 0, 0, 0, 0, 1, 3, 0, 3, 0 },
	{ CODE("\x8b\x44\x24\x08"), 0, 0x8b, 0, 0, 0, 0, 1, 3, 1, 4, 0 },
	{ CODE("\x8b\x84\x24\1\2\3\4"), 0, 0x8b, 0, 0, 0, 0, 1, 3, 4, 7, 0 },
	{ CODE("\x8b\x04\x25\1\2\3\4"), 0, 0x8b, 0, 0, 0, 0, 1, 3, 4, 7, 0 },
	{ CODE("\x8b\x05\1\2\3\4"), 0, 0x8b, 0, 0, 0, 0, 1, 2, 4, 6, 0 },
	{ CODE("\x4a\x8b\x44\x3c\x08"), 0, 0x8b, 0, 0, 0x4a, 1, 2, 4, 1, 5, 0 },
	{ CODE("\x67\x8b\x03"), 0, 0x8b, 0, P67, 0, 1, 2, 3, 0, 3, 0 },
	/* displacement and immediate */
	{ CODE("\xc7\x05\1\2\3\4\5\6\7\x08"), 0, 0xc7, 0, 0, 0, 0, 1, 2, 4, 6, 4 },
	{ CODE("\x66\xc7\x05\1\2\3\4\5\6"), 0, 0xc7, 0, P66, 0, 1, 2, 3, 4, 7, 2 },
	{ CODE("\xc6\x44\x24\x08\x01"), 0, 0xc6, 0, 0, 0, 0, 1, 3, 1, 4, 1 },
	{ CODE("\x83\x3d\1\2\3\4\x05"), 0, 0x83, 0, 0, 0, 0, 1, 2, 4, 6, 1 },
	{ CODE("\x65\xff\x05\1\2\3\4"), 0, 0xff, 0, SEG, 0, 1, 2, 3, 4, 7, 0 },
	{ CODE("\xf6\x05\1\2\3\4\x10"), 0, 0xf6, 0, 0, 0, 0, 1, 2, 4, 6, 1 },
	{ CODE("\xf7\xd8"), 0, 0xf7, 0, 0, 0, 0, 1, 2, 0, 2, 0 },	/* neg */
	{ CODE("\xf7\xc0\1\2\3\4"), 0, 0xf7, 0, 0, 0, 0, 1, 2, 0, 2, 4 },	/* test */
	{ CODE("\x69\x05\1\2\3\4\5\6\7\x08"), 0, 0x69, 0, 0, 0, 0, 1, 2, 4, 6, 4 },
	{ CODE("\xf0\x48\x0f\xb1\x15\1\2\3\4"), 1, 0xb1, 0, LOCK, 0x48, 3, 4, 5, 4, 9, 0 },
	/* two and three bytes */
	{ CODE("\x0f\xa2"), 1, 0xa2, 0, 0, 0, 1, 0, 2, 0, 2, 0 },
	{ CODE("\x0f\x84\1\2\3\4"), 1, 0x84, 0, 0, 0, 1, 0, 2, 0, 2, 4 },
	{ CODE("\x0f\x1f\x44\x00\x00"), 1, 0x1f, 0, 0, 0, 1, 2, 4, 1, 5, 0 },
	{ CODE("\x66\x2e\x0f\x1f\x84\0\0\0\0\0"), 1, 0x1f, 0, P66 | SEG, 0, 3, 4, 6, 4, 10, 0 },
	{ CODE("\x0f\xba\x2d\1\2\3\4\x05"), 1, 0xba, 0, 0, 0, 1, 2, 3, 4, 7, 1 },
	{ CODE("\xf3\x0f\x1e\xfa"), 1, 0x1e, 0, PF3, 0, 2, 3, 4, 0, 4, 0 },
	{ CODE("\x0f\x01\xca"), 1, 0x01, 0, 0, 0, 1, 2, 3, 0, 3, 0 },
	{ CODE("\x66\x0f\x38\x00\xc1"), 2, 0x00, 0, P66, 0, 3, 4, 5, 0, 5, 0 },
	{ CODE("\xf2\x48\x0f\x38\xf1\xc1"), 2, 0xf1, 0, PF2, 0x48, 4, 5, 6, 0, 6, 0 },
	{ CODE("\x66\x0f\x3a\x0f\xc1\x08"), 3, 0x0f, 0, P66, 0, 3, 4, 5, 0, 5, 1 },
	{ CODE("\x66\x41\x0f\x3a\x44\x05\1\2\3\4\x11"), 3, 0x44, 0, P66, 0x41, 4, 5, 6, 4, 10, 1 },
	{ CODE("\x0f\x0f\xc1\x9e"), 1, 0x0f, 0, 0, 0, 1, 2, 3, 0, 3, 1 },	/* 3DNow! pfadd */
	{ CODE("\x0f\x0f\x05\1\2\3\4\x9e"), 1, 0x0f, 0, 0, 0, 1, 2, 3, 4, 7, 1 },
	{ CODE("\x0f\x20\xd8"), 1, 0x20, 0, 0, 0, 1, 2, 3, 0, 3, 0 },	/* mov cr3, rax */
	{ CODE("\x66\x0f\x78\xc1\x08\x10"), 1, 0x78, 0, P66, 0, 2, 3, 4, 0, 4, 2 },	/* extrq */
	/* VEX of 2 and of 3 bytes */
	{ CODE("\xc5\xf8\x77"), 1, 0x77, 1, 0, 0, 2, 0, 3, 0, 3, 0 },	/* vzeroupper */
	{ CODE("\xc5\xf9\x6f\x05\1\2\3\4"), 1, 0x6f, 1, 0, 0, 2, 3, 4, 4, 8, 0 },
	{ CODE("\xc4\xe2\x7d\x58\x05\1\2\3\4"), 2, 0x58, 1, 0, 0, 3, 4, 5, 4, 9, 0 },
	{ CODE("\xc4\xe3\x7d\x46\x44\x24\x08\x31"), 3, 0x46, 1, 0, 0, 3, 4, 6, 1, 7, 1 },
	{ CODE("\xc4\xe3\x75\x4b\x05\1\2\3\4\x20"), 3, 0x4b, 1, 0, 0, 3, 4, 5, 4, 9, 1 },	/* /is4 */
	{ CODE("\xc4\xe2\xf3\xf6\xc2"), 2, 0xf6, 1, 0, 0, 3, 4, 5, 0, 5, 0 },	/* mulx */
	{ CODE("\x65\xc5\xf9\x6f\x01"), 1, 0x6f, 1, SEG, 0, 3, 4, 5, 0, 5, 0 },
	{ CODE("\x67\xc5\xf9\x6f\x01"), 1, 0x6f, 1, P67, 0, 3, 4, 5, 0, 5, 0 },
	{ CODE("\xc4\xe2\x6d\x90\x04\x0e"), 2, 0x90, 1, 0, 0, 3, 4, 6, 0, 6, 0 },	/* vsib */
	/* EVEX, its scaled displacement, its opmask, its immediates */
	{ CODE("\x62\xf1\xfd\x48\x6f\x05\1\2\3\4"), 1, 0x6f, 1, 0, 0, 4, 5, 6, 4, 10, 0 },
	{ CODE("\x62\xf1\xfd\x48\x6f\x40\x01"), 1, 0x6f, 1, 0, 0, 4, 5, 6, 1, 7, 0 },
	{ CODE("\x62\xf3\xfd\x48\x25\xc1\xff"), 3, 0x25, 1, 0, 0, 4, 5, 6, 0, 6, 1 },
	{ CODE("\x62\xf2\x7d\x49\x90\x04\x0e"), 2, 0x90, 1, 0, 0, 4, 5, 7, 0, 7, 0 },
	/* XOP */
	{ CODE("\x8f\xe9\x78\xe2\xc1"), 9, 0xe2, 1, 0, 0, 3, 4, 5, 0, 5, 0 },
	{ CODE("\x8f\xe8\x78\xc0\x05\1\2\3\4\x05"), 8, 0xc0, 1, 0, 0, 3, 4, 5, 4, 9, 1 },
	/* prefixes, several and repeated, up to the longest instruction there is */
	{ CODE("\x2e\xe8\1\2\3\4"), 0, 0xe8, 0, SEG, 0, 1, 0, 2, 0, 2, 4 },
	{ CODE("\x3e\xff\xe0"), 0, 0xff, 0, SEG, 0, 1, 2, 3, 0, 3, 0 },
	{ CODE("\xf2\xff\x25\1\2\3\4"), 0, 0xff, 0, PF2, 0, 1, 2, 3, 4, 7, 0 },
	{ CODE("\x66\x66\x66\x66\x90"), 0, 0x90, 0, P66, 0, 4, 0, 5, 0, 5, 0 },
	{ CODE("\x66\x66\x2e\x0f\x1f\x84\0\0\0\0\0"), 1, 0x1f, 0, P66 | SEG, 0, 4, 5, 7, 4, 11, 0 },
	{ CODE("\x2e\x2e\x65\x48\x81\x05\1\2\3\4\5\6\7\x08"), 0, 0x81, 0, SEG, 0x48, 4, 5, 6, 4, 10, 4 },
};

static void parts(void)
{
	struct tramp_x86_insn i = { 0 };
	u32 n, k;

	for (n = 0; n < NR(layouts); n++) {
		const struct layout *l = &layouts[n];
		const char *text = hex(&l->code);

		if (!CHECK(code_decode(&l->code, &i), "%s", text))
			continue;
		CHECK_EQ(i.len, l->code.len, "%s", text);
		CHECK(!memcmp(i.bytes, l->code.bytes, l->code.len), "%s", text);
		CHECK_EQ(i.map, l->map, "%s", text);
		CHECK_EQ(i.opcode, l->opcode, "%s", text);
		CHECK_EQ(i.vex, l->vex, "%s", text);
		CHECK_EQ(i.prefixes, l->prefixes, "%s", text);
		CHECK_EQ(i.rex, l->rex, "%s", text);
		CHECK_EQ(i.opcode_off, l->opcode_off, "%s", text);
		CHECK_EQ(i.modrm_off, l->modrm_off, "%s", text);
		CHECK_EQ(i.disp_off, l->disp_off, "%s", text);
		CHECK_EQ(i.disp_size, l->disp_size, "%s", text);
		CHECK_EQ(i.imm_off, l->imm_off, "%s", text);
		CHECK_EQ(i.imm_size, l->imm_size, "%s", text);
		for (k = 0; k < l->code.len; k++)
			CHECK(!tramp_x86_decode((const u8 *)l->code.bytes, k, &i),
			      "%sdecodes with %u bytes", text, k);
	}
}

/* Bytes that 64-bit mode does not have, that are too long, or that never decode in the kernel. */
static void no_instructions(void)
{
	static const struct code none[] = {
		CODE("\x06"), CODE("\x07"), CODE("\x0e"), CODE("\x16"), CODE("\x1f"),
		CODE("\x27"), CODE("\x2f"), CODE("\x37"), CODE("\x3f"), CODE("\x60"),
		CODE("\x61"), CODE("\x82\xc0\x01"), CODE("\x9a\1\2\3\4\5\6"), CODE("\xce"),
		CODE("\xd4\x0a"), CODE("\xd6"), CODE("\xea\1\2\3\4\5\6"),
		CODE("\x8f\xc8"),			/* neither pop nor XOP */
		CODE("\x0f\x04"), CODE("\x0f\x0a"), CODE("\xff\xff"),
		CODE("\xf0\xe9\1\2\3\4"),		/* lock jmp */
		CODE("\x48\x66\x90"), CODE("\x48\x48\x90"), CODE("\x66\x48\x66\x90"),
		CODE("\x66\xc5\xf8\x77"), CODE("\x48\xc5\xf8\x77"),
		CODE("\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x90"),
		CODE("\x2e\x2e\x2e\x2e\x2e\x48\x81\x05\1\2\3\4\5\6\7\x08"),	/* 16 bytes */
	};
	struct tramp_x86_insn i = { 0 };
	u32 n;

	for (n = 0; n < NR(none); n++)
		CHECK(!code_decode(&none[n], &i), "%sis an instruction of %u bytes", hex(&none[n]), i.len);
	CHECK(!tramp_x86_decode((const u8 *)"\x90", 0, &i), "nothing to decode");
}

static void branch_targets(void)
{
	static const struct {
		struct code code;
		s64 rel;	/* from the end */
	} branches[] = {
		{ CODE("\xeb\x00"), 0 },
		{ CODE("\xeb\x7f"), 127 },
		{ CODE("\xeb\xfe"), -2 },
		{ CODE("\x74\x80"), -128 },
		{ CODE("\xe3\x05"), 5 },
		{ CODE("\x67\xe3\xf0"), -16 },
		{ CODE("\xe9\x78\x56\x34\x12"), 0x12345678 },
		{ CODE("\xe9\xff\xff\xff\xff"), -1 },
		{ CODE("\xe8\x00\x00\x00\x80"), -0x80000000LL },
		{ CODE("\x2e\xe8\xff\xff\xff\x7f"), 0x7fffffff },
		{ CODE("\x0f\x85\xfa\xff\xff\xff"), -6 },
		/* that are TRAMP_X86_FIXED */
		{ CODE("\xc7\xf8\x78\x56\x34\x12"), 0x12345678 },	/* xbegin */
		{ CODE("\x66\xe9\xff\xff\xff\xff"), -1 },
		{ CODE("\x66\xe8\xff\xff\xff\xff"), -1 },
		{ CODE("\x66\x0f\x84\xfa\xff\xff\xff"), -6 },
		{ CODE("\x66\xeb\xfe"), -2 },
		{ CODE("\x66\x74\x80"), -128 },
		{ CODE("\x66\xe2\x05"), 5 },
		/* jkzd and jknzd, whose VEX prefix has two bytes or three */
		{ CODE("\xc5\xf8\x84\xfa\xff\xff\xff"), -6 },
		{ CODE("\xc5\xf8\x85\x78\x56\x34\x12"), 0x12345678 },
		{ CODE("\xc4\xe1\x78\x85\xff\xff\xff\xff"), -1 },
	};
	static const struct code others[] = {
		CODE("\xc7\xc0\x78\x56\x34\x12"),	/* mov to eax */
		CODE("\xff\xe0"), CODE("\xff\xd0"), CODE("\xc3"), CODE("\xcc"), CODE("\xcd\x80"),
		CODE("\xf4"), CODE("\xcf"), CODE("\x0f\x05"), CODE("\x0f\x0b"), CODE("\x66\xff\xe0"),
		CODE("\x0f\xb2\x00"), CODE("\x8e\xd0"), CODE("\xc2\x08\x00"), CODE("\x90"),
		/* the opcodes of jz, call and ja behind VEX, where they mean something else */
		CODE("\xc5\xf9\x74\xc1"), CODE("\xc5\xf9\xe8\xc1"), CODE("\xc5\xf8\x77"),
	};
	struct tramp_x86_insn i;
	u32 n;

	for (n = 0; n < NR(branches); n++) {
		if (!CHECK(code_decode(&branches[n].code, &i), "%s", hex(&branches[n].code)))
			continue;
		CHECK_EQ(tramp_x86_branch_target(&i, IP),
			 IP + branches[n].code.len + (u64)branches[n].rel, "%s",
			 hex(&branches[n].code));
		CHECK(tramp_x86_has_target(&i), "%s", hex(&branches[n].code));
	}
	for (n = 0; n < NR(others); n++)
		CHECK(code_decode(&others[n], &i) && !tramp_x86_has_target(&i), "%s",
		      hex(&others[n]));
	/* the short jkzd, which Zydis does not know; with 66 it is vpcmpeqb */
	i = (struct tramp_x86_insn){ .bytes = { 0xc5, 0xf8, 0x74, 0x05 }, .len = 4, .vex = true,
				     .map = 1, .opcode = 0x74, .opcode_off = 2 };
	CHECK(tramp_x86_has_target(&i), "jkzd");
	i.bytes[1] = 0xf9;
	CHECK(!tramp_x86_has_target(&i), "vpcmpeqb");
}

static void rip_relative(void)
{
	static const struct {
		struct code code;
		bool yes;
		s32 disp;
	} operands[] = {
		{ CODE("\x8b\x05\1\2\3\4"), true, 0x04030201 },
		{ CODE("\x48\x8d\x3d\xf0\xff\xff\xff"), true, -16 },
		{ CODE("\x67\x8d\x05\1\2\3\4"), true, 0x04030201 },
		{ CODE("\xff\x25\1\2\3\4"), true, 0x04030201 },
		{ CODE("\x65\x8b\x05\1\2\3\x84"), true, (s32)0x84030201 },
		{ CODE("\xc4\xe2\x7d\x58\x05\1\2\3\4"), true, 0x04030201 },
		{ CODE("\x62\xf1\xfd\x48\x6f\x05\1\2\3\4"), true, 0x04030201 },
		{ CODE("\x41\x8b\x05\1\2\3\4"), true, 0x04030201 },	/* REX.B does not count */
		{ CODE("\x8b\x04\x25\1\2\3\4"), false, 0x04030201 },	/* absolute */
		{ CODE("\x8b\x85\1\2\3\4"), false, 0x04030201 },	/* rbp */
		{ CODE("\x8b\x45\xff"), false, -1 },
		{ CODE("\x89\xc5"), false, 0 },
		{ CODE("\x90"), false, 0 },
		{ CODE("\xe8\1\2\3\4"), false, 0 },
		{ CODE("\xa1\1\2\3\4\5\6\7\x08"), false, 0 },
		{ CODE("\x0f\x20\x05"), false, 0 },			/* mov cr: never memory */
	};
	struct tramp_x86_insn i;
	u32 n;

	for (n = 0; n < NR(operands); n++) {
		if (!CHECK(code_decode(&operands[n].code, &i), "%s", hex(&operands[n].code)))
			continue;
		CHECK_EQ(tramp_x86_rip_relative(&i), operands[n].yes, "%s", hex(&operands[n].code));
		CHECK_EQ(tramp_x86_disp(&i), operands[n].disp, "%s", hex(&operands[n].code));
	}
}

/* ud2 and three letters in front of another instruction are one with it. */
static void emulation_prefixes(void)
{
	static const struct code codes[] = {
		CODE("\x0f\x0bxen\x0f\xa2"), CODE("\x0f\x0bkvm\x0f\xa2"),
		CODE("\x0f\x0bkvm\xe9\1\2\3\4"),
	};
	static const struct code other = CODE("\x0f\x0bxem\x0f\xa2");
	struct tramp_x86_insn i;
	u32 n;

	for (n = 0; n < NR(codes); n++) {
		CHECK(code_decode(&codes[n], &i), "%s", hex(&codes[n]));
		CHECK_EQ(i.len, codes[n].len, "%s", hex(&codes[n]));
		CHECK_EQ(tramp_x86_classify(&i), TRAMP_X86_FIXED, "%s", hex(&codes[n]));
		CHECK(!tramp_x86_rip_relative(&i), "%s", hex(&codes[n]));
		CHECK(!tramp_x86_decode((const u8 *)codes[n].bytes, codes[n].len - 1, &i),
		      "half of %s", hex(&codes[n]));
	}
	CHECK(code_decode(&other, &i) && i.len == 2, "%s", hex(&other));
}

/* Bytes of all sorts: what is said of them is what Zydis says, and hangs together. */
static void random_instructions(void)
{
	struct rng rng = { 0x1234567 };
	ZydisDecodedInstruction z;
	struct tramp_x86_insn i;
	ZydisDecoder decoder;
	u32 n, k, decoded = 0;
	u8 b[16];

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	for (n = 0; n < 1000000; n++) {
		static const u8 first[] = { 0x0f, 0x66, 0xf2, 0xf3, 0x48, 0xc4, 0xc5, 0x62, 0x65 };
		bool ok;

		for (k = 0; k < sizeof(b); k++)
			b[k] = rng_u64(&rng) >> 32;
		for (k = 0; k < 3 && rng_chance(&rng, 50); k++)
			b[k] = first[rng_below(&rng, sizeof(first))];
		ok = ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, NULL, b, 15, &z));
		if (!tramp_x86_decode(b, sizeof(b), &i))
			continue;
		decoded++;
		if (tramp_x86_emulate_prefix(b, sizeof(b)))
			continue;
		if (!CHECK(ok, "%u", n))
			return;
		CHECK_EQ(i.len, z.length, "%u", n);
		if (z.encoding != ZYDIS_INSTRUCTION_ENCODING_3DNOW)
			CHECK_EQ(i.opcode, z.opcode, "%u", n);
		k = z.attributes & ZYDIS_ATTRIB_HAS_MODRM ? z.raw.modrm.offset : 0;
		CHECK_EQ(i.modrm_off, k, "%u", n);
		if (i.modrm_off && z.raw.disp.size)
			CHECK_EQ(i.disp_off, z.raw.disp.offset, "%u", n);
		if (z.raw.imm[0].size)
			CHECK_EQ(i.imm_off, z.raw.imm[0].offset, "%u", n);
		CHECK_EQ(i.imm_off, i.modrm_off ? i.disp_off + i.disp_size : i.opcode_off + 1, "%u", n);
		CHECK_EQ(i.imm_off + i.imm_size, i.len, "%u", n);
		CHECK(i.opcode_off < i.len, "%u", n);
		CHECK_EQ(!!(i.prefixes & P67), !!(z.attributes & ZYDIS_ATTRIB_HAS_ADDRESSSIZE), "%u", n);
		CHECK_EQ(i.rex & 0xf0, i.rex ? 0x40 : 0, "%u", n);
		if (ktap_failures())
			return;
	}
	CHECK(decoded > n / 2, "%u", decoded);
}

static const struct ktap_test tests[] = {
	KTAP_TEST(parts),
	KTAP_TEST(no_instructions),
	KTAP_TEST(branch_targets),
	KTAP_TEST(rip_relative),
	KTAP_TEST(emulation_prefixes),
	KTAP_TEST(random_instructions),
};
KTAP_MAIN(tests)
