/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Variables of `trampctl probe`: NAME=%REG[:TYPE] on the command line, and their
 * values in a hit.
 */
#ifndef TRAMPCTL_REGS_H
#define TRAMPCTL_REGS_H

#include <json-c/json.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#include "regprobe.h"

#define REG_NAME_LEN	32

/**
 * struct reg_var - a register under a name
 * @name: as shown
 * @reg: enum probe_reg
 * @bits: 8, 16, 32 or 64: the lower ones are shown
 * @format: 'x' hexadecimal, 'u' unsigned, 's' signed
 */
struct reg_var {
	char name[REG_NAME_LEN];
	int reg;
	unsigned int bits;
	char format;
};

int reg_var_parse(const char *text, bool at_entry, struct reg_var *var);
size_t reg_vars_default(const struct reg_var **vars);
const char *reg_name(int reg);
void reg_var_print(const struct reg_var *var, const __u64 *regs);
json_object *reg_var_to_json(const struct reg_var *var, const __u64 *regs);

#endif /* TRAMPCTL_REGS_H */
