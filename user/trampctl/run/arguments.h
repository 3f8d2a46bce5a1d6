/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where a function has its arguments and its result, by the calling convention.
 */
#ifndef TRAMPCTL_ARGUMENTS_H
#define TRAMPCTL_ARGUMENTS_H

#include <linux/types.h>
#include <stdbool.h>
#include <trampoline/trampoline.h>

#include "many.h"

void arguments_locate(const struct tramp_proto *proto, __u8 *where, unsigned int max);
bool arguments_result_seen(const struct tramp_proto *proto);

#endif /* TRAMPCTL_ARGUMENTS_H */
