/* SPDX-License-Identifier: GPL-2.0 */
/* Could programs be attached to a function, and how? */
#ifndef TRAMP_FUNC_EXPLAIN_H
#define TRAMP_FUNC_EXPLAIN_H

#include "base/tramp.h"

/**
 * tramp_func_explain() - the EXPLAIN command
 * @ex: the request, checked for its form; out members are filled in
 * @show: addresses may be shown
 * @why: why there is nothing to explain
 *
 * Context: process, may sleep, without locks.
 * Return: 0 or a negative errno, see the UAPI header.
 */
int tramp_func_explain(struct tramp_explain *ex, bool show, struct tramp_refusal *why);

#endif /* TRAMP_FUNC_EXPLAIN_H */
