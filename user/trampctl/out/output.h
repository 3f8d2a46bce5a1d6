/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Whether standard output could be written.
 */
#ifndef TRAMPCTL_OUTPUT_H
#define TRAMPCTL_OUTPUT_H

#include <stdbool.h>

bool output_failed(void);
int output_finish(int rc);

#endif /* TRAMPCTL_OUTPUT_H */
