// SPDX-License-Identifier: GPL-2.0
/*
 * Instructions as Zydis knows them, see opinion.h. The list of those that are
 * TRAMP_X86_FIXED is that of insn.h, by their names.
 */
#include "opinion.h"

#include <Zydis/Zydis.h>

struct zydis {
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
};

static bool try_decode(const u8 *bytes, u32 len, struct zydis *z)
{
	static ZydisDecoder decoder;
	static bool ready;

	if (!ready) {
		ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
		ready = true;
	}
	return ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes, len, &z->insn, z->op));
}

static bool has_prefix(const struct zydis *z, u8 byte)
{
	u32 i;

	for (i = 0; i < z->insn.raw.prefix_count; i++)
		if (z->insn.raw.prefixes[i].value == byte)
			return true;
	return false;
}

/* It traps, leaves by a way of its own, or looks at where it stands. */
static bool is_fixed(const struct zydis *z)
{
	switch (z->insn.mnemonic) {
	case ZYDIS_MNEMONIC_INT3:
	case ZYDIS_MNEMONIC_INT:
	case ZYDIS_MNEMONIC_INT1:
	case ZYDIS_MNEMONIC_INTO:
	case ZYDIS_MNEMONIC_UD0:
	case ZYDIS_MNEMONIC_UD1:
	case ZYDIS_MNEMONIC_UD2:
	case ZYDIS_MNEMONIC_IRET:
	case ZYDIS_MNEMONIC_IRETD:
	case ZYDIS_MNEMONIC_IRETQ:
	case ZYDIS_MNEMONIC_UIRET:
	case ZYDIS_MNEMONIC_SYSCALL:
	case ZYDIS_MNEMONIC_SYSRET:
	case ZYDIS_MNEMONIC_SYSENTER:
	case ZYDIS_MNEMONIC_SYSEXIT:
	case ZYDIS_MNEMONIC_HLT:
	case ZYDIS_MNEMONIC_RSM:
	case ZYDIS_MNEMONIC_LSS:
	case ZYDIS_MNEMONIC_XBEGIN:
	case ZYDIS_MNEMONIC_ENCLU:
	case ZYDIS_MNEMONIC_ENCLS:
	case ZYDIS_MNEMONIC_ENCLV:
	case ZYDIS_MNEMONIC_GETSEC:
	case ZYDIS_MNEMONIC_VMLAUNCH:
	case ZYDIS_MNEMONIC_VMRESUME:
	case ZYDIS_MNEMONIC_VMRUN:
	case ZYDIS_MNEMONIC_SKINIT:
	case ZYDIS_MNEMONIC_SEAMRET:
	case ZYDIS_MNEMONIC_JKZD:
	case ZYDIS_MNEMONIC_JKNZD:
		return true;
	case ZYDIS_MNEMONIC_MOV:
		return z->op[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		       z->op[0].reg.value == ZYDIS_REGISTER_SS;
	default:
		return z->insn.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR;
	}
}

static enum tramp_x86_kind near_branch(const struct zydis *z)
{
	bool direct = z->op[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;

	switch (z->insn.mnemonic) {
	case ZYDIS_MNEMONIC_JMP:
		return direct ? TRAMP_X86_JMP : TRAMP_X86_JMP_IND;
	case ZYDIS_MNEMONIC_CALL:
		return direct ? TRAMP_X86_CALL : TRAMP_X86_CALL_IND;
	case ZYDIS_MNEMONIC_RET:
		return TRAMP_X86_RET;
	case ZYDIS_MNEMONIC_LOOP:
	case ZYDIS_MNEMONIC_LOOPE:
	case ZYDIS_MNEMONIC_LOOPNE:
	case ZYDIS_MNEMONIC_JCXZ:
	case ZYDIS_MNEMONIC_JECXZ:
	case ZYDIS_MNEMONIC_JRCXZ:
		return TRAMP_X86_LOOP;
	default:
		return TRAMP_X86_JCC;
	}
}

static bool is_branch(const struct zydis *z)
{
	switch (z->insn.meta.category) {
	case ZYDIS_CATEGORY_COND_BR:
	case ZYDIS_CATEGORY_UNCOND_BR:
	case ZYDIS_CATEGORY_CALL:
	case ZYDIS_CATEGORY_RET:
		/* those of transactions are here as well */
		return z->insn.meta.branch_type != ZYDIS_BRANCH_TYPE_NONE ||
		       z->insn.mnemonic == ZYDIS_MNEMONIC_RET;
	default:
		return false;
	}
}

static enum tramp_x86_kind kind_of(const struct zydis *z)
{
	if (is_fixed(z))
		return TRAMP_X86_FIXED;
	if (!is_branch(z))
		return TRAMP_X86_PLAIN;
	return has_prefix(z, 0x66) || has_prefix(z, 0xf0) ? TRAMP_X86_FIXED : near_branch(z);
}

/* Return: the operand in memory that is relative to rip or eip, or NULL. */
static const ZydisDecodedOperand *rip_operand(const struct zydis *z)
{
	const ZydisDecodedOperand *op;

	for (op = z->op; op < z->op + z->insn.operand_count; op++)
		if (op->type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    (op->mem.base == ZYDIS_REGISTER_RIP || op->mem.base == ZYDIS_REGISTER_EIP))
			return op;
	return NULL;
}

static u64 address(const struct zydis *z, const ZydisDecodedOperand *op, u64 ip)
{
	ZyanU64 addr;

	FUZZ_CHECK(ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&z->insn, op, ip, &addr)));
	return addr;
}

static void check_branch(const struct tramp_x86_insn *insn, const struct zydis *z,
			 enum tramp_x86_kind kind, u64 ip)
{
	switch (kind) {
	case TRAMP_X86_JMP:
	case TRAMP_X86_JCC:
	case TRAMP_X86_LOOP:
	case TRAMP_X86_CALL:
		FUZZ_CHECK(tramp_x86_branch_target(insn, ip) == address(z, &z->op[0], ip));
		break;
	default:
		break;
	}
}

static void check_operand(const struct tramp_x86_insn *insn, const struct zydis *z, u64 ip)
{
	const ZydisDecodedOperand *rip = rip_operand(z);
	u64 addr = ip + insn->len + (u64)(s64)tramp_x86_disp(insn);

	FUZZ_CHECK(tramp_x86_rip_relative(insn) == !!rip);
	if (insn->modrm_off)
		FUZZ_CHECK(tramp_x86_disp(insn) == z->insn.raw.disp.value);
	if (!rip)
		return;
	FUZZ_CHECK((rip->mem.base == ZYDIS_REGISTER_EIP) ==
		   !!(insn->prefixes & TRAMP_X86_PFX_67));
	FUZZ_CHECK(address(z, rip, ip) ==
		   (insn->prefixes & TRAMP_X86_PFX_67 ? (u32)addr : addr));
}

static bool is_endbr(const struct zydis *z)
{
	return z->insn.mnemonic == ZYDIS_MNEMONIC_ENDBR64 ||
	       z->insn.mnemonic == ZYDIS_MNEMONIC_ENDBR32;
}

/* The instruction as if its prefixes @drop were not there: as DS, which means nothing. */
static bool decode_without(const struct tramp_x86_insn *insn, u8 drop, struct zydis *z)
{
	u8 bytes[TRAMP_X86_MAX_INSN];
	u32 i;

	memcpy(bytes, insn->bytes, insn->len);
	for (i = 0; i < z->insn.raw.prefix_count; i++)
		if (bytes[i] == drop)
			bytes[i] = 0x3e;
	return try_decode(bytes, insn->len, z);
}

/*
 * With F2 and F3 both, no manual says which of them counts (Intel SDM vol. 2, 2.1.1: no more than
 * one of a group); Zydis takes the later one. The core has to take the stricter one.
 */
static void check_kind(const struct tramp_x86_insn *insn, const struct zydis *z)
{
	enum tramp_x86_kind kind = kind_of(z);
	bool endbr = is_endbr(z);
	struct zydis other;
	u8 drop;

	if (has_prefix(z, 0xf2) && has_prefix(z, 0xf3)) {
		for (drop = 0xf2; drop <= 0xf3; drop++) {
			other = *z;
			if (!decode_without(insn, drop, &other))
				continue;
			endbr |= is_endbr(&other);
			if (kind_of(&other) == TRAMP_X86_FIXED)
				kind = TRAMP_X86_FIXED;
		}
	}
	FUZZ_CHECK(tramp_x86_classify(insn) == kind);
	FUZZ_CHECK(tramp_x86_is_endbr(insn) == endbr);
}

void opinion_check(const struct tramp_x86_insn *insn, u64 ip)
{
	struct zydis z;

	if (tramp_x86_emulate_prefix(insn->bytes, insn->len)) {
		FUZZ_CHECK(tramp_x86_classify(insn) == TRAMP_X86_FIXED);
		return;
	}
	FUZZ_CHECK(try_decode(insn->bytes, insn->len, &z));
	FUZZ_CHECK(z.insn.length == insn->len);
	check_kind(insn, &z);
	FUZZ_CHECK(tramp_x86_is_sti(insn) == (z.insn.mnemonic == ZYDIS_MNEMONIC_STI));
	check_branch(insn, &z, kind_of(&z), ip);
	check_operand(insn, &z, ip);
}
