// SPDX-License-Identifier: GPL-2.0
/*
 * The decoder of the module: the kernel's insn_decode() behind the interface of
 * x86/insn.h.
 *
 * insn_decode() is made for code that is known to be code: bytes that are no instruction
 * have a length all the same. Bytes that can be none are refused here, so that a
 * walk that went astray ends rather than goes on.
 */
#include <linux/bitops.h>
#include "base/ksyms.h"
#include "x86/insn.h"

/* One-byte opcodes that 64-bit mode does not have, bit by bit. */
static const u32 no_opcode[] = {
	0xc0c040c0,	/* push and pop of es, cs, ss, ds */
	0x80808080,	/* adjustments of decimals */
	0x00000000,	/* REX */
	0x00000003,	/* pusha, popa */
	0x04000004,	/* group 1 once more; far call */
	0x00000000,
	0x00704000,	/* into; more of them; salc */
	0x00000400,	/* far jmp */
};

static bool valid_one_byte(const struct insn *insn)
{
	u8 opcode = insn->opcode.bytes[0];
	u8 modrm = insn->modrm.bytes[0];

	if (no_opcode[opcode / 32] >> opcode % 32 & 1)
		return false;
	/* a prefix too many, or one behind REX: the decoder does not go beyond */
	if (tramp_x86_prefix(opcode) || (opcode & 0xf0) == 0x40)
		return false;
	/* pop r/m64; anything else would be XOP, which the decoder does not know */
	return opcode != 0x8f || X86_MODRM_REG(modrm) == 0;
}

static bool valid(const struct insn *insn)
{
	u8 second = insn->opcode.bytes[1];

	/* two bytes of REX are those of a newer instruction set, not of this text */
	if (insn->rex_prefix.nbytes > 1)
		return false;
	if (insn->vex_prefix.nbytes)
		return !insn->rex_prefix.nbytes;
	if (insn->opcode.nbytes == 1)
		return valid_one_byte(insn);
	/* moves of control and debug registers: what looks like memory is none */
	if (insn->opcode.nbytes == 2 && second >= 0x20 && second <= 0x23)
		return X86_MODRM_MOD(insn->modrm.bytes[0]) == 3;
	return true;
}

static u8 map_of(struct insn *insn)
{
	if (insn->vex_prefix.nbytes)
		return insn_vex_m_bits(insn);
	if (insn->opcode.nbytes == 3)
		return insn->opcode.bytes[1] == 0x3a ? 3 : 2;
	return insn->opcode.nbytes - 1;
}

bool tramp_x86_decode(const u8 *code, u32 avail, struct tramp_x86_insn *insn)
{
	struct insn k;
	int i;

	avail = min_t(u32, avail, TRAMP_X86_MAX_INSN);
	if (KSYM(insn_decode)(&k, code, avail, INSN_MODE_64))
		return false;
	if (k.emulate_prefix_size) {
		/* which the decoder takes for a prefix of what follows */
		tramp_x86_emulated(code, k.length, insn);
		return true;
	}
	if (!valid(&k))
		return false;

	memset(insn, 0, sizeof(*insn));
	memcpy(insn->bytes, code, k.length);
	insn->len = k.length;
	insn->map = map_of(&k);
	insn->opcode = k.opcode.bytes[k.opcode.nbytes - 1];
	insn->vex = k.vex_prefix.nbytes;
	for (i = 0; i < k.prefixes.nbytes; i++)
		insn->prefixes |= tramp_x86_prefix(code[i]);
	insn->rex = k.rex_prefix.nbytes ? k.rex_prefix.bytes[0] : 0;
	insn->opcode_off = insn_offset_modrm(&k) - 1;
	insn->modrm_off = k.modrm.nbytes ? insn_offset_modrm(&k) : 0;
	insn->disp_off = insn_offset_displacement(&k);
	insn->disp_size = k.displacement.nbytes;
	insn->imm_off = insn_offset_immediate(&k);
	insn->imm_size = k.length - insn->imm_off;
	return true;
}
