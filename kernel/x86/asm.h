/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A small x86-64 encoder: each function appends one instruction to a buffer.
 *
 * The buffer may be too short, or absent altogether: then bytes are counted but not
 * written, so that one run of the caller's code measures and a second one writes. Errors
 * are sticky (struct tasm::overflow, ::out_of_reach): callers ask once at the end.
 *
 * Offsets into the buffer stand for places. Two struct tasm may write to parts of one buffer
 * at the same time (hot and cold). Jumps between them need the offset of the other only.
 *
 * Only what the images need is here, in the one encoding chosen for it. Encodings are
 * those of the Intel SDM, volume 2: [prefix] [REX] opcode ModRM [SIB] [disp] [imm].
 */
#ifndef TRAMP_X86_ASM_H
#define TRAMP_X86_ASM_H

#include "types.h"

/* Registers by their number in ModRM and REX. */
enum tasm_reg {
	TASM_RAX, TASM_RCX, TASM_RDX, TASM_RBX, TASM_RSP, TASM_RBP, TASM_RSI, TASM_RDI,
	TASM_R8, TASM_R9, TASM_R10, TASM_R11, TASM_R12, TASM_R13, TASM_R14, TASM_R15,
	TASM_NO_BASE,	/* memory operands: an absolute, sign-extended disp32 */
	TASM_RIP,	/* memory operands: struct tasm_mem::target, relative to rip */
};

/* Branches with a rel32, by their opcode. */
enum tasm_branch {
	TASM_CALL = 0xe8,
	TASM_JMP = 0xe9,
	TASM_JAE = 0x0f83,
	TASM_JE = 0x0f84,
	TASM_JNE = 0x0f85,
};

/* Instructions without operands, likewise. */
enum tasm_plain {
	TASM_PUSHFQ = 0x9c,
	TASM_POPFQ = 0x9d,
	TASM_RET = 0xc3,
	TASM_LEAVE = 0xc9,
	TASM_INT3 = 0xcc,
	TASM_CLI = 0xfa,
	TASM_CLD = 0xfc,
	TASM_CLAC = 0x0f01ca,
};

/* Those on memory without a register: opcode, its extension, bytes of immediate. */
#define TASM_MEM_OP(opcode, ext, imm)	((opcode) << 8 | (ext) << 4 | (imm))

enum tasm_mem_op {
	TASM_ADD_IMM32 = TASM_MEM_OP(0x81, 0, 4),
	TASM_SUB_IMM32 = TASM_MEM_OP(0x81, 5, 4),
	TASM_ADD_IMM8 = TASM_MEM_OP(0x83, 0, 1),
	TASM_CMP_IMM32 = TASM_MEM_OP(0x81, 7, 4),
	TASM_CMP_IMM8 = TASM_MEM_OP(0x83, 7, 1),
	TASM_SAR_IMM8 = TASM_MEM_OP(0xc1, 7, 1),
	TASM_STORE_IMM32 = TASM_MEM_OP(0xc7, 0, 4),
	TASM_INC = TASM_MEM_OP(0xff, 0, 0),
	TASM_DEC = TASM_MEM_OP(0xff, 1, 0),
	TASM_PUSH_MEM = TASM_MEM_OP(0xff, 6, 0),	/* 64 bits always */
};

#define TASM_REL32_SIZE	4

/**
 * struct tasm - where instructions go
 * @buf: start of the code; NULL: only count
 * @len: bytes from @buf on that may be written, at most 2^31
 * @off: where the next instruction goes
 * @addr: the address @buf[0] will run at; 0: not known yet, then relative
 *	operands outside of the buffer are neither computed nor checked
 * @overflow: an instruction did not fit into @len
 * @out_of_reach: an operand outside of the buffer was beyond rel32
 */
struct tasm {
	u8 *buf;
	u32 len;
	u32 off;
	u64 addr;
	bool overflow;
	bool out_of_reach;
};

/**
 * struct tasm_mem - a memory operand
 * @base: base register, TASM_NO_BASE or TASM_RIP
 * @gs: with the gs segment prefix
 * @disp: displacement (not with TASM_RIP)
 * @target: the address meant, with TASM_RIP
 */
struct tasm_mem {
	enum tasm_reg base;
	bool gs;
	s32 disp;
	u64 target;
};

/**
 * struct tasm_label - a place that is jumped to before it is known
 * @pos: its offset once bound, TASM_UNBOUND before
 * @chain: offset of the last rel32 that waits for it, TASM_UNBOUND for none
 *
 * The rel32 fields that wait hold the offset of the previous one in turn, so a
 * label takes any number of jumps without memory of its own. Initialise with
 * TASM_LABEL_INIT.
 */
struct tasm_label {
	u32 pos;
	u32 chain;
};

#define TASM_UNBOUND	0xffffffffU
#define TASM_LABEL_INIT	((struct tasm_label){ TASM_UNBOUND, TASM_UNBOUND })

static inline bool tasm_fits_s8(s64 v)
{
	return v == (s8)v;
}

static inline bool tasm_fits_s32(s64 v)
{
	return v == (s32)v;
}

/* Raw bytes ------------------------------------------------------------- */

static inline void tasm_byte(struct tasm *a, u8 byte)
{
	if (a->buf) {
		if (a->off < a->len)
			a->buf[a->off] = byte;
		else
			a->overflow = true;
	}
	a->off++;
}

/* The lowest @size bytes of @v. */
static inline void tasm_imm(struct tasm *a, u64 v, u32 size)
{
	for (; size; size--, v >>= 8)
		tasm_byte(a, v & 0xff);
}

/* An opcode of up to three bytes; the first is the highest that is not 0. */
static inline void tasm_op(struct tasm *a, u32 opcode)
{
	if (opcode >> 16)
		tasm_byte(a, opcode >> 16);
	if (opcode >> 8)
		tasm_byte(a, opcode >> 8 & 0xff);
	tasm_byte(a, opcode & 0xff);
}

/*
 * The rel32 that leads to @target, an address outside of the buffer, in an
 * instruction of which @trailing bytes follow.
 */
static inline void tasm_rel32_out(struct tasm *a, u64 target, u32 trailing)
{
	s64 rel = 0;

	if (a->addr) {
		rel = (s64)(target - (a->addr + a->off + TASM_REL32_SIZE + trailing));
		if (!tasm_fits_s32(rel)) {
			a->out_of_reach = true;
			rel = 0;
		}
	}
	tasm_imm(a, (u64)rel, TASM_REL32_SIZE);
}

/* Operands --------------------------------------------------------------- */

static inline struct tasm_mem tasm_at(enum tasm_reg base, s32 disp)
{
	return (struct tasm_mem){ .base = base, .disp = disp };
}

static inline struct tasm_mem tasm_rip(u64 target)
{
	return (struct tasm_mem){ .base = TASM_RIP, .target = target };
}

static inline void tasm_rex(struct tasm *a, bool wide, unsigned int reg, unsigned int base)
{
	u8 rex = 0x40 | (wide ? 8 : 0) | (reg & 8 ? 4 : 0) |
		 (base <= TASM_R15 && (base & 8) ? 1 : 0);

	if (rex != 0x40)
		tasm_byte(a, rex);
}

static inline void tasm_modrm(struct tasm *a, unsigned int mod, unsigned int reg, unsigned int rm)
{
	tasm_byte(a, mod << 6 | (reg & 7) << 3 | (rm & 7));
}

/* One 64-bit instruction between registers. The register or the opcode extension is in @reg. */
static inline void tasm_op_reg(struct tasm *a, u32 opcode, unsigned int reg, unsigned int rm)
{
	tasm_rex(a, true, reg, rm);
	tasm_op(a, opcode);
	tasm_modrm(a, 3, reg, rm);
}

/*
 * One instruction with a memory operand; @reg as above. The caller appends @trailing bytes
 * of immediate.
 */
static inline void tasm_op_mem(struct tasm *a, bool wide, u32 opcode, unsigned int reg,
			       struct tasm_mem m, u32 trailing)
{
	u32 disp_size;

	if (m.gs)
		tasm_byte(a, 0x65);
	tasm_rex(a, wide, reg, m.base);
	tasm_op(a, opcode);

	if (m.base == TASM_RIP) {
		tasm_modrm(a, 0, reg, 5);
		tasm_rel32_out(a, m.target, trailing);
		return;
	}
	if (m.base == TASM_NO_BASE) {
		/* without SIB the same ModRM would be rip-relative */
		tasm_modrm(a, 0, reg, 4);
		tasm_byte(a, 0x25);
		tasm_imm(a, (u64)m.disp, 4);
		return;
	}
	if (m.disp == 0 && (m.base & 7) != TASM_RBP)
		disp_size = 0;
	else
		disp_size = tasm_fits_s8(m.disp) ? 1 : 4;
	tasm_modrm(a, disp_size == 4 ? 2 : disp_size, reg, m.base);
	if ((m.base & 7) == TASM_RSP)	/* and r12: they mean "a SIB follows" */
		tasm_byte(a, 0x24);
	tasm_imm(a, (u64)m.disp, disp_size);
}

/* @wide means 64 bits, else 32. @imm counts only if @op has one; it is sign-extended. */
static inline void tasm_mem_op(struct tasm *a, enum tasm_mem_op op, bool wide,
			       struct tasm_mem m, s32 imm)
{
	u32 size = op & 0xf;

	tasm_op_mem(a, wide, op >> 8, op >> 4 & 0xf, m, size);
	tasm_imm(a, (u64)imm, size);
}

/* Stack ------------------------------------------------------------------ */

static inline void tasm_push(struct tasm *a, enum tasm_reg r)
{
	tasm_rex(a, false, 0, r);
	tasm_byte(a, 0x50 | (r & 7));
}

/* The immediate is sign-extended to 64 bits; five bytes whatever the value. */
static inline void tasm_push_imm32(struct tasm *a, s32 v)
{
	tasm_byte(a, 0x68);
	tasm_imm(a, (u64)v, 4);
}

/* The shortest form. */
static inline void tasm_push_imm(struct tasm *a, s32 v)
{
	if (!tasm_fits_s8(v)) {
		tasm_push_imm32(a, v);
		return;
	}
	tasm_byte(a, 0x6a);
	tasm_byte(a, v);
}

static inline void tasm_pop(struct tasm *a, enum tasm_reg r)
{
	tasm_rex(a, false, 0, r);
	tasm_byte(a, 0x58 | (r & 7));
}

/* add or sub of a positive immediate to rsp */
static inline void tasm_add_rsp(struct tasm *a, s32 v)
{
	bool sub = v < 0;
	s32 imm = sub ? -v : v;
	bool small = tasm_fits_s8(imm);

	tasm_op_reg(a, small ? 0x83 : 0x81, sub ? 5 : 0, TASM_RSP);
	tasm_imm(a, (u64)imm, small ? 1 : 4);
}

/* Moves ------------------------------------------------------------------ */

static inline void tasm_mov(struct tasm *a, enum tasm_reg dst, enum tasm_reg src)
{
	tasm_op_reg(a, 0x89, src, dst);
}

/* The shortest of: 32 bits zero-extended, 32 bits sign-extended, 64 bits. */
static inline void tasm_mov_imm(struct tasm *a, enum tasm_reg dst, u64 v)
{
	if (v != (u32)v && tasm_fits_s32((s64)v)) {
		tasm_op_reg(a, 0xc7, 0, dst);
		tasm_imm(a, v, 4);
		return;
	}
	tasm_rex(a, v != (u32)v, 0, dst);
	tasm_byte(a, 0xb8 | (dst & 7));
	tasm_imm(a, v, v == (u32)v ? 4 : 8);
}

static inline void tasm_load(struct tasm *a, enum tasm_reg dst, struct tasm_mem m)
{
	tasm_op_mem(a, true, 0x8b, dst, m, 0);
}

/* load32, add32, or32: 32 bits; the upper half of @dst becomes zero. */
static inline void tasm_load32(struct tasm *a, enum tasm_reg dst, struct tasm_mem m)
{
	tasm_op_mem(a, false, 0x8b, dst, m, 0);
}

static inline void tasm_add32(struct tasm *a, enum tasm_reg dst, struct tasm_mem m)
{
	tasm_op_mem(a, false, 0x03, dst, m, 0);
}

static inline void tasm_or32(struct tasm *a, enum tasm_reg dst, struct tasm_mem m)
{
	tasm_op_mem(a, false, 0x0b, dst, m, 0);
}

static inline void tasm_store(struct tasm *a, struct tasm_mem m, enum tasm_reg src)
{
	tasm_op_mem(a, true, 0x89, src, m, 0);
}

static inline void tasm_lea(struct tasm *a, enum tasm_reg dst, struct tasm_mem m)
{
	tasm_op_mem(a, true, 0x8d, dst, m, 0);
}

static inline void tasm_test(struct tasm *a, enum tasm_reg x, enum tasm_reg y)
{
	tasm_op_reg(a, 0x85, y, x);
}

/* nopl 0x0(%rax,%rax,1): the 5-byte NOP the kernel uses where it will patch. */
static inline void tasm_nop5(struct tasm *a)
{
	tasm_op(a, 0x0f1f44);
	tasm_imm(a, 0, 2);
}

/* Control flow: always the near form, so that sizes do not vary -------------- */

#define TASM_CALL_SIZE	5

/* To an address outside of the buffer. */
static inline void tasm_branch(struct tasm *a, enum tasm_branch op, u64 target)
{
	tasm_op(a, op);
	tasm_rel32_out(a, target, 0);
}

/* To an offset in the buffer. */
static inline void tasm_branch_to(struct tasm *a, enum tasm_branch op, u32 pos)
{
	tasm_op(a, op);
	tasm_imm(a, pos - (a->off + TASM_REL32_SIZE), TASM_REL32_SIZE);
}

/* To a label, bound already or not. */
static inline void tasm_branch_label(struct tasm *a, enum tasm_branch op, struct tasm_label *l)
{
	if (l->pos != TASM_UNBOUND) {
		tasm_branch_to(a, op, l->pos);
		return;
	}
	tasm_op(a, op);
	tasm_imm(a, l->chain, TASM_REL32_SIZE);
	l->chain = a->off - TASM_REL32_SIZE;
}

/*
 * The label is here: every jump that waited for it gets its rel32. A field that did not fit
 * into the buffer ends the walk: the overflow is noted already, and the code is lost anyway.
 */
static inline void tasm_bind(struct tasm *a, struct tasm_label *l)
{
	u32 next, rel, field = l->chain;

	while (a->buf && field != TASM_UNBOUND && (u64)field + TASM_REL32_SIZE <= a->len) {
		rel = a->off - (field + TASM_REL32_SIZE);
		memcpy(&next, a->buf + field, TASM_REL32_SIZE);
		memcpy(a->buf + field, &rel, TASM_REL32_SIZE);
		field = next;
	}
	l->pos = a->off;
	l->chain = TASM_UNBOUND;
}

/* call *reg */
static inline void tasm_call_reg(struct tasm *a, enum tasm_reg r)
{
	tasm_rex(a, false, 0, r);
	tasm_byte(a, 0xff);
	tasm_modrm(a, 3, 2, r);
}

/* The address of a label that is bound later. */
static inline void tasm_lea_label(struct tasm *a, enum tasm_reg dst, struct tasm_label *l)
{
	tasm_rex(a, true, dst, 0);
	tasm_byte(a, 0x8d);
	tasm_modrm(a, 0, dst, 5);
	tasm_imm(a, l->chain, TASM_REL32_SIZE);
	l->chain = a->off - TASM_REL32_SIZE;
}

#endif /* TRAMP_X86_ASM_H */
