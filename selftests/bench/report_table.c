// SPDX-License-Identifier: GPL-2.0
/*
 * Tables for people.
 */
#include "report.h"

#include <stdlib.h>
#include <string.h>

void heading(FILE *out, const char *text)
{
	size_t i;

	fprintf(out, "\n%s\n", text);
	for (i = 0; i < strlen(text); i++)
		fputc('-', out);
	fputc('\n', out);
}

void ratio_and_goal(FILE *out, const char *source, const char *name)
{
	const struct figure *f = find_figure(source, name);
	const struct limit *l = find_limit(source, name);

	if (f)
		fprintf(out, "  %5.3f", f->value);
	else
		fprintf(out, "  %5s", "");
	if (f && l && l->goal)
		fprintf(out, " %5.3g%s", l->goal, f->value <= l->goal ? "  " : " !");
	else
		fprintf(out, " %5s  ", "");
}

static void insns_row(FILE *out, const char *source, const struct record *r)
{
	const struct record *o = find(NULL, source, "insns %s ours %s %s", r->word[1], r->word[3],
				      r->word[4]);
	const struct record *k = find(NULL, source, "insns %s kernel %s %s", r->word[1],
				      r->word[3], r->word[4]);
	const struct record *p = find(NULL, source, "parts %s ours %s %s", r->word[1], r->word[3],
				      r->word[4]);
	char name[NAME_LEN];

	snprintf(name, sizeof(name), "%s/%s/%s", r->word[1], r->word[3], r->word[4]);
	fprintf(out, "%-16s %-8s %2s", r->word[1], r->word[3], r->word[4]);
	if (k)
		fprintf(out, " %7.0f", number(k, 5));
	else
		fprintf(out, " %7s", "-");
	if (o)
		fprintf(out, " %6.0f", number(o, 5));
	else
		fprintf(out, " %6s", "-");
	ratio_and_goal(out, source, name);
	if (p)
		fprintf(out, "  %7.0f %5.0f %5.0f %9.0f", number(p, 5), number(p, 6), number(p, 7),
			number(p, 8));
	else if ((p = find(NULL, source, "parts %s kernel %s %s", r->word[1], r->word[3],
			   r->word[4])))
		fprintf(out, "  %7.0f %5s %5.0f %9.0f", number(p, 5), "", number(p, 7),
			number(p, 8));
	fputc('\n', out);
}

/* Is this the first record of its row? The kernel's come first, ours may be alone. */
static bool starts_row(const char *source, const struct record *r)
{
	return r == find(NULL, source, "insns %s * %s %s", r->word[1], r->word[3], r->word[4]);
}

static void insns_table(FILE *out, const char *source)
{
	const struct record *r;

	if (!find(NULL, source, "insns"))
		return;
	heading(out, "Instructions per hit beyond the bare call");
	fprintf(out, "%-16s %-8s %2s %7s %6s  %5s %5s    %7s %5s %5s %9s\n", "", "program", "n",
		"kernel", "ours", "ratio", "goal", "program", "guard", "image", "elsewhere");
	for (r = NULL; (r = find(r, source, "insns")); r++)
		if (starts_row(source, r))
			insns_row(out, source, r);
	for (r = NULL; (r = find(r, source, "missing")); r++)
		fprintf(out, "%-16s not measured (%s): %s\n", r->word[1], r->word[2], r->text);
	for (r = NULL; (r = find(r, source, "parts * * * 1")); r++)
		if (number(r, 8) < 0)
			fprintf(out, "%s %s %s: the walk found more than was measured\n",
				r->word[1], r->word[2], r->word[3]);
}

static void milliseconds(FILE *out, const struct record *r, int word)
{
	if (r)
		fprintf(out, " %9.1f", number(r, word) / 1000);
	else
		fprintf(out, " %9s", "-");
}

static void times_table(FILE *out, const char *source)
{
	const struct record *r, *k;
	char name[NAME_LEN];

	if (!find(NULL, source, "times"))
		return;
	heading(out, "Milliseconds for many attachments (emulated: only ratios mean anything)");
	fprintf(out, "%-12s %5s | %9s %9s %9s | %9s %9s %9s %9s | %s\n", "", "n", "attach", "settle",
		"detach", "attach", "settle", "detach", "drain", "attach+settle, detach+drain");
	fprintf(out, "%-12s %5s | %-29s | %-39s | %s\n", "", "", "kernel", "ours", "ratio goal");
	for (r = NULL; (r = find(r, source, "times * ours")); r++) {
		k = find(NULL, source, "times %s kernel %s", r->word[1], r->word[3]);
		fprintf(out, "%-12s %5s |", r->word[1], r->word[3]);
		milliseconds(out, k, 4);
		milliseconds(out, k, 5);
		milliseconds(out, k, 6);
		fprintf(out, " |");
		milliseconds(out, r, 4);
		milliseconds(out, r, 5);
		milliseconds(out, r, 6);
		milliseconds(out, r, 7);
		fprintf(out, " |");
		snprintf(name, sizeof(name), "time/%s/attach/%s", r->word[1], r->word[3]);
		ratio_and_goal(out, source, name);
		snprintf(name, sizeof(name), "time/%s/detach/%s", r->word[1], r->word[3]);
		ratio_and_goal(out, source, name);
		fputc('\n', out);
	}
	for (k = NULL; (k = find(k, source, "times * kernel")); k++)
		if (!find(NULL, source, "times %s ours", k->word[1]))
			fprintf(out, "%-12s %5s | %9.1f %9.1f %9.1f |\n", k->word[1], k->word[3],
				number(k, 4) / 1000, number(k, 5) / 1000, number(k, 6) / 1000);
}

static void batch_table(FILE *out, const char *source)
{
	static const char *const parts[] = { "batch", "batch-attach", "batch-detach" };
	const struct record *r;
	char name[NAME_LEN];
	int i;

	if (!find(NULL, source, "batch"))
		return;
	heading(out, "Milliseconds for many attachments in one call");
	fprintf(out, "%-12s %5s | %9s %9s %9s %9s | %s\n", "", "n", "attach", "settle", "detach",
		"drain", "by the kernel's one by one, scaled; goal: all, attach, detach");
	for (r = NULL; (r = find(r, source, "batch")); r++) {
		fprintf(out, "%-12s %5s |", r->word[1], r->word[2]);
		for (i = 3; i <= 6; i++)
			milliseconds(out, r, i);
		fprintf(out, " |");
		for (i = 0; i < 3; i++) {
			snprintf(name, sizeof(name), "time/%s/%s/%s", r->word[1], parts[i],
				 r->word[2]);
			ratio_and_goal(out, source, name);
		}
		fputc('\n', out);
	}
}

static void memory_table(FILE *out, const char *source)
{
	const struct record *r, *c;

	if (!find(NULL, source, "memory"))
		return;
	heading(out, "Bytes per attachment (the program not counted)");
	fprintf(out, "%-12s %-7s %5s %8s %8s %8s %8s %8s  %s\n", "", "", "n", "objects", "vmalloc",
		"per-CPU", "image", "all", "slab pages");
	for (r = NULL; (r = find(r, source, "memory")); r++) {
		double nr = number(r, 3);

		fprintf(out, "%-12s %-7s %5s %8.0f %8.0f %8.0f %8.0f %8.0f  %.0f\n", r->word[1],
			r->word[2], r->word[3], number(r, 4) / nr, number(r, 6) / nr,
			number(r, 7) / nr, number(r, 8) / nr,
			(number(r, 4) + number(r, 6) + number(r, 7) + number(r, 8)) / nr,
			number(r, 5) / nr);
		for (c = NULL; (c = find(c, source, "cache %s %s", r->word[1], r->word[2])); c++)
			fprintf(out, "%-12s %-7s %5s   %.2f of %s\n", "", "", "",
				number(c, 6) / nr, c->word[4]);
	}
}

static void native_table(FILE *out, const char *source)
{
	const struct record *r;
	char name[NAME_LEN];

	if (!find(NULL, source, "cycles"))
		return;
	heading(out, "Cycles per hit on this processor, beyond the bare call");
	r = find(NULL, source, "cpu");
	if (r)
		fprintf(out, "%s %s %s\n", r->word[1], r->nr > 2 ? r->word[2] : "", r->text);
	fprintf(out, "%-14s %-8s %9s  %s\n", "guards", "program", "cycles", "inline / this, goal");
	for (r = NULL; (r = find(r, source, "cycles")); r++) {
		fprintf(out, "%-14s %-8s %9.1f", r->word[1], r->word[2], number(r, 3));
		snprintf(name, sizeof(name), "cycles/%s/%s", r->word[1], r->word[2]);
		ratio_and_goal(out, source, name);
		fputc('\n', out);
	}
}

void print_tables(FILE *out)
{
	const struct record *r;
	int i;

	for (i = 0; i < nr_sources; i++) {
		r = find(NULL, sources[i], "release");
		fprintf(out, "\n=== %s%s%s%s%s\n", sources[i], r ? ": " : "", r ? r->word[1] : "",
			*taken ? ", " : "", taken);
		insns_table(out, sources[i]);
		times_table(out, sources[i]);
		batch_table(out, sources[i]);
		memory_table(out, sources[i]);
		native_table(out, sources[i]);
		multi_table(out, sources[i]);
	}
	fputc('\n', out);
}
