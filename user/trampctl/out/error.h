/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Exit codes, errors and warnings: of trampctl, of the library and of libbpf.
 */
#ifndef TRAMPCTL_ERROR_H
#define TRAMPCTL_ERROR_H

#include <stdbool.h>
#include <trampoline/trampoline.h>

/* Exit codes, documented in trampctl(8). */
enum {
	EXIT_OK = 0,
	EXIT_FAILED = 1,	/* tried, and failed */
	EXIT_USAGE = 2,		/* the command line makes no sense */
	EXIT_NOT_FOUND = 3,	/* no such function, link or file */
	EXIT_PERMISSION = 4,	/* not allowed */
	EXIT_NO_MODULE = 5,	/* the module is not loaded, or has no device */
	EXIT_REFUSED = 6,	/* the module refused, with a reason */
};

/* Set by main.c. */
extern bool debug_output;		/* --debug: libbpf's and the library's messages */
extern bool quiet_output;		/* --quiet: errors alone; a command's option sets it */
extern const char *current_command;	/* the command that runs; NULL before it is known */

/**
 * struct problem - what went wrong, for fail()
 * @exit_code: what trampctl exits with
 * @err: a positive errno, or 0 if none belongs to it
 * @reason: the short name of the reason
 * @remedy: what to do about it, a whole sentence or command; may be NULL
 * @similar: names that may have been meant, ended by NULL; may be NULL
 */
struct problem {
	int exit_code;
	int err;
	const char *reason;
	const char *remedy;
	const char *const *similar;
};

int fail(const struct problem *p, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
int usage_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
int usage_error_similar(const char *const *similar, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

char *remedy_text(const char *remedy, const char *func);
int fail_lib(const struct tramp_syms *syms, const char *what);
int fail_place(const struct tramp_syms *syms, const char *spec);
int fail_bpf(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif /* TRAMPCTL_ERROR_H */
