// SPDX-License-Identifier: GPL-2.0
/*
 * Figures that have limits: ratios and bytes made of the records, the limits file,
 * and holding one against the other.
 *
 * A line of the limits file:
 *
 *	NAME SOURCE COMMITTED GOAL
 *
 * COMMITTED is what it was when the file was written, GOAL what is wanted; "-":
 * none. Lower is better throughout.
 */
#define _GNU_SOURCE
#include "report.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* How much worse than committed is still well. */
#define TOLERANCE	0.03

struct figure *figures;
size_t nr_figures;
struct limit *limits;
size_t nr_limits;

void add_figure(const char *source, double ours, double kernel, const char *fmt, ...)
{
	struct figure *f;
	va_list ap;

	figures = grow(figures, nr_figures, sizeof(*figures));
	f = &figures[nr_figures++];
	*f = (struct figure){ .value = kernel ? ours / kernel : ours, .ours = ours,
			      .kernel = kernel };
	snprintf(f->source, sizeof(f->source), "%s", source);
	va_start(ap, fmt);
	vsnprintf(f->name, sizeof(f->name), fmt, ap);
	va_end(ap);
}

/* insns MECH SIDE PROGRAM NUMBER INSTRUCTIONS ... */
static void instruction_figures(const char *source)
{
	const struct record *r, *k;

	for (r = NULL; (r = find(r, source, "insns * ours")); r++) {
		k = find(NULL, source, "insns %s kernel %s %s", r->word[1], r->word[3], r->word[4]);
		if (k)
			add_figure(source, number(r, 5), number(k, 5), "%s/%s/%s", r->word[1],
				   r->word[3], r->word[4]);
	}
}

/* times MECH SIDE NUMBER ATTACH SETTLE DETACH DRAIN */
static void time_figures(const char *source)
{
	const struct record *r, *k;

	for (r = NULL; (r = find(r, source, "times * ours")); r++) {
		double most = number(r, 3), scale, waited;

		k = find(NULL, source, "times %s kernel %s", r->word[1], r->word[3]);
		if (!k)
			continue;
		scale = most / number(k, 3);
		waited = (number(k, 4) + number(k, 5)) * scale;
		add_figure(source, number(r, 4) + number(r, 5), waited, "time/%s/attach/%s",
			   r->word[1], r->word[3]);
		/* All of ours: until nothing is left to be freed. Not so the kernel's: the
		 * 20 ms that it waits before it takes jumps back are no work. */
		add_figure(source, number(r, 6) + number(r, 7), number(k, 6) * scale,
			   "time/%s/detach/%s", r->word[1], r->word[3]);
	}
}

/* batch MECH NUMBER ATTACH SETTLE DETACH DRAIN: by the most that the kernel attached. */
static void batch_figures(const char *source)
{
	const struct record *r, *k, *most;
	double in, out, kernel_in, kernel_out;

	for (r = NULL; (r = find(r, source, "batch")); r++) {
		for (k = most = NULL; (k = find(k, source, "times %s kernel", r->word[1])); k++)
			if (number(k, 3) > number(most, 3))
				most = k;
		if (!most)
			continue;
		in = number(r, 3) + number(r, 4);
		out = number(r, 5) + number(r, 6);
		kernel_in = (number(most, 4) + number(most, 5)) * number(r, 2) / number(most, 3);
		kernel_out = number(most, 6) * number(r, 2) / number(most, 3);
		add_figure(source, in + out, kernel_in + kernel_out, "time/%s/batch/%s",
			   r->word[1], r->word[2]);
		add_figure(source, in, kernel_in, "time/%s/batch-attach/%s", r->word[1],
			   r->word[2]);
		add_figure(source, out, kernel_out, "time/%s/batch-detach/%s", r->word[1],
			   r->word[2]);
	}
}

/* memory MECH SIDE NUMBER OBJECTS SLAB VMALLOC PERCPU IMAGES */
static void memory_figures(const char *source)
{
	const struct record *r;

	for (r = NULL; (r = find(r, source, "memory * ours")); r++) {
		double nr = number(r, 3);

		add_figure(source, number(r, 8) / nr, 0, "memory/%s/image", r->word[1]);
		add_figure(source, (number(r, 4) + number(r, 6) + number(r, 7) + number(r, 8)) / nr,
			   0, "memory/%s/all", r->word[1]);
	}
}

/* cycles IMAGE PROGRAM CYCLES */
static void native_figures(const char *source)
{
	const struct record *r, *k;

	for (r = NULL; (r = find(r, source, "cycles inline")); r++) {
		for (k = NULL; (k = find(k, source, "cycles * %s", r->word[2])); k++)
			if (strcmp(k->word[1], "inline"))
				add_figure(source, number(r, 3), number(k, 3), "cycles/%s/%s",
					   k->word[1], k->word[2]);
	}
}

void make_figures(void)
{
	int i;

	for (i = 0; i < nr_sources; i++) {
		instruction_figures(sources[i]);
		batch_figures(sources[i]);
		time_figures(sources[i]);
		memory_figures(sources[i]);
		native_figures(sources[i]);
		multi_figures(sources[i]);
	}
}

const struct figure *find_figure(const char *source, const char *name)
{
	size_t i;

	for (i = 0; i < nr_figures; i++)
		if (!strcmp(figures[i].source, source) && !strcmp(figures[i].name, name))
			return &figures[i];
	return NULL;
}

const struct limit *find_limit(const char *source, const char *name)
{
	size_t i;

	for (i = 0; i < nr_limits; i++)
		if (!strcmp(limits[i].source, source) && !strcmp(limits[i].name, name))
			return &limits[i];
	return NULL;
}

void read_limits(const char *path)
{
	FILE *f = fopen(path, "re");
	char line[256], committed[32], goal[32];

	if (!f)
		die("%s: %s", path, strerror(errno));
	while (fgets(line, sizeof(line), f)) {
		struct limit *l;

		if (line[0] == '#' || line[strspn(line, " \t\n")] == '\0')
			continue;
		limits = grow(limits, nr_limits, sizeof(*limits));
		l = &limits[nr_limits++];
		memset(l, 0, sizeof(*l));
		if (sscanf(line, "%63s %15s %31s %31s", l->name, l->source, committed, goal) != 4)
			die("%s: not NAME SOURCE COMMITTED GOAL: %s", path, line);
		l->committed = strtod(committed, NULL);
		l->goal = strtod(goal, NULL);
	}
	fclose(f);
}

/* Sources that were not measured this time are not held against anything. */
static bool measured(const char *source)
{
	int i;

	for (i = 0; i < nr_sources; i++)
		if (!strcmp(sources[i], source))
			return true;
	return false;
}

int check_limits(void)
{
	int worse = 0, held = 0;
	size_t i;

	for (i = 0; i < nr_limits; i++) {
		const struct limit *l = &limits[i];
		const struct figure *f = find_figure(l->source, l->name);

		if (!measured(l->source) || !l->committed)
			continue;
		held++;
		if (f && f->value <= l->committed * (1 + TOLERANCE))
			continue;
		worse++;
		if (f)
			printf("worse: %s on %s is %.4g, committed is %.4g\n", l->name, l->source,
			       f->value, l->committed);
		else
			printf("worse: %s on %s was not measured\n", l->name, l->source);
	}
	printf("%d figures held against limits, %d worse\n", held, worse);
	return worse;
}

int check_goals(void)
{
	int missed = 0, held = 0;
	size_t i;

	for (i = 0; i < nr_limits; i++) {
		const struct limit *l = &limits[i];
		const struct figure *f = find_figure(l->source, l->name);

		if (!f || !l->goal)
			continue;
		held++;
		if (f->value <= l->goal)
			continue;
		missed++;
		printf("goal missed: %s on %s is %.4g, wanted is %.4g\n", l->name, l->source,
		       f->value, l->goal);
	}
	printf("%d of %d goals reached\n", held - missed, held);
	return missed;
}

static void put_value(FILE *out, double value)
{
	if (value)
		fprintf(out, " %.4g", value);
	else
		fprintf(out, " -");
}

/*
 * Comments and order stay; a limit without a figure of today keeps what it has.
 * Times are not committed: they are noise to within 3 %.
 */
int write_limits(const char *path)
{
	char tmp[512], line[256], name[NAME_LEN], source[16];
	FILE *in = fopen(path, "re"), *out;

	snprintf(tmp, sizeof(tmp), "%s.tmp", path);
	out = fopen(tmp, "we");
	if (!in || !out)
		die("%s: %s", path, strerror(errno));
	while (fgets(line, sizeof(line), in)) {
		const struct figure *f = NULL;
		const struct limit *l;

		if (line[0] != '#' && sscanf(line, "%63s %15s", name, source) == 2)
			f = find_figure(source, name);
		l = f ? find_limit(source, name) : NULL;
		if (!l || !l->committed) {
			fputs(line, out);
			continue;
		}
		fprintf(out, "%-24s %-6s", name, source);
		put_value(out, f->value);
		put_value(out, l->goal);
		fputc('\n', out);
	}
	fclose(in);
	if (fclose(out) || rename(tmp, path)) {
		fprintf(stderr, "bench-report: %s: %s\n", path, strerror(errno));
		return -1;
	}
	return 0;
}
