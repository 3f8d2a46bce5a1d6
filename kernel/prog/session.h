/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sessions whose program is a plain kprobe program, which any kernel loads.
 */
#ifndef TRAMP_SESSION_H
#define TRAMP_SESSION_H

#include "base/tramp.h"
#include "slot.h"

struct pt_regs;

/**
 * tramp_session_make() - have a slot's program run as a session by map
 * @slot: of a kprobe program; nobody has it but the caller
 * @why: MISSING_SYMBOL, ATTACH_TYPE, SYNTAX (its TRAMP_SESSION_MAP is
 *	something else, there are two, or it has none and tail-calls other
 *	programs)
 *
 * From then on images and callbacks are to run it as a program with TRAMP_X86_CALL_MULTI whose
 * @link is the struct tramp_funcs.
 *
 * Context: process, may sleep. Not with tramp_mutex: it takes the program's used_maps_mutex,
 * and the kernel writes to user space with that held (bpf_prog_get_info_by_fd()).
 * Return: 0 or a negative errno.
 */
int tramp_session_make(struct tramp_slot *slot, struct tramp_refusal *why);

/**
 * tramp_session_call() - what an image calls in the place of the program
 * @regs: the program's context
 * @slot: the program
 *
 * Context: preemption is off, and current->bpf_ctx has what the image made of it.
 * Return: what the program returned.
 */
u64 tramp_session_call(struct pt_regs *regs, struct tramp_slot *slot);

/* Likewise from a callback, which leaves the run-time statistics to bpf_prog_run(). */
u64 tramp_session_run(struct pt_regs *regs, struct tramp_slot *slot);

#endif /* TRAMP_SESSION_H */
