/* SPDX-License-Identifier: GPL-2.0 */
/* The calls between ftrace/site.c and ftrace/group.c. */
#ifndef TRAMP_FTRACE_GROUP_H
#define TRAMP_FTRACE_GROUP_H

#include "site.h"

/*
 * Take some functions out of the filter of a site of many, not all. Without memory it tries again
 * some times. Return: 0, or what ftrace_set_filter_ips() returns: nothing has changed.
 */
int tramp_site_filter_out(struct tramp_site *site, const unsigned long *ips, u32 nr);

/*
 * Take an ops off ftrace's list, without ftrace's wait for who uses it: it goes by the retire list.
 * tramp_mutex held, may sleep. Return: as unregister_ftrace_function().
 */
int tramp_site_unregister(struct ftrace_ops *ops);

#endif /* TRAMP_FTRACE_GROUP_H */
