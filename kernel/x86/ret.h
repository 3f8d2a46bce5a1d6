/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Kprobe programs at a function's return, and images of many functions. Internal to kernel/x86/.
 */
#ifndef TRAMP_X86_RET_H
#define TRAMP_X86_RET_H

#include "fentry_image.h"
#include "guard.h"

/**
 * tramp_ret_emit() - the programs of an exit image that run when the function has returned
 * @req: the request
 * @g: the image; rsp points to the function's return address, rax and rdx are its result
 * @out: (out) where programs are called and left out
 */
void tramp_ret_emit(const struct tramp_x86_fentry_req *req, struct tramp_guard *g,
		    struct tramp_x86_fentry_out *out);

/* All of an image of many functions but its last return. @out: after_call, and as above. */
void tramp_many_emit(const struct tramp_x86_fentry_req *req, struct tramp_guard *g,
		     struct tramp_x86_fentry_out *out);

/* Whether there can be such an image, space and reach aside. */
bool tramp_many_check(const struct tramp_x86_fentry_req *req);

#endif /* TRAMP_X86_RET_H */
