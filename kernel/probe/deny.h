/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions that are special to probes.
 */
#ifndef TRAMP_DENY_H
#define TRAMP_DENY_H

#include "text/symbol.h"

/**
 * tramp_probe_traceable() - whether ftrace covers a function
 * @sym: the function, or a part of one (.cold): then the one it belongs to must be covered
 * @mod: the module it is in, NULL for the kernel proper
 *
 * Context: tramp_mutex held; @mod does not go (its notifier waits for that mutex).
 * Return: false if no probe may be in it, since a tracer might run it before its test
 * for recursion.
 */
bool tramp_probe_traceable(const struct tramp_symbol *sym, const struct module *mod);

/**
 * tramp_probe_denied() - why a function may not hold an int3 probe
 * @sym: the function
 * @refuse: (out) it may not hold a kernel kprobe either
 *
 * Return: enum tramp_reason, 0 if it may.
 */
u32 tramp_probe_denied(const struct tramp_symbol *sym, bool *refuse);

#endif /* TRAMP_DENY_H */
