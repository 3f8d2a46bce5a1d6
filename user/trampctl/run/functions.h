/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The functions of a run: what the command line asks for, and what had to be left out.
 */
#ifndef TRAMPCTL_FUNCTIONS_H
#define TRAMPCTL_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <trampoline/trampoline.h>

/**
 * struct function_options - which functions
 * @deny: patterns of --deny
 * @arg_type: of --arg-type, or NULL
 * @min_args, @max_args: of --args, if @by_args
 * @by_args: there was one
 * @all_or_nothing: a function that is refused is an error
 */
struct function_options {
	const char **deny;
	size_t nr_deny;
	const char *arg_type;
	uint32_t min_args, max_args;
	bool by_args;
	bool all_or_nothing;
};

/**
 * struct functions - the functions of a run
 * @syms: the snapshot that they are of
 * @sel: what was selected
 * @func: those that are left, @nr; the cookie is the number here
 * @nr: how many
 * @left: groups of names that were left out, by reason
 * @nr_left: how many groups
 */
struct functions {
	struct tramp_syms *syms;
	struct tramp_selection *sel;
	const struct tramp_selected **func;
	size_t nr;
	struct left_group *left;
	size_t nr_left;
};

int functions_check(int argc, char **argv);
int function_args_option(struct function_options *o, const char *arg);
int functions_select(struct functions *f, const struct function_options *o, bool need_btf,
		     int argc, char **argv);
void functions_leave_out(struct functions *f, const char *reason, const char *sentence,
			 const char *name);
void functions_warn(const struct functions *f);
struct tramp_proto *functions_proto(const struct functions *f, size_t nr);
void functions_free(struct functions *f);

#endif /* TRAMPCTL_FUNCTIONS_H */
