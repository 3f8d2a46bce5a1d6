/* SPDX-License-Identifier: GPL-2.0 */
/* Programs of one function each, attached to many functions by one ATTACH_BATCH. */
#ifndef ONES_H
#define ONES_H

#include <trampoline/trampoline.h>
#include "vmtest.h"

/*
 * Requests for @prog, a kprobe program, at the entries of @nr functions that can have other
 * programs beside it, in ascending order. Cookies are numbers. Fails the test if @item has more
 * room than there are functions. probe_setup() comes first.
 */
void ones_fill(struct tramp_attach *item, uint32_t nr, int prog);
/* All of them, and their links into @fds. Failing ends the test. */
void ones_come(struct tramp_attach *item, int32_t *fds, uint32_t nr);
void ones_go(int32_t *fds, uint32_t nr);

#endif /* ONES_H */
