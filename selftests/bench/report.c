// SPDX-License-Identifier: GPL-2.0
/*
 * bench-report: reads figures, prints tables, writes JSON and plots, and holds
 * the figures against limits.
 *
 *	bench-report [OPTION...] SOURCE=FILE...
 *
 *	--limits FILE		the limits
 *	--check			fail if a figure is worse than committed, by more than 3 %
 *	--write-limits		put today's figures into FILE; goals stay as they are
 *	--json FILE		write all figures
 *	--plots DIR		write plots (SVG)
 *	--taken TEXT		when the figures were taken, for titles
 *
 * Exit status: 0 all is well, 1 a figure is worse than committed, 2 wrong usage or
 * something cannot be read or written. A missed goal is said, but is no failure.
 */
#define _GNU_SOURCE
#include "report.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct record *records;
size_t nr_records;
char sources[8][16];
int nr_sources;
const char *taken = "";

void die(const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "bench-report: ");
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(2);
}

void *grow(void *array, size_t nr, size_t size)
{
	/* Room doubles at each power of two. */
	if (nr & (nr - 1))
		return array;
	array = realloc(array, (nr ? 2 * nr : 1) * size);
	if (!array)
		die("out of memory");
	return array;
}

static void add_line(const char *source, const char *line)
{
	char *copy = strdup(line), *text = strdup(line);
	struct record *r;
	char *word, *rest = copy;
	int i;

	if (!copy || !text)
		die("out of memory");
	records = grow(records, nr_records, sizeof(*records));
	r = &records[nr_records];
	memset(r, 0, sizeof(*r));
	snprintf(r->source, sizeof(r->source), "%s", source);
	while (r->nr < MAX_WORDS && (word = strsep(&rest, " ")))
		if (*word)
			r->word[r->nr++] = word;
	if (!r->nr)
		return;
	for (i = 0; i < 3 && *text; i++) {
		text += strcspn(text, " ");
		text += strspn(text, " ");
	}
	r->text = text;
	nr_records++;
}

static void read_figures(const char *source, const char *path)
{
	FILE *f = fopen(path, "re");
	char line[512];

	if (!f)
		die("%s: %s", path, strerror(errno));
	if (nr_sources == 8)
		die("too many files");
	if (!nr_sources || strcmp(sources[nr_sources - 1], source))
		snprintf(sources[nr_sources++], sizeof(sources[0]), "%s", source);
	while (fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\r\n")] = '\0';
		add_line(source, line);
	}
	fclose(f);
}

const struct record *find(const struct record *from, const char *source, const char *fmt, ...)
{
	const struct record *r, *end = records + nr_records;
	char wanted[256], copy[256], *word, *rest;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(wanted, sizeof(wanted), fmt, ap);
	va_end(ap);
	for (r = from ? from : records; r < end; r++) {
		int i = 0;

		if (strcmp(r->source, source))
			continue;
		strcpy(copy, wanted);
		rest = copy;
		while ((word = strsep(&rest, " ")) && i < r->nr &&
		       (!strcmp(word, "*") || !strcmp(word, r->word[i])))
			i++;
		if (!word)
			return r;
	}
	return NULL;
}

double number(const struct record *r, int word)
{
	return r && word < r->nr ? strtod(r->word[word], NULL) : 0;
}

const char *side_name(int side)
{
	return side == OURS ? "ours" : "kernel";
}

const char *mech_title(const char *source, const char *mech, int side)
{
	const struct record *r = find(NULL, source, "mech %s %s", mech, side_name(side));
	const char *title;

	if (!r)
		return mech;
	/* mech NAME SIDE RANK TITLE... */
	title = r->text + strcspn(r->text, " ");
	return title + strspn(title, " ");
}

int main(int argc, char **argv)
{
	const char *limits_path = NULL, *json = NULL, *plots = NULL;
	bool check = false, write = false;
	int i, worse = 0;

	for (i = 1; i < argc; i++) {
		const char *arg = argv[i], *equals = strchr(arg, '=');
		bool more = i + 1 < argc;

		if (!strcmp(arg, "--check")) {
			check = true;
		} else if (!strcmp(arg, "--write-limits")) {
			write = true;
		} else if (!strcmp(arg, "--limits") && more) {
			limits_path = argv[++i];
		} else if (!strcmp(arg, "--json") && more) {
			json = argv[++i];
		} else if (!strcmp(arg, "--plots") && more) {
			plots = argv[++i];
		} else if (!strcmp(arg, "--taken") && more) {
			taken = argv[++i];
		} else if (arg[0] != '-' && equals && equals - arg < 16) {
			char *source = strndup(arg, equals - arg);

			read_figures(source, equals + 1);
			free(source);
		} else {
			die("'%s' is neither an option nor SOURCE=FILE", arg);
		}
	}
	if (!nr_sources)
		die("no figures given");
	if (limits_path)
		read_limits(limits_path);
	else if (check || write)
		die("--check and --write-limits need --limits");
	make_figures();

	print_tables(stdout);
	if (limits_path)
		check_goals();
	if ((json && write_json(json)) || (plots && write_plots(plots)) ||
	    (write && write_limits(limits_path)))
		return 2;
	if (check)
		worse = check_limits();
	return worse ? 1 : 0;
}
