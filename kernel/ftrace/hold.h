/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Keeping ftrace switched on while something is registered with it that does not keep it on by
 * itself, or not yet.
 */
#ifndef TRAMP_FTRACE_ON_H
#define TRAMP_FTRACE_ON_H

#include "base/tramp.h"

/**
 * tramp_ftrace_hold() - from now on kernel.ftrace_enabled=0 is refused
 * @why: why not: FTRACE_DISABLED, NO_MEMORY
 *
 * After that the caller can register an ops and mark it permanent: ftrace is not switched off
 * in between. Follow it by tramp_ftrace_release(); it ends a second later.
 *
 * Context: may sleep.
 * Return: 0 or a negative errno.
 */
int tramp_ftrace_hold(struct tramp_refusal *why);
void tramp_ftrace_release(void);

/*
 * ftrace has shut down, and something of ours stays registered with it: keep this module for good.
 * rmmod is refused from then on. One that has begun before does not end: so call it while a link
 * still holds the module, where that can be. May sleep; tramp_mutex may be held.
 */
void tramp_ftrace_stay(void);

/* Module exit. Does not return if ftrace has shut down meanwhile. */
void tramp_ftrace_on_exit(void);

/* ftrace has left calls into this module in place: it must not go. Never returns. */
void tramp_stay_loaded(void);

#endif /* TRAMP_FTRACE_ON_H */
