// SPDX-License-Identifier: GPL-2.0
/*
 * Instructions that fault about their memory operand alone, by their names in Zydis. These are all
 * opcodes of one and two bytes, with each ModRM.reg and the prefixes that make another of one.
 */
#include <Zydis/Zydis.h>
#include <string.h>

#include "../../kernel/x86/insn.h"
#include "../lib/ktap.h"
#include "code.h"

static ZydisDecoder decoder;

/* Each but for mov takes part in this by its name alone. */
static bool named(ZydisMnemonic m)
{
	switch (m) {
	case ZYDIS_MNEMONIC_ADC:
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_AND:
	case ZYDIS_MNEMONIC_BT:
	case ZYDIS_MNEMONIC_BTC:
	case ZYDIS_MNEMONIC_BTR:
	case ZYDIS_MNEMONIC_BTS:
	case ZYDIS_MNEMONIC_CMOVB ... ZYDIS_MNEMONIC_CMOVZ:
	case ZYDIS_MNEMONIC_CMP:
	case ZYDIS_MNEMONIC_CMPSB:
	case ZYDIS_MNEMONIC_CMPSD:
	case ZYDIS_MNEMONIC_CMPSQ:
	case ZYDIS_MNEMONIC_CMPSW:
	case ZYDIS_MNEMONIC_CMPXCHG:
	case ZYDIS_MNEMONIC_CMPXCHG8B:
	case ZYDIS_MNEMONIC_DEC:
	case ZYDIS_MNEMONIC_INC:
	case ZYDIS_MNEMONIC_LODSB:
	case ZYDIS_MNEMONIC_LODSD:
	case ZYDIS_MNEMONIC_LODSQ:
	case ZYDIS_MNEMONIC_LODSW:
	case ZYDIS_MNEMONIC_MOV:
	case ZYDIS_MNEMONIC_MOVNTI:
	case ZYDIS_MNEMONIC_MOVSB:
	case ZYDIS_MNEMONIC_MOVSD:
	case ZYDIS_MNEMONIC_MOVSQ:
	case ZYDIS_MNEMONIC_MOVSW:
	case ZYDIS_MNEMONIC_MOVSX:
	case ZYDIS_MNEMONIC_MOVSXD:
	case ZYDIS_MNEMONIC_MOVZX:
	case ZYDIS_MNEMONIC_NEG:
	case ZYDIS_MNEMONIC_NOT:
	case ZYDIS_MNEMONIC_OR:
	case ZYDIS_MNEMONIC_SBB:
	case ZYDIS_MNEMONIC_SCASB:
	case ZYDIS_MNEMONIC_SCASD:
	case ZYDIS_MNEMONIC_SCASQ:
	case ZYDIS_MNEMONIC_SCASW:
	case ZYDIS_MNEMONIC_STOSB:
	case ZYDIS_MNEMONIC_STOSD:
	case ZYDIS_MNEMONIC_STOSQ:
	case ZYDIS_MNEMONIC_STOSW:
	case ZYDIS_MNEMONIC_SUB:
	case ZYDIS_MNEMONIC_TEST:
	case ZYDIS_MNEMONIC_XADD:
	case ZYDIS_MNEMONIC_XCHG:
	case ZYDIS_MNEMONIC_XOR:
		return true;
	default:
		return false;
	}
}

/* Two of these names are of SSE as well. A mov may be of a segment. */
static bool expected(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *op)
{
	u32 i;

	for (i = 0; i < insn->operand_count_visible; i++)
		if (op[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    ZydisRegisterGetClass(op[i].reg.value) != ZYDIS_REGCLASS_GPR8 &&
		    ZydisRegisterGetClass(op[i].reg.value) != ZYDIS_REGCLASS_GPR16 &&
		    ZydisRegisterGetClass(op[i].reg.value) != ZYDIS_REGCLASS_GPR32 &&
		    ZydisRegisterGetClass(op[i].reg.value) != ZYDIS_REGCLASS_GPR64)
			return false;
	return named(insn->mnemonic);
}

static bool accesses(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *op)
{
	u32 i;

	for (i = 0; i < insn->operand_count; i++)
		if (op[i].type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    op[i].mem.type == ZYDIS_MEMOP_TYPE_MEM)
			return true;
	return false;
}

/* An instruction that accesses memory. Return: whether @code is one. */
static bool check(const u8 *code)
{
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction insn;
	struct tramp_x86_insn ours;
	struct code shown;

	if (ZYAN_FAILED(ZydisDecoderDecodeFull(&decoder, code, 15, &insn, op)) ||
	    !accesses(&insn, op) || !tramp_x86_decode(code, 15, &ours))
		return false;
	shown.bytes = (const char *)code;
	shown.len = insn.length;
	CHECK_EQ(tramp_x86_only_accesses(&ours), expected(&insn, op), "%s: %s",
		 ZydisMnemonicGetString(insn.mnemonic), hex(&shown));
	return true;
}

static void opcodes(void)
{
	static const struct code before[] = {
		CODE(""), CODE("\x66"), CODE("\xf2"), CODE("\xf3"), CODE("\x48"), CODE("\xf0"),
		CODE("\xf3\x48"),
	};
	static const struct code maps[] = { CODE(""), CODE("\x0f"), CODE("\x0f\x38") };
	u32 b, m, tail, n = 0;

	REQUIRE(ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64,
					      ZYDIS_STACK_WIDTH_64)), "ZydisDecoderInit");
	for (b = 0; b < NR(before); b++) {
		for (m = 0; m < NR(maps); m++) {
			for (tail = 0; tail < 256 * 8; tail++) {
				u32 len = before[b].len + maps[m].len;
				u8 code[15] = { 0 };

				memcpy(code, before[b].bytes, before[b].len);
				memcpy(code + before[b].len, maps[m].bytes, maps[m].len);
				code[len] = tail / 8;
				code[len + 1] = (tail % 8) << 3 | 3;	/* (%rbx) */
				n += check(code);
			}
		}
	}
	ktap_note("%u instructions", n);
	CHECK(n > 5000, "%u instructions", n);
}

/* With VEX the same opcodes are others: vpor (eb), a store (7f), vandps (54). */
static void vex(void)
{
	static const u8 codes[][6] = {
		{ 0xc5, 0xf9, 0xeb, 0x03 }, { 0xc5, 0xf9, 0x7f, 0x03 }, { 0xc5, 0xf8, 0x54, 0x03 },
		{ 0xc4, 0xe2, 0x79, 0x00, 0x03 },
	};
	struct tramp_x86_insn insn;
	u32 i;

	for (i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		REQUIRE(tramp_x86_decode(codes[i], sizeof(codes[i]), &insn) && insn.vex, "%u", i);
		CHECK(!tramp_x86_only_accesses(&insn), "%u", i);
	}
}

static const struct ktap_test tests[] = {
	KTAP_TEST(opcodes),
	KTAP_TEST(vex),
};

KTAP_MAIN(tests)
