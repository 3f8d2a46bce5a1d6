// SPDX-License-Identifier: GPL-2.0
/*
 * The decoder of user space: Zydis behind the interface of kernel/x86/insn.h.
 *
 * Zydis does not say where the opcode is. It is the last byte before ModRM, or
 * before the immediates of an instruction that has no ModRM.
 */
#include "../../kernel/x86/insn.h"

#include <Zydis/Zydis.h>

static bool zydis(const u8 *code, u32 avail, ZydisDecodedInstruction *z)
{
	static ZydisDecoder decoder;
	static bool ready;

	if (!ready) {
		ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
		ready = true;
	}
	return ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, NULL, code, avail, z));
}

static u8 map_of(const ZydisDecodedInstruction *z)
{
	switch (z->encoding) {
	case ZYDIS_INSTRUCTION_ENCODING_VEX:
		return z->raw.vex.m_mmmm;
	case ZYDIS_INSTRUCTION_ENCODING_EVEX:
		return z->raw.evex.mmm;
	case ZYDIS_INSTRUCTION_ENCODING_XOP:
		return z->raw.xop.m_mmmm;
	default:
		break;
	}
	switch (z->opcode_map) {
	case ZYDIS_OPCODE_MAP_DEFAULT:
		return 0;
	case ZYDIS_OPCODE_MAP_0F38:
		return 2;
	case ZYDIS_OPCODE_MAP_0F3A:
		return 3;
	default:	/* 0F, and 0F 0F of 3DNow! */
		return 1;
	}
}

/*
 * Legacy prefixes come first, then REX, then the opcode with its 0F, 0F 38 or 0F 3A,
 * or the VEX, EVEX or XOP that has all of these inside.
 *
 * A REX that is not the last of them counts for nothing. The kernel's decoder does not
 * know, so such an instruction is none here either.
 */
static bool find_prefixes(struct tramp_x86_insn *insn)
{
	u32 i, start = insn->opcode_off;

	if (!insn->vex)
		start -= insn->map < 2 ? insn->map : 2;
	for (i = 0; i < start; i++) {
		u8 byte = insn->bytes[i], pfx = tramp_x86_prefix(byte);

		if (pfx)
			insn->prefixes |= pfx;
		else if (insn->vex)
			return (byte & 0xf0) != 0x40;
		else if (i < start - 1)
			return false;
		else
			insn->rex = byte;
	}
	return true;
}

bool tramp_x86_decode(const u8 *code, u32 avail, struct tramp_x86_insn *insn)
{
	ZydisDecodedInstruction z;

	if (avail > TRAMP_X86_MAX_INSN)
		avail = TRAMP_X86_MAX_INSN;
	if (tramp_x86_emulate_prefix(code, avail)) {
		if (!zydis(code + TRAMP_X86_EMULATE_SIZE, avail - TRAMP_X86_EMULATE_SIZE, &z))
			return false;
		tramp_x86_emulated(code, TRAMP_X86_EMULATE_SIZE + z.length, insn);
		return true;
	}
	if (!zydis(code, avail, &z))
		return false;

	*insn = (struct tramp_x86_insn){
		.len = z.length,
		.map = map_of(&z),
		.vex = z.encoding == ZYDIS_INSTRUCTION_ENCODING_VEX ||
		       z.encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX ||
		       z.encoding == ZYDIS_INSTRUCTION_ENCODING_XOP,
	};
	memcpy(insn->bytes, code, z.length);

	if (z.attributes & ZYDIS_ATTRIB_HAS_MODRM) {
		insn->modrm_off = z.raw.modrm.offset;
		insn->opcode_off = insn->modrm_off - 1;
		insn->disp_off = insn->modrm_off + 1 + !!(z.attributes & ZYDIS_ATTRIB_HAS_SIB);
		insn->disp_size = z.raw.disp.size / 8;
		insn->imm_off = insn->disp_off + insn->disp_size;
	} else {
		/* an address of "mov moffs" is a displacement to Zydis */
		insn->imm_off = z.length - (z.raw.disp.size + z.raw.imm[0].size +
					    z.raw.imm[1].size) / 8;
		insn->opcode_off = insn->imm_off - 1;
		insn->disp_off = insn->imm_off;
	}
	insn->imm_size = z.length - insn->imm_off;
	insn->opcode = insn->bytes[insn->opcode_off];
	return find_prefixes(insn);
}
