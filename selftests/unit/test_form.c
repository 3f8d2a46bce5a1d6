// SPDX-License-Identifier: GPL-2.0
/*
 * The bytes that are written for a probe, form by form, held byte by byte against the drawing
 * in form.h. Each length of the instruction comes with each number of bytes that an image can
 * execute.
 */
#include <string.h>

#include <Zydis/Zydis.h>

#include "../../kernel/x86/form.h"
#include "../lib/ktap.h"

#define TEXT	0xffffffff81234567ULL
#define IMAGE	0xffffffffc0200040ULL
#define CANARY	0x5e

static u8 orig[TRAMP_X86_MAX_REGION], bytes[TRAMP_X86_MAX_REGION + 8];

/* No two alike, and none that a form has. */
static void fill_orig(void)
{
	u32 i;

	for (i = 0; i < sizeof(orig); i++)
		orig[i] = 0x11 + i;
}

static struct tramp_x86_spot spot(u32 insn_len, u32 image_len)
{
	fill_orig();
	return (struct tramp_x86_spot){
		.addr = TEXT, .image = IMAGE, .orig = orig,
		.insn_len = insn_len, .image_len = image_len,
	};
}

static bool form(const struct tramp_x86_spot *s, enum tramp_x86_form f)
{
	memset(bytes, CANARY, sizeof(bytes));
	return tramp_x86_form(s, f, bytes);
}

/* The jump as a disassembler has it. */
static void check_jump(const struct tramp_x86_spot *s)
{
	ZydisDecoder decoder;
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
	ZyanU64 target = 0;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	REQUIRE(ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes, sizeof(bytes), &insn, ops)), "");
	CHECK_EQ(insn.mnemonic, ZYDIS_MNEMONIC_JMP, "");
	CHECK_EQ(insn.length, 5, "");
	CHECK(ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&insn, &ops[0], s->addr, &target)), "");
	CHECK_EQ(target, s->image, "from %#lx", s->addr);
}

static void every_length(void)
{
	u32 insn_len, image_len, i;

	for (insn_len = 1; insn_len <= TRAMP_X86_MAX_INSN; insn_len++) {
		for (image_len = 1; image_len <= TRAMP_X86_MAX_REGION; image_len++) {
			struct tramp_x86_spot s = spot(insn_len, image_len);
			u32 span = insn_len > image_len ? insn_len : image_len;

			CHECK_EQ(tramp_x86_span(&s), span, "%u, %u", insn_len, image_len);

			CHECK(form(&s, TRAMP_X86_FORM_ORIGINAL), "%u, %u", insn_len, image_len);
			for (i = 0; i < sizeof(bytes); i++)
				CHECK_EQ(bytes[i], i < span ? orig[i] : CANARY,
					 "original %u, %u: byte %u", insn_len, image_len, i);

			CHECK(form(&s, TRAMP_X86_FORM_INT3), "%u, %u", insn_len, image_len);
			for (i = 0; i < sizeof(bytes); i++)
				CHECK_EQ(bytes[i],
					 i < insn_len ? 0xcc : i < span ? orig[i] : CANARY,
					 "int3 %u, %u: byte %u", insn_len, image_len, i);

			CHECK_EQ(form(&s, TRAMP_X86_FORM_JUMP), span >= 5, "%u, %u", insn_len,
				 image_len);
			if (span < 5)
				continue;
			check_jump(&s);
			for (i = 5; i < sizeof(bytes); i++)
				CHECK_EQ(bytes[i], i < span ? 0xcc : CANARY,
					 "jump %u, %u: byte %u", insn_len, image_len, i);
			if (ktap_failures())
				return;
		}
	}
}

/* The first and the last image that a jump reaches, on both sides, and the next ones. */
static void reach(void)
{
	static const struct {
		s64 rel;
		bool reached;
	} at[] = {
		{ 0, true }, { -1, true }, { 0x7fffffff, true }, { 0x80000000, false },
		{ -0x80000000LL, true }, { -0x80000001LL, false }, { 0x100000000, false },
		{ -0x100000000LL, false },
	};
	struct tramp_x86_spot s = spot(3, 8);
	u32 i;

	for (i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		s.image = s.addr + 5 + at[i].rel;
		CHECK_EQ(form(&s, TRAMP_X86_FORM_JUMP), at[i].reached, "%#lx", (long)at[i].rel);
		if (at[i].reached)
			check_jump(&s);
		CHECK(form(&s, TRAMP_X86_FORM_INT3), "an int3 needs no reach");
	}
	CHECK(!form(&s, 3), "there is no such form");
}

static const struct ktap_test tests[] = {
	KTAP_TEST(every_length),
	KTAP_TEST(reach),
};
KTAP_MAIN(tests)
