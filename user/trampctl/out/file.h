/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A file in the place of standard output, --output, and its rotation by size.
 */
#ifndef TRAMPCTL_FILE_H
#define TRAMPCTL_FILE_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* In the order of OUTPUT_OPTS and ROTATE_OPTS, which go together. */
enum { OUTPUT_OPT_FILE, OUTPUT_OPT_QUIET, NR_OUTPUT_OPTS };
enum { OUTPUT_OPT_ROTATE = NR_OUTPUT_OPTS, OUTPUT_OPT_KEEP, NR_ROTATE_OPTS };

#define OUTPUT_OPTS								\
	{ "output", 'o', "FILE", "write to this file, not to standard output" }, \
	{ "quiet", 'q', NULL, "no heads, no progress, no warnings: errors alone" }

#define ROTATE_OPTS								\
	{ "rotate", 0, "SIZE", "begin a new file at this size, as 64K, 10M, 1G" }, \
	{ "keep", 0, "N", "so many full files, FILE.1 being the newest" }

int output_option(int opt, const char *arg);
int output_open(bool can_rotate);
void output_begin(void);
bool output_next(void);
void output_put(json_object *j);
void output_warn(const char *things);
bool output_is_file(void);
bool output_can_rotate(void);
void output_cut(void);
FILE *output_for_end(void);
void output_end(json_object *j);

#endif /* TRAMPCTL_FILE_H */
