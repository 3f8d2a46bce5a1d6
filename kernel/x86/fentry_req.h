/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Requests for entry and exit images, looked at before code is emitted.
 * Internal to kernel/x86/.
 */
#ifndef TRAMP_X86_FENTRY_REQ_H
#define TRAMP_X86_FENTRY_REQ_H

#include "fentry_image.h"

/* rdi, rsi, rdx, rcx, r8, r9 */
#define TRAMP_X86_ARG_REGS	6

/* Where a slot comes from: the index of a register, or this + that of a stack slot. */
#define TRAMP_X86_STACK_SLOT	TRAMP_X86_ARG_REGS

/* The flags that any of the programs has. */
static inline u32 tramp_x86_flags_of(const struct tramp_x86_call *c, u32 nr)
{
	u32 flags = 0;

	while (nr--)
		flags |= c[nr].flags;
	return flags;
}

/* Whether the helpers that an image with programs needs are all there. */
bool tramp_x86_check_env(const struct tramp_x86_env *env);

/**
 * tramp_x86_check_fentry() - can an image be made for a request, space and reach aside?
 * @req: the request
 *
 * Return: TRAMP_X86_OK, or why not.
 */
enum tramp_x86_err tramp_x86_check_fentry(const struct tramp_x86_fentry_req *req);

#endif /* TRAMP_X86_FENTRY_REQ_H */
