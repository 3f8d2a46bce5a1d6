/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ftrace's table of direct calls: room in it, on kernels that make it too small, and entries.
 */
#ifndef TRAMP_FTRACE_ROOM_H
#define TRAMP_FTRACE_ROOM_H

#include "base/tramp.h"

struct ftrace_func_entry;
struct ftrace_hash;
struct tramp_site_call;

/**
 * tramp_ftrace_room() - see to it that direct calls of more functions fit in
 * @nr: how many more
 * @why: NO_MEMORY, MISSING_SYMBOL
 *
 * Context: tramp_mutex held, may sleep.
 * Return: 0 or a negative errno.
 */
int tramp_ftrace_room(u32 nr, struct tramp_refusal *why);

/* Whether the table is as we know it: the following may be called. */
bool tramp_direct_known(void);

/**
 * tramp_direct_add() - enter functions, before an ops with them is registered
 * @calls: where they lead
 * @nr: how many
 * @why: SITE_HELD, NO_MEMORY
 *
 * Context: tramp_mutex held, may sleep.
 * Return: 0 or a negative errno; then nothing has changed.
 */
int tramp_direct_add(const struct tramp_site_call *calls, u32 nr, struct tramp_refusal *why);

/* Have functions lead elsewhere; their bytes call no image now. tramp_mutex held, may sleep. */
void tramp_direct_set(const struct tramp_site_call *calls, u32 nr);

/*
 * Take a function out; its bytes call no image any more. tramp_mutex held, may sleep. Return:
 * its entry, to be freed by kfree() when nobody can look at it.
 */
struct ftrace_func_entry *tramp_direct_remove(unsigned long ip);

/*
 * Take functions out, as many as lead to @code: @nr of them, or all of @hash, an ops's filter.
 * Their bytes call no image any more. The entries join the chain @gone, for tramp_direct_free()
 * when nobody can look at them. tramp_mutex held, may sleep.
 */
void tramp_direct_remove_some(const unsigned long *ips, u32 nr, unsigned long code,
			      struct ftrace_func_entry **gone);
void tramp_direct_remove_all(const struct ftrace_hash *hash, unsigned long code,
			     struct ftrace_func_entry **gone);
void tramp_direct_free(struct ftrace_func_entry *gone);

/* Look at the kernel's structs. Module init. Return: 0. */
int tramp_ftrace_room_init(void);

#endif /* TRAMP_FTRACE_ROOM_H */
