/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Statements that must hold of every image, of entry and exit images as of detours.
 */
#ifndef SELFTESTS_FUZZ_IMAGE_H
#define SELFTESTS_FUZZ_IMAGE_H

#include "../../kernel/x86/fentry_image.h"
#include "../../kernel/x86/insn.h"
#include "fuzz.h"

/* An instruction, and where it leads if it is a direct branch. */
struct image_insn {
	struct tramp_x86_insn insn;
	enum tramp_x86_kind kind;
	u64 to;
};

/**
 * struct image - an emitted image
 * @env: the kernel it is for
 * @calls, @nr: all its programs
 * @bytes, @size: the image
 * @addr: its address, not 0
 * @orig: the traced function behind its NOP5, 0: it is not called
 * @sessions: how many of the last programs are called at the return, too
 * @indirect: it may call the original by a register
 * @starts: one byte for each of the image: an instruction starts there
 * @at: those instructions, by their offset
 */
struct image {
	const struct tramp_x86_env *env;
	const struct tramp_x86_call *calls;
	u32 nr;
	const u8 *bytes;
	u32 size;
	u64 addr;
	u64 orig;
	u32 sessions;
	bool indirect;
	u8 *starts;
	struct image_insn *at;
};

/*
 * A kernel, by sets of features: @kind is any number. Its helpers are above @addr, within reach
 * for most of them.
 */
struct tramp_x86_env fuzz_env(u64 addr, u16 kind);

/* Whether @env is of fuzz_env() and its helpers are out of reach of all of an image at @addr. */
bool fuzz_helpers_far(const struct tramp_x86_env *env, u64 addr);

/*
 * Make a kernel that cannot be, or lacks something: one member gets another value. Most of the
 * time it stays one that can be. Then its per-CPU variables may be elsewhere: at the limits of 32
 * bits, or far from each other.
 */
void fuzz_break_env(struct tramp_x86_env *env, struct fuzz_input *in);

/*
 * Whether programs can be called at all in @env; whether its run contexts are as
 * fentry_image.h says, of which there are three.
 */
bool fuzz_env_fine(const struct tramp_x86_env *env);
bool fuzz_run_ctx_fine(const struct tramp_x86_env *env, bool guarded);
bool fuzz_trace_ctx_fine(const struct tramp_x86_env *env);
bool fuzz_multi_ctx_fine(const struct tramp_x86_env *env);

/* Where the input of a program has something special, see fuzz_program(). */
enum {
	FUZZ_PROG_INSNS = 1,	/* for the interpreter */
	FUZZ_PROG_SHARED = 2,	/* it has its recursion counter with others */
	FUZZ_PROG_LINK = 4,	/* of many functions */
	FUZZ_PROG_APART = 8,	/* its counters are far from others' */
	FUZZ_PROG_BELOW = 16,	/* it is below the image, not above */
	FUZZ_PROG_COOKIE = 32,	/* its cookie has 32 bits, and a sign */
	FUZZ_PROG_RAW = 0xf8,	/* flags as they come, or something is missing */
};

/* Program @nr above @addr: @flags, and @what of the above. */
struct tramp_x86_call fuzz_program(const struct tramp_x86_env *env, u64 addr, u32 nr, u32 flags,
				   u32 what);

/* Everything is an instruction. Allocates @starts and @at. */
void image_instructions(struct image *img);

void image_free(struct image *img);

/*
 * Outside of @from to @to branches stay in the image and lead to instructions, calls
 * lead to programs and helpers, and a jump to the return thunk returns.
 */
void image_branches(const struct image *img, u32 from, u32 to);

/*
 * Two for each program, and two more for each session: where its calls are, 0 for the one under
 * statistics where there is none.
 */
void image_calls(const struct image *img, const u32 *call_off);

#endif /* SELFTESTS_FUZZ_IMAGE_H */
