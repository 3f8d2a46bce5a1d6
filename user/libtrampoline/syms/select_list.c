// SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause
/*
 * Lists of patterns: those of the caller, and those in files, one a line.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../core/error.h"
#include "select.h"

static int add(struct libtramp_list *list, const char *text, const char *file, uint32_t line)
{
	struct libtramp_item *item;

	if (list->nr == TRAMP_SELECT_MAX_PATTERNS)
		return LIBTRAMP_FAIL(-E2BIG, TRAMP_LIB_TOO_MANY, file ? file : "patterns",
				     "at most %u patterns", TRAMP_SELECT_MAX_PATTERNS);
	if (list->nr == list->room) {
		size_t room = list->room ? list->room * 2 : 64;
		struct libtramp_item *more = realloc(list->items, room * sizeof(*more));

		if (!more)
			return libtramp_fail_nomem("patterns");
		list->items = more;
		list->room = room;
	}
	item = &list->items[list->nr];
	memset(item, 0, sizeof(*item));
	item->text = strdup(text);
	if (!item->text)
		return libtramp_fail_nomem("patterns");
	item->file = file;
	item->line = line;
	/* Freed with the list from here on. */
	list->nr++;
	return libtramp_pattern_parse(item->text, &item->pattern);
}

int libtramp_list_add(struct libtramp_list *list, const char *const *patterns, size_t nr)
{
	size_t i;
	int err = 0;

	for (i = 0; i < nr && !err; i++)
		err = add(list, patterns[i] ? patterns[i] : "", NULL, 0);
	return err;
}

/* The text of a line, without comment and blanks; NULL if it is no text. */
static char *strip(char *line, size_t len)
{
	char *end;

	if (strlen(line) != len || len > TRAMP_SELECT_MAX_LINE)
		return NULL;
	line[strcspn(line, "#")] = '\0';
	while (isspace((unsigned char)*line))
		line++;
	end = line + strlen(line);
	while (end > line && isspace((unsigned char)end[-1]))
		end--;
	*end = '\0';
	return line;
}

static int read_line(struct libtramp_list *list, char *line, size_t len, const char *file,
		     uint32_t nr)
{
	char subject[LIBTRAMP_SUBJECT_LEN], *text;
	int err;

	/* Without its end, which does not count. */
	if (len && line[len - 1] == '\n')
		line[--len] = '\0';
	snprintf(subject, sizeof(subject), "%s, line %u", file, nr);
	text = strip(line, len);
	if (!text)
		return LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_BAD_PATTERN, subject,
				     "it is longer than %u bytes, or not text",
				     TRAMP_SELECT_MAX_LINE);
	if (text[strcspn(text, " \t\r\v\f")])
		return LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_BAD_PATTERN, subject,
				     "there is more than one word");
	err = text[0] ? add(list, text, file, nr) : 0;
	/* The pattern's error does not know where it stands. */
	if (err == -EINVAL)
		return LIBTRAMP_FAIL(err, TRAMP_LIB_BAD_PATTERN, subject, "%s",
				     tramp_last_error()->detail);
	return err;
}

/*
 * One line with its end, up to @room bytes: a longer one is too long anyway, and need not be read.
 * Bytes may be zero. Return: how many, 0 at the end of the file or after an error.
 */
static size_t get_line(char *line, size_t room, FILE *f)
{
	size_t len = 0;
	int c;

	while (len < room && (c = getc_unlocked(f)) != EOF) {
		line[len++] = c;
		if (c == '\n')
			break;
	}
	return ferror(f) ? 0 : len;
}

static int read_lines(struct libtramp_list *list, FILE *f, const char *file)
{
	char line[TRAMP_SELECT_MAX_LINE + 2];
	uint32_t nr = 0;
	size_t len;
	int err = 0;

	while (!err && (len = get_line(line, sizeof(line) - 1, f))) {
		line[len] = '\0';
		err = read_line(list, line, len, file, ++nr);
	}
	if (!err && ferror(f) && errno == ENOMEM)
		err = libtramp_fail_nomem(file);
	else if (!err && ferror(f))
		err = LIBTRAMP_FAIL(-errno, TRAMP_LIB_NO_FILE, file, "%s", strerror(errno));
	return err;
}

static int read_file(struct libtramp_list *list, const char *path)
{
	char *copy = strdup(path);
	FILE *f;
	int err;

	if (!copy)
		return libtramp_fail_nomem(path);
	list->files[list->nr_files++] = copy;
	f = fopen(path, "re");
	if (!f)
		return LIBTRAMP_FAIL(-errno, TRAMP_LIB_NO_FILE, path, "%s", strerror(errno));
	err = read_lines(list, f, copy);
	fclose(f);
	return err;
}

int libtramp_list_read(struct libtramp_list *list, const char *const *files, size_t nr)
{
	size_t i;
	int err = 0;

	if (!nr)
		return 0;
	list->files = calloc(nr, sizeof(*list->files));
	if (!list->files)
		return libtramp_fail_nomem("patterns");
	for (i = 0; i < nr && !err; i++)
		err = files[i] ? read_file(list, files[i]) :
				 LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_BAD_ARGUMENT, "file of patterns",
					       "it has no name");
	return err;
}

void libtramp_list_free(struct libtramp_list *list)
{
	size_t i;

	for (i = 0; i < list->nr; i++)
		free(list->items[i].text);
	for (i = 0; i < list->nr_files; i++)
		free(list->files[i]);
	free(list->items);
	free(list->files);
}
