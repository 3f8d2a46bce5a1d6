// SPDX-License-Identifier: GPL-2.0
/*
 * The effect of an instruction on the flow of control, and the parts that depend on
 * where it stands. Opcodes are those of the Intel SDM, volume 2, appendix A, and of
 * the AMD64 manual, volume 3.
 *
 * Kernel text is written by compilers and by people who know what they do, so this
 * need not judge whether an instruction is valid, only what it would do. When in doubt
 * it is TRAMP_X86_FIXED, which costs a refusal.
 */
#include "insn.h"

#define MODRM_REG(modrm)	((modrm) >> 3 & 7)

u8 tramp_x86_prefix(u8 byte)
{
	switch (byte) {
	case 0x66:
		return TRAMP_X86_PFX_66;
	case 0x67:
		return TRAMP_X86_PFX_67;
	case 0xf2:
		return TRAMP_X86_PFX_F2;
	case 0xf3:
		return TRAMP_X86_PFX_F3;
	case 0xf0:
		return TRAMP_X86_PFX_LOCK;
	case 0x26:
	case 0x2e:
	case 0x36:
	case 0x3e:
	case 0x64:
	case 0x65:
		return TRAMP_X86_PFX_SEG;
	default:
		return 0;
	}
}

bool tramp_x86_emulate_prefix(const u8 *code, u32 avail)
{
	return avail >= TRAMP_X86_EMULATE_SIZE &&
	       (!memcmp(code, "\x0f\x0bxen", TRAMP_X86_EMULATE_SIZE) ||
		!memcmp(code, "\x0f\x0bkvm", TRAMP_X86_EMULATE_SIZE));
}

void tramp_x86_emulated(const u8 *code, u8 len, struct tramp_x86_insn *insn)
{
	memset(insn, 0, sizeof(*insn));
	memcpy(insn->bytes, code, len);
	insn->len = len;
	insn->map = 1;
	insn->opcode = 0x0b;
	insn->opcode_off = 1;
	insn->disp_off = len;
	insn->imm_off = len;
}

/* A branch that goes where it says, unless a prefix makes something else of it. */
static enum tramp_x86_kind branch(const struct tramp_x86_insn *insn, enum tramp_x86_kind kind)
{
	if (insn->prefixes & (TRAMP_X86_PFX_66 | TRAMP_X86_PFX_LOCK))
		return TRAMP_X86_FIXED;
	return kind;
}

static enum tramp_x86_kind classify_one_byte(const struct tramp_x86_insn *insn)
{
	u8 modrm = tramp_x86_modrm(insn);

	switch (insn->opcode) {
	case 0x70 ... 0x7f:
		return branch(insn, TRAMP_X86_JCC);
	case 0x8e:	/* mov to a segment register: ss */
		return MODRM_REG(modrm) == 2 ? TRAMP_X86_FIXED : TRAMP_X86_PLAIN;
	case 0x9a:	/* far call, not in 64-bit mode */
	case 0xea:	/* far jmp, neither */
	case 0xca:	/* retf n */
	case 0xcb:	/* retf */
	case 0xcc:	/* int3 */
	case 0xcd:	/* int n */
	case 0xce:	/* into, not in 64-bit mode */
	case 0xcf:	/* iret */
	case 0xf1:	/* int1 */
	case 0xf4:	/* hlt */
		return TRAMP_X86_FIXED;
	case 0xc2:	/* ret n */
	case 0xc3:
		return branch(insn, TRAMP_X86_RET);
	case 0xc7:	/* xbegin: the fallback address is relative */
		return modrm == 0xf8 ? TRAMP_X86_FIXED : TRAMP_X86_PLAIN;
	case 0xe0 ... 0xe3:
		return branch(insn, TRAMP_X86_LOOP);
	case 0xe8:
		return branch(insn, TRAMP_X86_CALL);
	case 0xe9:
	case 0xeb:
		return branch(insn, TRAMP_X86_JMP);
	case 0xff:
		switch (MODRM_REG(modrm)) {
		case 2:
			return branch(insn, TRAMP_X86_CALL_IND);
		case 4:
			return branch(insn, TRAMP_X86_JMP_IND);
		case 3:		/* far call */
		case 5:		/* far jmp */
			return TRAMP_X86_FIXED;
		}
		return TRAMP_X86_PLAIN;
	default:
		return TRAMP_X86_PLAIN;
	}
}

/* 0F 01, where each ModRM byte with mod 3 is an instruction of its own. */
static enum tramp_x86_kind classify_0f01(const struct tramp_x86_insn *insn)
{
	switch (tramp_x86_modrm(insn)) {
	case 0xc0:	/* enclv */
	case 0xc2:	/* vmlaunch */
	case 0xc3:	/* vmresume */
	case 0xd7:	/* enclu */
	case 0xd8:	/* vmrun */
	case 0xde:	/* skinit */
		return TRAMP_X86_FIXED;
	case 0xca:	/* clac; erets with F2, eretu with F3 */
		return insn->prefixes & (TRAMP_X86_PFX_F2 | TRAMP_X86_PFX_F3) ?
		       TRAMP_X86_FIXED : TRAMP_X86_PLAIN;
	case 0xcd:	/* seamret with 66 */
		return insn->prefixes & TRAMP_X86_PFX_66 ? TRAMP_X86_FIXED : TRAMP_X86_PLAIN;
	case 0xcf:	/* encls; seamcall with 66, which comes back behind itself */
		return insn->prefixes & TRAMP_X86_PFX_66 ? TRAMP_X86_PLAIN : TRAMP_X86_FIXED;
	case 0xec:	/* uiret with F3 */
		return insn->prefixes & TRAMP_X86_PFX_F3 ? TRAMP_X86_FIXED : TRAMP_X86_PLAIN;
	default:
		return TRAMP_X86_PLAIN;
	}
}

static enum tramp_x86_kind classify_0f(const struct tramp_x86_insn *insn)
{
	switch (insn->opcode) {
	case 0x01:
		return classify_0f01(insn);
	case 0x05:	/* syscall */
	case 0x07:	/* sysret */
	case 0x0b:	/* ud2 */
	case 0x34:	/* sysenter */
	case 0x35:	/* sysexit */
	case 0x37:	/* getsec */
	case 0xaa:	/* rsm */
	case 0xb2:	/* lss */
	case 0xb9:	/* ud1 */
	case 0xff:	/* ud0 */
		return TRAMP_X86_FIXED;
	case 0x80 ... 0x8f:
		return branch(insn, TRAMP_X86_JCC);
	case 0xb8:	/* popcnt with F3; without it jmpe, which only Itanium had */
		return insn->prefixes & TRAMP_X86_PFX_F3 ? TRAMP_X86_PLAIN : TRAMP_X86_FIXED;
	default:
		return TRAMP_X86_PLAIN;
	}
}

/* The prefix that VEX and EVEX encode beside the opcode: 0 none, 1 66, 2 F3, 3 F2. */
static u8 vex_pp(const struct tramp_x86_insn *insn)
{
	u32 at = 0;

	while (tramp_x86_prefix(insn->bytes[at]))
		at++;
	return insn->bytes[at + (insn->bytes[at] == 0xc5 ? 1 : 2)] & 3;
}

/*
 * Of these only jkzd and jknzd are branches, 8 bits or 32. No processor has them but Knights
 * Corner. With 66, 74 and 75 are vpcmpeqb and vpcmpeqw.
 */
static enum tramp_x86_kind classify_vex(const struct tramp_x86_insn *insn)
{
	u8 opcode = insn->opcode & ~1;

	return insn->map == 1 && (opcode == 0x74 || opcode == 0x84) && !vex_pp(insn) ?
	       TRAMP_X86_FIXED : TRAMP_X86_PLAIN;
}

enum tramp_x86_kind tramp_x86_classify(const struct tramp_x86_insn *insn)
{
	if (insn->vex)
		return classify_vex(insn);
	if (insn->map == 0)
		return classify_one_byte(insn);
	return insn->map == 1 ? classify_0f(insn) : TRAMP_X86_PLAIN;
}

bool tramp_x86_rip_relative(const struct tramp_x86_insn *insn)
{
	/* mod 0, rm 5; a SIB byte has rm 4 */
	return insn->modrm_off && insn->disp_size == 4 &&
	       (insn->bytes[insn->modrm_off] & 0xc7) == 0x05;
}

/* A number of 1 or 4 bytes at @off, sign-extended; 0 for other sizes. */
static s32 number_at(const struct tramp_x86_insn *insn, u8 off, u8 size)
{
	s32 v = 0;

	if (size == 1)
		return (s8)insn->bytes[off];
	if (size == 4)
		memcpy(&v, insn->bytes + off, sizeof(v));
	return v;
}

s32 tramp_x86_disp(const struct tramp_x86_insn *insn)
{
	return number_at(insn, insn->disp_off, insn->disp_size);
}

u64 tramp_x86_branch_target(const struct tramp_x86_insn *insn, u64 ip)
{
	return ip + insn->len + (u64)(s64)number_at(insn, insn->imm_off, insn->imm_size);
}

bool tramp_x86_has_target(const struct tramp_x86_insn *insn)
{
	switch (tramp_x86_classify(insn)) {
	case TRAMP_X86_JMP:
	case TRAMP_X86_JCC:
	case TRAMP_X86_LOOP:
	case TRAMP_X86_CALL:
		return true;
	case TRAMP_X86_FIXED:
		break;
	default:
		return false;
	}
	if (insn->vex)	/* jkzd, jknzd */
		return true;
	if (insn->map)
		return insn->map == 1 && (insn->opcode & 0xf0) == 0x80;
	switch (insn->opcode) {
	case 0x70 ... 0x7f:
	case 0xc7:	/* xbegin */
	case 0xe0 ... 0xe3:
	case 0xe8:
	case 0xe9:
	case 0xeb:
		return true;
	default:
		return false;
	}
}

bool tramp_x86_is_endbr(const struct tramp_x86_insn *insn)
{
	u8 modrm = tramp_x86_modrm(insn);

	return insn->map == 1 && !insn->vex && insn->opcode == 0x1e &&
	       insn->prefixes & TRAMP_X86_PFX_F3 && (modrm == 0xfa || modrm == 0xfb);
}

bool tramp_x86_is_sti(const struct tramp_x86_insn *insn)
{
	return insn->map == 0 && !insn->vex && insn->opcode == 0xfb;
}

/* Of the one-byte opcodes. */
static bool only_accesses(u8 opcode, u8 reg)
{
	switch (opcode) {
	case 0x00 ... 0x3f:	/* add, or, adc, sbb, and, sub, xor, cmp */
		return (opcode & 7) < 6;
	case 0x63:		/* movsxd */
	case 0x80 ... 0x81:	/* the same as the first, with an immediate */
	case 0x83:
	case 0x84 ... 0x8b:	/* test, xchg, mov */
	case 0xa0 ... 0xa7:	/* mov, movs, cmps */
	case 0xaa ... 0xaf:	/* the other string instructions */
		return true;
	case 0xc6 ... 0xc7:	/* mov; the others are xabort and xbegin */
		return reg == 0;
	case 0xf6 ... 0xf7:	/* test, not, neg; a division faults about its operands */
		return reg < 4;
	case 0xfe ... 0xff:	/* inc, dec; branches and pushes */
		return reg < 2;
	default:
		return false;
	}
}

bool tramp_x86_only_accesses(const struct tramp_x86_insn *insn)
{
	u8 reg = tramp_x86_modrm(insn) >> 3 & 7;

	if (insn->vex)
		return false;
	if (!insn->map)
		return only_accesses(insn->opcode, reg);
	if (insn->map != 1)
		return false;
	switch (insn->opcode) {
	case 0x40 ... 0x4f:	/* cmovcc */
	case 0xa3:		/* bt, bts, btr, btc */
	case 0xab:
	case 0xb3:
	case 0xbb:
	case 0xb0 ... 0xb1:	/* cmpxchg */
	case 0xb6 ... 0xb7:	/* movzx */
	case 0xbe ... 0xbf:	/* movsx */
	case 0xc0 ... 0xc1:	/* xadd */
		return true;
	case 0xba:		/* bt and so on, with an immediate */
		return reg >= 4;
	case 0xc3:		/* movnti */
		return !(insn->prefixes & ~(TRAMP_X86_PFX_67 | TRAMP_X86_PFX_SEG));
	case 0xc7:		/* cmpxchg8b; cmpxchg16b wants alignment, others are of XSAVE */
		return reg == 1 && !(insn->rex & 8);
	default:
		return false;
	}
}
