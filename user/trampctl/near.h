/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A command or an option that does not exist: the names that were probably meant.
 */
#ifndef TRAMPCTL_NEAR_H
#define TRAMPCTL_NEAR_H

#include "trampctl.h"

/* At most so many of them, besides the NULL behind the last. */
#define NEAR_MAX 3

/* Fills @out with names of commands; returns how many. */
size_t near_commands(const char *word, const char *out[NEAR_MAX + 1]);

/**
 * near_options() - options like a word
 * @word: without its dashes; what stands behind a = does not count
 * @tables: the tables of options that there are, ended by NULL
 * @out: (out) their names, without dashes
 *
 * A word that is the beginning of several means these. Return: how many.
 */
size_t near_options(const char *word, const struct cmd_opt *const *tables,
		    const char *out[NEAR_MAX + 1]);

#endif /* TRAMPCTL_NEAR_H */
