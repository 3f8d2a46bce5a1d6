/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Members of structs that an argument or the result leads to, as C writes them:
 * 'path->dentry->d_name.name'.
 *
 * member.c reads such expressions. member_bind.c finds what they mean for a function in its BTF, of
 * which member_type.c knows the types. many_member.bpf.h fetches the values.
 */
#ifndef TRAMPCTL_MEMBER_H
#define TRAMPCTL_MEMBER_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <trampoline/trampoline.h>

#include "many.h"

#define MEMBER_NAME_LEN		64
#define MEMBER_TEXT_LEN		256
#define MEMBER_MAX_STEPS	16
#define MEMBER_MAX_NEAR		3

enum member_op { MEMBER_ARROW, MEMBER_DOT, MEMBER_INDEX };

/**
 * struct member_step - one step of an expression
 * @op: "->", "." or "[]"
 * @name: the member; of the first two
 * @index: of the last
 */
struct member_step {
	enum member_op op;
	char name[MEMBER_NAME_LEN];
	__u32 index;
};

/**
 * struct member_expr - an expression as it was written
 * @text: all of it
 * @name: where it begins: an argument, "argN", or "ret"
 * @step: the steps from there
 * @nr: how many
 */
struct member_expr {
	char text[MEMBER_TEXT_LEN];
	char name[MEMBER_NAME_LEN];
	struct member_step step[MEMBER_MAX_STEPS];
	unsigned int nr;
};

/**
 * struct member_list - all expressions of an option
 * @expr: they
 * @nr: how many
 */
struct member_list {
	struct member_expr expr[MANY_MAX_PRINTS];
	unsigned int nr;
};

/* An expression has to be a number or a text, or may be either. */
enum member_want { MEMBER_ANY, MEMBER_NUMBER, MEMBER_TEXT };

/**
 * struct member - what an expression is for a function
 * @path: how to get there
 * @arg: its type, as tramp_arg__format() takes it
 * @shift: bits below it in the number that was read
 * @bits: of the number
 * @is_text: it is a text
 */
struct member {
	struct many_path path;
	struct tramp_arg arg;
	__u8 shift, bits;
	bool is_text;
};

/**
 * struct member_refusal - why an expression makes no sense for a function
 * @why: in words
 * @similar: names that may have been meant, ended by NULL
 * @names: where these are
 */
struct member_refusal {
	char why[512];
	const char *similar[MEMBER_MAX_NEAR + 1];
	char names[MEMBER_MAX_NEAR][MEMBER_NAME_LEN];
};

int member_parse(const char *option, const char **text, struct member_expr *e);
int members_parse(const char *option, const char *text, struct member_list *list);
bool member_on_result(const struct member_expr *e);

int member_refuse(struct member_refusal *no, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
int member_bind(const struct member_expr *e, const struct tramp_proto *proto,
		enum member_want want, struct member *m, struct member_refusal *no);
int member_enumerator(const struct tramp_proto *proto, const struct member *m, const char *name,
		      __u64 *value, struct member_refusal *no);
__u64 member_number(const struct member *m, __u64 value);

#endif /* TRAMPCTL_MEMBER_H */
