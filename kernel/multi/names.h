/* SPDX-License-Identifier: GPL-2.0 */
/* The functions of a request by their names. */
#ifndef TRAMP_MULTI_NAMES_H
#define TRAMP_MULTI_NAMES_H

#include "funcs.h"

/**
 * struct tramp_func_names - the names in a request
 * @text: all of them, each with its NUL
 * @name: where each begins
 */
struct tramp_func_names {
	char *text;
	const char **name;
};

/**
 * tramp_func_names_copy() - take a request's names
 * @names: (out) tramp_func_names_free() frees it, also after a failure
 * @from: user address of the text
 * @len: its bytes, at most TRAMP_MULTI_NAMES_MAX
 * @nr: how many there must be
 * @why: SYNTAX, NO_MEMORY
 *
 * Context: process, may sleep.
 * Return: 0 or a negative errno.
 */
int tramp_func_names_copy(struct tramp_func_names *names, u64 from, u32 len, u32 nr,
			  struct tramp_refusal *why);

void tramp_func_names_free(struct tramp_func_names *names);

/**
 * tramp_func_names_find() - find the functions that names mean
 * @names: a name for each of @items, which are in the order of the request
 * @items: their @addr is set. One that is not found has an @addr of 0 and a @reason:
 *	NO_SUCH_FUNCTION, or AMBIGUOUS
 * @nr: how many
 * @why: MISSING_SYMBOL, NO_MEMORY
 *
 * Context: process, may sleep, without tramp_mutex: it goes through all symbols. A signal ends it.
 * Return: 0, -ERESTARTNOHAND, or another negative errno with its reason.
 */
int tramp_func_names_find(const struct tramp_func_names *names, struct tramp_func_item *items,
			  u32 nr, struct tramp_refusal *why);

#endif /* TRAMP_MULTI_NAMES_H */
