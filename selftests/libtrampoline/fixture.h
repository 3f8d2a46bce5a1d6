/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A kernel made for tests: symbol table, list of traceable functions and BTF in files of a
 * folder of our own. So no test depends on the machine it runs on.
 */
#ifndef SELFTESTS_LIBTRAMPOLINE_FIXTURE_H
#define SELFTESTS_LIBTRAMPOLINE_FIXTURE_H

#include <trampoline/trampoline.h>

/* A file in a folder that goes away with the test's process; returns its path. */
const char *fixture_file(const char *name, const void *data, size_t size);

/* fixture_file() with a string. */
const char *fixture_text(const char *name, const char *text);

/* A file of BTF with one function, "int NAME(void)", and the function's id there. */
const char *fixture_btf(const char *name);
#define FIXTURE_BTF_FUNC	3

/* The snapshot of two such texts; NULL: no list of traceable functions. Cannot fail. */
struct tramp_syms *fixture_syms(const char *kallsyms, const char *filter);

/* Does the last error's message hold @part? Shows it if not. */
bool last_error_says(const char *part);

/* The last error's reason and errno, both checked. */
#define CHECK_ERROR(error, why)							\
	do {									\
		CHECK_EQ(tramp_last_error()->err, error, "%s", tramp_last_error()->message); \
		CHECK_EQ(tramp_last_error()->reason, why, "%s", tramp_last_error()->message); \
	} while (0)

#endif /* SELFTESTS_LIBTRAMPOLINE_FIXTURE_H */
