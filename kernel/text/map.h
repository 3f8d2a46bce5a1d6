/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A map of the text: where instructions start, targets of branches, bytes that the kernel
 * patches; a bit for each byte.
 */
#ifndef TRAMP_BRANCHES_H
#define TRAMP_BRANCHES_H

#include <linux/module.h>
#include "base/tramp.h"

/**
 * tramp_branches_ready() - whether the text around an address has been read
 * @addr: an address in the text of the kernel or of a module
 *
 * Context: tramp_mutex held.
 * Return: true if so.
 */
bool tramp_branches_ready(unsigned long addr);

/**
 * tramp_branches_read() - read it
 * @addr: an address in the text of the kernel or of a module
 *
 * Once for the kernel and for each module; takes around a second for the kernel.
 *
 * Context: may sleep; takes tramp_mutex, for a symbol at a time.
 * Return: 0, -ENOMEM, or -ENOENT if there is no text at @addr (any more).
 */
int tramp_branches_read(unsigned long addr);

/**
 * tramp_branches_target() - whether something may jump to an address
 * @addr: an address in text that is ready; in others the answer is yes
 *
 * Context: tramp_mutex held.
 * Return: true if so.
 */
bool tramp_branches_target(unsigned long addr);

/**
 * tramp_branches_start() - whether an instruction starts at an address
 * @addr: an address in text that is ready
 * @before: (out) the last start that is not behind it; nonsense if there is none
 *
 * Context: tramp_mutex held.
 * Return: true if so.
 */
bool tramp_branches_start(unsigned long addr, unsigned long *before);

/**
 * tramp_branches_reserved() - whether a jump label or static call has bytes of a range
 * @start: the range, in text that is ready
 * @end: its end, exclusive
 *
 * Context: tramp_mutex held.
 * Return: true if so.
 */
bool tramp_branches_reserved(unsigned long start, unsigned long end);

/* A module goes: forget its text. tramp_mutex held. */
void tramp_branches_forget(const struct module *mod);

/* Module exit. tramp_mutex held. */
void tramp_branches_exit(void);

#endif /* TRAMP_BRANCHES_H */
