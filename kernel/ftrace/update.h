/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Updates of ftrace for an ops that is on its list, and the lock of its table of direct calls.
 */
#ifndef TRAMP_FTRACE_UPDATE_H
#define TRAMP_FTRACE_UPDATE_H

#include <linux/ftrace.h>
#include <linux/mutex.h>
#include "base/ksyms.h"

/*
 * ftrace's own mutex for its table of direct calls. Entries are written, moved and freed at once
 * under it alone. tramp_mutex held, may sleep.
 */
static inline void tramp_direct_lock(void)
{
	mutex_lock((struct mutex *)tramp_ksyms.direct_mutex);
}

static inline void tramp_direct_unlock(void)
{
	mutex_unlock((struct mutex *)tramp_ksyms.direct_mutex);
}

/**
 * tramp_ftrace_unregister() - unregister_ftrace_function(), with the table of direct calls locked
 * @ops: without FTRACE_OPS_FL_IPMODIFY, for which that function takes the lock itself
 *
 * Context: tramp_mutex held, may sleep; for an ops with FTRACE_OPS_FL_DYNAMIC until
 *	grace periods of RCU-tasks are over.
 * Return: 0 or a negative errno of ftrace's.
 */
int tramp_ftrace_unregister(struct ftrace_ops *ops);

/**
 * tramp_ftrace_filter() - ftrace_set_filter_ips(), with the table of direct calls locked
 * @ops: it may be on ftrace's list
 * @ips: sites
 * @nr: how many
 * @remove: they leave the filter; otherwise they come to it
 *
 * Context: tramp_mutex held, may sleep.
 * Return: 0 or a negative errno of ftrace's.
 */
int tramp_ftrace_filter(struct ftrace_ops *ops, const unsigned long *ips, u32 nr, bool remove);

#endif /* TRAMP_FTRACE_UPDATE_H */
