/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Lines of source and the addresses of their instructions, out of one file with debuginfo.
 *
 * Addresses are those of the running kernel: of the kernel proper what KASLR added is taken
 * into account, of a module where its sections lie.
 */
#ifndef TRAMPCTL_LINES_H
#define TRAMPCTL_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lines;

/* A build ID; @len is 0 if there is none. */
struct build_id {
	unsigned char bits[64];
	size_t len;
};

/**
 * struct line_place - one place where the instructions of a line begin
 * @addr: the first of them
 * @function: the function, or the inlined one, that the line is in there; NULL if unknown
 * @inlined: it is inlined there
 */
struct line_place {
	uint64_t addr;
	char *function;
	bool inlined;
};

/**
 * struct line_found - the result of lines_find()
 * @places: by address
 * @nr: how many
 * @files: files of that name, as messages show them
 * @nr_files: how many; of the first MAX_FILES the names are here
 * @below, @above: nearest lines of that file that have code; 0 if there is none
 */
#define LINE_MAX_FILES 8
struct line_found {
	struct line_place *places;
	size_t nr;
	char *files[LINE_MAX_FILES];
	size_t nr_files;
	int below, above;
};

/**
 * struct line_of_code - a line that an instruction belongs to
 * @function: the function; NULL if unknown
 * @file: its file, below the folder that it was compiled in
 * @line: the line
 */
struct line_of_code {
	char *function;
	char *file;
	int line;
};

/* A function's frames at an address: the innermost inlined one first. */
struct line_frames {
	struct line_of_code *list;
	size_t nr;
};

struct lines *lines_open(const char *path, const char *module, const char **why);
void lines_free(struct lines *l);
bool lines_symbol(struct lines *l, const char *name, uint64_t *addr);
void lines_move(struct lines *l, uint64_t slide);

int lines_find(struct lines *l, const char *file, int line, struct line_found *found);
void line_found_free(struct line_found *found);
void lines_at(struct lines *l, uint64_t addr, struct line_frames *frames);
void line_frames_free(struct line_frames *frames);

bool lines_build_id(const char *path, struct build_id *id, bool *has_lines);

#endif /* TRAMPCTL_LINES_H */
