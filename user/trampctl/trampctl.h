/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A command, and the table of all of them. The commands and main.c include this file;
 * out/ and run/ know of no command.
 *
 * A command is one file of cmd/ with one struct cmd. Its options stand in a table. From
 * it main.c makes the getopt_long() arrays, `--help`, `trampctl help` and
 * `trampctl -j help`. The test of the man page and of the shell completion reads the
 * last.
 */
#ifndef TRAMPCTL_H
#define TRAMPCTL_H

#include <stdio.h>

/**
 * struct cmd_opt - one option of a command
 * @name: long name, without the dashes
 * @letter: short form, or 0
 * @arg: name of its argument for help texts, or NULL if it takes none
 * @help: one line
 *
 * Tables end with an entry whose @name is NULL.
 */
struct cmd_opt {
	const char *name;
	char letter;
	const char *arg;
	const char *help;
};

/**
 * struct cmd - one command
 * @name: as typed; any unambiguous prefix will do
 * @alias: a second name, or NULL
 * @args: its arguments for help texts, or NULL
 * @summary: one line
 * @details: further lines for `trampctl help CMD`, or NULL
 * @opts: its options, or NULL
 * @min_args, @max_args: how many arguments it takes; @max_args < 0: any number
 * @option: called for each option with its place in @opts; returns 0 or an exit
 *	code after having reported the error
 * @run: does the work; returns an exit code
 */
struct cmd {
	const char *name;
	const char *alias;
	const char *args;
	const char *summary;
	const char *details;
	const struct cmd_opt *opts;
	int min_args, max_args;
	int (*option)(int opt, const char *arg);
	int (*run)(int argc, char **argv);
};

extern const struct cmd cmd_attach, cmd_trace, cmd_probe, cmd_count, cmd_hist, cmd_stack,
	cmd_list, cmd_show, cmd_stats, cmd_detach, cmd_dump, cmd_explain, cmd_features,
	cmd_version, cmd_help;

/* The version of all that is built here; the Makefile knows it. */
#ifndef TRAMPCTL_VERSION
#define TRAMPCTL_VERSION "unknown"
#endif

/* main.c: */

const struct cmd *cmd_table(int i);
const struct cmd *cmd_find(const char *word, int *exit_code);
void cmd_print_usage(FILE *f, const struct cmd *cmd);
void cmd_print_table(FILE *f);

#endif /* TRAMPCTL_H */
