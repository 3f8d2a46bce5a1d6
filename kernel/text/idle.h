/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions that may run while RCU does not watch.
 */
#ifndef TRAMP_IDLE_H
#define TRAMP_IDLE_H

#include "symbol.h"

/**
 * tramp_text_idle() - whether a function may run while RCU does not watch
 * @sym: the function
 *
 * Context: any.
 * Return: true if images in it must ask RCU before each program.
 */
bool tramp_text_idle(const struct tramp_symbol *sym);

#endif /* TRAMP_IDLE_H */
