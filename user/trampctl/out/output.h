/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Whether standard output could be written.
 */
#ifndef TRAMPCTL_OUTPUT_H
#define TRAMPCTL_OUTPUT_H

#include <stdbool.h>

extern const char *output_name;

void output_start(void);
void output_stop(void);

/*
 * Between these two, something waits for a reader: a write, or the opening of a FIFO. A signal that
 * ends the command ends the wait with EINTR, also one that came before.
 */
void output_wait_begin(void);
void output_wait_end(void);

bool output_failed(void);
bool output_was_interrupted(void);
bool output_is_blocked(void);
void output_set_failed(const char *verb, int err, const char *remedy);
int output_finish(int rc);

#endif /* TRAMPCTL_OUTPUT_H */
