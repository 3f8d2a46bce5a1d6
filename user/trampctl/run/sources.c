// SPDX-License-Identifier: GPL-2.0
/*
 * Lines of source, as people write them: [MODULE:]FILE:LINE.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "../out/error.h"
#include "../out/json.h"
#include "../out/text.h"
#include "progress.h"
#include "sources.h"

/* The file that was opened last, and what of. */
static struct lines *opened;
static char *opened_for;

/* One of SOURCE_OPTS. Returns 0, or EXIT_USAGE after having reported the error. */
int source_option(struct debuginfo_options *o, int opt, const char *arg)
{
	if (!arg[0])
		return usage_error("%s needs a file", opt == SOURCE_OPT_KO ? "--ko" : "--vmlinux");
	if (opt == SOURCE_OPT_KO)
		o->ko = arg;
	else
		o->vmlinux = arg;
	return 0;
}

/* Is it a line of source? No function begins with a digit. */
bool is_source_line(const char *arg)
{
	const char *colon = strrchr(arg, ':');

	return colon && colon > arg && colon[1] &&
	       strspn(colon + 1, "0123456789") == strlen(colon + 1);
}

/**
 * source_lines() - the debuginfo of the kernel proper, or of a module
 * @o: the files that the user has named
 * @module: the module; empty: the kernel proper
 * @lines: (out) good until the next call, or source_close()
 *
 * Return: 0, or the exit code of an error that has been reported.
 */
int source_lines(const struct debuginfo_options *o, const char *module, struct lines **lines)
{
	int rc = 0;

	if (!opened || strcmp(opened_for, module)) {
		source_close();
		rc = debuginfo_open(o, module, &opened);
		opened_for = xasprintf("%s", module);
	}
	*lines = opened;
	return rc;
}

void source_close(void)
{
	lines_free(opened);
	free(opened_for);
	opened = NULL;
	opened_for = NULL;
}

/* Several files have that name. */
static int ambiguous(const struct line_found *found, const char *file)
{
	const char *similar[LINE_MAX_FILES + 1] = { NULL };
	struct problem p = { .exit_code = EXIT_USAGE, .err = EINVAL, .reason = "ambiguous-file",
			     .similar = similar, .remedy = "write more of its path" };
	size_t i;

	for (i = 0; i < found->nr_files && i < LINE_MAX_FILES; i++)
		similar[i] = found->files[i];
	return fail(&p, "several files end in %s", file);
}

/* A line without code. */
static int no_code(const struct line_found *found, int line)
{
	const char *similar[3] = { NULL };
	struct problem p = { .exit_code = EXIT_NOT_FOUND, .err = ENOENT, .reason = "no-code",
			     .similar = similar,
			     .remedy = "take one of the nearest lines that have code" };
	const char *file = found->files[0];
	char *below = xasprintf("%s:%d", file, found->below);
	char *above = xasprintf("%s:%d", file, found->above);
	size_t nr = 0;

	if (found->below)
		similar[nr++] = below;
	if (found->above)
		similar[nr++] = above;
	if (!nr)
		p.remedy = "take a line of a file that has code";
	fail(&p, "line %d of %s has no code", line, file);
	free(below);
	free(above);
	return p.exit_code;
}

static int no_source(const char *file, const char *module)
{
	struct problem p = { .exit_code = EXIT_NOT_FOUND, .err = ENOENT, .reason = "no-source" };

	p.remedy = module[0] ? "check the name; a file that has no code is not in the debuginfo" :
		   "check the name; a module's file is named as MODULE:FILE:LINE";
	return fail(&p, "the debuginfo of %s%s knows no file %s", module[0] ? "the module " :
		    "the kernel proper", module, file);
}

/* Takes "[MODULE:]FILE:LINE" apart. The texts are to be freed. */
static int parse(const struct debuginfo_options *o, const char *spec, char **module, char **file,
		 int *line)
{
	const char *last = strrchr(spec, ':'), *first = strchr(spec, ':');
	unsigned long nr;

	*module = *file = NULL;
	*line = 0;
	errno = 0;
	nr = strtoul(last + 1, NULL, 10);
	if (errno || !nr || nr > INT_MAX)
		return usage_error("\"%s\": a line is a number from 1 on", spec);
	*line = nr;
	if (first == last) {
		*file = xasprintf("%.*s", (int)(last - spec), spec);
		if (o->ko && !o->vmlinux)
			return debuginfo_module_of(o->ko, module);
		*module = xasprintf("%s", "");
		return 0;
	}
	*module = xasprintf("%.*s", (int)(first - spec), spec);
	*file = xasprintf("%.*s", (int)(last - first - 1), first + 1);
	if (!(*module)[0] || !(*file)[0])
		return usage_error("\"%s\": a line of source is [MODULE:]FILE:LINE", spec);
	if (!strcmp(*module, "vmlinux"))
		(*module)[0] = 0;
	return 0;
}

/**
 * source_find() - the instructions at which a line begins
 * @o: the files with debuginfo that the user has named
 * @spec: [MODULE:]FILE:LINE, as is_source_line() takes it. Without MODULE it is the kernel
 *	proper's, or that of the module whose file was named, if only that was
 * @found: (out) one place at least; to be freed by line_found_free()
 *
 * Return: 0, or the exit code of an error that has been reported.
 */
int source_find(const struct debuginfo_options *o, const char *spec, struct line_found *found)
{
	char *module, *file;
	struct lines *lines;
	int line, rc;

	*found = (struct line_found){ NULL };
	rc = parse(o, spec, &module, &file, &line);
	if (!rc)
		rc = source_lines(o, module, &lines);
	if (!rc) {
		progress_begin("searching the debuginfo");
		lines_find(lines, file, line, found);
		progress_end();
		if (!found->nr_files)
			rc = no_source(file, module);
		else if (found->nr_files > 1)
			rc = ambiguous(found, file);
		else if (!found->nr)
			rc = no_code(found, line);
	}
	if (rc)
		line_found_free(found);
	free(module);
	free(file);
	return rc;
}

/* "fs/namei.c:4301 (do_unlinkat)". To be freed. */
char *source_text(const struct line_of_code *l)
{
	return xasprintf("%s:%d%s%s%s", l->file, l->line, l->function ? " (" : "",
			 l->function ?: "", l->function ? ")" : "");
}

/* The line, then those that call the copies it is inlined in. */
json_object *source_to_json(const struct line_frames *f)
{
	json_object *list = json_object_new_array();
	size_t i;

	for (i = 0; i < f->nr; i++) {
		json_object *j = json_object_new_object();

		json_put_str(j, "file", f->list[i].file);
		json_put_u64(j, "line", f->list[i].line);
		if (f->list[i].function)
			json_put_str(j, "function", f->list[i].function);
		json_object_array_add(list, j);
	}
	return list;
}
