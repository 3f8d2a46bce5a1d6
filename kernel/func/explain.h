/* SPDX-License-Identifier: GPL-2.0 */
/* Could programs be attached to a function, and how? */
#ifndef TRAMP_FUNC_EXPLAIN_H
#define TRAMP_FUNC_EXPLAIN_H

#include "target.h"

/**
 * tramp_func_explain() - the EXPLAIN command
 * @ex: the request, checked for its form; out members are filled in
 * @show: addresses may be shown
 * @addr: (out) the function's address, for whoever asks more about it
 * @why: why there is nothing to explain
 *
 * Context: process, may sleep, without locks.
 * Return: 0 or a negative errno, see the UAPI header.
 */
int tramp_func_explain(struct tramp_explain *ex, bool show, unsigned long *addr,
		       struct tramp_refusal *why);

/**
 * tramp_func_check_return() - whether an exit image could run a kprobe program now
 * @func: the function
 * @why: why not
 *
 * Context: tramp_mutex held, may sleep.
 * Return: 0 or a negative errno.
 */
int tramp_func_check_return(const struct tramp_func *func, struct tramp_refusal *why);

#endif /* TRAMP_FUNC_EXPLAIN_H */
