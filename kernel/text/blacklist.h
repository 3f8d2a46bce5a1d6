/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The functions that the kernel's kprobes refuse.
 */
#ifndef TRAMP_BLACKLIST_H
#define TRAMP_BLACKLIST_H

#include "symbol.h"

/**
 * tramp_text_blacklisted() - whether the kernel's kprobes refuse an address
 * @addr: the address
 * @sym: the symbol that holds it
 * @in_module: it is in a module
 *
 * Context: text_mutex held.
 * Return: whether they do.
 */
bool tramp_text_blacklisted(unsigned long addr, const struct tramp_symbol *sym, bool in_module);

#endif /* TRAMP_BLACKLIST_H */
