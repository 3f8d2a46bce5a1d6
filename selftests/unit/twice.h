/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One instruction, executed twice: where it stands, and as its relocated copy. All
 * registers, the flags, data, stack, and where control went have to be the same.
 *
 * Everything is below 2 GiB, so that return addresses are what "push imm32" can
 * make, as in the kernel, where they are above -2 GiB. There are two places for copies,
 * one close by and one as far away as rel32 reaches; and two kernels, one that counts calls.
 */
#ifndef SELFTESTS_UNIT_TWICE_H
#define SELFTESTS_UNIT_TWICE_H

#include "../../kernel/x86/fentry_image.h"
#include "../../kernel/x86/relocate.h"
#include "machine.h"

#define TWICE_BASE	0x7fe00000UL
#define TWICE_DATA	(TWICE_BASE + 0x10000)	/* two pages that instructions work on */
#define TWICE_STACK	(TWICE_BASE + 0x20800)	/* rsp, half a page on both sides */
#define TWICE_CODE	(TWICE_BASE + 0x48000)	/* where the instruction stands */
#define TWICE_NEAR	(TWICE_BASE + 0x60123)	/* where its copies are */
#define TWICE_FAR	0x00410077UL

/* Where control can end up. */
enum twice_place {
	TWICE_NOWHERE,
	TWICE_BEHIND,		/* behind the instruction */
	TWICE_TARGET,		/* at twice.target */
};

#define TWICE_MAX_POKES	4

struct twice {
	const char *name;
	u8 code[TRAMP_X86_MAX_INSN];
	u32 len;
	/* twice_begin(): returns and indirect branches are plain */
	struct tramp_x86_env env;
	u64 regs[NR_REGS];	/* before */
	u64 flags;
	u64 target;		/* where it may branch to, 0: nowhere */
	struct {
		u64 addr, value;
	} pokes[TWICE_MAX_POKES];	/* words of data or stack */
	u32 nr_pokes;
	bool alien;		/* this CPU has no such instruction: copied, not executed */

	/* what came out, the same each time */
	enum twice_place place;
	u64 out[NR_REGS];
	u64 out_flags;
	u64 top;		/* the word rsp points to, if it is on the stack */
	u32 size;		/* bytes of the copy */
	u8 copy[TRAMP_X86_MAX_RELOCATED];	/* as it is at TWICE_NEAR */
};

/*
 * An instruction with registers, data and stack of random content; rsp is
 * TWICE_STACK, and rdi and rsi point into the data. The rest is up to the test.
 */
void twice_begin(struct twice *t, const char *name, const char *code, u32 len);

/* Put a little-endian number over the bytes from @off on. */
void twice_put(struct twice *t, u32 off, u32 size, u64 value);

/* The displacement at @off, such that from the end of the instruction it leads to @to. */
void twice_rel(struct twice *t, u32 off, u32 size, u64 to);

/* A word of data or stack that shall have a value. */
void twice_poke(struct twice *t, u64 addr, u64 value);

/*
 * Run it in place, then each copy. Return: true if all agreed; otherwise the test
 * has failed.
 */
bool twice_run(struct twice *t);

/*
 * Check how it ended: at its target; there with its own return address pushed, and
 * nothing else on the stack.
 */
void twice_was_taken(const struct twice *t);
void twice_was_called(const struct twice *t);

#endif /* SELFTESTS_UNIT_TWICE_H */
