// SPDX-License-Identifier: GPL-2.0
/*
 * One program at many functions: figures and a table of their own.
 *
 *	multi MECH SIDE NUMBER ATTACH DETACH DRAIN
 *	multi-memory MECH SIDE NUMBER OWN ALL
 *
 * Instructions of these are among those of the other mechanisms. Here are the ratios to what is
 * another mechanism of the kernel's: kprobe.multi's two halves for a session, kprobe and
 * kretprobe where there is no kprobe.multi.
 */
#include "report.h"

static double taken_by(const struct record *r)
{
	return number(r, 5) + number(r, 6);
}

static void instructions_by(const char *source, const char *name, const char *ours,
			    const char *first, const char *second)
{
	const struct record *o = find(NULL, source, "insns %s ours maps 1", ours);
	const struct record *a = find(NULL, source, "insns %s kernel maps 1", first);
	const struct record *b = second ? find(NULL, source, "insns %s kernel maps 1", second) :
					  NULL;

	if (o && a && (b || !second))
		add_figure(source, number(o, 5), number(a, 5) + number(b, 5), "%s/maps/1", name);
}

/* The kernel's fentry one by one, scaled to as many. */
static void times_by_fentry(const char *source)
{
	const struct record *r = find(NULL, source, "multi kprobe-multi ours 1000");
	const struct record *k = find(NULL, source, "multi fentry kernel");
	double scale;

	if (!r || !k)
		return;
	scale = number(r, 3) / number(k, 3);
	add_figure(source, number(r, 4), number(k, 4) * scale, "multi/by-fentry/attach/1000");
	add_figure(source, taken_by(r), taken_by(k) * scale, "multi/by-fentry/detach/1000");
}

/* Time per function: of the most, divided by that of the fewest. */
static void growth(const char *source)
{
	const struct record *r, *least = NULL, *most = NULL;
	double by;

	for (r = NULL; (r = find(r, source, "multi kprobe-multi ours")); r++) {
		if (!least || number(r, 3) < number(least, 3))
			least = r;
		if (!most || number(r, 3) > number(most, 3))
			most = r;
	}
	if (least == most)
		return;
	by = number(most, 3) / number(least, 3);
	add_figure(source, number(most, 4), number(least, 4) * by, "multi/growth/attach");
	add_figure(source, taken_by(most), taken_by(least) * by, "multi/growth/detach");
}

void multi_figures(const char *source)
{
	const struct record *r;

	instructions_by(source, "session-by-two", "kprobe-session", "kprobe-multi",
			"kretprobe-multi");
	instructions_by(source, "session-map-by-two", "session-map", "kprobe-multi",
			"kretprobe-multi");
	instructions_by(source, "session-map-by-kprobes", "session-map", "kprobe-entry",
			"kretprobe");
	instructions_by(source, "multi-by-kprobe", "kprobe-multi", "kprobe-entry", NULL);
	instructions_by(source, "multi-by-kretprobe", "kretprobe-multi", "kretprobe", NULL);
	times_by_fentry(source);
	growth(source);
	for (r = NULL; (r = find(r, source, "multi-memory * ours")); r++)
		add_figure(source, number(r, 4) / number(r, 3), 0, "memory/%s/own", r->word[1]);
}

static void by_row(FILE *out, const char *source, const char *name, const char *text)
{
	if (!find_figure(source, name))
		return;
	fprintf(out, "%-58s", text);
	ratio_and_goal(out, source, name);
	fputc('\n', out);
}

static void multi_times(FILE *out, const char *source)
{
	const struct record *r;

	if (!find(NULL, source, "multi"))
		return;
	heading(out, "Milliseconds for one program at many functions (kernel's fentry: one by one)");
	fprintf(out, "%-14s %-7s %6s %9s %9s %9s  %s\n", "", "", "n", "attach", "detach", "drain",
		"us per function");
	for (r = NULL; (r = find(r, source, "multi")); r++)
		fprintf(out, "%-14s %-7s %6s %9.1f %9.1f %9.1f  %.1f + %.1f\n", r->word[1],
			r->word[2], r->word[3], number(r, 4) / 1000, number(r, 5) / 1000,
			number(r, 6) / 1000, number(r, 4) / number(r, 3),
			taken_by(r) / number(r, 3));
	for (r = NULL; (r = find(r, source, "multi-memory")); r++)
		fprintf(out, "bytes per function of %s: %.1f of ours, %.1f with ftrace's\n",
			r->word[3], number(r, 4) / number(r, 3), number(r, 5) / number(r, 3));
}

void multi_table(FILE *out, const char *source)
{
	multi_times(out, source);
	by_row(out, source, "session-by-two/maps/1",
	       "instructions: session / kprobe.multi + kretprobe.multi");
	by_row(out, source, "session-map-by-two/maps/1",
	       "instructions: session by map / kprobe.multi + kretprobe.multi");
	by_row(out, source, "session-map-by-kprobes/maps/1",
	       "instructions: session by map / kprobe + kretprobe");
	by_row(out, source, "multi-by-kprobe/maps/1",
	       "instructions: one at many entries / kprobe at the entry");
	by_row(out, source, "multi-by-kretprobe/maps/1",
	       "instructions: one at many returns / kretprobe");
	by_row(out, source, "multi/by-fentry/attach/1000",
	       "attach 1000 in one / kernel's fentry one by one");
	by_row(out, source, "multi/by-fentry/detach/1000",
	       "detach 1000 in one / kernel's fentry one by one");
	by_row(out, source, "multi/growth/attach", "attach, time per function, all / 1000");
	by_row(out, source, "multi/growth/detach", "detach, time per function, all / 1000");
	by_row(out, source, "memory/kprobe-multi/own", "bytes of ours per function");
}
