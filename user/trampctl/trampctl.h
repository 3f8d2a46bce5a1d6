/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The command line: the command table, global options, exit codes, numbers.
 *
 * A command is one file of cmd/ with one struct cmd. Its options stand in a table, from
 * which main.c makes the getopt_long() arrays, `--help`, `trampctl help` and
 * `trampctl -j help`; the test of the man page and of the shell completion
 * reads the last.
 */
#ifndef TRAMPCTL_H
#define TRAMPCTL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Exit codes, documented in trampctl(8). */
enum {
	EXIT_OK = 0,
	EXIT_FAILED = 1,	/* tried, and failed */
	EXIT_USAGE = 2,		/* the command line makes no sense */
	EXIT_NOT_FOUND = 3,	/* no such function, link or file */
	EXIT_PERMISSION = 4,	/* not allowed */
	EXIT_NO_MODULE = 5,	/* the module is not loaded, or has no device */
	EXIT_REFUSED = 6,	/* the module refused, with a reason */
};

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

extern const struct cmd cmd_attach, cmd_trace, cmd_probe, cmd_list, cmd_show, cmd_detach,
	cmd_dump, cmd_explain, cmd_features, cmd_version, cmd_help;

/* Set by the global options. */
extern bool json_output;	/* -j or -p */
extern bool json_pretty;	/* -p */
extern bool debug_output;	/* --debug: libbpf's and the library's messages */

/* The command being run, for error messages; NULL before it is known. */
extern const struct cmd *current_cmd;

/* The version of all that is built here; the Makefile knows it. */
#ifndef TRAMPCTL_VERSION
#define TRAMPCTL_VERSION "unknown"
#endif

/* main.c: */

const struct cmd *cmd_table(int i);
const struct cmd *cmd_find(const char *word, int *exit_code);
void cmd_print_usage(FILE *f, const struct cmd *cmd);
void cmd_print_table(FILE *f);

/* args.c: */

int parse_u64(const char *what, const char *text, uint64_t min, uint64_t max, uint64_t *val);
int parse_u32(const char *what, const char *text, uint32_t min, uint32_t max, uint32_t *val);
int parse_seconds(const char *what, const char *text, uint64_t *ns);

#endif /* TRAMPCTL_H */
