/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Signals that end a command, and the time.
 */
#ifndef TRAMPCTL_SIGNALS_H
#define TRAMPCTL_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

uint64_t now_ns(void);
void end_signals(sigset_t *set);
void end_signals_handle(void (*handler)(int sig));
bool end_is_pending(void);

#endif /* TRAMPCTL_SIGNALS_H */
