/* SPDX-License-Identifier: GPL-2.0 */
/* Could a program be attached to a function's return, and how? */
#ifndef TRAMP_RET_H
#define TRAMP_RET_H

#include "base/tramp.h"

struct tramp_probe_at;

/**
 * tramp_ret_explain() - what a return probe at a function would be
 * @at: the function, named as an ATTACH would. It need not be there any more
 * @mode: (out) enum tramp_mode: DIRECT, RETHOOK; NONE: it would be refused
 *
 * It asks the functions that ATTACH asks, but for what only the act can tell.
 *
 * Context: process, may sleep. Takes tramp_mutex.
 * Return: enum tramp_reason: why it would be refused, or be a rethook; 0: DIRECT.
 */
u32 tramp_ret_explain(const struct tramp_probe_at *at, u32 *mode);

#endif /* TRAMP_RET_H */
