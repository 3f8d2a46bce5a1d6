// SPDX-License-Identifier: GPL-2.0
/*
 * All figures as JSON: one array a kind of record, with names for the words.
 */
#define _GNU_SOURCE
#include "report.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The words of a record, from the second on; a last name "..." takes the rest. */
static const struct {
	const char *kind;
	const char *names[MAX_WORDS];
} kinds[] = {
	{ "call", { "what", "instructions" } },
	{ "mech", { "mechanism", "side", "rank", "..." } },
	{ "insns", { "mechanism", "side", "program", "programs", "instructions", "spread", "hits" } },
	{ "parts", { "mechanism", "side", "program", "programs", "in_program", "in_guard",
		     "in_image", "elsewhere" } },
	{ "missing", { "mechanism", "side", "..." } },
	{ "times", { "mechanism", "side", "attachments", "attach_us", "settle_us", "detach_us",
		     "drain_us" } },
	{ "batch", { "mechanism", "attachments", "attach_us", "settle_us", "detach_us",
		     "drain_us" } },
	{ "memory", { "mechanism", "side", "attachments", "object_bytes", "slab_bytes",
		      "vmalloc_bytes", "percpu_bytes", "image_bytes" } },
	{ "cache", { "mechanism", "side", "attachments", "cache", "object_size", "objects" } },
	{ "multi", { "mechanism", "side", "functions", "attach_us", "detach_us", "drain_us" } },
	{ "multi-memory", { "mechanism", "side", "functions", "own_bytes", "all_bytes" } },
	{ "cycles", { "guards", "program", "cycles" } },
};

static void put_string(FILE *out, const char *s)
{
	fputc('"', out);
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			fputc('\\', out);
		if ((unsigned char)*s >= 0x20)
			fputc(*s, out);
	}
	fputc('"', out);
}

static bool is_number(const char *s)
{
	char *end;

	strtod(s, &end);
	return (isdigit((unsigned char)s[0]) || s[0] == '-') && !*end;
}

static void put_word(FILE *out, const char *s)
{
	if (is_number(s))
		fputs(s, out);
	else
		put_string(out, s);
}

/* The rest of a record's line, from word @from on. */
static void put_rest(FILE *out, const struct record *r, int from)
{
	char text[512] = "";
	int i;

	for (i = from; i < r->nr; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s",
			 i > from ? " " : "", r->word[i]);
	put_string(out, text);
}

static void put_record(FILE *out, const struct record *r, const char *const *names)
{
	int i;

	fprintf(out, "      { ");
	for (i = 0; i + 1 < r->nr && names[i]; i++) {
		if (i)
			fputs(", ", out);
		if (!strcmp(names[i], "...")) {
			fputs("\"text\": ", out);
			put_rest(out, r, i + 1);
			break;
		}
		put_string(out, names[i]);
		fputs(": ", out);
		put_word(out, r->word[i + 1]);
	}
	fputs(" }", out);
}

static void put_source(FILE *out, const char *source)
{
	const struct record *r = find(NULL, source, "release");
	const char *comma = "";
	size_t k;

	fprintf(out, "    {\n      \"name\": \"%s\"", source);
	if (r)
		fprintf(out, ",\n      \"release\": \"%s\"", r->word[1]);
	for (k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		if (!find(NULL, source, "%s", kinds[k].kind))
			continue;
		fprintf(out, ",\n      \"%s\": [\n", kinds[k].kind);
		comma = "";
		for (r = NULL; (r = find(r, source, "%s", kinds[k].kind)); r++) {
			fputs(comma, out);
			put_record(out, r, kinds[k].names);
			comma = ",\n";
		}
		fputs("\n      ]", out);
	}
	fputs("\n    }", out);
}

int write_json(const char *path)
{
	FILE *out = fopen(path, "we");
	size_t i;
	int k;

	if (!out) {
		fprintf(stderr, "bench-report: %s: %s\n", path, strerror(errno));
		return -1;
	}
	fputs("{\n  \"taken\": ", out);
	put_string(out, taken);
	fputs(",\n  \"sources\": [\n", out);
	for (k = 0; k < nr_sources; k++) {
		put_source(out, sources[k]);
		fputs(k + 1 < nr_sources ? ",\n" : "\n", out);
	}
	fputs("  ],\n  \"figures\": [\n", out);
	for (i = 0; i < nr_figures; i++) {
		const struct figure *f = &figures[i];
		const struct limit *l = find_limit(f->source, f->name);

		fprintf(out, "    { \"name\": \"%s\", \"source\": \"%s\", \"value\": %.6g, "
			"\"ours\": %.6g", f->name, f->source, f->value, f->ours);
		if (f->kernel)
			fprintf(out, ", \"kernel\": %.6g", f->kernel);
		if (l && l->goal)
			fprintf(out, ", \"goal\": %.4g", l->goal);
		fprintf(out, " }%s\n", i + 1 < nr_figures ? "," : "");
	}
	fputs("  ]\n}\n", out);
	return fclose(out) ? -1 : 0;
}
