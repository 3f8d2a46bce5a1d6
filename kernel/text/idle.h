/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions that may run while RCU does not watch.
 */
#ifndef TRAMP_IDLE_H
#define TRAMP_IDLE_H

#include "symbol.h"

/*
 * Whether the function @start, which kallsyms calls @name, is one: images in it must ask RCU
 * before each program. Any context.
 */
bool tramp_text_idle(unsigned long start, const char *name);

#endif /* TRAMP_IDLE_H */
