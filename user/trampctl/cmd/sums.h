/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The part that count, hist and stack share: a run of programs that count in maps, and sums
 * of calls that are shown at intervals and in the end.
 */
#ifndef TRAMPCTL_SUMS_H
#define TRAMPCTL_SUMS_H

#include <json-c/json.h>
#include <stdint.h>

#include "../run/many_run.h"

struct sums;

/**
 * struct sum - calls of one function, or whatever the command counts by
 * @nr: its number
 * @calls: how many
 */
struct sum {
	size_t nr;
	uint64_t calls;
};

/**
 * struct sum_kind - what one of the commands does of its own
 * @list: the name of the list in JSON
 * @begin: called once the programs are attached; NULL: nothing to do
 * @read: reads what is new; sets struct sums::found and nr. Returns 0 or an exit code
 * @print: shows it, in text
 * @to_json: one of @found as an object
 * @add_json: adds to the object around all of them; NULL: nothing
 * @blank_line: there is one behind each interval
 */
struct sum_kind {
	const char *list;
	void (*begin)(struct sums *s);
	int (*read)(struct sums *s);
	void (*print)(struct sums *s);
	json_object *(*to_json)(struct sums *s, const struct sum *one);
	void (*add_json)(struct sums *s, json_object *j);
	bool blank_line;
};

/**
 * struct sums - a run
 * @many: of the programs; what is the command's to set is
 * @opts: the options
 * @kind: what the command does of its own
 * @found: those with calls since the last time, most calls first
 * @nr: how many of them to show
 * @since: when that was
 */
struct sums {
	struct many_run many;
	struct sum_options *opts;
	const struct sum_kind *kind;
	struct sum *found;
	size_t nr;
	uint64_t since;
};

int sums_run(struct sums *s, int argc, char **argv);
void sums_sort(struct sums *s, size_t nr);
int sums_read_map(int fd, void *values, size_t value_size, size_t nr);
const char *sum_name(const struct many_run *run, size_t nr);

#endif /* TRAMPCTL_SUMS_H */
