/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Strings, memory, and one-line files.
 */
#ifndef TRAMPCTL_TEXT_H
#define TRAMPCTL_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

char *xasprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void *xcalloc(size_t nr, size_t size);
void *xrealloc(void *p, size_t size);
bool read_line(const char *path, char *buf, size_t len);
bool utf8_char(const char *s, size_t len, size_t *used);
char *quote_text(const char *s, size_t len);
void duration_text(uint64_t ns, char *buf, size_t len);

#endif /* TRAMPCTL_TEXT_H */
