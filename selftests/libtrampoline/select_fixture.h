/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A kernel made for tests that choose functions: its symbols and prototypes, and what they check
 * of a selection.
 */
#ifndef SELFTESTS_LIBTRAMPOLINE_SELECT_FIXTURE_H
#define SELFTESTS_LIBTRAMPOLINE_SELECT_FIXTURE_H

#include <bpf/btf.h>
#include <trampoline/trampoline.h>

#include "../lib/ktap.h"
#include "fixture.h"

/* As in /proc/kallsyms and in available_filter_functions_addrs. */
extern const char select_kallsyms[], select_filter[];
/* The functions that the checks below choose from; each test loads them. */
extern struct tramp_syms *select_syms;
/* Their types. */
extern struct btf *select_btf;

struct tramp_syms *select_load(const char *symbols, const char *list);

/* Texts that outlive the block that TRAMP_OPTS() makes of its arguments. */
const char *const *select_keep(size_t nr, ...);

#define NUMBER(...)	(sizeof((const char *const[]) { __VA_ARGS__ }) / sizeof(char *))
#define LIST(...)	select_keep(NUMBER(__VA_ARGS__), __VA_ARGS__)
#define PATTERNS(...)	.patterns = LIST(__VA_ARGS__), .pattern_cnt = NUMBER(__VA_ARGS__)
#define DENY(...)	.deny = LIST(__VA_ARGS__), .deny_cnt = NUMBER(__VA_ARGS__)

/* "taken taken | reason function-or-pattern; ..." */
const char *select_shown(const struct tramp_selection *sel);
/* A selection that must be possible, and one that must be shown as @expect. */
struct tramp_selection *select_need(const struct tramp_select_opts *opts);
void select_check(const struct tramp_select_opts *opts, const char *expect);

#define CHECK_SELECT(expect, ...)					\
	do {								\
		TRAMP_OPTS(tramp_select_opts, opts_, __VA_ARGS__);	\
		select_check(&opts_, expect);					\
	} while (0)

#define CHECK_REFUSED(error, why, says, ...)				\
	do {								\
		TRAMP_OPTS(tramp_select_opts, opts_, __VA_ARGS__);	\
		errno = 0;						\
		CHECK(!tramp_syms__select(select_syms, &opts_), "it was taken"); \
		CHECK_EQ(errno, -(error), "errno");			\
		CHECK_ERROR(error, why);				\
		CHECK(last_error_says(says), "text");			\
	} while (0)

#endif /* SELFTESTS_LIBTRAMPOLINE_SELECT_FIXTURE_H */
