/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Conditions on arguments, results and their members: --if 'size > 4096 && ret < 0'.
 *
 * A condition is made of comparisons. Each is a bit of a number, and the conditions are the set of
 * those numbers of which they hold. So a program makes the comparisons, and looks the number up.
 */
#ifndef TRAMPCTL_CONDITION_H
#define TRAMPCTL_CONDITION_H

#include <linux/types.h>
#include <stdbool.h>
#include <trampoline/trampoline.h>

#include "many.h"
#include "member.h"

/**
 * struct condition - one comparison, as it was written
 * @member: what is compared: an argument, the result, or a member
 * @op: enum many_op
 * @negative: there was a minus sign: @value is the number's two's complement
 * @is_hex: it was written in hexadecimal: as the bits of a number, not as its value
 * @is_text: it is compared with @text
 * @value: the number
 * @text: the text
 * @word: the name of an enumerator, whose value is meant; "": none
 */
struct condition {
	struct member_expr member;
	enum many_op op;
	bool negative, is_hex, is_text;
	__u64 value;
	char text[MANY_TEXT_LEN];
	char word[MEMBER_NAME_LEN];
};

/**
 * struct conditions - all of a run
 * @term: the comparisons
 * @nr: how many; 0: there are no conditions
 * @holds: outcomes of which all conditions hold
 */
struct conditions {
	struct condition term[MANY_MAX_TERMS];
	unsigned int nr;
	struct many_outcomes holds;
};

int conditions_parse(struct conditions *c, const char *text);
bool conditions_on_result(const struct conditions *c);
void conditions_configure(const struct conditions *c, struct many_config *cfg);
bool conditions_use_paths(const struct conditions *c);
int conditions_bind(const struct conditions *c, const struct tramp_proto *proto,
		    struct many_func *f, struct many_path *paths, struct member_refusal *no);

#endif /* TRAMPCTL_CONDITION_H */
