// SPDX-License-Identifier: GPL-2.0
/* Stubs, see stub.h. */
#include "stub.h"

#include <string.h>

#include "text.h"

#define STATS_KEY	TEXT_DATA
#define NO_REGS		(TEXT_DATA + 0x100)
#define GARBAGE		0x0bad0bad

void stub_return(struct tasm *a, u32 result)
{
	static const u8 lost[] = {
		TASM_RCX, TASM_RDX, TASM_RSI, TASM_RDI, TASM_R8, TASM_R9, TASM_R10, TASM_R11,
	};
	u32 i;

	for (i = 0; i < sizeof(lost); i++)
		tasm_mov_imm(a, lost[i], GARBAGE + i);
	tasm_mov_imm(a, TASM_RAX, result);
	tasm_op(a, TASM_RET);
}

void stub_put(u64 addr, stub_fn *body, u32 arg)
{
	u8 code[STUB_SIZE];
	struct tasm a = { .buf = code, .len = sizeof(code), .addr = addr };

	memset(code, 0xcc, sizeof(code));
	body(&a, arg);
	if (a.overflow)
		native_die("a stub has no room");
	text_store(addr, code, sizeof(code));
}

u64 stub_make(u32 nr, stub_fn *body, u32 arg)
{
	u64 addr = TEXT_STUBS + nr * STUB_SIZE;

	stub_put(addr, body, arg);
	return addr;
}

static void stub_missed(struct tasm *a, u32 arg)
{
	(void)arg;
	tasm_mem_op(a, TASM_INC, true, stub_cpu(CPU_OFF(missed)), 0);
	stub_return(a, GARBAGE);
}

static void stub_nothing(struct tasm *a, u32 arg)
{
	(void)arg;
	stub_return(a, GARBAGE);
}

static void stub_resched(struct tasm *a, u32 arg)
{
	(void)arg;
	tasm_mov_imm(a, TASM_RAX, (u64)native_resched);
	tasm_op(a, 0xffe0);			/* jmp *%rax */
}

void stub_env(struct tramp_x86_env *env, u32 nr)
{
	*env = (struct tramp_x86_env){
		.preempt_count = CPU_OFF(preempt_count),
		.nmi_count = 0x110001,
		.current_task = CPU_OFF(current_task),
		.task_bpf_ctx = 8,
		.run_ctx_size = 24,
		.run_ctx_cookie = 8,
		.run_ctx_saved = 0,
		.trace_ctx_size = 24,
		.trace_ctx_cookie = 8,
		.stats_key = STATS_KEY,
		.has_session = true,
		.multi_ctx_size = 48,
		.multi_ctx_is_return = 8,
		.multi_ctx_link = 16,
		.multi_ctx_data = 24,
		.multi_ctx_ip = 40,
		.no_regs = NO_REGS,
		.cs = 0x10,
		.ss = 0x18,
		.missed = stub_make(nr, stub_missed, 0),
		.stats_enter = stub_make(nr + 1, stub_nothing, 0),
		.stats_exit = stub_make(nr + 2, stub_nothing, 0),
		.resched = stub_make(nr + 3, stub_resched, 0),
	};
}

void stub_stats(bool on)
{
	int key = on;

	text_store(STATS_KEY, &key, sizeof(key));
}
