// SPDX-License-Identifier: GPL-2.0
/*
 * Words that are few letters off were probably meant, see near.h. Those of other tools
 * are far off by letters and near by meaning, so they have a table of their own.
 */
#include <string.h>
#include <strings.h>

#include "../distance.h"
#include "near.h"

/* As bpftrace, bcc, perf, strace and retsnoop call what has another name here. */
static const struct {
	const char *word, *here;
} commands[] = {
	{ "funccount", "count" }, { "funclatency", "hist" }, { "histogram", "hist" },
	{ "latency", "hist" }, { "kill", "detach" }, { "unpin", "detach" },
	{ "delete", "detach" }, { "remove", "detach" }, { "rm", "detach" },
	{ "kprobe", "probe" }, { "disasm", "dump" }, { "disassemble", "dump" },
	{ "info", "show" }, { "check", "explain" }, { "why", "explain" },
	{ "load", "attach" }, { "stackcount", "stack" }, { "backtrace", "stack" },
}, options[] = {
	{ "filter", "if" }, { "where", "if" }, { "when", "if" }, { "expr", "if" },
	{ "name", "comm" }, { "process", "pid" }, { "thread", "tid" },
	{ "timeout", "duration" }, { "time", "duration" }, { "seconds", "duration" },
	{ "number", "count" }, { "max", "count" }, { "limit", "count" },
	{ "exclude", "deny" }, { "min-time", "min-duration" }, { "longer", "min-duration" },
	{ "backtrace", "stack" }, { "callers", "stack" }, { "call-graph", "stack" },
	{ "graph", "tree" }, { "flame", "folded" },
	{ "line", "source" }, { "lines", "source" }, { "debuginfo", "vmlinux" },
	{ "module", "ko" },
};

size_t near_commands(const char *word, const char *out[NEAR_MAX + 1])
{
	struct libtramp_nearest near = { .out = out, .max = NEAR_MAX };
	size_t i;

	for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (!strcasecmp(word, commands[i].word))
			libtramp_nearest_add(&near, commands[i].here, 0);
	for (i = 0; !near.nr && cmd_table(i); i++)
		if (!strcasecmp(word, cmd_table(i)->name))
			libtramp_nearest_add(&near, cmd_table(i)->name, 0);
	for (i = 0; !near.nr && cmd_table(i); i++)
		libtramp_nearest_try(&near, word, cmd_table(i)->name);
	out[near.nr] = NULL;
	return near.nr;
}

/* Has each option of the tables tried. */
static void try_all(struct libtramp_nearest *near, const struct cmd_opt *const *tables,
		    void (*try)(struct libtramp_nearest *, const char *, const char *),
		    const char *word)
{
	const struct cmd_opt *o;

	for (; *tables; tables++)
		for (o = *tables; o->name; o++)
			try(near, word, o->name);
}

static void try_beginning(struct libtramp_nearest *near, const char *word, const char *name)
{
	if (word[0] && !strncmp(word, name, strlen(word)))
		libtramp_nearest_add(near, name, 0);
}

static void try_meaning(struct libtramp_nearest *near, const char *word, const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		if (!strcmp(word, options[i].word) && !strcmp(name, options[i].here))
			libtramp_nearest_add(near, name, 0);
}

size_t near_options(const char *text, const struct cmd_opt *const *tables,
		    const char *out[NEAR_MAX + 1])
{
	struct libtramp_nearest near = { .out = out, .max = NEAR_MAX };
	char word[LIBTRAMP_MAX_WORD + 1] = "";
	size_t len = strcspn(text, "=");

	if (len < sizeof(word)) {
		memcpy(word, text, len);
		try_all(&near, tables, try_beginning, word);
		if (!near.nr)
			try_all(&near, tables, try_meaning, word);
		if (!near.nr)
			try_all(&near, tables, libtramp_nearest_try, word);
	}
	out[near.nr] = NULL;
	return near.nr;
}
