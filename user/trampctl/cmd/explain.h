/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the two halves of `trampctl explain`: explain.c explains functions,
 * explain_code.c their instructions.
 */
#ifndef TRAMPCTL_EXPLAIN_H
#define TRAMPCTL_EXPLAIN_H

#include <json-c/json.h>
#include <trampoline/trampoline.h>

#include "../run/debuginfo.h"

/**
 * struct code_opts - how instructions are explained
 * @whole: all of the function
 * @intel: in Intel's syntax
 * @opcodes: with their bytes
 * @source: with their lines of source
 * @debuginfo: files that have these
 */
struct code_opts {
	bool whole;
	bool intel;
	bool opcodes;
	bool source;
	struct debuginfo_options debuginfo;
};

int explain_code(const struct tramp_syms *syms, const char *spec, const struct code_opts *opts,
		 json_object *all, bool *can);

#endif /* TRAMPCTL_EXPLAIN_H */
