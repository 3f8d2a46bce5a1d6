// SPDX-License-Identifier: GPL-2.0
/*
 * The encoder: every instruction it knows, with every register and with the
 * displacements and immediates around which encodings change, read back by a
 * decoder that is not ours (Zydis). Then the bounds, and labels.
 */
#include <Zydis/Zydis.h>
#include <string.h>

#include "../../kernel/x86/asm.h"
#include "../lib/ktap.h"
#include "machine.h"

#define ADDR	0x7654321000ULL
#define CANARY	0x5e

static u8 buf[256];
static struct tasm a;
static ZydisDecodedInstruction insn;
static ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];

static const s32 disps[] = {
	0, 1, 8, -8, 127, 128, -128, -129, 0x1000, -0x1000, 0x7fffffff, -0x7fffffff - 1,
};
static const u64 imms[] = {
	0, 1, 127, 128, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000, 0x123456789abcdef,
	-1ULL, -128ULL, -129ULL, -0x80000000ULL, -0x80000001ULL, 0x8000000000000000,
};
#define NR(array) (sizeof(array) / sizeof((array)[0]))

static void begin(void)
{
	memset(buf, 0x06, sizeof(buf));	/* not an instruction in 64-bit mode */
	a = (struct tasm){ .buf = buf, .len = sizeof(buf), .addr = ADDR };
}

/* The emitted code is one instruction, and it is this one. */
static bool one(ZydisMnemonic mnemonic)
{
	ZydisDecoder decoder;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	if (!CHECK(ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, buf, sizeof(buf), &insn, op)),
		   "%s does not decode", ZydisMnemonicGetString(mnemonic)))
		return false;
	return CHECK_EQ(insn.mnemonic, mnemonic, "%s", ZydisMnemonicGetString(insn.mnemonic)) &&
	       CHECK_EQ(insn.length, a.off, "%s", ZydisMnemonicGetString(mnemonic)) &&
	       CHECK(!a.overflow && !a.out_of_reach, "");
}

static void is_reg(u32 i, u32 reg)
{
	CHECK_EQ(op[i].type, ZYDIS_OPERAND_TYPE_REGISTER, "operand %u", i);
	CHECK_EQ(op[i].reg.value, ZYDIS_REGISTER_RAX + reg, "operand %u", i);
}

static void is_imm(u32 i, u64 value)
{
	CHECK_EQ(op[i].type, ZYDIS_OPERAND_TYPE_IMMEDIATE, "operand %u", i);
	CHECK_EQ(op[i].imm.value.u, value, "operand %u", i);
}

static ZydisRegister base_of(struct tasm_mem m)
{
	switch (m.base) {
	case TASM_NO_BASE:
		return ZYDIS_REGISTER_NONE;
	case TASM_RIP:
		return ZYDIS_REGISTER_RIP;
	default:
		return ZYDIS_REGISTER_RAX + m.base;
	}
}

static void is_mem(u32 i, struct tasm_mem m, u32 bits)
{
	CHECK_EQ(op[i].type, ZYDIS_OPERAND_TYPE_MEMORY, "operand %u", i);
	CHECK_EQ(op[i].mem.base, base_of(m), "base of operand %u", i);
	CHECK_EQ(op[i].mem.index, ZYDIS_REGISTER_NONE, "index of operand %u", i);
	CHECK_EQ(op[i].size, bits, "size of operand %u", i);
	if (m.gs)
		CHECK_EQ(op[i].mem.segment, ZYDIS_REGISTER_GS, "segment of operand %u", i);
	else
		CHECK(op[i].mem.segment == ZYDIS_REGISTER_DS ||
		      op[i].mem.segment == ZYDIS_REGISTER_SS, "segment of operand %u", i);
	if (m.base == TASM_RIP)
		CHECK_EQ(ADDR + a.off + (u64)op[i].mem.disp.value, m.target, "target");
	else
		CHECK_EQ(op[i].mem.disp.value, (s64)m.disp, "displacement of operand %u", i);
}

/* The statement that follows, with each memory operand once. */
#define FOR_EACH_MEM(m)								\
	for (u32 base_ = 0; base_ <= TASM_RIP; base_++)				\
		for (u32 gs_ = 0; gs_ < (base_ == TASM_RIP ? 1 : 2); gs_++)	\
			for (u32 d_ = 0; d_ < NR(disps); d_++)			\
				for (struct tasm_mem m = mem(base_, gs_, disps[d_]), *once_ = &m; \
				     once_; once_ = NULL)

static struct tasm_mem mem(u32 base, bool gs, s32 disp)
{
	struct tasm_mem m = { .base = base, .gs = gs, .disp = disp };

	if (base == TASM_RIP)
		m = (struct tasm_mem){ .base = base, .target = ADDR + (u64)(disp / 2) };
	return m;
}

static void memory_operands(void)
{
	u32 r;

	FOR_EACH_MEM(m) {
		for (r = TASM_RAX; r <= TASM_R15; r++) {
			begin();
			tasm_load(&a, r, m);
			if (one(ZYDIS_MNEMONIC_MOV)) {
				is_reg(0, r);
				is_mem(1, m, 64);
			}
			begin();
			tasm_store(&a, m, r);
			if (one(ZYDIS_MNEMONIC_MOV)) {
				is_mem(0, m, 64);
				is_reg(1, r);
			}
			begin();
			tasm_load32(&a, r, m);
			if (one(ZYDIS_MNEMONIC_MOV)) {
				CHECK_EQ(op[0].reg.value, ZYDIS_REGISTER_EAX + r, "");
				is_mem(1, m, 32);
			}
			begin();
			tasm_or32(&a, r, m);
			if (one(ZYDIS_MNEMONIC_OR)) {
				CHECK_EQ(op[0].reg.value, ZYDIS_REGISTER_EAX + r, "");
				is_mem(1, m, 32);
			}
			begin();
			tasm_add32(&a, r, m);
			if (one(ZYDIS_MNEMONIC_ADD)) {
				CHECK_EQ(op[0].reg.value, ZYDIS_REGISTER_EAX + r, "");
				is_mem(1, m, 32);
			}
			if (m.gs)
				continue;
			begin();
			tasm_lea(&a, r, m);
			if (one(ZYDIS_MNEMONIC_LEA)) {
				is_reg(0, r);
				CHECK_EQ(op[1].mem.type, ZYDIS_MEMOP_TYPE_AGEN, "");
				CHECK_EQ(op[1].mem.base, base_of(m), "");
			}
		}
		begin();
		tasm_mem_op(&a, TASM_PUSH_MEM, false, m, 0);
		if (one(ZYDIS_MNEMONIC_PUSH))
			is_mem(0, m, 64);
		for (r = 0; r < NR(imms); r++) {
			begin();
			tasm_mem_op(&a, TASM_STORE_IMM32, true, m, (s32)imms[r]);
			if (one(ZYDIS_MNEMONIC_MOV)) {
				is_mem(0, m, 64);
				is_imm(1, (u64)(s32)imms[r]);
			}
		}
	}
}

static void arithmetic(void)
{
	u32 wide, r;

	FOR_EACH_MEM(m) {
		for (wide = 0; wide < 2; wide++) {
			begin();
			tasm_mem_op(&a, TASM_INC, wide, m, 0);
			if (one(ZYDIS_MNEMONIC_INC))
				is_mem(0, m, wide ? 64 : 32);
			begin();
			tasm_mem_op(&a, TASM_DEC, wide, m, 0);
			if (one(ZYDIS_MNEMONIC_DEC))
				is_mem(0, m, wide ? 64 : 32);
			begin();
			tasm_mem_op(&a, TASM_CMP_IMM8, wide, m, -3);
			if (one(ZYDIS_MNEMONIC_CMP)) {
				is_mem(0, m, wide ? 64 : 32);
				is_imm(1, -3);
			}
			begin();
			tasm_mem_op(&a, TASM_ADD_IMM8, wide, m, -3);
			if (one(ZYDIS_MNEMONIC_ADD)) {
				is_mem(0, m, wide ? 64 : 32);
				is_imm(1, -3);
			}
			begin();
			tasm_mem_op(&a, TASM_ADD_IMM32, wide, m, 0x110001);
			if (one(ZYDIS_MNEMONIC_ADD)) {
				is_mem(0, m, wide ? 64 : 32);
				is_imm(1, 0x110001);
			}
			begin();
			tasm_mem_op(&a, TASM_SUB_IMM32, wide, m, -3);
			if (one(ZYDIS_MNEMONIC_SUB)) {
				is_mem(0, m, wide ? 64 : 32);
				is_imm(1, -3);
			}
			begin();
			tasm_mem_op(&a, TASM_SAR_IMM8, wide, m, 5);
			if (one(ZYDIS_MNEMONIC_SAR)) {
				is_mem(0, m, wide ? 64 : 32);
				is_imm(1, 5);
			}
		}
	}
	for (r = 0; r < 256; r++) {
		begin();
		tasm_test(&a, r / 16, r % 16);
		if (one(ZYDIS_MNEMONIC_TEST)) {
			is_reg(0, r / 16);
			is_reg(1, r % 16);
		}
	}
}

static void registers_and_immediates(void)
{
	u32 r, i;

	for (r = 0; r < 256; r++) {
		begin();
		tasm_mov(&a, r / 16, r % 16);
		if (one(ZYDIS_MNEMONIC_MOV)) {
			is_reg(0, r / 16);
			is_reg(1, r % 16);
		}
	}
	for (r = TASM_RAX; r <= TASM_R15; r++) {
		begin();
		tasm_push(&a, r);
		if (one(ZYDIS_MNEMONIC_PUSH))
			is_reg(0, r);
		begin();
		tasm_pop(&a, r);
		if (one(ZYDIS_MNEMONIC_POP))
			is_reg(0, r);
		for (i = 0; i < NR(imms); i++) {
			begin();
			tasm_mov_imm(&a, r, imms[i]);
			if (!one(ZYDIS_MNEMONIC_MOV))
				continue;
			if (op[0].size == 32) {
				CHECK_EQ(op[0].reg.value, ZYDIS_REGISTER_EAX + r, "");
				/* zero-extended, whatever the decoder makes of it */
				CHECK_EQ((u32)op[1].imm.value.u, imms[i], "");
			} else {
				is_reg(0, r);
				is_imm(1, imms[i]);
			}
			/* no shorter encoding exists */
			CHECK(a.off <= (imms[i] <= 0xffffffff ? 6 : imms[i] == (u64)(s32)imms[i] ?
					7 : 10), "%u bytes for %#lx", a.off, (long)imms[i]);
		}
	}
	for (i = 0; i < NR(imms); i++) {
		begin();
		tasm_push_imm(&a, (s32)imms[i]);
		if (one(ZYDIS_MNEMONIC_PUSH))
			is_imm(0, (u64)(s32)imms[i]);
		begin();
		tasm_push_imm32(&a, (s32)imms[i]);
		if (one(ZYDIS_MNEMONIC_PUSH))
			is_imm(0, (u64)(s32)imms[i]);
		CHECK_EQ(a.off, 5, "");
	}
	for (i = 1; i < 0x1000; i++) {
		begin();
		tasm_add_rsp(&a, i);
		if (one(ZYDIS_MNEMONIC_ADD)) {
			is_reg(0, TASM_RSP);
			is_imm(1, i);
		}
		begin();
		tasm_add_rsp(&a, -(s32)i);
		if (one(ZYDIS_MNEMONIC_SUB)) {
			is_reg(0, TASM_RSP);
			is_imm(1, i);
		}
	}
}

static void without_operands(void)
{
	begin();
	tasm_op(&a, TASM_RET);
	one(ZYDIS_MNEMONIC_RET);
	begin();
	tasm_op(&a, TASM_INT3);
	one(ZYDIS_MNEMONIC_INT3);
	begin();
	tasm_op(&a, TASM_LEAVE);
	one(ZYDIS_MNEMONIC_LEAVE);
	begin();
	tasm_op(&a, TASM_PUSHFQ);
	one(ZYDIS_MNEMONIC_PUSHFQ);
	begin();
	tasm_op(&a, TASM_POPFQ);
	one(ZYDIS_MNEMONIC_POPFQ);
	begin();
	tasm_op(&a, TASM_CLD);
	one(ZYDIS_MNEMONIC_CLD);
	begin();
	tasm_op(&a, TASM_CLI);
	one(ZYDIS_MNEMONIC_CLI);
	begin();
	tasm_op(&a, TASM_CLAC);
	one(ZYDIS_MNEMONIC_CLAC);
	begin();
	tasm_nop5(&a);
	one(ZYDIS_MNEMONIC_NOP);
	CHECK_EQ(a.off, 5, "");
}

/* Where the branch in the buffer leads, as an address. */
static u64 leads_to(void)
{
	ZyanU64 addr = 0;

	CHECK(ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&insn, &op[0], ADDR, &addr)), "");
	return addr;
}

static void branches(void)
{
	static const s64 distance[] = { 0, 5, -5, 0x1000, -0x1000, 0x7fffffff, -0x80000000LL };
	static const s64 too_far[] = { 0x80000000LL, -0x80000001LL, 0x100000000LL, 1LL << 62 };
	u32 i;

	for (i = 0; i < NR(distance); i++) {
		u64 target = ADDR + 5 + (u64)distance[i];

		begin();
		tasm_branch(&a, TASM_CALL, target);
		if (one(ZYDIS_MNEMONIC_CALL))
			CHECK_EQ(leads_to(), target, "");
		begin();
		tasm_branch(&a, TASM_JMP, target);
		if (one(ZYDIS_MNEMONIC_JMP))
			CHECK_EQ(leads_to(), target, "");
	}
	for (i = 0; i < NR(too_far); i++) {
		begin();
		tasm_branch(&a, TASM_CALL, ADDR + 5 + (u64)too_far[i]);
		CHECK(a.out_of_reach && a.off == 5, "");
		begin();
		tasm_branch(&a, TASM_JMP, ADDR + 5 + (u64)too_far[i]);
		CHECK(a.out_of_reach && a.off == 5, "");
		begin();
		tasm_mem_op(&a, TASM_CMP_IMM8, false, tasm_rip(ADDR + 7 + (u64)too_far[i]), 0);
		CHECK(a.out_of_reach && a.off == 7, "");
		/* unknown address: not checked */
		begin();
		a.addr = 0;
		tasm_branch(&a, TASM_CALL, ADDR + 5 + (u64)too_far[i]);
		CHECK(!a.out_of_reach && a.off == 5, "");
	}
	for (i = 0; i < 1000; i += 37) {
		begin();
		tasm_branch_to(&a, TASM_JMP, i);
		if (one(ZYDIS_MNEMONIC_JMP))
			CHECK_EQ(leads_to(), ADDR + i, "");
		begin();
		tasm_branch_to(&a, TASM_JE, i);
		if (one(ZYDIS_MNEMONIC_JZ))
			CHECK_EQ(leads_to(), ADDR + i, "");
		begin();
		tasm_branch_to(&a, TASM_JNE, i);
		if (one(ZYDIS_MNEMONIC_JNZ))
			CHECK_EQ(leads_to(), ADDR + i, "");
	}
}

/* One of each instruction, and labels that are bound behind them. */
static void some_of_everything(void)
{
	struct tasm_label end = TASM_LABEL_INIT;

	tasm_branch_label(&a, TASM_JNE, &end);
	tasm_push(&a, TASM_R12);
	tasm_mov_imm(&a, TASM_RAX, 0x123456789abcdef);
	tasm_load(&a, TASM_RCX, tasm_at(TASM_RSP, 0x1234));
	tasm_branch_label(&a, TASM_JMP, &end);
	tasm_mem_op(&a, TASM_CMP_IMM8, true, tasm_rip(ADDR), 0);
	tasm_branch(&a, TASM_CALL, ADDR);
	tasm_nop5(&a);
	tasm_branch_label(&a, TASM_JE, &end);
	tasm_bind(&a, &end);
	tasm_op(&a, TASM_RET);
}

/* At every length: nothing behind it is written, and the size is always known. */
static void bounds(void)
{
	u32 len, size, i;

	begin();
	some_of_everything();
	size = a.off;
	CHECK(!a.overflow, "");
	for (len = 0; len <= size; len++) {
		memset(buf, CANARY, sizeof(buf));
		a = (struct tasm){ .buf = buf, .len = len, .addr = ADDR };
		some_of_everything();
		CHECK_EQ(a.overflow, len < size, "%u of %u bytes", len, size);
		CHECK_EQ(a.off, size, "%u of %u bytes", len, size);
		for (i = len; i < sizeof(buf); i++)
			CHECK(buf[i] == CANARY, "byte %u written, %u allowed", i, len);
	}
	a = (struct tasm){ 0 };
	some_of_everything();
	CHECK(!a.overflow && a.off == size, "counting only");
}

/* Jumps to one label from before and behind it, in two parts of the buffer. */
static void labels(void)
{
	struct tasm_label l = TASM_LABEL_INIT;
	struct tasm hot, cold;
	u32 i, rel;

	begin();
	hot = a;
	cold = a;
	cold.off = 128;
	for (i = 0; i < 5; i++) {
		tasm_branch_label(&hot, TASM_JMP, &l);
		tasm_branch_label(&cold, TASM_JMP, &l);
	}
	tasm_bind(&hot, &l);
	tasm_branch_label(&cold, TASM_JMP, &l);
	tasm_branch_label(&hot, TASM_JMP, &l);
	CHECK_EQ(l.pos, 25, "");
	for (i = 0; i < 12; i++) {
		u32 at = i < 6 ? i * 5 : 128 + (i - 6) * 5;

		CHECK_EQ(buf[at], 0xe9, "jump %u", i);
		memcpy(&rel, buf + at + 1, 4);
		CHECK_EQ(at + 5 + rel, 25, "jump %u", i);
	}
}

static const struct ktap_test tests[] = {
	KTAP_TEST(memory_operands),
	KTAP_TEST(arithmetic),
	KTAP_TEST(registers_and_immediates),
	KTAP_TEST(without_operands),
	KTAP_TEST(branches),
	KTAP_TEST(bounds),
	KTAP_TEST(labels),
};
KTAP_MAIN(tests)
