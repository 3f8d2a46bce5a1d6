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
 * Whether the bytes call our code. ftrace may shut down in the middle of a change. Then it
 * may say no although it has put the call there, or yes although the call is there still.
 */
bool tramp_site_calls(unsigned long ip, unsigned long code);

#endif /* TRAMP_FTRACE_GROUP_H */
