/* SPDX-License-Identifier: GPL-2.0 */
/* The calls between ftrace/site.c and ftrace/group.c. */
#ifndef TRAMP_FTRACE_GROUP_H
#define TRAMP_FTRACE_GROUP_H

#include "site.h"

/*
 * Whether the bytes call our code. ftrace may shut down in the middle of a change. Then it
 * may say no although it has put the call there, or yes although the call is there still.
 */
bool tramp_site_calls(unsigned long ip, unsigned long code);

#endif /* TRAMP_FTRACE_GROUP_H */
