/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Statements that must hold of every image, of entry and exit images as of detours.
 */
#ifndef SELFTESTS_FUZZ_IMAGE_H
#define SELFTESTS_FUZZ_IMAGE_H

#include "../../kernel/x86/fentry_image.h"
#include "fuzz.h"

/**
 * struct image - an emitted image
 * @env: the kernel it is for
 * @calls, @nr: all its programs
 * @bytes, @size: the image
 * @addr: its address, not 0
 * @orig: the traced function behind its NOP5, 0: it is not called
 * @starts: one byte for each of the image: an instruction starts there
 */
struct image {
	const struct tramp_x86_env *env;
	const struct tramp_x86_call *calls;
	u32 nr;
	const u8 *bytes;
	u32 size;
	u64 addr;
	u64 orig;
	u8 *starts;
};

/*
 * A kernel with one out of 256 sets of features, its helpers above @addr. Programs
 * are fuzz_program()s above them.
 */
struct tramp_x86_env fuzz_env(u64 addr, u16 kind, bool far_helpers);

/* Program @nr, with @flags; @shared: it has its recursion counter with others. */
struct tramp_x86_call fuzz_program(u64 addr, u32 nr, u32 flags, bool insns, bool shared);

/* Everything is an instruction. Allocates @starts, to be freed. */
void image_instructions(struct image *img);

/*
 * Outside of @from to @to branches stay in the image and lead to instructions, calls
 * lead to programs and helpers, and a jump to the return thunk returns.
 */
void image_branches(const struct image *img, u32 from, u32 to);

/*
 * Two for each program: where its calls are, 0 for the one under statistics where
 * there is none.
 */
void image_calls(const struct image *img, const u32 *call_off);

#endif /* SELFTESTS_FUZZ_IMAGE_H */
