/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions at which somebody else's ftrace_ops changes the instruction pointer
 * (FTRACE_OPS_FL_IPMODIFY): live-patched ones, and those with a kprobe that may do so. No direct
 * call of ours can be there.
 */
#ifndef TRAMP_IPMODIFY_H
#define TRAMP_IPMODIFY_H

#include "base/tramp.h"

/**
 * struct tramp_ipmodify - such functions
 * @ips: their sites, in ascending order
 * @nr: how many
 */
struct tramp_ipmodify {
	unsigned long *ips;
	u32 nr;
};

/**
 * tramp_ipmodify_find() - find all of them
 * @found: (out) them; none where the kernel lacks what is needed for that
 *
 * Goes through all functions that ftrace knows, once. The answer may be out of date at once; ftrace
 * looks again when it is asked for a direct call.
 * Context: may sleep; tramp_mutex may be held. Takes ftrace_lock.
 * Return: 0 or -ENOMEM. After 0, tramp_ipmodify_free().
 */
int tramp_ipmodify_find(struct tramp_ipmodify *found);
void tramp_ipmodify_free(struct tramp_ipmodify *found);

/* Whether @ip is one of them. */
bool tramp_ipmodify_has(const struct tramp_ipmodify *found, unsigned long ip);

/* The first of these @nr sites that is such a function now; 0: none is, or it is not known. */
unsigned long tramp_ipmodify_among(const unsigned long *ips, u32 nr);

#endif /* TRAMP_IPMODIFY_H */
