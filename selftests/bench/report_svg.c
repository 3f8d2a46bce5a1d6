// SPDX-License-Identifier: GPL-2.0
/*
 * Plots as SVG, written by hand: horizontal bars, which may be made of segments.
 * Every bar carries its number, so that nothing has to be read off an axis.
 */
#define _GNU_SOURCE
#include "report.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define WIDTH		860
#define LEFT		250	/* where bars begin */
#define RIGHT		110	/* room for the numbers behind them */
#define TOP		92
#define BAR		16
#define STEP		21	/* from bar to bar */
#define GAP		10	/* more between groups */

#define MAX_SEGMENTS	4
#define MAX_BARS	96

#define PARTS		"program", "guard", "image", "elsewhere in the kernel"

/* Told apart without colour by their order and the legend's. */
static const char *const kernel_colour[MAX_SEGMENTS] = {
	"#c9d4df", "#9fb2c4", "#7189a1", "#455e78",
};
static const char *const our_colour[MAX_SEGMENTS] = {
	"#f3cfa0", "#eab366", "#d98a2b", "#a35f0f",
};

struct bar {
	char label[64];
	char note[48];
	int side;
	int nr;
	double segment[MAX_SEGMENTS];
	bool group;		/* a new group begins */
};

struct chart {
	const char *title, *subtitle;
	const char *legend[MAX_SEGMENTS];
	int nr_legend;
	bool logarithmic;
	struct bar bar[MAX_BARS];
	int nr;
};

static void text(FILE *out, double x, double y, const char *style, const char *s)
{
	fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, style);
	for (; *s; s++) {
		if (*s == '<')
			fputs("&lt;", out);
		else if (*s == '&')
			fputs("&amp;", out);
		else
			fputc(*s, out);
	}
	fputs("</text>\n", out);
}

static FILE *begin(const char *dir, const char *source, const char *name, int height,
		   const char *title, const char *subtitle)
{
	char path[512], full[256];
	FILE *out;

	snprintf(path, sizeof(path), "%s/%s-%s.svg", dir, name, source);
	out = fopen(path, "we");
	if (!out)
		die("%s: %s", path, strerror(errno));
	fprintf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
		"viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"12\">\n"
		"<!-- SPDX-License-Identifier: GPL-2.0 -->\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
		WIDTH, height, WIDTH, height);
	snprintf(full, sizeof(full), "%s, %s%s%s", title, source, *taken ? ", " : "", taken);
	text(out, 16, 26, "font-size=\"17\"", full);
	text(out, 16, 46, "fill=\"#555\"", subtitle);
	return out;
}

static void end(FILE *out)
{
	fputs("</svg>\n", out);
	fclose(out);
}

static double total(const struct bar *b)
{
	double sum = 0;
	int i;

	for (i = 0; i < b->nr; i++)
		sum += b->segment[i];
	return sum;
}

static const char *colour(const struct bar *b, int segment)
{
	int c = b->nr == 1 ? 2 : segment;

	return b->side == OURS ? our_colour[c] : kernel_colour[c];
}

static void legend(FILE *out, const struct chart *c)
{
	double x = LEFT;
	int i, n = c->nr_legend ? c->nr_legend : 1;

	for (i = 0; i < n; i++) {
		fprintf(out, "<rect x=\"%.0f\" y=\"58\" width=\"10\" height=\"10\" fill=\"%s\"/>\n"
			"<rect x=\"%.0f\" y=\"70\" width=\"10\" height=\"10\" fill=\"%s\"/>\n", x,
			kernel_colour[c->nr_legend ? i : 2], x, our_colour[c->nr_legend ? i : 2]);
		if (c->nr_legend)
			text(out, x + 15, 73, "", c->legend[i]);
		x += 30 + 8 * (c->nr_legend ? strlen(c->legend[i]) : 0);
	}
	text(out, LEFT - 10, 67, "text-anchor=\"end\" font-size=\"11\"", "kernel");
	text(out, LEFT - 10, 79, "text-anchor=\"end\" font-size=\"11\"", "ours");
}

/* From 0 in linear charts, from a tenth of the smallest bar in logarithmic ones. */
static double scaled(const struct chart *c, double value, double least, double most)
{
	double room = WIDTH - LEFT - RIGHT;

	if (!c->logarithmic)
		return value / most * room;
	return value <= 0 ? 0 : log(value / least * 10) / log(most / least * 10) * room;
}

static void write_bars(const char *dir, const char *source, const char *name,
		       const struct chart *c)
{
	double most = 0, least = INFINITY, y = TOP;
	int i, k, height = TOP + 20;
	FILE *out;

	for (i = 0; i < c->nr; i++) {
		double t = total(&c->bar[i]);

		most = t > most ? t : most;
		if (t > 0 && t < least)
			least = t;
		height += STEP + (c->bar[i].group ? GAP : 0);
	}
	if (most <= 0)
		return;
	out = begin(dir, source, name, height, c->title, c->subtitle);
	legend(out, c);
	for (i = 0; i < c->nr; i++) {
		const struct bar *b = &c->bar[i];
		double x = LEFT;

		if (b->group)
			y += GAP;
		text(out, LEFT - 10, y + 12, "text-anchor=\"end\"", b->label);
		for (k = 0; k < b->nr; k++) {
			double w = scaled(c, b->segment[k], least, most);

			if (w <= 0)
				continue;
			fprintf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" "
				"fill=\"%s\"/>\n", x, y, w, BAR, colour(b, k));
			x += w;
		}
		text(out, x + 6, y + 12, b->side == OURS ? "font-weight=\"bold\"" : "", b->note);
		y += STEP;
	}
	end(out);
}

static struct bar *add_bar(struct chart *c, int side, const char *label)
{
	struct bar *b = &c->bar[c->nr];

	if (c->nr == MAX_BARS)
		die("too many bars");
	memset(b, 0, sizeof(*b));
	b->side = side;
	snprintf(b->label, sizeof(b->label), "%s", label);
	c->nr++;
	return b;
}

/* One bar for a record of instructions, divided where that is known. */
static void insns_bar(struct chart *c, const char *source, const struct record *r, bool group)
{
	int side = strcmp(r->word[2], "ours") ? KERNEL : OURS;
	const struct record *p = find(NULL, source, "parts %s %s %s %s", r->word[1], r->word[2],
				      r->word[3], r->word[4]);
	char name[NAME_LEN], label[64], number_of[32] = "";
	const struct figure *f;
	struct bar *b;
	int i;

	if (strcmp(r->word[4], "1"))
		snprintf(number_of, sizeof(number_of), ", %s programs", r->word[4]);
	snprintf(label, sizeof(label), "%s%s%s", side == OURS ? "ours: " : "",
		 mech_title(source, r->word[1], side), number_of);
	b = add_bar(c, side, label);
	b->group = group;
	b->nr = MAX_SEGMENTS;
	if (p) {
		for (i = 0; i < MAX_SEGMENTS; i++)
			b->segment[i] = number(p, 5 + i);
	} else {
		b->segment[MAX_SEGMENTS - 1] = number(r, 5);
	}
	snprintf(name, sizeof(name), "%s/%s/%s", r->word[1], r->word[3], r->word[4]);
	f = side == OURS ? find_figure(source, name) : NULL;
	if (f)
		snprintf(b->note, sizeof(b->note), "%.0f  (%.2f)", number(r, 5), f->value);
	else
		snprintf(b->note, sizeof(b->note), "%.0f", number(r, 5));
}

static void plot_insns(const char *dir, const char *source, const char *program)
{
	static struct chart c;
	char subtitle[128], name[64];
	const char *last = "";
	const struct record *r;

	c = (struct chart){
		.title = "Instructions per hit", .subtitle = subtitle, .nr_legend = MAX_SEGMENTS,
		.legend = { PARTS },
	};
	snprintf(subtitle, sizeof(subtitle), "one program (%s), beyond the bare call; "
		 "in brackets: ours divided by the kernel's", program);
	for (r = NULL; (r = find(r, source, "insns * * %s 1", program)); r++) {
		insns_bar(&c, source, r, strcmp(last, r->word[1]) && *last);
		last = r->word[1];
	}
	snprintf(name, sizeof(name), "insns-%s", program);
	if (c.nr)
		write_bars(dir, source, name, &c);
}

static void times_bar(struct chart *c, const struct record *r, const char *what, int word, int more,
		      bool group)
{
	int side = strcmp(r->word[2], "ours") ? KERNEL : OURS;
	double ms = (number(r, word) + number(r, more)) / 1000;
	char label[64];
	struct bar *b;

	snprintf(label, sizeof(label), "%s%s %s %s", side == OURS ? "ours: " : "", what, r->word[3],
		 r->word[1]);
	b = add_bar(c, side, label);
	b->nr = 1;
	b->segment[0] = ms;
	b->group = group;
	snprintf(b->note, sizeof(b->note), "%.0f", ms);
}

/* The kernel's time and ours for the same number one below the other. */
static void plot_times(const char *dir, const char *source)
{
	static const struct { const char *what; int word, more; } parts[] = {
		{ "attach", 4, 5 }, { "detach", 6, 7 },
	};
	static struct chart c;
	const struct record *r, *o;
	size_t i;

	c = (struct chart){
		.title = "Milliseconds for many attachments", .logarithmic = true,
		.subtitle = "until all are in their final form, or gone; emulated machine: only "
			    "ratios mean something; logarithmic",
	};
	for (i = 0; i < 2; i++) {
		for (r = NULL; (r = find(r, source, "times")); r++) {
			bool ours = !strcmp(r->word[2], "ours");

			o = find(NULL, source, "times %s ours %s", r->word[1], r->word[3]);
			if (number(r, 3) < 100 ||
			    (ours && find(NULL, source, "times %s kernel %s", r->word[1],
					  r->word[3])))
				continue;
			times_bar(&c, r, parts[i].what, parts[i].word, parts[i].more, c.nr);
			if (!ours && o)
				times_bar(&c, o, parts[i].what, parts[i].word, parts[i].more,
					  false);
		}
	}
	if (c.nr)
		write_bars(dir, source, "times", &c);
}

static void plot_cycles(const char *dir, const char *source)
{
	static struct chart c;
	const struct record *r;

	c = (struct chart){
		.title = "Cycles per hit on the processor itself",
		.subtitle = "entry image in user space, medians, beyond the bare call",
	};
	for (r = NULL; (r = find(r, source, "cycles")); r++) {
		char label[64];
		struct bar *b;

		snprintf(label, sizeof(label), "%s, program %s", r->word[1], r->word[2]);
		b = add_bar(&c, strcmp(r->word[1], "inline") ? KERNEL : OURS, label);
		b->nr = 1;
		b->segment[0] = number(r, 3);
		snprintf(b->note, sizeof(b->note), "%.1f", number(r, 3));
	}
	if (c.nr)
		write_bars(dir, source, "cycles", &c);
}

/* Several programs at one place. */
static void plot_programs(const char *dir, const char *source)
{
	static struct chart c;
	const struct record *r, *k;

	c = (struct chart){
		.title = "Instructions per hit with several programs",
		.subtitle = "1, 2, 4 and 8 programs (maps) at one place, beyond the bare call; in "
			    "brackets: ours divided by the kernel's",
		.nr_legend = MAX_SEGMENTS, .legend = { PARTS },
	};
	for (r = NULL; (r = find(r, source, "insns * ours maps")); r++) {
		k = find(NULL, source, "insns %s kernel maps %s", r->word[1], r->word[4]);
		if (!k || !find(NULL, source, "insns %s ours maps 2", r->word[1]))
			continue;
		insns_bar(&c, source, k, c.nr && !strcmp(r->word[4], "1"));
		insns_bar(&c, source, r, false);
	}
	if (c.nr)
		write_bars(dir, source, "programs", &c);
}

int write_plots(const char *dir)
{
	int i;

	for (i = 0; i < nr_sources; i++) {
		plot_insns(dir, sources[i], "maps");
		plot_insns(dir, sources[i], "regs-all");
		plot_programs(dir, sources[i]);
		plot_times(dir, sources[i]);
		plot_cycles(dir, sources[i]);
	}
	return 0;
}
