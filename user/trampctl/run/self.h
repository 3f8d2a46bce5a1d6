/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which process trampctl is.
 */
#ifndef TRAMPCTL_SELF_H
#define TRAMPCTL_SELF_H

#include <stdint.h>

int self_tgid(uint32_t *tgid);

#endif /* TRAMPCTL_SELF_H */
