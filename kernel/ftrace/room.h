/* SPDX-License-Identifier: GPL-2.0 */
/* Room in ftrace's table of direct calls, on kernels that make it too small. */
#ifndef TRAMP_FTRACE_ROOM_H
#define TRAMP_FTRACE_ROOM_H

#include "base/tramp.h"

/**
 * tramp_ftrace_room() - see to it that direct calls of more functions fit in
 * @nr: how many more
 * @why: NO_MEMORY, MISSING_SYMBOL
 *
 * Context: tramp_mutex held, may sleep.
 * Return: 0 or a negative errno.
 */
int tramp_ftrace_room(u32 nr, struct tramp_refusal *why);

/* Look at the kernel's structs. Module init. Return: 0. */
int tramp_ftrace_room_init(void);

#endif /* TRAMP_FTRACE_ROOM_H */
