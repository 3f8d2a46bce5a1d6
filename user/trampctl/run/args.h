/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Numbers and words on the command line.
 */
#ifndef TRAMPCTL_ARGS_H
#define TRAMPCTL_ARGS_H

#include <stdint.h>

int parse_u64(const char *what, const char *text, uint64_t min, uint64_t max, uint64_t *val);
int parse_u32(const char *what, const char *text, uint32_t min, uint32_t max, uint32_t *val);
int parse_seconds(const char *what, const char *text, uint64_t *ns);
int parse_time(const char *what, const char *text, uint64_t *ns);
int parse_word(const char *what, const char *text, const char *const *words, unsigned int *nr);
int parse_link_id(const char *text, uint32_t *id);

#endif /* TRAMPCTL_ARGS_H */
