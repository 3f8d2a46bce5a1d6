/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A small x86-64 encoder: each function appends one instruction to a buffer.
 *
 * The buffer may be too short, or absent altogether: then bytes are counted but
 * not written, so that one run of the caller's code measures and a second one
 * writes. Errors are sticky (struct tasm::overflow, ::out_of_reach): callers emit
 * without looking and ask once at the end.
 *
 * Offsets into the buffer stand for places. Two struct tasm may write to different
 * parts of one buffer at the same time (a hot and a cold part, say). Jumps between
 * them need nothing but the offset of the other.
 *
 * Only what the images need is here, in the one encoding chosen for it. The
 * encodings are those of the Intel SDM, volume 2: [prefix] [REX] opcode ModRM
 * [SIB] [disp] [imm].
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

/* Condition codes, the low four bits of Jcc. */
enum tasm_cc {
	TASM_C = 0x2,
	TASM_E = 0x4,
	TASM_NE = 0x5,
};

#define TASM_REL32_SIZE	4
#define TASM_NOP5_SIZE	5

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

static inline void tasm_imm32(struct tasm *a, u32 v)
{
	tasm_byte(a, v & 0xff);
	tasm_byte(a, v >> 8 & 0xff);
	tasm_byte(a, v >> 16 & 0xff);
	tasm_byte(a, v >> 24);
}

static inline void tasm_imm64(struct tasm *a, u64 v)
{
	tasm_imm32(a, v);
	tasm_imm32(a, v >> 32);
}

/* A rel32 field at @pos that was written before, all four bytes in bounds. */
static inline bool tasm_rel32_written(const struct tasm *a, u32 pos)
{
	return a->buf && a->len >= TASM_REL32_SIZE && pos <= a->len - TASM_REL32_SIZE;
}

static inline u32 tasm_peek32(const struct tasm *a, u32 pos)
{
	const u8 *p = a->buf + pos;

	return p[0] | (u32)p[1] << 8 | (u32)p[2] << 16 | (u32)p[3] << 24;
}

static inline void tasm_poke32(struct tasm *a, u32 pos, u32 v)
{
	u8 *p = a->buf + pos;

	p[0] = v;
	p[1] = v >> 8;
	p[2] = v >> 16;
	p[3] = v >> 24;
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
	tasm_imm32(a, (u32)rel);
}

/* The rel32 that leads to @pos, an offset in the buffer. */
static inline void tasm_rel32_to(struct tasm *a, u32 pos)
{
	tasm_imm32(a, pos - (a->off + TASM_REL32_SIZE));
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

/*
 * One instruction with a memory operand. The opcode is one byte, or two if the first is
 * an escape (0x0fba). The register operand or the opcode extension is in @reg. The
 * caller appends @trailing bytes of immediate.
 */
static inline void tasm_op_mem(struct tasm *a, bool wide, u16 opcode, unsigned int reg,
			       struct tasm_mem m, u32 trailing)
{
	bool sib = (m.base & 7) == TASM_RSP;	/* rsp and r12 mean "a SIB follows" */

	if (m.gs)
		tasm_byte(a, 0x65);
	tasm_rex(a, wide, reg, m.base);
	if (opcode >> 8)
		tasm_byte(a, opcode >> 8);
	tasm_byte(a, opcode & 0xff);

	if (m.base == TASM_RIP) {
		tasm_modrm(a, 0, reg, 5);
		tasm_rel32_out(a, m.target, trailing);
	} else if (m.base == TASM_NO_BASE) {
		/* without SIB the same ModRM would be rip-relative */
		tasm_modrm(a, 0, reg, 4);
		tasm_byte(a, 0x25);
		tasm_imm32(a, m.disp);
	} else if (m.disp == 0 && (m.base & 7) != TASM_RBP) {
		tasm_modrm(a, 0, reg, m.base);
		if (sib)
			tasm_byte(a, 0x24);
	} else if (tasm_fits_s8(m.disp)) {
		tasm_modrm(a, 1, reg, m.base);
		if (sib)
			tasm_byte(a, 0x24);
		tasm_byte(a, m.disp);
	} else {
		tasm_modrm(a, 2, reg, m.base);
		if (sib)
			tasm_byte(a, 0x24);
		tasm_imm32(a, m.disp);
	}
}

/* Stack ------------------------------------------------------------------ */

static inline void tasm_push(struct tasm *a, enum tasm_reg r)
{
	tasm_rex(a, false, 0, r);
	tasm_byte(a, 0x50 | (r & 7));
}

static inline void tasm_push_mem(struct tasm *a, struct tasm_mem m)
{
	tasm_op_mem(a, false, 0xff, 6, m, 0);
}

/* The immediate is sign-extended to 64 bits. */
static inline void tasm_push_imm(struct tasm *a, s32 v)
{
	if (tasm_fits_s8(v)) {
		tasm_byte(a, 0x6a);
		tasm_byte(a, v);
	} else {
		tasm_byte(a, 0x68);
		tasm_imm32(a, v);
	}
}

/* The same, five bytes whatever the value. */
#define TASM_PUSH_IMM32_SIZE	5

static inline void tasm_push_imm32(struct tasm *a, s32 v)
{
	tasm_byte(a, 0x68);
	tasm_imm32(a, v);
}

static inline void tasm_pop(struct tasm *a, enum tasm_reg r)
{
	tasm_rex(a, false, 0, r);
	tasm_byte(a, 0x58 | (r & 7));
}

static inline void tasm_pushfq(struct tasm *a)
{
	tasm_byte(a, 0x9c);
}

static inline void tasm_popfq(struct tasm *a)
{
	tasm_byte(a, 0x9d);
}

static inline void tasm_leave(struct tasm *a)
{
	tasm_byte(a, 0xc9);
}

/* add or sub of a positive immediate to rsp */
static inline void tasm_add_rsp(struct tasm *a, s32 v)
{
	bool sub = v < 0;
	s32 imm = sub ? -v : v;

	tasm_byte(a, 0x48);
	tasm_byte(a, tasm_fits_s8(imm) ? 0x83 : 0x81);
	tasm_modrm(a, 3, sub ? 5 : 0, TASM_RSP);
	if (tasm_fits_s8(imm))
		tasm_byte(a, imm);
	else
		tasm_imm32(a, imm);
}

/* Moves ------------------------------------------------------------------ */

static inline void tasm_mov(struct tasm *a, enum tasm_reg dst, enum tasm_reg src)
{
	tasm_rex(a, true, src, dst);
	tasm_byte(a, 0x89);
	tasm_modrm(a, 3, src, dst);
}

/* The shortest of: 32 bits zero-extended, 32 bits sign-extended, 64 bits. */
static inline void tasm_mov_imm(struct tasm *a, enum tasm_reg dst, u64 v)
{
	if (v == (u32)v) {
		tasm_rex(a, false, 0, dst);
		tasm_byte(a, 0xb8 | (dst & 7));
		tasm_imm32(a, (u32)v);
	} else if (tasm_fits_s32((s64)v)) {
		tasm_rex(a, true, 0, dst);
		tasm_byte(a, 0xc7);
		tasm_modrm(a, 3, 0, dst);
		tasm_imm32(a, (u32)v);
	} else {
		tasm_rex(a, true, 0, dst);
		tasm_byte(a, 0xb8 | (dst & 7));
		tasm_imm64(a, v);
	}
}

static inline void tasm_load(struct tasm *a, enum tasm_reg dst, struct tasm_mem m)
{
	tasm_op_mem(a, true, 0x8b, dst, m, 0);
}

/* 32 bits; the upper half of @dst becomes zero. */
static inline void tasm_load32(struct tasm *a, enum tasm_reg dst, struct tasm_mem m)
{
	tasm_op_mem(a, false, 0x8b, dst, m, 0);
}

static inline void tasm_store(struct tasm *a, struct tasm_mem m, enum tasm_reg src)
{
	tasm_op_mem(a, true, 0x89, src, m, 0);
}

/* 64 bits, sign-extended from 32. */
static inline void tasm_store_imm(struct tasm *a, struct tasm_mem m, s32 v)
{
	tasm_op_mem(a, true, 0xc7, 0, m, 4);
	tasm_imm32(a, v);
}

static inline void tasm_lea(struct tasm *a, enum tasm_reg dst, struct tasm_mem m)
{
	tasm_op_mem(a, true, 0x8d, dst, m, 0);
}

/* Arithmetic: @wide means 64 bits, else 32 ------------------------------- */

static inline void tasm_inc(struct tasm *a, bool wide, struct tasm_mem m)
{
	tasm_op_mem(a, wide, 0xff, 0, m, 0);
}

static inline void tasm_dec(struct tasm *a, bool wide, struct tasm_mem m)
{
	tasm_op_mem(a, wide, 0xff, 1, m, 0);
}

static inline void tasm_add_imm8(struct tasm *a, bool wide, struct tasm_mem m, s8 v)
{
	tasm_op_mem(a, wide, 0x83, 0, m, 1);
	tasm_byte(a, v);
}

static inline void tasm_add_imm32(struct tasm *a, bool wide, struct tasm_mem m, s32 v)
{
	tasm_op_mem(a, wide, 0x81, 0, m, 4);
	tasm_imm32(a, v);
}

static inline void tasm_sub_imm32(struct tasm *a, bool wide, struct tasm_mem m, s32 v)
{
	tasm_op_mem(a, wide, 0x81, 5, m, 4);
	tasm_imm32(a, v);
}

static inline void tasm_cmp_imm8(struct tasm *a, bool wide, struct tasm_mem m, s8 v)
{
	tasm_op_mem(a, wide, 0x83, 7, m, 1);
	tasm_byte(a, v);
}

/* 32 bits; the upper half of @dst becomes zero. */
static inline void tasm_or32(struct tasm *a, enum tasm_reg dst, struct tasm_mem m)
{
	tasm_op_mem(a, false, 0x0b, dst, m, 0);
}

static inline void tasm_sar_imm8(struct tasm *a, bool wide, struct tasm_mem m, u8 v)
{
	tasm_op_mem(a, wide, 0xc1, 7, m, 1);
	tasm_byte(a, v);
}

/* Set a bit; carry is what it was. */
static inline void tasm_bts_imm8(struct tasm *a, bool wide, struct tasm_mem m, u8 bit)
{
	tasm_op_mem(a, wide, 0x0fba, 5, m, 1);
	tasm_byte(a, bit);
}

static inline void tasm_test(struct tasm *a, enum tasm_reg x, enum tasm_reg y)
{
	tasm_rex(a, true, y, x);
	tasm_byte(a, 0x85);
	tasm_modrm(a, 3, y, x);
}

/* Flags: IF, DF, AC become 0 ----------------------------------------------- */

static inline void tasm_cli(struct tasm *a)
{
	tasm_byte(a, 0xfa);
}

static inline void tasm_cld(struct tasm *a)
{
	tasm_byte(a, 0xfc);
}

static inline void tasm_clac(struct tasm *a)
{
	tasm_byte(a, 0x0f);
	tasm_byte(a, 0x01);
	tasm_byte(a, 0xca);
}

/* Control flow ----------------------------------------------------------- */

/* call and jmp to an address outside of the buffer: opcode and rel32 */
#define TASM_CALL_SIZE	5

static inline void tasm_call(struct tasm *a, u64 target)
{
	tasm_byte(a, 0xe8);
	tasm_rel32_out(a, target, 0);
}

static inline void tasm_jmp_out(struct tasm *a, u64 target)
{
	tasm_byte(a, 0xe9);
	tasm_rel32_out(a, target, 0);
}

/* Jumps to a known offset; always the near form, so that sizes do not vary. */
static inline void tasm_jmp_to(struct tasm *a, u32 pos)
{
	tasm_byte(a, 0xe9);
	tasm_rel32_to(a, pos);
}

static inline void tasm_jcc_to(struct tasm *a, enum tasm_cc cc, u32 pos)
{
	tasm_byte(a, 0x0f);
	tasm_byte(a, 0x80 | cc);
	tasm_rel32_to(a, pos);
}

/* Jumps to a label, bound already or not. */
static inline void tasm_rel32_label(struct tasm *a, struct tasm_label *l)
{
	u32 field = a->off;

	if (l->pos != TASM_UNBOUND) {
		tasm_rel32_to(a, l->pos);
		return;
	}
	tasm_imm32(a, l->chain);
	l->chain = field;
}

static inline void tasm_jmp_label(struct tasm *a, struct tasm_label *l)
{
	tasm_byte(a, 0xe9);
	tasm_rel32_label(a, l);
}

static inline void tasm_jcc_label(struct tasm *a, enum tasm_cc cc, struct tasm_label *l)
{
	tasm_byte(a, 0x0f);
	tasm_byte(a, 0x80 | cc);
	tasm_rel32_label(a, l);
}

/*
 * The label is here: every jump that waited for it gets its rel32. A field
 * that did not fit into the buffer ends the walk (the overflow is noted
 * already, and the code is lost anyway).
 */
static inline void tasm_bind(struct tasm *a, struct tasm_label *l)
{
	u32 field = l->chain;

	while (field != TASM_UNBOUND && tasm_rel32_written(a, field)) {
		u32 next = tasm_peek32(a, field);

		tasm_poke32(a, field, a->off - (field + TASM_REL32_SIZE));
		field = next;
	}
	l->pos = a->off;
	l->chain = TASM_UNBOUND;
}

static inline void tasm_ret(struct tasm *a)
{
	tasm_byte(a, 0xc3);
}

static inline void tasm_int3(struct tasm *a)
{
	tasm_byte(a, 0xcc);
}

/* nopl 0x0(%rax,%rax,1): the 5-byte NOP the kernel uses where it will patch. */
static inline void tasm_nop5(struct tasm *a)
{
	tasm_byte(a, 0x0f);
	tasm_byte(a, 0x1f);
	tasm_byte(a, 0x44);
	tasm_byte(a, 0x00);
	tasm_byte(a, 0x00);
}

#endif /* TRAMP_X86_ASM_H */
