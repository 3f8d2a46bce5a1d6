/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A line on a terminal that says how far something is that takes long, or how much was lost.
 */
#ifndef TRAMPCTL_PROGRESS_H
#define TRAMPCTL_PROGRESS_H

#include <stddef.h>
#include <stdint.h>

void progress_begin(const char *what);
void progress_begin_losses(const char *what, const char *of, uint64_t (*lost)(void *arg),
			   void *arg);
void progress(size_t steps, size_t all);
void progress_end(void);

#endif /* TRAMPCTL_PROGRESS_H */
