// SPDX-License-Identifier: GPL-2.0
/*
 * A table: a header and aligned columns, as wide as their widest cell. No colour,
 * no cursor codes, no trailing blanks; the last column is never padded.
 */
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"
#include "text.h"

struct table {
	const char *align;	/* per column: 'l' or 'r' */
	size_t nr_cols;
	size_t nr_rows;		/* the header included */
	size_t *width;
	bool no_head;
	char **cells;
};

/* Columns are counted in characters, not bytes: UTF-8 continuation bytes take no room. */
static size_t text_width(const char *s)
{
	size_t n = 0;

	for (; *s; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

static void add_cell(struct table *t, size_t col, const char *text)
{
	size_t w = text_width(text);

	t->cells[(t->nr_rows - 1) * t->nr_cols + col] = xasprintf("%s", text);
	if (w > t->width[col])
		t->width[col] = w;
}

static void add_row(struct table *t)
{
	t->nr_rows++;
	t->cells = xrealloc(t->cells, t->nr_rows * t->nr_cols * sizeof(*t->cells));
}

/**
 * table_new() - start a table
 * @heads: the columns' names, ended by NULL; kept by reference
 * @align: one letter per column, 'l' or 'r'; kept by reference
 *
 * Return: the table, to be freed with table_free().
 */
struct table *table_new(const char *const *heads, const char *align)
{
	struct table *t = xcalloc(1, sizeof(*t));
	size_t i;

	t->align = align;
	t->nr_cols = strlen(align);
	t->width = xcalloc(t->nr_cols, sizeof(*t->width));
	add_row(t);
	for (i = 0; i < t->nr_cols; i++)
		add_cell(t, i, heads[i]);
	return t;
}

/* One char * per column, then NULL; the texts are copied. */
void table_row(struct table *t, ...)
{
	va_list ap;
	size_t i;

	add_row(t);
	va_start(ap, t);
	for (i = 0; i < t->nr_cols; i++)
		add_cell(t, i, va_arg(ap, const char *));
	va_end(ap);
}

/* Only rows are printed. */
void table_hide_head(struct table *t)
{
	t->no_head = true;
}

void table_print(struct table *t, FILE *f)
{
	size_t r, c;

	for (r = t->no_head; r < t->nr_rows; r++) {
		for (c = 0; c < t->nr_cols; c++) {
			const char *s = t->cells[r * t->nr_cols + c];
			int pad = t->width[c] - text_width(s);

			if (t->align[c] == 'r')
				fprintf(f, "%*s", pad, "");
			fputs(s, f);
			if (c + 1 == t->nr_cols)
				break;
			if (t->align[c] != 'r')
				fprintf(f, "%*s", pad, "");
			fputs("  ", f);
		}
		fputc('\n', f);
	}
}

void table_free(struct table *t)
{
	size_t i;

	for (i = 0; i < t->nr_rows * t->nr_cols; i++)
		free(t->cells[i]);
	free(t->cells);
	free(t->width);
	free(t);
}
