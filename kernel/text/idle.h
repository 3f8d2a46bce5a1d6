/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions that may run while RCU does not watch.
 */
#ifndef TRAMP_IDLE_H
#define TRAMP_IDLE_H

#include "symbol.h"

/* Whether a function is one: images in it must ask RCU before each program. Any context. */
bool tramp_text_idle(const struct tramp_symbol *sym);

#endif /* TRAMP_IDLE_H */
