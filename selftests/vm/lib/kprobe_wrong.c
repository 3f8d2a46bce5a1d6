// SPDX-License-Identifier: GPL-2.0
/*
 * Instructions that the kernel's kprobes take, and get wrong when they are hit: our own idea of
 * tramp_place_kprobe_wrong().
 *
 * `ret n` and far returns, which they emulate as a plain one. A call with a prefix (cs, before
 * retpolines), which they have return into its last byte. A loop, which jumps once too often.
 * An instruction that waits for an interrupt, or an sti before one; a hypervisor may wait in a
 * call of it (0f 01). xbegin, which aborts to elsewhere. One with VEX or EVEX, whose opcode they
 * take for that of another. One with a fix-up, unless that is for a #PF.
 */
#include "probe.h"

/* Bytes in front of an opcode. */
static int prefixes(const uint8_t *code)
{
	int n = 0;

	while (code[n] == 0x26 || code[n] == 0x2e || code[n] == 0x36 || code[n] == 0x3e ||
	       (code[n] >= 0x64 && code[n] <= 0x67) || code[n] == 0xf2 || code[n] == 0xf3)
		n++;
	return n + ((code[n] & 0xf0) == 0x40); /* REX */
}

/* hlt, mwait, mwaitx. */
static bool waits(const uint8_t *code)
{
	code += prefixes(code);
	return code[0] == 0xf4 ||
	       (code[0] == 0x0f && code[1] == 0x01 && (code[2] == 0xc9 || code[2] == 0xfb));
}

/* Entries of the exception table that are for a #PF (asm/extable_fixup_types.h). */
static bool is_access(int type)
{
	return (type >= 1 && type <= 3) || type == 17 || type == 19;
}

/* Of others by a #GP and the like: segments, MSRs, control registers, FPU, XSAVE; division. */
static bool has_other_faults(const uint8_t *op, bool wide)
{
	const uint8_t *modrm = op + 1 + (op[0] == 0x0f);
	int reg = *modrm >> 3 & 7;

	switch (op[0]) {
	case 0x8e:
	case 0x9b:
	case 0xd8 ... 0xdf:
		return true;
	case 0xf6 ... 0xf7:
		return reg >= 6;
	case 0x0f:
		return op[1] <= 0x0b || (op[1] >= 0x20 && op[1] <= 0x23) ||
		       (op[1] >= 0x30 && op[1] <= 0x37) || op[1] == 0xae ||
		       (op[1] == 0xc7 && (reg != 1 || wide));
	default:
		return false;
	}
}

static bool loses_fixup(int fd, uint64_t addr, const uint8_t *code)
{
	const uint8_t *op = code + prefixes(code);
	int32_t type;

	judge(fd, TT_JUDGE_FIXUP, &addr, &type, 1);
	return type && (!is_access(type) ||
			has_other_faults(op, op != code && (op[-1] & 0xf8) == 0x48));
}

bool kprobe_is_wrong(int fd, uint64_t addr)
{
	uint8_t code[32] = {};
	const uint8_t *op;

	text_read(fd, addr, code, sizeof(code) / 2);
	op = code + prefixes(code);
	if (loses_fixup(fd, addr, code))
		return true;
	switch (op[0]) {
	case 0x62:
	case 0xc4 ... 0xc5:
	case 0xc2:
	case 0xca ... 0xcb:
	case 0xe0 ... 0xe2:
		return true;
	case 0xe8:
		return op != code;
	case 0xc7:
		return op[1] == 0xf8;
	case 0xfb:
		op += 1 + prefixes(op + 1);
		return waits(op) || (op[0] == 0x0f && op[1] == 0x01);
	default:
		return waits(code);
	}
}
