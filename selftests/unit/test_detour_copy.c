// SPDX-License-Identifier: GPL-2.0
/*
 * Detours, executed: regions of one and of several instructions, of every kind that
 * relocates differently. Each does the same whether it is probed or not, in every
 * form in which the detour can be reached. (test_relocate.c has every form of every
 * instruction, alone.)
 */
#include <string.h>

#include "../../kernel/x86/relocate.h"
#include "../lib/ktap.h"
#include "hit.h"

static struct hit h;
static struct rng rng = { 0x456789a };
static u8 bytes[HIT_MAX_CODE];
static struct tasm a;

static void begin(const char *name)
{
	/* mov (%rsp), %rax: the return address; lea 1(%rcx), %rcx; ret */
	static const u8 elsewhere[] = "\x48\x8b\x04\x24\x48\x8d\x49\x01\xc3";

	hit_init(&h, name, &rng);
	memcpy((u8 *)HIT_ELSEWHERE, elsewhere, sizeof(elsewhere));
	a = (struct tasm){ .buf = bytes, .len = sizeof(bytes), .addr = HIT_SITE };
}

static void put(const char *code, u32 len)
{
	while (len--)
		tasm_byte(&a, *code++);
}

/* The state is random but for what the caller sets; 0 to 2 programs. */
static void run_programs(u32 nr)
{
	static const u32 few = 1 << PT_DI | 1 << PT_BX;
	u32 i;

	for (i = 0; i < nr; i++) {
		h.req.regs = i ? few : TRAMP_X86_REGS_ALL;
		hit_run(&h);
		if (i + 1 < nr)
			hit_add(&h, i ? COOKIE : INLINE, PERCPU_NEAR);
	}
}

/* With plain returns and indirect branches, and through thunks. (lint.c sees that they are.) */
static void run(u32 region)
{
	hit_code_of(&h, &a, region);
	run_programs(3);
	machine_branch_thunks(&h.env);
	hit_run(&h);
}

/* The same for what no thunk does, with the branch at the end of the region. */
static void run_without_thunks(u32 region, u32 branch)
{
	hit_code_of(&h, &a, region);
	run_programs(3);
	machine_branch_thunks(&h.env);
	hit_emit(&h);
	CHECK_EQ(h.err, TRAMP_X86_BAD_REQUEST, "%s", h.name);
	CHECK_EQ(h.out.reloc, TRAMP_X86_RELOC_FIXED, "%s", h.name);
	CHECK_EQ(h.out.reloc_at, branch, "%s", h.name);
}

#define CODE(text, code, region)						\
	do {									\
		begin(text);							\
		put(code, sizeof(code) - 1);					\
		run(region);							\
	} while (0)

static void plain_instructions(void)
{
	CODE("push %rbx", "\x53\x58\xc3", 1);
	CODE("push, push, pop", "\x53\x41\x54\x41\x5c\x5b\xc3", 5);
	CODE("pushfq and pop, twice", "\x9c\x58\x9c\x59\x90\xc3", 5);
	CODE("stc, cmc, std", "\xf9\xf5\xfd\x90\x90\xc3", 5);
	CODE("cld, sub", "\xfc\x48\x83\xe8\x01\xc3", 5);
	CODE("xor, test", "\x31\xc0\x48\x85\xdb\xc3", 5);
	CODE("sub from rsp, mov rsp", "\x48\x83\xec\x10\x48\x89\xe0\x48\x83\xc4\x10\xc3", 7);
	CODE("enter", "\xc8\x10\x00\x00\x90\xc9\xc3", 5);
	CODE("push, popfq", "\x68\x03\x02\x00\x00\x9d\xc3", 6);
	CODE("movabs", "\x48\xb8\x88\x77\x66\x55\x44\x33\x22\x11\xc3", 10);
	CODE("nop of 15 bytes behind four of 1 byte",
	     "\x90\x90\x90\x90\x66\x66\x66\x66\x66\x66\x2e\x0f\x1f\x84\0\0\0\0\0\xc3", 19);
}

static void rip_relative(void)
{
	u64 word, i;

	machine_init();
	word = (u64)machine_word(WORD_DATA);
	begin("incq word(%rip)");
	tasm_mem_op(&a, TASM_INC, true, tasm_rip(word), 0);
	tasm_op(&a, TASM_RET);
	run(7);

	begin("addq $imm8, word(%rip)");
	tasm_mem_op(&a, TASM_ADD_IMM8, true, tasm_rip(word), -5);
	tasm_op(&a, TASM_RET);
	run(8);

	begin("movq $imm32, word(%rip)");
	tasm_mem_op(&a, TASM_STORE_IMM32, true, tasm_rip(word + 8), -0x12345678);
	tasm_op(&a, TASM_RET);
	run(11);

	/* second in the region, and one that the region's first depends on */
	for (i = 0; i < 16; i++) {
		begin("three with operands by rip");
		tasm_push(&a, i & 15);
		tasm_lea(&a, TASM_RCX, tasm_rip(word));
		tasm_load(&a, TASM_RDX, tasm_rip(word + 8));
		tasm_pop(&a, TASM_RAX);
		tasm_op(&a, TASM_RET);
		run(i & 8 ? 9 : 8);
		if (i == TASM_RSP)
			continue;
		run(i & 8 ? 16 : 15);
	}
}

static void conditional_jumps(void)
{
	u32 cc, i;

	for (cc = 0; cc < 16; cc++) {
		for (i = 0; i < 8; i++) {
			begin("jcc rel8 first");
			tasm_byte(&a, 0x70 | cc);
			put("\x03\x48\xff\xc0\xc3", 5);
			run(5);

			begin("jcc rel8 alone");
			tasm_byte(&a, 0x70 | cc);
			put("\x03\x48\xff\xc0\xc3", 5);
			run(2);

			begin("jcc rel8 last");
			put("\x48\x89\xd8", 3);
			tasm_byte(&a, 0x70 | cc);
			put("\x03\x48\xff\xc0\xc3", 5);
			run(5);

			begin("jcc rel32");
			tasm_byte(&a, 0x0f);
			tasm_byte(&a, 0x80 | cc);
			put("\x03\0\0\0\x48\xff\xc0\xc3", 8);
			run(6);
		}
	}
}

static void jumps(void)
{
	CODE("jmp rel8", "\xeb\x03\x48\xff\xc0\xc3", 2);
	CODE("jmp rel8 and what is never reached", "\xeb\x03\x06\x06\x06\xc3", 5);
	CODE("jmp rel8 last", "\x48\x89\xd8\xeb\x03\x48\xff\xc0\xc3", 5);
	CODE("jmp rel32", "\xe9\x01\0\0\0\xcc\xc3", 5);

	begin("jmp *%rdx");
	put("\x48\x89\xd8\xff\xe2", 5);
	h.regs[RDX] = HIT_ELSEWHERE;
	run(5);

	machine_init();
	begin("jmp *word(%rip)");
	tasm_op_mem(&a, false, 0xff, 4, tasm_rip((u64)machine_word(WORD_DATA)), 0);
	h.words[0] = HIT_ELSEWHERE;
	run_without_thunks(6, 0);
}

static void loops(void)
{
	static const u64 counts[] = { 0, 1, 2, 0x100000000, 0x100000001 };
	u32 i, opcode;

	for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		for (opcode = 0xe0; opcode < 0xe4; opcode++) {
			begin("loop, jrcxz");
			tasm_byte(&a, opcode);
			put("\x03\x48\xff\xc0\xc3", 5);
			h.regs[RCX] = counts[i];
			run(2);
			run(5);

			begin("loop, jecxz");
			tasm_byte(&a, 0x67);
			tasm_byte(&a, opcode);
			put("\x03\x48\xff\xc0\xc3", 5);
			h.regs[RCX] = counts[i];
			run(6);
		}
	}
}

static void calls(void)
{
	begin("call rel32");
	tasm_branch(&a, TASM_CALL, HIT_ELSEWHERE);
	tasm_op(&a, TASM_RET);
	run(5);

	begin("call rel32 last");
	put("\x48\xff\xc3\x90", 4);
	tasm_branch(&a, TASM_CALL, HIT_ELSEWHERE);
	tasm_op(&a, TASM_RET);
	run(9);

	begin("call *%rdx last");
	put("\x48\x89\xd8\xff\xd2\xc3", 6);
	h.regs[RDX] = HIT_ELSEWHERE;
	run(5);

	begin("call *word(%rip)");
	tasm_op_mem(&a, false, 0xff, 2, tasm_rip((u64)machine_word(WORD_DATA)), 0);
	tasm_op(&a, TASM_RET);
	h.words[0] = HIT_ELSEWHERE;
	run_without_thunks(6, 0);

	begin("push, call *(%rsp)");
	tasm_push_imm(&a, HIT_ELSEWHERE);
	put("\xff\x14\x24\x48\x8d\x64\x24\x08\xc3", 9);
	run_without_thunks(8, 5);
}

static void returns(void)
{
	CODE("ret", "\xc3", 1);
	CODE("ret last", "\x48\x89\xd8\x90\xc3", 5);
	CODE("ret and what is never reached", "\xc3\x06\x06\x06\x06", 5);

	begin("ret $8");
	put("\xc2\x08\x00", 3);
	run_without_thunks(3, 0);

	begin("ret $8 last");
	put("\x48\x89\xd8\xc2\x08\x00", 6);
	run_without_thunks(6, 3);
}

static const struct ktap_test tests[] = {
	KTAP_TEST(plain_instructions),
	KTAP_TEST(rip_relative),
	KTAP_TEST(conditional_jumps),
	KTAP_TEST(jumps),
	KTAP_TEST(loops),
	KTAP_TEST(calls),
	KTAP_TEST(returns),
};
KTAP_MAIN(tests)
