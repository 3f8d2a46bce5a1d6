/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Rules that an image keeps, checked without executing it, by a decoder that is not ours
 * (Zydis).
 */
#ifndef SELFTESTS_UNIT_LINT_H
#define SELFTESTS_UNIT_LINT_H

#include "scene.h"

/*
 * An image and what it may refer to.
 *
 * @calls is in the order of call_off; sessions are in it twice.
 *
 * The copy is what a detour has of the probed code: any instructions, with branches
 * to anywhere outside of the image. Without a copy, copy_len is 0.
 */
struct lint {
	const u8 *code;
	u32 size;
	const struct tramp_x86_env *env;
	const struct tramp_x86_call *calls;
	u32 nr;
	const u32 *call_off;	/* two for each of the calls */
	bool kprobes;		/* without a copy: kprobe programs are among the calls */
	u64 orig;		/* may be called, too; 0: nothing */
	bool many;		/* an image of many functions: it calls through r11 */
	bool shared;		/* of one, and programs of many may be among the calls */
	bool counted;		/* @inflight may be referred to */
	u64 inflight;
	u32 copy_off, copy_len;
};

/*
 * Check an image: every byte belongs to an instruction of the few kinds that images have. Every
 * instruction can be reached, and every branch leads to the start of an instruction or to an
 * address of the request. Per-CPU and rip-relative operands are the request's. Int3 follows the
 * end, and the calls of the programs are where call_off says.
 *
 * Return: true if so; otherwise the test has failed.
 */
bool lint_image(const struct lint *l);

/* Whether an instruction starts at an offset of the last image that was checked. */
bool lint_starts(u32 off);

/*
 * The instructions from the entry of the last image that was checked to the jump or
 * return that leaves it, if no branch is taken. Calls count as one.
 */
u32 lint_path(void);

/* Print the disassembly as diagnostics. */
void lint_show(const struct lint *l);

/* The same for the image of a scene; what struct tramp_x86_fentry_out says is so. */
bool lint_scene(const struct scene *s);
u32 lint_hot_path(const struct scene *s);
void lint_print(const struct scene *s);

#endif /* SELFTESTS_UNIT_LINT_H */
