/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Calls of BPF programs inside an image. Internal to kernel/x86/: the images (fentry_image.c,
 * detour_image.c) lay out their frame and decide which program comes when.
 */
#ifndef TRAMP_X86_GUARD_H
#define TRAMP_X86_GUARD_H

#include "asm.h"
#include "fentry_image.h"

/**
 * struct tramp_part - the hot or the cold part of an image
 * @a: its encoder; both write to one buffer
 * @gs_base: the per-CPU offset that rax holds, with @gs_known
 * @gs_known: rax holds one
 */
struct tramp_part {
	struct tasm a;
	u64 gs_base;
	bool gs_known;
};

/**
 * struct tramp_guard - the state of an image that is being emitted
 * @env: the kernel
 * @hot: what every hit executes
 * @cold: what lies behind it: misses, timed runs, rescheduling
 * @ctx: the programs' context, from rbp
 * @ctx_addr: or its address, if it is not in the frame; 0: it is
 * @run_ctx: the run context that programs find their cookie in, from rbp; set if a
 *	program needs one, as are the next two
 * @cookie: its bpf_cookie, from rbp; 0: it is there already
 * @saved: a u64 for the outer current->bpf_ctx, in the run context or apart, from rbp
 * @run_ctx_flags: TRAMP_X86_CALL_*: an inline-policy program with any of them needs
 *	the run context
 * @in_run_ctx: current->bpf_ctx points to the run context at this point of @hot
 * @start: a u64 for what enter() returned, from rbp; set if a program is guarded
 * @result: a u64 for a program's result, from rbp; set if one is to be kept
 * @nmi: the programs run as in an NMI, and what checkers want is called with the recursion
 *	counter up, since it may be probed itself. Interrupts are off around the guard (regs.c)
 * @check_rcu: programs are missed where RCU does not watch (entry and exit images)
 * @open: preemption is off at this point of @hot
 * @called: something was called already: the argument registers are lost
 * @call_off: where the next program's two calls are to be noted (those of the one
 *	after it follow); NULL: nowhere
 * @out: bound where the open guard closes; jumping there from between two
 *	programs skips the remaining ones under the same guard
 */
struct tramp_guard {
	const struct tramp_x86_env *env;
	struct tramp_part hot;
	struct tramp_part cold;
	s32 ctx;
	u64 ctx_addr;
	s32 run_ctx;
	s32 cookie;
	s32 saved;
	u32 run_ctx_flags;
	bool in_run_ctx;
	s32 start;
	s32 result;
	bool nmi;
	bool check_rcu;
	bool open;
	bool called;
	u32 *call_off;
	struct tasm_label out;
};

/* Code is reached from elsewhere here, or rax was used: it holds no offset. */
static inline void tramp_part_forget_rax(struct tramp_part *p)
{
	p->gs_known = false;
}

/* The label is at the end of @p. */
static inline void tramp_part_bind(struct tramp_part *p, struct tasm_label *l)
{
	tasm_bind(&p->a, l);
	tramp_part_forget_rax(p);
}

/**
 * tramp_part_percpu() - the operand for a per-CPU variable
 * @p: where it will be used, as the next instruction
 * @off: its per-CPU offset
 *
 * Offsets beyond a signed 32-bit displacement go through rax: one instruction more, unless
 * rax holds the offset of a neighbour already. So rax must not hold anything that matters;
 * code that changes it calls tramp_part_forget_rax(). Flags are kept.
 *
 * Return: the operand.
 */
struct tasm_mem tramp_part_percpu(struct tramp_part *p, u64 off);

/**
 * tramp_guard_emit() - measure an image, then write it
 * @g: the image, with what programs need; nothing emitted yet
 * @run: emits all of it, or says what is wrong with the request; it runs twice
 * @img: passed to it
 * @buf: as for tramp_x86_emit_fentry(), as are the next two
 * @len: bytes at @buf
 * @addr: the address the code will run at
 * @size: (out) bytes of code, unless @run says that something is wrong
 *
 * The hot part goes to the start of @buf, the cold part behind it. Where that is the first
 * run tells, which only counts. So a jump from hot to cold always knows its target, and a jump
 * back waits in a label on the C stack. Any number of programs needs no memory.
 *
 * Return: as tramp_x86_emit_fentry().
 */
enum tramp_x86_err tramp_guard_emit(struct tramp_guard *g, enum tramp_x86_err (*run)(void *img),
				    void *img, u8 *buf, size_t len, u64 addr, u32 *size);

/* Count one call for call depth accounting, if this kernel does that. */
void tramp_guard_count_call(struct tramp_guard *g, struct tramp_part *p);

/* Call an address outside of the image. */
void tramp_guard_call(struct tramp_guard *g, struct tramp_part *p, u64 target);

/* Return, as this kernel does. */
void tramp_guard_return(struct tramp_guard *g);

/* Preemption off for the inline programs that follow, and on again; neither a second time. */
void tramp_guard_open(struct tramp_guard *g);
void tramp_guard_close(struct tramp_guard *g);

/**
 * tramp_guard_programs() - call programs that share a recursion counter
 * @g: the image, its guard open
 * @c: the programs, in the order they run, with inline policy and one @active
 * @nr: how many, at least 1
 * @keep_result: store what each of them returns to @g->result, unless it is missed
 *
 * One test of the counter stands for all of them: either all run or all are missed.
 */
void tramp_guard_programs(struct tramp_guard *g, const struct tramp_x86_call *c, u32 nr,
			  bool keep_result);

/**
 * tramp_guard_program() - call one program with its guards
 * @g: the image, its guard open for a program with inline policy and closed for
 *	one with kernel policy (TRAMP_X86_CALL_GUARDED)
 * @c: the program
 * @keep_result: as for tramp_guard_programs()
 */
void tramp_guard_program(struct tramp_guard *g, const struct tramp_x86_call *c,
			 bool keep_result);

#endif /* TRAMP_X86_GUARD_H */
