/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Returns of those functions of many that no image can call in their place.
 */
#ifndef TRAMP_MULTI_HOOKED_H
#define TRAMP_MULTI_HOOKED_H

#include "funcs.h"
#include "link/point.h"

struct tramp_hooked;

/**
 * tramp_hooked_attach() - run a program when functions return, by the kernel's rethook
 * @member: the program's; of kind kretprobe.multi or kprobe.session
 * @funcs: the functions. On success they are the attachment's, and this is empty
 * @blamed: (out) on failure: the function that it failed at, 0 if it was at none
 * @why: why not
 *
 * Context: tramp_mutex held, which is dropped now and then; may sleep.
 * Return: what came of it, or an ERR_PTR(); then nothing is attached.
 */
struct tramp_hooked *tramp_hooked_attach(const struct tramp_member *member,
					 struct tramp_funcs *funcs, unsigned long *blamed,
					 struct tramp_refusal *why);

/* The functions, as long as they are attached. tramp_mutex held. */
const struct tramp_funcs *tramp_hooked_funcs(const struct tramp_hooked *hooked);

/* Calls that found the hook running already on their CPU. tramp_mutex held. */
u64 tramp_hooked_misses(const struct tramp_hooked *hooked);

/*
 * Take it off: no program runs after that, whoever returns. It frees itself. tramp_mutex held,
 * which is dropped now and then; may sleep.
 */
void tramp_hooked_detach(struct tramp_hooked *hooked);

#endif /* TRAMP_MULTI_HOOKED_H */
