// SPDX-License-Identifier: GPL-2.0
/*
 * Registers by name, in the style of ftrace's kprobe events and perf probe: %di,
 * %ax, %flags, and $arg1 to $arg6 where a function starts. The R of 64-bit names
 * may be written (%rdi). A colon and a type may follow (s32, u8, x64).
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../out/error.h"
#include "../out/json.h"
#include "regs.h"

/* By enum probe_reg. */
static const char *const names[PROBE_NR_REGS] = {
	"r15", "r14", "r13", "r12", "bp", "bx", "r11", "r10", "r9", "r8", "ax", "cx", "dx", "si",
	"di", "orig_ax", "ip", "cs", "flags", "sp", "ss",
};

/* Where the calling convention puts the first arguments. */
static const int arg_regs[] = {
	PROBE_DI, PROBE_SI, PROBE_DX, PROBE_CX, PROBE_R8, PROBE_R9,
};
#define NR_ARG_REGS ((int)(sizeof(arg_regs) / sizeof(arg_regs[0])))

/* Shown if the user asks for no register: fits a line. */
static const struct reg_var defaults[] = {
	{ "di", PROBE_DI, 64, 'x' }, { "si", PROBE_SI, 64, 'x' }, { "dx", PROBE_DX, 64, 'x' },
	{ "cx", PROBE_CX, 64, 'x' }, { "ax", PROBE_AX, 64, 'x' }, { "bx", PROBE_BX, 64, 'x' },
	{ "bp", PROBE_BP, 64, 'x' }, { "sp", PROBE_SP, 64, 'x' },
};

const char *reg_name(int reg)
{
	return names[reg];
}

size_t reg_vars_default(const struct reg_var **vars)
{
	*vars = defaults;
	return sizeof(defaults) / sizeof(defaults[0]);
}

/* A register's number by its name, with or without the R of 64-bit ones; -1: none. */
static int find_reg(const char *name, size_t len)
{
	int i, r;

	for (i = 0; i < PROBE_NR_REGS; i++) {
		if (strlen(names[i]) == len && !strncmp(names[i], name, len))
			return i;
		/* Numbered names have their R already; %rcs and %rss do not exist. */
		r = names[i][0] != 'r' && i != PROBE_CS && i != PROBE_SS && i != PROBE_ORIG_AX;
		if (r && name[0] == 'r' && strlen(names[i]) + 1 == len &&
		    !strncmp(names[i], name + 1, len - 1))
			return i;
	}
	return -1;
}

static int unknown_reg(const char *name, size_t len)
{
	return usage_error("there is no register \"%.*s\": there are %%ax %%bx %%cx %%dx %%si %%di %%bp %%sp %%r8 to %%r15 %%ip %%flags %%cs %%ss %%orig_ax",
			   (int)len, name);
}

/* "$arg2": only where a function starts do the arguments lie where it says. */
static int parse_arg(const char *name, size_t len, bool at_entry, int *reg)
{
	const char *digits = name + strlen("$arg");
	int n;

	if (strncmp(name, "$arg", strlen("$arg")) || !isdigit((unsigned char)*digits))
		return usage_error("\"%.*s\" is neither a register (%%di) nor an argument ($arg1)",
				   (int)len, name);
	n = *digits - '0';
	if (len != strlen("$arg1") || n < 1 || n > NR_ARG_REGS)
		return usage_error("\"%.*s\": the first %d arguments are in registers, from $arg1 on",
				   (int)len, name, NR_ARG_REGS);
	if (!at_entry)
		return usage_error("\"%.*s\": arguments can be told where the function starts only; name a register",
				   (int)len, name);
	*reg = arg_regs[n - 1];
	return 0;
}

static int parse_type(const char *type, struct reg_var *var)
{
	static const char *const sizes[] = { "8", "16", "32", "64" };
	size_t i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		if (!type[0] || !strchr("xus", type[0]) || strcmp(type + 1, sizes[i]))
			continue;
		var->format = type[0];
		var->bits = 8U << i;
		return 0;
	}
	return usage_error("there is no type \"%s\": types are x, u or s and 8, 16, 32 or 64, as in s32",
			   type);
}

static int parse_name(const char *name, size_t len, struct reg_var *var)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (!isalnum((unsigned char)name[i]) && name[i] != '_')
			break;
	if (!len || i < len || isdigit((unsigned char)name[0]))
		return usage_error("\"%.*s\" is not a name: letters, digits and \"_\" make one up",
				   (int)len, name);
	if (len >= sizeof(var->name))
		return usage_error("the name \"%.*s\" is too long: %zu characters are possible",
				   (int)len, name, sizeof(var->name) - 1);
	snprintf(var->name, sizeof(var->name), "%.*s", (int)len, name);
	return 0;
}

/**
 * reg_var_parse() - take a variable apart
 * @text: [NAME=]%REG[:TYPE], or $argN in the place of %REG
 * @at_entry: the probe is where a function starts
 * @var: (out) the variable; without a name it is called as the register or argument
 *
 * Return: 0, or EXIT_USAGE after having reported the error.
 */
int reg_var_parse(const char *text, bool at_entry, struct reg_var *var)
{
	const char *eq = strchr(text, '='), *what = eq ? eq + 1 : text;
	size_t len = strcspn(what, ":");
	int rc;

	memset(var, 0, sizeof(*var));
	var->bits = 64;
	var->format = 'x';
	if (what[0] == '$') {
		rc = parse_arg(what, len, at_entry, &var->reg);
		if (rc)
			return rc;
	} else {
		if (what[0] != '%')
			return usage_error("\"%s\" is not a variable: write NAME=%%REGISTER, as in dfd=%%di",
					   text);
		var->reg = find_reg(what + 1, len - 1);
		if (var->reg < 0)
			return unknown_reg(what, len);
	}
	if (what[len] == ':') {
		rc = parse_type(what + len + 1, var);
		if (rc)
			return rc;
	}
	return eq ? parse_name(text, eq - text, var) : parse_name(what + 1, len - 1, var);
}

static __u64 value_of(const struct reg_var *var, const __u64 *regs)
{
	unsigned int unused = 64 - var->bits;
	__u64 val = regs[var->reg] << unused;

	return var->format == 's' ? (__u64)((__s64)val >> unused) : val >> unused;
}

/* NAME=VALUE */
void reg_var_print(const struct reg_var *var, const __u64 *regs)
{
	__u64 val = value_of(var, regs);

	printf("%s=", var->name);
	if (var->format == 's')
		printf("%lld", (long long)val);
	else if (var->format == 'u')
		printf("%llu", (unsigned long long)val);
	else
		printf("0x%llx", (unsigned long long)val);
}

/* Numbers as numbers, what is shown in hex as a string. */
json_object *reg_var_to_json(const struct reg_var *var, const __u64 *regs)
{
	__u64 val = value_of(var, regs);

	if (var->format == 's')
		return json_object_new_int64(val);
	if (var->format == 'u')
		return json_object_new_uint64(val);
	return json_hex(val);
}
