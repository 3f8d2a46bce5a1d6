/* SPDX-License-Identifier: GPL-2.0 */
/* The calls between ftrace/site.c, ftrace/group.c and ftrace/shrink.c. */
#ifndef TRAMP_FTRACE_INTERNAL_H
#define TRAMP_FTRACE_INTERNAL_H

#include <linux/rcupdate.h>
#include "base/compat.h"
#include "site.h"

/**
 * tramp_site_filter_out() - take some functions out of the filter of a site of many, not all
 * @site: the site
 * @ips: their sites
 * @nr: how many
 *
 * Without memory it tries again for some time, and then says in the log that they stay.
 * Context: tramp_mutex held, may sleep.
 * Return: 0, or what ftrace_set_filter_ips() returns: nothing has changed. With -ENOMEM the
 *	modules of the functions stay for ever.
 */
int tramp_site_filter_out(struct tramp_site *site, const unsigned long *ips, u32 nr);

/*
 * Take functions whose bytes call no image any more out of ftrace's table of direct calls, see
 * site.c: those in @hash. Their entries go with the site, or at once if ftrace takes them out.
 * The ops had @flags while it was registered, and called @code. tramp_mutex held, may sleep.
 */
void tramp_site_forget(struct tramp_site *site, struct ftrace_ops_hash *hash, unsigned long flags,
		       unsigned long code);

/* Before entries that hits may be looking up leave the table: see site.c. May sleep. */
static inline void tramp_site_wait_lookups(void)
{
	if (TRAMP_DIRECT_TABLE_READ)
		synchronize_rcu_expedited();
}

/*
 * Take an ops off ftrace's list, without ftrace's wait for who uses it: it goes by the retire list.
 * tramp_mutex held, may sleep. Return: as unregister_ftrace_function().
 */
int tramp_site_unregister(struct ftrace_ops *ops);

#endif /* TRAMP_FTRACE_INTERNAL_H */
