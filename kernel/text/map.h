/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A map of the text: where instructions start, targets of branches, bytes that the kernel
 * patches; a bit for each byte.
 */
#ifndef TRAMP_MAP_H
#define TRAMP_MAP_H

#include <linux/module.h>
#include "base/tramp.h"

/*
 * All but tramp_map_read() are called with tramp_mutex held. Text is "ready" once it has been
 * read.
 */

/* Whether the text of the kernel, or of the module, that holds an address is ready. */
bool tramp_map_ready(unsigned long addr);

/**
 * tramp_map_read() - make the text around an address ready
 * @addr: an address in the text of the kernel or of a module
 *
 * Once for the kernel and for each module; takes around a second for the kernel.
 *
 * Context: may sleep. Takes tramp_mutex if the text is not ready, for a tick at a time.
 * Return: 0, -ENOMEM, or -ENOENT if there is no text at @addr (any more).
 */
int tramp_map_read(unsigned long addr);

/* Whether something may jump to an address; in text that is not ready the answer is yes. */
bool tramp_map_target(unsigned long addr);

/**
 * tramp_map_start() - whether an instruction starts at an address
 * @addr: an address in text that is ready
 * @before: (out) the last start that is not behind it; nonsense if there is none
 *
 * Return: true if so.
 */
bool tramp_map_start(unsigned long addr, unsigned long *before);

/* Whether a jump label or static call has bytes from @start to @end (exclusive); text is ready. */
bool tramp_map_reserved(unsigned long start, unsigned long end);

/* A module goes: forget its text. NULL: this module goes, forget everything. */
void tramp_map_forget(const struct module *mod);

#endif /* TRAMP_MAP_H */
