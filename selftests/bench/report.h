/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The report: figures of all runs, what follows from them, and how it is shown.
 *
 * Figures come as lines of words (bench_record()), from files named after the
 * kernel they are of. Each ratio gets a name, "fentry/maps/1", by which the
 * limits know it.
 */
#ifndef SELFTESTS_BENCH_REPORT_H
#define SELFTESTS_BENCH_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define MAX_WORDS	12
#define NAME_LEN	64

enum { KERNEL, OURS };

/**
 * struct record - one line
 * @source: the kernel it is of: "6.12"; "native" for the measurement on the processor
 * @nr: words
 * @word: the words, the first of which says what it is
 * @text: the line from the fourth word on, for titles and reasons
 */
struct record {
	char source[16];
	int nr;
	char *word[MAX_WORDS];
	const char *text;
};

/**
 * struct figure - something that has a limit
 * @name: "fentry/maps/1"
 * @source: the kernel
 * @value: a ratio, ours divided by the kernel's, or bytes
 * @ours: numerator
 * @kernel: denominator, 0 if the value is no ratio
 */
struct figure {
	char name[NAME_LEN];
	char source[16];
	double value, ours, kernel;
};

/**
 * struct limit - a line of the limits file
 * @committed: the figure when it was written, 0: none
 * @goal: what is wanted, 0: nothing in particular
 */
struct limit {
	char name[NAME_LEN];
	char source[16];
	double committed, goal;
};

extern struct record *records;
extern size_t nr_records;
extern struct figure *figures;
extern size_t nr_figures;
extern struct limit *limits;
extern size_t nr_limits;
/* The sources in the order they were read. */
extern char sources[8][16];
extern int nr_sources;
/* When the figures were taken. */
extern const char *taken;

/* The first record from @from on (NULL: all) whose words begin as @fmt says; NULL: none. */
const struct record *find(const struct record *from, const char *source, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* A word as a number; 0 without a record. */
double number(const struct record *r, int word);
/* The names of both sides' mechanisms in tables. */
const char *mech_title(const char *source, const char *mech, int side);
const char *side_name(int side);
const struct figure *find_figure(const char *source, const char *name);
const struct limit *find_limit(const char *source, const char *name);

/* @kernel 0: the figure is no ratio. */
void add_figure(const char *source, double ours, double kernel, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
void make_figures(void);
/* Those of one program at many functions (report_multi.c). */
void multi_figures(const char *source);
void read_limits(const char *path);
/* Prints what is worse than committed; the number of those. */
int check_limits(void);
/* Prints what misses a goal; the number of those. */
int check_goals(void);
int write_limits(const char *path);

void print_tables(FILE *out);
void heading(FILE *out, const char *text);
/* A figure, its goal, and a mark if it misses that. */
void ratio_and_goal(FILE *out, const char *source, const char *name);
void multi_table(FILE *out, const char *source);
int write_json(const char *path);
/* Plots into the folder @dir. */
int write_plots(const char *dir);

void *grow(void *array, size_t nr, size_t size);
void die(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));

#endif /* SELFTESTS_BENCH_REPORT_H */
