/* SPDX-License-Identifier: GPL-2.0 */
/* Stubs: short code that images call, in place of the kernel's functions and of programs. */
#ifndef SELFTESTS_NATIVE_STUB_H
#define SELFTESTS_NATIVE_STUB_H

#include "../../kernel/x86/asm.h"
#include "../../kernel/x86/fentry_image.h"
#include "native.h"

#define STUB_SIZE	128

/* Emits a stub; @arg is whatever the one who makes it passes. */
typedef void stub_fn(struct tasm *a, u32 arg);

/* Emit one to @addr, which nobody executes yet. */
void stub_put(u64 addr, stub_fn *body, u32 arg);

/* Likewise, to the @nr-th place for stubs that stay. Return: its address. */
u64 stub_make(u32 nr, stub_fn *body, u32 arg);

/* The operand for something behind %gs. */
static inline struct tasm_mem stub_cpu(u64 off)
{
	return (struct tasm_mem){ .base = TASM_NO_BASE, .gs = true, .disp = (s32)off };
}

/* All that a call may change is changed, rax becomes @result, and it returns. */
void stub_return(struct tasm *a, u32 result);

/* The environment of images, with stubs that begin at the @nr-th place. */
#define STUB_ENV	4	/* so many */
void stub_env(struct tramp_x86_env *env, u32 nr);

/* Statistics go on or off. */
void stub_stats(bool on);

#endif /* SELFTESTS_NATIVE_STUB_H */
