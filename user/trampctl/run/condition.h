/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Conditions on arguments and results: --if 'size > 4096 && ret < 0'.
 */
#ifndef TRAMPCTL_CONDITION_H
#define TRAMPCTL_CONDITION_H

#include <linux/types.h>
#include <stdbool.h>
#include <trampoline/trampoline.h>

#include "many.h"

/**
 * struct condition - one comparison, as it was written
 * @name: the argument, "argN", or "ret"
 * @op: enum many_op
 * @negative: there was a minus sign: @value is the number's two's complement
 * @value: the number
 */
struct condition {
	char name[64];
	enum many_op op;
	bool negative;
	__u64 value;
};

/**
 * struct conditions - all of a run; all must hold
 * @term: they
 * @nr: how many
 */
struct conditions {
	struct condition term[MANY_MAX_TERMS];
	unsigned int nr;
};

int conditions_parse(struct conditions *c, const char *text);
bool conditions_on_result(const struct conditions *c);
const char *conditions_bind(const struct conditions *c, const struct tramp_proto *proto,
			    struct many_func *f);
void arguments_locate(const struct tramp_proto *proto, __u8 *where, unsigned int max);

#endif /* TRAMPCTL_CONDITION_H */
