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

/**
 * tramp_sessions_emit() - the sessions of a single function's exit image
 * @req: the request
 * @g: the image; rsp points to its return address, and no argument register has changed
 * @out: (out) after_call, and as above
 * @more: programs of tracing type follow. Otherwise the original is called
 *
 * Behind it begins what the sessions are around, as if the function had called the image anew.
 * With @more nothing reaches the end of it but that. Programs of @kret are in here.
 */
void tramp_sessions_emit(const struct tramp_x86_fentry_req *req, struct tramp_guard *g,
			 struct tramp_x86_fentry_out *out, bool more);

/* Whether there can be such an image, space and reach aside. */
bool tramp_many_check(const struct tramp_x86_fentry_req *req);

#endif /* TRAMP_X86_RET_H */
