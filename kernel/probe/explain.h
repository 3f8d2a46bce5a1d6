/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Asks what a probe would become at each instruction of a function.
 */
#ifndef TRAMP_PROBE_EXPLAIN_H
#define TRAMP_PROBE_EXPLAIN_H

#include "base/tramp.h"

/**
 * tramp_probe_explain() - the EXPLAIN_CODE command
 * @ex: the request; out members are filled in, pointers are user space's
 * @show: addresses and code may be shown
 *
 * Context: process, may sleep, without locks.
 * Return: 0 or a negative errno, see the UAPI header.
 */
int tramp_probe_explain(struct tramp_explain_code *ex, bool show);

#endif /* TRAMP_PROBE_EXPLAIN_H */
