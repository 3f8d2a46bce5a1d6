// SPDX-License-Identifier: GPL-2.0
/*
 * bench-native: cycles of an entry image on this very processor, in user space.
 *
 * Counting instructions prices a call, a load and a store alike. So the same
 * program is called here by three images, executed in the unit tests' machine
 * (per-CPU memory behind gs, code within reach of rel32):
 *
 *   inline		what fentry_image.c emits: the guard is part of the image
 *   same-work		laid out as the kernel's trampoline, which calls a function
 *			before and one behind the program; these do what our guard does
 *   like-kernel	the same, and they do what the kernel's do: RCU's nesting
 *			count, migration off, the run context, the recursion count
 *
 * A loop calls a traced function; cycles are those beyond the same loop with the
 * function's NOP5 in place. The kinds take turns, and medians are taken over many rounds, since
 * the machine has other things to do. They are taken at several placements of the code, since
 * where a branch lies in its cache line can cost a cycle. The counter of rdtsc has a constant
 * rate, whatever the clock: only ratios mean something.
 *
 * Not in it: what cold caches and a cold branch predictor cost, mitigations (return
 * thunks, retpolines), interrupts.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <x86intrin.h>
#include "../../kernel/x86/asm.h"
#include "../../kernel/x86/fentry_image.h"
#include "../lib/ktap.h"
#include "../unit/machine.h"
#include "native.h"

#define CALLS		2000
#define ROUNDS		251
#define PLACEMENTS	8

/* Where things lie in the area of images. */
#define IMAGE_AT(n)	(machine_area + AREA_IMAGES + (n) * 0x1000)
#define IMAGE_ROOM	0x1000

typedef u64 (*traced_fn)(u64 a, u64 b);

struct native_task native_task;
static u64 map_hits, map_other;

static struct tasm at(u8 *where)
{
	return (struct tasm){ .buf = where, .len = IMAGE_ROOM, .addr = (u64)where };
}

static void bytes(struct tasm *a, const char *code, size_t n)
{
	while (n--)
		tasm_byte(a, *code++);
}

/* The traced function: five instructions and a return, its entry a NOP5. */
static traced_fn emit_function(u8 *where)
{
	struct tasm a = at(where);

	tasm_nop5(&a);
	bytes(&a, "\x48\x8d\x44\x37\x01", 5);	/* lea 1(%rdi,%rsi), %rax */
	bytes(&a, "\x48\x8d\x44\x07\x02", 5);	/* lea 2(%rdi,%rax), %rax */
	bytes(&a, "\x48\x8d\x44\x06\x03", 5);
	bytes(&a, "\x48\x8d\x44\x07\x04", 5);
	bytes(&a, "\x48\x8d\x44\x06\x05", 5);
	tasm_op(&a, TASM_RET);
	return (traced_fn)where;
}

static void count_one(struct tasm *a, const u64 *word)
{
	tasm_mov_imm(a, TASM_RDI, (u64)word);
	tasm_load(a, TASM_RSI, tasm_at(TASM_RDI, 0));
	bytes(a, "\x48\x83\xc6\x01", 4);	/* add $1, %rsi */
	tasm_store(a, tasm_at(TASM_RDI, 0), TASM_RSI);
}

/* A program as the kernel's JIT makes it, with its two map updates or without. */
static u64 emit_program(u8 *where, bool maps)
{
	struct tasm a = at(where);

	tasm_nop5(&a);
	bytes(&a, "\x66\x90", 2);		/* xchg %ax, %ax */
	tasm_push(&a, TASM_RBP);
	tasm_mov(&a, TASM_RBP, TASM_RSP);
	if (maps) {
		count_one(&a, &map_hits);
		count_one(&a, &map_other);
	}
	bytes(&a, "\x31\xc0", 2);		/* xor %eax, %eax */
	tasm_op(&a, TASM_LEAVE);
	tasm_op(&a, TASM_RET);
	return (u64)where;
}

/* ------------------------------------------------------------ the images -- */

static void emit_inline(u8 *where, u64 func, u64 program)
{
	static const struct tramp_x86_model model = { 2, 8, { 8, 8 } };
	struct tramp_x86_env env = {
		.preempt_count = (u64)NATIVE_PREEMPT_COUNT,
		.current_task = (u64)NATIVE_CURRENT,
		.task_bpf_ctx = offsetof(struct native_task, bpf_ctx),
		.run_ctx_size = sizeof(struct native_run_ctx),
		.run_ctx_cookie = offsetof(struct native_run_ctx, cookie),
		.run_ctx_saved = offsetof(struct native_run_ctx, saved),
		.stats_key = (u64)machine_word(0),
		/* what is cold is never called */
		.stats_enter = machine_thunk(1), .stats_exit = machine_thunk(1),
		.resched = machine_thunk(1), .missed = machine_thunk(1),
	};
	struct tramp_x86_call call = {
		.func = program, .active = (u64)NATIVE_ACTIVE, .hits = (u64)NATIVE_HITS,
	};
	struct tramp_x86_fentry_req req = {
		.env = &env, .model = &model, .func_addr = func, .fentry = &call, .nr_fentry = 1,
	};
	struct tramp_x86_fentry_out out = {};

	REQUIRE(!tramp_x86_emit_fentry(&req, where, IMAGE_ROOM, (u64)where, &out),
		"the entry image");
}

/*
 * The kernel's layout for a function of two arguments: arguments are stored, not pushed. The
 * number of arguments is stored always. The image calls enter() and exit() with the program and the
 * run context. The start time lives in rbx.
 *
 *	rbp - 8, -16	the arguments
 *	rbp - 24	their number
 *	rbp - 48	run context
 *	rbp - 56	rbx
 */
static void emit_kernel_layout(u8 *where, u64 program, u64 enter, u64 exit)
{
	struct tasm_mem run_ctx = tasm_at(TASM_RBP, -48), rbx = tasm_at(TASM_RBP, -56);
	s32 cookie_off = (s32)offsetof(struct native_run_ctx, cookie);
	struct tasm_mem cookie = tasm_at(TASM_RBP, -48 + cookie_off);
	struct tasm_label skip = TASM_LABEL_INIT;
	struct tasm a = at(where);

	tasm_push(&a, TASM_RBP);
	tasm_mov(&a, TASM_RBP, TASM_RSP);
	tasm_add_rsp(&a, -48);
	tasm_push(&a, TASM_RBX);
	tasm_mov_imm(&a, TASM_RAX, 2);
	tasm_store(&a, tasm_at(TASM_RBP, -24), TASM_RAX);
	tasm_store(&a, tasm_at(TASM_RBP, -16), TASM_RDI);
	tasm_store(&a, tasm_at(TASM_RBP, -8), TASM_RSI);

	tasm_mov_imm(&a, TASM_RDI, 0);
	tasm_store(&a, cookie, TASM_RDI);
	tasm_mov_imm(&a, TASM_RDI, (u64)&native_task);
	tasm_lea(&a, TASM_RSI, run_ctx);
	tasm_branch(&a, TASM_CALL, enter);
	tasm_mov(&a, TASM_RBX, TASM_RAX);
	tasm_test(&a, TASM_RAX, TASM_RAX);
	tasm_branch_label(&a, TASM_JE, &skip);
	tasm_lea(&a, TASM_RDI, tasm_at(TASM_RBP, -16));
	tasm_branch(&a, TASM_CALL, program);
	tasm_bind(&a, &skip);
	tasm_mov_imm(&a, TASM_RDI, (u64)&native_task);
	tasm_mov(&a, TASM_RSI, TASM_RBX);
	tasm_lea(&a, TASM_RDX, run_ctx);
	tasm_branch(&a, TASM_CALL, exit);

	tasm_load(&a, TASM_RDI, tasm_at(TASM_RBP, -16));
	tasm_load(&a, TASM_RSI, tasm_at(TASM_RBP, -8));
	tasm_load(&a, TASM_RBX, rbx);
	tasm_op(&a, TASM_LEAVE);
	tasm_op(&a, TASM_RET);
	REQUIRE(!a.overflow && !a.out_of_reach, "an image in the kernel's layout");
}

/* ------------------------------------------------------------- measuring -- */

static u64 loop(traced_fn fn)
{
	u64 begin, end, sum = 0;
	unsigned int aux;
	u32 i;

	_mm_lfence();
	begin = __rdtsc();
	_mm_lfence();
	for (i = 0; i < CALLS; i++)
		sum += fn(i, 7);
	end = __rdtscp(&aux);
	_mm_lfence();
	asm volatile("" : : "r" (sum));
	return end - begin;
}

static int by_value(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

static double median(u64 *ticks, int nr)
{
	qsort(ticks, nr, sizeof(*ticks), by_value);
	return (double)ticks[nr / 2] / CALLS;
}

#define KINDS	4	/* the first is the bare call */
static const char *const kind_name[KINDS] = { "bare", "inline", "same-work", "like-kernel" };

/* All code anew, shifted by 8 bytes for each @placement. */
static void emit_all(traced_fn *fn, bool maps, int placement)
{
	u32 shift = 8 * placement;
	u64 program;
	int k;

	for (k = 0; k < KINDS; k++)
		fn[k] = emit_function(IMAGE_AT(k) + shift);
	program = emit_program(IMAGE_AT(4) + shift, maps);
	emit_inline(IMAGE_AT(5) + shift, (u64)fn[1], program);
	emit_kernel_layout(IMAGE_AT(6) + shift, program, (u64)same_work_enter,
			   (u64)same_work_exit);
	emit_kernel_layout(IMAGE_AT(7) + shift, program, (u64)like_kernel_enter,
			   (u64)like_kernel_exit);
	for (k = 1; k < KINDS; k++)
		machine_poke_call((u8 *)fn[k], (u64)IMAGE_AT(4 + k) + shift);
}

static void check_hits(traced_fn *fn, bool maps)
{
	int k;

	for (k = 0; k < KINDS; k++) {
		map_hits = 0;
		loop(fn[k]);
		REQUIRE(!maps || map_hits == (k ? CALLS : 0), "%s: %lu hits in %d calls",
			kind_name[k], map_hits, CALLS);
		native_check();
	}
}

static void measure(const char *name, bool maps)
{
	static u64 ticks[KINDS][PLACEMENTS * ROUNDS];
	traced_fn fn[KINDS];
	int i, k, placement, nr = 0;
	double bare;

	for (placement = 0; placement < PLACEMENTS; placement++) {
		emit_all(fn, maps, placement);
		check_hits(fn, maps);
		for (i = 0; i < ROUNDS; i++, nr++)
			for (k = 0; k < KINDS; k++)
				ticks[k][nr] = loop(fn[k]);
	}
	bare = median(ticks[0], nr);
	for (k = 1; k < KINDS; k++)
		printf("cycles %s %s %.2f\n", kind_name[k], name, median(ticks[k], nr) - bare);
}

static void print_cpu(void)
{
	FILE *f = fopen("/proc/cpuinfo", "re");
	char line[256];

	while (f && fgets(line, sizeof(line), f)) {
		if (strncmp(line, "model name", 10))
			continue;
		printf("cpu %s", strchr(line, ':') + 2);
		break;
	}
	if (f)
		fclose(f);
}

int main(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(sched_getcpu(), &set);
	REQUIRE(!sched_setaffinity(0, sizeof(set), &set), "cannot be pinned to a processor");
	machine_init();
	native_init();
	print_cpu();
	measure("empty", false);
	measure("maps", true);
	return 0;
}
