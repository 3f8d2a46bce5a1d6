/* SPDX-License-Identifier: GPL-2.0 */
/*
 * libbpf's own messages, kept aside for errors.
 */
#ifndef TRAMPCTL_LOG_H
#define TRAMPCTL_LOG_H

#include <stdbool.h>

/* Set by main.c: --verbose, the verifier's log as a whole. */
extern bool verbose_output;

void log_capture_init(void);
const char *log_captured(void);
char *log_verdict(void);
void log_print(void);

#endif /* TRAMPCTL_LOG_H */
