/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The bytes at a probe's address in each of their forms. For a region of 8 bytes whose
 * first instruction has 3:
 *
 *	original	o0 o1 o2 o3 o4 o5 o6 o7
 *	int3		cc cc cc o3 o4 o5 o6 o7
 *	jump		e9 r0 r1 r2 r3 cc cc cc
 *
 * The further int3s are never executed. They keep decoders in step that begin at the
 * function's start, as the kernel's kprobes do at every registration. And the kernel
 * registers no kprobe on an int3.
 *
 * How one form becomes another while the code runs: plan.h.
 */
#ifndef TRAMP_X86_FORM_H
#define TRAMP_X86_FORM_H

#include "safety.h"

#define TRAMP_X86_INT3	0xcc

enum tramp_x86_form {
	TRAMP_X86_FORM_ORIGINAL,	/* nothing of ours */
	TRAMP_X86_FORM_INT3,	/* int3s for the whole instruction */
	TRAMP_X86_FORM_JUMP,	/* jmp to the image, and int3s for the rest of the region */
};

/**
 * struct tramp_x86_spot - a probed instruction
 * @addr: its address
 * @image: where its jump leads
 * @orig: the original bytes, tramp_x86_span() of them
 * @insn_len: bytes of the instruction, at least 1
 * @image_len: original bytes that the image executes: the instruction, or the region.
 *	Both lengths are at most TRAMP_X86_MAX_REGION.
 */
struct tramp_x86_spot {
	u64 addr;
	u64 image;
	const u8 *orig;
	u8 insn_len;
	u8 image_len;
};

/* Bytes that the forms of a spot span. */
static inline u32 tramp_x86_span(const struct tramp_x86_spot *spot)
{
	return spot->image_len > spot->insn_len ? spot->image_len : spot->insn_len;
}

/**
 * tramp_x86_form() - the bytes of a form
 * @spot: the probed instruction
 * @form: the form
 * @bytes: (out) tramp_x86_span() bytes; unspecified if it fails
 *
 * Context: any.
 * Return: false if there is no such form: a jump has no room, or its image is out of reach.
 */
bool tramp_x86_form(const struct tramp_x86_spot *spot, enum tramp_x86_form form, u8 *bytes);

#endif /* TRAMP_X86_FORM_H */
