// SPDX-License-Identifier: GPL-2.0
/*
 * How a traced call looks: values by their BTF types, strings where the type is
 * known to lead to one, durations in the unit that fits, the callers by name.
 */
#include <bpf/btf.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../out/json.h"
#include "../out/text.h"
#include "../run/events.h"
#include "../run/member_type.h"
#include "../trampctl.h"
#include "trace.h"

/* Structs whose name is worth more than their address. */
static const struct {
	const char *name;
	enum trace_str_kind kind;
} string_structs[] = {
	{ "filename", TRACE_STR_FILENAME },
	{ "qstr", TRACE_STR_QSTR },
	{ "dentry", TRACE_STR_DENTRY },
	{ "file", TRACE_STR_FILE },
};

static enum trace_str_kind string_kind(const struct tramp_proto *proto, const struct tramp_arg *arg)
{
	const struct btf_type *t;
	const char *name;
	size_t i;

	if (arg->flags & TRAMP_ARG_STR)
		return TRACE_STR_CHARS;
	t = btf_skip_names(proto->btf, arg->type_id);
	if (!t || !btf_is_ptr(t))
		return TRACE_STR_NONE;
	t = btf_skip_names(proto->btf, t->type);
	if (!t || !btf_is_struct(t))
		return TRACE_STR_NONE;
	name = btf__name_by_offset(proto->btf, t->name_off);
	for (i = 0; i < sizeof(string_structs) / sizeof(string_structs[0]); i++)
		if (name && !strcmp(name, string_structs[i].name))
			return string_structs[i].kind;
	return TRACE_STR_NONE;
}

/**
 * trace_find_strings() - decide which arguments are shown as strings
 * @f: its @proto is set; @str_kind and @ret_kind are filled in
 * @max: strings that there is room for
 * @nr_strs: (out) how many, the result included
 *
 * One place is kept for the result if it is a string; arguments beyond the rest
 * are shown as pointers.
 */
void trace_find_strings(struct traced_func *f, __u8 max, __u8 *nr_strs)
{
	const struct tramp_proto *p = f->proto;
	__u8 nr = 0;
	__u32 i;

	f->ret_kind = f->entry_only || !max ? TRACE_STR_NONE : string_kind(p, &p->ret);
	max -= !!f->ret_kind;
	for (i = 0; i < p->nr_args && nr < max; i++) {
		const struct tramp_arg *arg = &p->args[i];

		if (arg->slot >= TRACE_MAX_SLOTS)
			break;
		f->str_kind[arg->slot] = string_kind(p, arg);
		nr += !!f->str_kind[arg->slot];
	}
	*nr_strs = nr + !!f->ret_kind;
}

/* ---------------------------------------------------------------- values -- */

#define MAX_ERRNO 4095

/* The name of the error that a result is, or NULL. */
static const char *error_name(const struct tramp_arg *arg, __u64 val)
{
	__s64 err;

	if (arg->flags & TRAMP_ARG_PTR)
		err = val;
	else if ((arg->flags & TRAMP_ARG_SIGNED) && arg->size == 8)
		err = val;
	else if ((arg->flags & TRAMP_ARG_SIGNED) && arg->size == 4)
		err = (__s32)val;
	else
		return NULL;
	return err < 0 && err >= -MAX_ERRNO ? strerrorname_np(-err) : NULL;
}

/* The text of a string as read in BPF, NULL if it was not: quoted, to be freed. */
char *trace_string_text(const struct traced_call *call, int nr)
{
	char *quoted, *text;
	bool cut;

	if (nr < 0 || call->str_len[nr] <= 0)
		return NULL;
	/* A string that fills its place was probably longer. */
	cut = call->str_len[nr] >= TRACE_STR_LEN;
	quoted = quote_text(call->str[nr], TRACE_STR_LEN);
	text = xasprintf("\"%s\"%s", quoted, cut ? "..." : "");
	free(quoted);
	return text;
}

static void print_value(const struct traced_func *f, const struct traced_call *call,
			const struct tramp_arg *arg, const __u64 *slots, int str)
{
	char buf[256], *text = trace_string_text(call, str);

	if (text) {
		fputs(text, stdout);
	} else {
		tramp_arg__format(f->proto, arg, (const uint64_t *)slots, buf, sizeof(buf));
		fputs(buf, stdout);
	}
	free(text);
}

/* A value that is no string; NULL: none, or the pointer. */
json_object *trace_value_to_json(const struct tramp_proto *proto, const struct tramp_arg *arg,
				 const __u64 *slots)
{
	char buf[256];

	if (arg->flags & TRAMP_ARG_VOID)
		return NULL;
	if (arg->flags & TRAMP_ARG_PTR)
		return slots[0] ? json_hex(slots[0]) : NULL;
	if (arg->flags & TRAMP_ARG_BOOL)
		return json_object_new_boolean(slots[0] & 0xff);
	if (!(arg->flags & (TRAMP_ARG_ENUM | TRAMP_ARG_STRUCT | TRAMP_ARG_FLOAT)) &&
	    arg->size <= 8) {
		unsigned int unused = 64 - 8 * arg->size;
		__u64 val = slots[0] << unused;

		if (arg->flags & TRAMP_ARG_SIGNED)
			return json_object_new_int64((__s64)val >> unused);
		return json_object_new_uint64(val >> unused);
	}
	tramp_arg__format(proto, arg, (const uint64_t *)slots, buf, sizeof(buf));
	return json_object_new_string(buf);
}

static json_object *value_to_json(const struct traced_func *f, const struct traced_call *call,
				  const struct tramp_arg *arg, const __u64 *slots, int str)
{
	if (str >= 0 && call->str_len[str] > 0 && !(arg->flags & TRAMP_ARG_VOID))
		return json_bytes(call->str[str], TRACE_STR_LEN);
	return trace_value_to_json(f->proto, arg, slots);
}

/* ----------------------------------------------------------------- calls -- */

/* @members: what is shown besides; or NULL */
void trace_print_header(bool tree, const struct member_list *members)
{
	char *heads = xasprintf("%s%s", tree ? "DURATION FUNCTION(ARGUMENTS) = RESULT" :
					       "FUNCTION(ARGUMENTS) = RESULT DURATION",
				members && members->nr ? " MEMBERS" : "");

	event_print_heads(heads);
	free(heads);
}

/* The first JSON object: from now on calls are seen. */
void trace_print_start(const struct traced_func *funcs, size_t nr)
{
	json_object *j = json_object_new_object(), *list = json_object_new_array();
	size_t i;

	json_put_str(j, "type", "start");
	for (i = 0; i < nr; i++) {
		json_object *o = json_object_new_object();

		json_put_str(o, "function", funcs[i].sym->name);
		if (funcs[i].sym->module[0])
			json_put_str(o, "module", funcs[i].sym->module);
		json_put_str(o, "prototype", funcs[i].proto->text);
		json_put_bool(o, "entry_only", funcs[i].entry_only);
		json_object_array_add(list, o);
	}
	json_object_object_add(j, "functions", list);
	json_print(j);
}

static struct event_head head_of(const struct traced_call *call)
{
	return (struct event_head){ .time = call->start, .cpu = call->cpu, .tgid = call->tgid,
				    .tid = call->tid, .comm = call->comm };
}

static struct stack_event stacks_of(const struct traced_func *f, const struct traced_call *call)
{
	return (struct stack_event){ .stacks = &call->stacks, .function = f->sym,
				     .tgid = call->tgid, .comm = call->comm };
}

/*
 * The value of an argument as it was at entry. NULL: a record has no room for it, or the program
 * did not see it, which happens in trace_many.c alone.
 */
static const __u64 *slots_of(const struct traced_func *f, const struct traced_call *call,
			     const struct tramp_arg *arg)
{
	__u32 i;

	if (arg->slot + arg->nr_slots > TRACE_MAX_SLOTS)
		return NULL;
	for (i = 0; i < arg->nr_slots; i++)
		if (f->slot_unseen[arg->slot + i])
			return NULL;
	return &call->slots[arg->slot];
}

/* Of a result that is not in the register. A struct looks like one that is too large. */
static const char *unseen_result(const struct traced_func *f)
{
	return f->proto->ret.flags & TRAMP_ARG_STRUCT ? "{...}" : NULL;
}

static void print_text(const struct traced_func *f, const struct traced_call *call,
		       const struct trace_members *members, const struct stack_show *show,
		       int depth)
{
	const struct stack_event stacks = stacks_of(f, call);
	const struct event_head head = head_of(call);
	const struct tramp_proto *p = f->proto;
	char took[32];
	int str = 0;
	__u32 i;

	event_print(&head);
	duration_text(call->end - call->start, took, sizeof(took));
	if (depth >= 0)
		printf("%8s %*s", took, 2 * depth, "");
	printf("%s%s%s(", color(COLOR_FUNCTION), f->sym->name, color(COLOR_NONE));
	for (i = 0; i < p->nr_args; i++) {
		const struct tramp_arg *arg = &p->args[i];
		const __u64 *slots = slots_of(f, call, arg);

		printf("%s%s=", i ? ", " : "", arg->name);
		if (slots)
			print_value(f, call, arg, slots, f->str_kind[arg->slot] ? str++ : -1);
		else
			putchar('?');
	}
	putchar(')');
	if (call->end) {
		const char *err = error_name(&p->ret, call->ret);

		fputs(" = ", stdout);
		if (err)
			fputs(color(COLOR_ERROR), stdout);
		if (f->ret_unseen)
			fputs(unseen_result(f) ?: "?", stdout);
		else
			print_value(f, call, &p->ret, &call->ret, f->ret_kind ? str : -1);
		if (err)
			printf(" (%s)%s", err, color(COLOR_NONE));
		if (depth < 0)
			printf(" %s", took);
	}
	if (members)
		trace_members_print(f, call, members);
	putchar('\n');
	stack_print(show, &stacks);
}

static void print_json(const struct traced_func *f, const struct traced_call *call,
		       const struct trace_members *members, const struct stack_show *show,
		       int depth)
{
	const struct stack_event stacks = stacks_of(f, call);
	const struct event_head head = head_of(call);
	json_object *j = event_to_json("call", &head), *args = json_object_new_object();
	const struct tramp_proto *p = f->proto;
	json_object *result = NULL;
	int str = 0;
	__u32 i;

	json_put_str(j, "function", f->sym->name);
	if (f->sym->module[0])
		json_put_str(j, "module", f->sym->module);
	for (i = 0; i < p->nr_args; i++) {
		const struct tramp_arg *arg = &p->args[i];
		const __u64 *slots = slots_of(f, call, arg);
		json_object *value = NULL;

		if (slots)
			value = value_to_json(f, call, arg, slots,
					      f->str_kind[arg->slot] ? str++ : -1);
		json_object_object_add(args, arg->name, value);
	}
	json_object_object_add(j, "args", args);
	if (call->end) {
		const char *err = error_name(&p->ret, call->ret);

		if (!f->ret_unseen)
			result = value_to_json(f, call, &p->ret, &call->ret,
					       f->ret_kind ? str : -1);
		else if (unseen_result(f))
			result = json_object_new_string(unseen_result(f));
		json_object_object_add(j, "result", result);
		if (err)
			json_put_str(j, "error", err);
		json_put_u64(j, "duration_ns", call->end - call->start);
	}
	if (members)
		trace_members_to_json(j, f, call, members);
	if (depth >= 0)
		json_put_u64(j, "depth", depth);
	stack_put(j, show, &stacks);
	json_print(j);
}

/*
 * Shows one call, with these members or NULL, and with the stacks of @show. Of a call in a tree,
 * @depth is how many others it is inside of; otherwise it is less than 0.
 */
void trace_print_call(const struct traced_func *f, const struct traced_call *call,
		      const struct trace_members *members, const struct stack_show *show, int depth)
{
	(json_output ? print_json : print_text)(f, call, members, show, depth);
}
