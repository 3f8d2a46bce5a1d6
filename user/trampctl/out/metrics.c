// SPDX-License-Identifier: GPL-2.0
/*
 * Metrics as text, see metrics.h.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "metrics.h"
#include "text.h"

/**
 * metrics_family() - begin the samples of one name
 * @m: the text
 * @type: a counter only ever grows while it exists
 * @name: without "_total"; it ends in "_" and the unit, if there is one
 * @unit: what it counts, in base units; NULL: things
 * @help: one line, without backslashes
 *
 * All samples of a family must follow before the next family.
 */
void metrics_family(struct metrics *m, enum metric_type type, const char *name, const char *unit,
		    const char *help)
{
	const char *total = type == METRIC_COUNTER ? "_total" : "";
	const char *head;

	snprintf(m->name, sizeof(m->name), "%s%s", name, total);
	head = m->openmetrics ? name : m->name;
	fprintf(m->f, "# TYPE %s %s\n", head, type == METRIC_COUNTER ? "counter" : "gauge");
	if (unit && m->openmetrics)
		fprintf(m->f, "# UNIT %s %s\n", head, unit);
	fprintf(m->f, "# HELP %s %s\n", head, help);
}

/* The text of a label is UTF-8; what is not becomes U+FFFD. */
static void put_label(FILE *f, const char *name, const char *value)
{
	size_t len = strlen(value), i, used;

	fprintf(f, "%s=\"", name);
	for (i = 0; i < len; i += used) {
		if (!utf8_char(value + i, len - i, &used))
			fputs("\xef\xbf\xbd", f);
		else if (value[i] == '\n')
			fputs("\\n", f);
		else if (value[i] == '"' || value[i] == '\\')
			fprintf(f, "\\%c", value[i]);
		else
			fwrite(value + i, 1, used, f);
	}
	fputc('"', f);
}

/* Name and text of each label follow, then NULL. A label without a text is left out. */
void metrics_sample(struct metrics *m, uint64_t value, ...)
{
	const char *before = "{", *label, *text;
	va_list ap;

	fputs(m->name, m->f);
	va_start(ap, value);
	while ((label = va_arg(ap, const char *))) {
		text = va_arg(ap, const char *);
		if (!text || !text[0])
			continue;
		fputs(before, m->f);
		put_label(m->f, label, text);
		before = ",";
	}
	va_end(ap);
	fprintf(m->f, "%s %" PRIu64 "\n", before[0] == ',' ? "}" : "", value);
}

/* A family of one sample without labels. */
void metrics_single(struct metrics *m, enum metric_type type, const char *name, const char *unit,
		    const char *help, uint64_t value)
{
	metrics_family(m, type, name, unit, help);
	metrics_sample(m, value, NULL);
}

/* Behind the last family: from this a reader knows that nothing is missing. */
void metrics_end(struct metrics *m)
{
	if (m->openmetrics)
		fputs("# EOF\n", m->f);
}
