/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Lookups: where the patched calls of many functions lead while some have images of their own.
 *
 * Pure, as all of kernel/x86/.
 */
#ifndef TRAMP_X86_LOOKUP_H
#define TRAMP_X86_LOOKUP_H

#include "fentry_image.h"

/**
 * struct tramp_x86_lookup_pair - one function
 * @ret: the address behind its patched call
 * @target: where to jump for it
 * @jump: (out) offset of the near JMP that does it, which may be patched later
 */
struct tramp_x86_lookup_pair {
	u64 ret;
	u64 target;
	u32 jump;
};

/**
 * struct tramp_x86_lookup - what to emit
 * @env: the kernel
 * @pairs: sorted by @ret (as u64), no @ret twice; at least one
 * @nr: how many
 * @other: the target for every other return address; 0: return there
 * @size: (out) bytes of code; with NO_SPACE and OUT_OF_REACH what it would take
 * @tail: (out) offset of the way of all others: a near JMP to @other, or a NOP of 5 bytes, and
 *	behind it a return. Each may be patched to the other
 */
struct tramp_x86_lookup {
	const struct tramp_x86_env *env;
	struct tramp_x86_lookup_pair *pairs;
	u32 nr;
	u64 other;
	u32 size;
	u32 tail;
};

/* Bytes that each pair takes at most, and all else together. */
#define TRAMP_X86_LOOKUP_PAIR	33
#define TRAMP_X86_LOOKUP_REST	32

/**
 * tramp_x86_emit_lookup() - emit code that finds a target by the return address
 * @lookup: what to emit
 * @buf: where to write the code
 * @len: bytes at @buf
 * @addr: the address the code will run at
 *
 * The code is reached by a jump or a call: the return address is at (%rsp). It changes the
 * flags and nothing else, and jumps to the target directly. (Where it returns, a count of calls
 * beyond 32 bits goes through rax too, which carries nothing at a function's entry.) A hit
 * executes at most 2 * (log2(nr) + 1) + 1 instructions, log2 rounded up, one more for others.
 * The size depends on @env and @nr alone. NULL for @buf, 0 for @addr and what is written: as for
 * tramp_x86_emit_fentry().
 *
 * Context: any; touches nothing but its arguments.
 * Return: TRAMP_X86_OK; OUT_OF_REACH also if a return address is not in the top or bottom 2 GB;
 *	BAD_REQUEST if the pairs are not sorted.
 */
enum tramp_x86_err tramp_x86_emit_lookup(struct tramp_x86_lookup *lookup, u8 *buf, size_t len,
					 u64 addr);

#endif /* TRAMP_X86_LOOKUP_H */
