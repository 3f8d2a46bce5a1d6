/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the two halves of `trampctl trace`: trace.c attaches and collects,
 * trace_print.c shows.
 */
#ifndef TRAMPCTL_TRACE_H
#define TRAMPCTL_TRACE_H

#include <json-c/json.h>
#include <linux/types.h>
#include <trampoline/trampoline.h>

#include "../run/calltrace.h"
#include "../run/many_run.h"
#include "../run/stack_show.h"

struct calltrace;

/**
 * struct traced_func - one function of a run
 * @spec: as the user wrote it
 * @sym: its symbol
 * @proto: its prototype
 * @entry_only: no exit program can be, or is wanted
 * @ret_kind: enum trace_str_kind of the result
 * @str_kind: the same for each slot
 * @slot_unseen: slots that programs do not see
 * @ret_unseen: the result is not in the register of results
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
	bool slot_unseen[TRACE_MAX_SLOTS];
	bool ret_unseen;
	struct calltrace *skel;
	struct tramp_link *entry, *exit;
};

/**
 * struct trace_members - members that are shown of a call; trace_member.c shows them
 * @list: as they were written
 * @members: what each is for the call's function
 * @found: what each was in this call
 */
struct trace_members {
	const struct member_list *list;
	const struct member *members;
	const struct many_print *found;
};

/**
 * struct trace_many_options - a trace of many functions
 * @many: which calls
 * @prints: members to show of each
 * @stacks: with the callers of each call
 * @tree: calls inside of others are shown below them
 * @entry_only: without exits
 */
struct trace_many_options {
	struct many_options many;
	struct member_list prints;
	struct stack_options stacks;
	bool tree, entry_only;
};

int trace_many(const struct trace_many_options *opts, int argc, char **argv);

void trace_find_strings(struct traced_func *f, __u8 max, __u8 *nr_strs);
void trace_print_header(bool tree, const struct member_list *members);
void trace_print_start(const struct traced_func *funcs, size_t nr);
void trace_print_call(const struct traced_func *f, const struct traced_call *call,
		      const struct trace_members *members, const struct stack_show *show,
		      int depth);
json_object *trace_value_to_json(const struct tramp_proto *proto, const struct tramp_arg *arg,
				 const __u64 *slots);
char *trace_string_text(const struct traced_call *call, int nr);

/* trace_member.c: */
void trace_members_print(const struct traced_func *f, const struct traced_call *call,
			 const struct trace_members *m);
void trace_members_to_json(json_object *j, const struct traced_func *f,
			   const struct traced_call *call, const struct trace_members *m);

#endif /* TRAMPCTL_TRACE_H */
