/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the two halves of `trampctl trace`: trace.c attaches and collects,
 * trace_print.c shows.
 */
#ifndef TRAMPCTL_TRACE_H
#define TRAMPCTL_TRACE_H

#include <linux/types.h>
#include <trampoline/trampoline.h>

#include "../out/kallsyms.h"
#include "../run/calltrace.h"
#include "../run/many_run.h"

struct calltrace;

/**
 * struct traced_func - one function of a run
 * @spec: as the user wrote it
 * @sym: its symbol
 * @proto: its prototype
 * @entry_only: no exit program can be, or is wanted
 * @ret_kind: enum trace_str_kind of the result
 * @str_kind: the same for each slot
 * @skel: its programs
 * @entry, @exit: their links
 */
struct traced_func {
	const char *spec;
	const struct tramp_sym *sym;
	struct tramp_proto *proto;
	bool entry_only;
	__u8 ret_kind;
	__u8 str_kind[TRACE_MAX_SLOTS];
	struct calltrace *skel;
	struct tramp_link *entry, *exit;
};

/**
 * struct trace_many_options - a trace of many functions
 * @many: which calls
 * @tree: calls inside of others are shown below them
 * @stack: with the callers of each call
 * @entry_only: without exits
 */
struct trace_many_options {
	struct many_options many;
	bool tree, stack, entry_only;
};

int trace_many(const struct trace_many_options *opts, int argc, char **argv);

void trace_find_strings(struct traced_func *f, __u8 *nr_strs);
void trace_print_header(bool tree);
void trace_print_start(const struct traced_func *funcs, size_t nr);
void trace_print_call(const struct traced_func *f, const struct traced_call *call,
		      const struct tramp_names *ks, int depth);

#endif /* TRAMPCTL_TRACE_H */
