/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which process trampctl is, and what time, to its BPF programs.
 */
#ifndef TRAMPCTL_SELF_H
#define TRAMPCTL_SELF_H

#include <stdint.h>

int self_tgid(uint32_t *tgid);
int self_clock(int64_t *ahead);

#endif /* TRAMPCTL_SELF_H */
