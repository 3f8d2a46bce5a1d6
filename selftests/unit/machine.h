/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A machine for images to run on: what a kernel has around them, in a process.
 *
 *  - an area of executable memory at a fixed address, for thunks, traced
 *    functions and images, so that rel32 reaches from one to the other;
 *  - per-CPU memory behind the gs segment: near, where offsets fit into a signed
 *    32-bit displacement (negative ones too), and far, where they do not;
 *  - thunks: addresses for everything that an image calls. Each has a number,
 *    and whatever is called ends up in machine_hook with that number and every
 *    register. Registers that the C calling convention does not preserve get garbage before a
 *    thunk returns;
 *  - a way to call a function with every register and flag set to a known value
 *    and to read all of them afterwards;
 *  - what stands for cli, which a process may not execute: it faults, is counted, and
 *    goes on behind it.
 */
#ifndef SELFTESTS_UNIT_MACHINE_H
#define SELFTESTS_UNIT_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "../../kernel/x86/types.h"

/* Where things are in the area. */
#define AREA_SIZE	0x400000UL
#define AREA_THUNKS	0x000000UL	/* machine_thunk() */
#define AREA_DATA	0x020000UL	/* words that images reach by rip */
#define AREA_SITES	0x030000UL	/* traced functions */
#define AREA_IMAGES	0x100000UL	/* images, up to the end */
/* Room for one, but for those of the most programs. Where others lie hangs on it (golden.h). */
#define MACHINE_ROOM	(32 * 1024)

#define MAX_THUNKS	2048
#define THUNK_SIZE	32

/* Per-CPU memory; which one an offset leads to. */
enum percpu_where {
	PERCPU_NEAR,		/* offset fits a disp32 */
	PERCPU_FAR,		/* 64-bit offset */
	PERCPU_FARTHER,		/* 64-bit offset, beyond disp32 of PERCPU_FAR too */
};

#define PERCPU_SIZE	0x20000UL

/* A page of zeros that nobody can write to. */
#define MACHINE_ZEROS	0x8000000000UL

/* Registers by their number in the instruction set. */
enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15, NR_REGS };

#define FLAG_CF		(1UL << 0)
#define FLAG_TF		(1UL << 8)
#define FLAG_IF		(1UL << 9)
#define FLAG_DF		(1UL << 10)
#define FLAG_ID		(1UL << 21)

/*
 * The registers of whoever called a thunk. regs[RSP] is as before the call: it
 * points to the first stack argument.
 */
struct thunk_frame {
	u64 regs[NR_REGS];
	u64 flags;
	u64 ret;		/* return address */
};

/*
 * Called for each call of a thunk, with its number. Return: what the thunk
 * returns in rax. May change machine.call_depth and other memory; runs on the
 * caller's stack.
 */
typedef u64 (*machine_hook_fn)(u32 thunk, struct thunk_frame *frame);
extern machine_hook_fn machine_hook;

/*
 * The garbage that a thunk leaves in registers, less machine_salt, which a hook may change; 0
 * for registers that it does not touch.
 */
extern u64 machine_salt;
extern const u64 machine_garbage[16];

#define MAX_STACK_ARGS	16

/* One call into the area. The assembly in stubs.S knows the layout. */
struct machine_call {
	u64 in[NR_REGS];	/* rsp is filled in: where the first stack argument is */
	u64 in_flags;
	u64 out[NR_REGS];
	u64 out_flags;
	u64 target;
	u64 nr_stack;
	u64 stack[MAX_STACK_ARGS];
	u64 odd;		/* 1: rsp at the call is 8 modulo 16 */
	u64 saved_rsp;
};

/* Set the machine up, unless it is. Ends the test if that is impossible. */
void machine_init(void);

/* The area, and an address in it. */
extern u8 *machine_area;
#define AREA_ADDR(off)	((u64)(uintptr_t)(machine_area + (off)))

/* The address of thunk @nr, below MAX_THUNKS. */
u64 machine_thunk(u32 nr);

/* A u64 in the area that rip-relative operands reach; @nr below 512. */
u64 *machine_word(u32 nr);

/*
 * A new zeroed per-CPU variable of @size bytes: its address, and in @off its
 * offset from the gs base. All are given back by machine_percpu_reset().
 */
void *machine_percpu(enum percpu_where where, size_t size, u64 *off);
void machine_percpu_reset(void);

/*
 * A traced function at the @nr-th place: a 5-byte call to @image, then a jump
 * to thunk @body; with @endbr, an ENDBR64 stands before the call.
 * Return: the function's address. machine_site_after() is where the call
 * returns to.
 */
u64 machine_site(u32 nr, bool endbr, u64 image, u32 body);
u64 machine_site_after(u32 nr, bool endbr);

/* A return thunk: counts *@counter up and returns. */
u64 machine_return_thunk(const u64 *counter);

/*
 * Thunks that do nothing but `ret`, or a jump through the register that @env has each for.
 * They do not touch flags.
 */
struct tramp_x86_env;
void machine_branch_thunks(struct tramp_x86_env *env);

/* Call into the area; may be nested in a hook or a signal handler. */
void machine_run(struct machine_call *call);

/* How many cli were executed; whoever counts sets it to 0. */
extern u32 machine_clis;

/* Write a near jump or a near call over five bytes, as text_poke_bp() would. */
void machine_poke_jmp(u8 *at, const u8 *to);
void machine_poke_call(u8 *at, u64 to);

/* A small pseudo-random generator (xorshift64*), the same everywhere. */
struct rng {
	u64 state;
};
u64 rng_u64(struct rng *r);
u32 rng_below(struct rng *r, u32 n);
bool rng_chance(struct rng *r, u32 percent);

#endif /* SELFTESTS_UNIT_MACHINE_H */
