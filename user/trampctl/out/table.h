/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tables: a header and aligned columns.
 */
#ifndef TRAMPCTL_TABLE_H
#define TRAMPCTL_TABLE_H

#include <stdio.h>

struct table;
struct table *table_new(const char *const *heads, const char *align);
void table_row(struct table *t, ...) __attribute__((sentinel));
void table_hide_head(struct table *t);
void table_print(struct table *t, FILE *f);
void table_free(struct table *t);

#endif /* TRAMPCTL_TABLE_H */
