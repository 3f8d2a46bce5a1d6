/* SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause */
/*
 * /proc/kallsyms, line by line: the one reader of the snapshot of functions (symbols.c) and of
 * the names of all addresses (names.c).
 */
#ifndef LIBTRAMPOLINE_SYMS_KALLSYMS_H
#define LIBTRAMPOLINE_SYMS_KALLSYMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct libtramp_module_text;

/**
 * struct libtramp_kallsyms - the file, as far as it was read
 * @text: the whole of it; strings are pieces of it. The caller frees it, or keeps it.
 * @next: the line to come
 * @modules_text: /proc/modules, cut into strings
 * @modules: where modules have their text
 * @nr_modules: how many
 * @last: index of the module that was looked for last
 */
struct libtramp_kallsyms {
	char *text;
	char *next;
	char *modules_text;
	struct libtramp_module_text *modules;
	size_t nr_modules;
	size_t last;
};

/**
 * struct libtramp_ksym - a line of it
 * @addr: the address, 0 if it is hidden
 * @name: the name
 * @module: what stood in brackets behind it: a module, "bpf", "__builtin__kprobes"; "" if nothing
 * @type: the letter that nm has for it
 */
struct libtramp_ksym {
	uint64_t addr;
	const char *name;
	const char *module;
	char type;
};

/**
 * libtramp_kallsyms_open() - read both files
 * @k: receives them, to be closed if that went well
 * @path: instead of /proc/kallsyms; NULL: that
 * @modules: instead of /proc/modules; NULL: that, or none if there is a @path
 *
 * Return: 0 or a negative errno, with the last error filled.
 */
int libtramp_kallsyms_open(struct libtramp_kallsyms *k, const char *path, const char *modules);

/**
 * libtramp_kallsyms_next() - the next line that is about something that is there
 * @k: the file
 * @code: functions only, which takes half the time
 * @sym: receives it
 *
 * Lines that are malformed are left out, and so are functions that ran at their module's load.
 *
 * Return: false at the end.
 */
bool libtramp_kallsyms_next(struct libtramp_kallsyms *k, bool code, struct libtramp_ksym *sym);

/* Free what belongs to the reader, which is all but @k->text. */
void libtramp_kallsyms_close(struct libtramp_kallsyms *k);

/* Whether the name in brackets is that of a module, or "". */
bool libtramp_is_module(const char *name);

/* All of a file that does not say how long it is, with a zero behind it; NULL and errno. */
char *libtramp_read_all(const char *path);

/* A number as the kernel prints addresses; strtoull() takes three times as long. */
uint64_t libtramp_parse_hex(const char *s, char **end);

/*
 * The name in brackets at the end of a line of kallsyms or of ftrace's list; "" if there
 * are no brackets. NULL: malformed. Changes the line.
 */
char *libtramp_cut_brackets(char *rest);

#endif /* LIBTRAMPOLINE_SYMS_KALLSYMS_H */
