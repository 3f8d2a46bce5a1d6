// SPDX-License-Identifier: GPL-2.0
/*
 * trampctl: the command line of the trampoline framework.
 *
 * This file knows the commands by their table and nothing of what they do. It
 * finds the command that a word means, takes its options and the global ones
 * apart, counts its arguments and runs it. The grammar is bpftool's: commands
 * may be shortened, and -j and -p give JSON from every command. Options may stand
 * before or after the arguments.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "near.h"
#include "out/error.h"
#include "out/json.h"
#include "out/log.h"
#include "out/output.h"
#include "out/text.h"
#include "trampctl.h"

static const struct cmd *const cmds[] = {
	&cmd_attach, &cmd_trace, &cmd_probe, &cmd_count, &cmd_hist, &cmd_stack, &cmd_list,
	&cmd_show, &cmd_stats, &cmd_detach, &cmd_dump, &cmd_explain, &cmd_features, &cmd_version,
	&cmd_help,
};
#define NR_CMDS ((int)(sizeof(cmds) / sizeof(cmds[0])))

static const struct cmd_opt global_opts[] = {
	{ "json", 'j', NULL, "print JSON, errors included" },
	{ "pretty", 'p', NULL, "print JSON, indented" },
	{ "verbose", 'v', NULL, "show the whole log of the verifier if it rejects a program" },
	{ "debug", 0, NULL, "show the messages of libbpf and of the verifier" },
	{ "help", 'h', NULL, "describe the command" },
	{ "version", 'V', NULL, "show versions, as the command of that name" },
	{ NULL }
};
enum { OPT_JSON, OPT_PRETTY, OPT_VERBOSE, OPT_DEBUG, OPT_HELP, OPT_VERSION };

/* getopt_long() returns one of these plus i for entry i of the two tables. */
#define VAL_GLOBAL 0x1000
#define VAL_OWN 0x2000
#define MAX_OPTS 64

/* Command number @i, NULL behind the last. */
const struct cmd *cmd_table(int i)
{
	return i < NR_CMDS ? cmds[i] : NULL;
}

/* ----------------------------------------------------------------- help -- */

static void print_opts(FILE *f, const struct cmd_opt *o)
{
	char left[64];

	for (; o && o->name; o++) {
		snprintf(left, sizeof(left), "%s%c%s--%s%s%s", o->letter ? "-" : " ",
			 o->letter ? o->letter : ' ', o->letter ? ", " : "  ", o->name,
			 o->arg ? " " : "", o->arg ? o->arg : "");
		fprintf(f, "  %-26s %s\n", left, o->help);
	}
}

void cmd_print_usage(FILE *f, const struct cmd *cmd)
{
	fprintf(f, "Usage: trampctl %s%s%s%s\n\n%s.\n", cmd->name,
		cmd->opts ? " [OPTIONS]" : "", cmd->args ? " " : "",
		cmd->args ? cmd->args : "", cmd->summary);
	if (cmd->details)
		fprintf(f, "\n%s", cmd->details);
	if (cmd->opts) {
		fputs("\nOptions:\n", f);
		print_opts(f, cmd->opts);
	}
	fputs("\nOptions of every command:\n", f);
	print_opts(f, global_opts);
}

void cmd_print_table(FILE *f)
{
	int i;

	fputs("Usage: trampctl [OPTIONS] COMMAND [ARGUMENTS]\n\n"
	      "Attach BPF programs to kernel functions and instructions through the trampoline\n"
	      "module.\n\n"
	      "Commands (any unambiguous beginning will do):\n", f);
	for (i = 0; i < NR_CMDS; i++)
		fprintf(f, "  %-10s %s%s%s%s\n", cmds[i]->name, cmds[i]->summary,
			cmds[i]->alias ? " (also: " : "", cmds[i]->alias ? cmds[i]->alias : "",
			cmds[i]->alias ? ")" : "");
	fputs("\nOptions of every command:\n", f);
	print_opts(f, global_opts);
	fputs("\n`trampctl help COMMAND` describes one; trampctl(8) is the manual.\n", f);
}

static json_object *opts_to_json(const struct cmd_opt *o)
{
	json_object *list = json_object_new_array();

	for (; o && o->name; o++) {
		json_object *j = json_object_new_object();
		char letter[2] = { o->letter, 0 };

		json_put_str(j, "name", o->name);
		if (o->letter)
			json_put_str(j, "letter", letter);
		if (o->arg)
			json_put_str(j, "argument", o->arg);
		json_put_str(j, "help", o->help);
		json_object_array_add(list, j);
	}
	return list;
}

static json_object *cmd_to_json(const struct cmd *cmd)
{
	json_object *j = json_object_new_object();

	json_put_str(j, "name", cmd->name);
	if (cmd->alias)
		json_put_str(j, "alias", cmd->alias);
	if (cmd->args)
		json_put_str(j, "arguments", cmd->args);
	json_put_str(j, "summary", cmd->summary);
	json_object_object_add(j, "options", opts_to_json(cmd->opts));
	return j;
}

static void print_help(const struct cmd *cmd)
{
	json_object *j, *list;
	int i;

	if (!json_output) {
		if (cmd)
			cmd_print_usage(stdout, cmd);
		else
			cmd_print_table(stdout);
		return;
	}
	if (cmd) {
		j = cmd_to_json(cmd);
	} else {
		j = json_object_new_object();
		list = json_object_new_array();
		for (i = 0; i < NR_CMDS; i++)
			json_object_array_add(list, cmd_to_json(cmds[i]));
		json_object_object_add(j, "commands", list);
		json_object_object_add(j, "options", opts_to_json(global_opts));
	}
	json_print(j);
}

static int help_run(int argc, char **argv)
{
	const struct cmd *cmd = NULL;
	int rc;

	if (argc) {
		cmd = cmd_find(argv[0], &rc);
		if (!cmd)
			return rc;
	}
	print_help(cmd);
	return EXIT_OK;
}

const struct cmd cmd_help = {
	.name = "help",
	.args = "[COMMAND]",
	.summary = "Show the commands, or describe one",
	.max_args = 1,
	.run = help_run,
};

/* ------------------------------------------------------------- commands -- */

/**
 * cmd_find() - the command that a word means
 * @word: its name, alias, or an unambiguous beginning of its name
 * @exit_code: (out) EXIT_USAGE if there is none; the error has been reported
 *
 * Return: the command or NULL.
 */
const struct cmd *cmd_find(const char *word, int *exit_code)
{
	const struct cmd *found = NULL;
	const char *names[NR_CMDS + NEAR_MAX + 1];
	size_t len = strlen(word), i;
	int n = 0;

	for (i = 0; i < NR_CMDS; i++) {
		if (!strcmp(word, cmds[i]->name) ||
		    (cmds[i]->alias && !strcmp(word, cmds[i]->alias)))
			return cmds[i];
		if (len && !strncmp(word, cmds[i]->name, len)) {
			found = cmds[i];
			names[n++] = cmds[i]->name;
		}
	}
	if (n == 1)
		return found;

	names[n] = NULL;
	*exit_code = EXIT_USAGE;
	if (n) {
		struct problem p = { .exit_code = EXIT_USAGE, .err = EINVAL,
				     .reason = "ambiguous-command", .similar = names,
				     .remedy = "write more of its name" };

		fail(&p, "\"%s\" can mean several commands", word);
		return NULL;
	}
	{
		struct problem p = { .exit_code = EXIT_USAGE, .err = EINVAL,
				     .reason = "unknown-command",
				     .remedy = "trampctl help shows all commands",
				     .similar = names };

		near_commands(word, names);
		fail(&p, "there is no command \"%s\"", word);
	}
	return NULL;
}

/* Adds a table to getopt_long()'s two; returns the number of long options. */
static int add_opts(const struct cmd_opt *o, int val, struct option *longs, int nr, char *letters)
{
	char *s = letters + strlen(letters);

	for (; o && o->name && nr < MAX_OPTS; o++, val++) {
		longs[nr++] = (struct option){ .name = o->name, .has_arg = !!o->arg, .val = val };
		if (!o->letter)
			continue;
		*s++ = o->letter;
		if (o->arg)
			*s++ = ':';
	}
	*s = 0;
	return nr;
}

static int by_letter(const struct cmd_opt *o, int letter)
{
	int i;

	for (i = 0; o && o[i].name; i++)
		if (o[i].letter == letter)
			return i;
	return -1;
}

/* Returns -1, or the exit code if that was all there is to do. */
static int global_option(int i, const struct cmd *cmd)
{
	switch (i) {
	case OPT_PRETTY:
		json_pretty = true;
		/* fall through */
	case OPT_JSON:
		json_output = true;
		break;
	case OPT_VERBOSE:
		verbose_output = true;
		break;
	case OPT_DEBUG:
		debug_output = true;
		break;
	case OPT_HELP:
		print_help(cmd);
		return EXIT_OK;
	case OPT_VERSION:
		return cmd_version.run(0, NULL);
	}
	return -1;
}

/* Has the command been given -p? */
static bool short_pretty;

/*
 * -p PID means a process in other tracers. No function has a number for a name, so a number behind
 * our -p is one. Returns 0 or EXIT_USAGE.
 */
static int check_pretty(const struct cmd *cmd, int argc, char **argv)
{
	struct problem p = { .exit_code = EXIT_USAGE, .err = EINVAL, .reason = "usage" };
	const struct cmd_opt *o;
	char *remedy;
	int i;

	for (o = cmd->opts; o && o->name && strcmp(o->name, "pid"); o++)
		;
	if (!short_pretty || !o || !o->name)
		return 0;
	for (i = 0; i < argc; i++) {
		if (!argv[i][0] || argv[i][strspn(argv[i], "0123456789")])
			continue;
		remedy = xasprintf("write --pid %s to choose the process", argv[i]);
		p.remedy = remedy;
		fail(&p, "-p means --pretty, and the number %s is no function", argv[i]);
		free(remedy);
		return EXIT_USAGE;
	}
	return 0;
}

/* A long option that getopt_long() does not take. */
static int no_such_option(const struct cmd_opt *own, const char *word)
{
	const struct cmd_opt *const tables[] = {
		own ?: global_opts, own ? global_opts : NULL, NULL
	};
	const char *near[NEAR_MAX + 1];
	char *dashed[NEAR_MAX + 1] = { NULL };
	size_t i, nr = near_options(word + 2, tables, near);
	bool several = nr && !strncmp(near[0], word + 2, strcspn(word + 2, "="));
	int rc;

	for (i = 0; i < nr; i++)
		dashed[i] = xasprintf("--%s", near[i]);
	rc = usage_error_similar((const char *const *)dashed, several ? "option %s can mean several" :
				 "there is no option %s", word);
	for (i = 0; i < nr; i++)
		free(dashed[i]);
	return rc;
}

/*
 * Handles the options of @cmd, or those before the command if it is NULL, and
 * leaves optind at the first argument. Returns -1, or the exit code.
 */
static int take_options(const struct cmd *cmd, int argc, char **argv)
{
	const struct cmd_opt *own = cmd ? cmd->opts : NULL;
	struct option longs[2 * MAX_OPTS + 1] = { 0 };
	char letters[4 * MAX_OPTS] = "";
	int c, i, nr, rc;

	/* "+": stop at the command; ":": tell a missing argument from a wrong option. */
	strcpy(letters, cmd ? ":" : "+:");
	nr = add_opts(global_opts, VAL_GLOBAL, longs, 0, letters);
	add_opts(own, VAL_OWN, longs, nr, letters);

	opterr = 0;
	optind = 0;
	while ((c = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
		if (c == ':')
			return usage_error("option %s needs an argument", argv[optind - 1]);
		if (c == '?') {
			if (optopt && optopt < VAL_GLOBAL)
				return usage_error("there is no option -%c", optopt);
			if (optopt)
				return usage_error("option %s takes no argument",
						   argv[optind - 1]);
			return no_such_option(own, argv[optind - 1]);
		}
		if (c < VAL_GLOBAL) {
			short_pretty |= cmd && c == 'p';
			i = by_letter(own, c);
			c = i >= 0 ? VAL_OWN + i : VAL_GLOBAL + by_letter(global_opts, c);
		}
		if (c >= VAL_OWN) {
			rc = cmd->option(c - VAL_OWN, optarg);
			if (rc)
				return rc;
		} else {
			rc = global_option(c - VAL_GLOBAL, cmd);
			if (rc >= 0)
				return rc;
		}
	}
	return -1;
}

static int run_cmd(const struct cmd *cmd, int argc, char **argv)
{
	int rc = take_options(cmd, argc, argv);

	if (rc >= 0)
		return rc;
	argc -= optind;
	argv += optind;
	if (argc < cmd->min_args)
		return usage_error("%s needs %s", cmd->name, cmd->args);
	if (cmd->max_args >= 0 && argc > cmd->max_args)
		return usage_error("%s takes no argument \"%s\"", cmd->name,
				   argv[cmd->max_args]);
	rc = check_pretty(cmd, argc, argv);
	if (rc)
		return rc;
	log_capture_init();
	return cmd->run(argc, argv);
}

/*
 * An error among the options must come as JSON also if -j stands behind it, so
 * look for it first. (An option's argument that looks so is taken for it.)
 */
static void find_json_option(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc && strcmp(argv[i], "--"); i++) {
		const char *word = argv[i];
		const size_t letters = word[0] == '-' ? strspn(word + 1, "jp") : 0;

		if (letters && !word[1 + letters]) {
			json_output = true;
			json_pretty |= strchr(word, 'p') != NULL;
		} else if (!strcmp(word, "--pretty")) {
			json_output = json_pretty = true;
		} else if (!strcmp(word, "--json")) {
			json_output = true;
		}
	}
}

/*
 * Whatever is opened first would become standard input, output or error if that is closed, and be
 * read or written by those who mean it. Writing to what stands there instead fails, as before.
 */
static void fill_standard_streams(void)
{
	int fd;

	for (fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			open("/dev/null", O_RDONLY | O_NOCTTY);
}

int main(int argc, char **argv)
{
	const struct cmd *cmd;
	int rc, first;

	fill_standard_streams();
	output_start();
	find_json_option(argc, argv);

	rc = take_options(NULL, argc, argv);
	if (rc < 0) {
		first = optind;
		if (first >= argc) {
			if (json_output)
				return usage_error("a command is needed");
			cmd_print_table(stderr);
			return EXIT_USAGE;
		}
		cmd = cmd_find(argv[first], &rc);
		if (cmd) {
			current_command = cmd->name;
			rc = run_cmd(cmd, argc - first, argv + first);
		}
	}
	return output_finish(rc);
}
