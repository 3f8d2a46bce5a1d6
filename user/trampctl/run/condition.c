// SPDX-License-Identifier: GPL-2.0
/*
 * Conditions on arguments and results, and where a function has its arguments.
 *
 *	--if 'NAME OP NUMBER [&& NAME OP NUMBER]...'
 *
 * NAME is an argument by its BTF name or argN, or `ret`. Comparisons are those of C on the
 * argument's type: by its sign and size. A negative number is converted to the type of an
 * unsigned argument, so `ret >= -4095` finds the error pointers. `&` holds if the argument
 * has one of the bits.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../out/error.h"
#include "condition.h"

static const struct {
	const char *text;
	enum many_op op;
} ops[] = {
	/* Those of two characters first. */
	{ "==", MANY_EQ }, { "!=", MANY_NE }, { "<=", MANY_LE }, { ">=", MANY_GE },
	{ "<", MANY_LT }, { ">", MANY_GT }, { "&", MANY_AND },
};
#define NR_OPS (sizeof(ops) / sizeof(ops[0]))

static const char *skip_blanks(const char *p)
{
	while (isblank((unsigned char)*p))
		p++;
	return p;
}

/* -1 if there is none. "&&" is none. */
static int parse_op(const char **p, enum many_op *op)
{
	size_t i, len;

	for (i = 0; i < NR_OPS; i++) {
		len = strlen(ops[i].text);
		if (strncmp(*p, ops[i].text, len))
			continue;
		if (ops[i].op == MANY_AND && (*p)[1] == '&')
			return -1;
		*op = ops[i].op;
		*p += len;
		return 0;
	}
	return -1;
}

/* Decimal or 0x hexadecimal, with a sign and with K, M or G for powers of 1024; NULL is 0. */
static int parse_value(const char **p, struct condition *c)
{
	const char *s = *p;
	unsigned int shift = 0;
	bool hex;
	char *end;

	if (!strncmp(s, "NULL", 4)) {
		*p = s + 4;
		return 0;
	}
	c->negative = *s == '-';
	s += c->negative;
	if (!isdigit((unsigned char)*s))
		return -1;
	hex = s[0] == '0' && (s[1] == 'x' || s[1] == 'X');
	/* Nobody means octal. */
	if (!hex && s[0] == '0' && isdigit((unsigned char)s[1]))
		return -1;
	errno = 0;
	c->value = strtoull(s, &end, hex ? 16 : 10);
	if (errno || (hex && end == s + 2))
		return -1;
	switch (toupper((unsigned char)*end)) {
	case 'K': shift = 10; break;
	case 'M': shift = 20; break;
	case 'G': shift = 30; break;
	}
	end += !!shift;
	if (c->value << shift >> shift != c->value)
		return -1;
	c->value <<= shift;
	if (c->negative) {
		if (c->value > 1ULL << 63)
			return -1;
		c->value = -c->value;
	}
	*p = end;
	return 0;
}

/**
 * conditions_parse() - add the argument of an --if
 * @c: the conditions so far
 * @text: the argument
 *
 * Return: 0, or EXIT_USAGE after having reported the error.
 */
int conditions_parse(struct conditions *c, const char *text)
{
	const char *p = text, *start;
	struct condition *t;
	size_t len;

	for (;;) {
		if (c->nr >= MANY_MAX_TERMS)
			return usage_error("--if takes at most %d conditions in all",
					   MANY_MAX_TERMS);
		t = &c->term[c->nr];
		memset(t, 0, sizeof(*t));
		start = p = skip_blanks(p);
		while (isalnum((unsigned char)*p) || *p == '_')
			p++;
		len = p - start;
		if (!len || isdigit((unsigned char)*start) || len >= sizeof(t->name))
			return usage_error("--if needs the name of an argument, argN or ret, at \"%s\"",
					   start);
		memcpy(t->name, start, len);
		p = skip_blanks(p);
		if (parse_op(&p, &t->op))
			return usage_error("--if needs one of == != < <= > >= & behind %s, not \"%s\"",
					   t->name, p);
		p = skip_blanks(p);
		if (parse_value(&p, t))
			return usage_error("--if needs a number of at most 64 bits (12, -1, 0x1f, 4K), not \"%s\"",
					   p);
		c->nr++;
		p = skip_blanks(p);
		if (!*p)
			return 0;
		if (!strncmp(p, "||", 2))
			return usage_error("--if has no ||: all conditions must hold");
		if (strncmp(p, "&&", 2))
			return usage_error("--if needs && between conditions, not \"%s\"", p);
		p += 2;
	}
}

/* Does one of them need the result? */
bool conditions_on_result(const struct conditions *c)
{
	unsigned int i;

	for (i = 0; i < c->nr; i++)
		if (!strcmp(c->term[i].name, "ret"))
			return true;
	return false;
}

/**
 * arguments_locate() - where the calling convention has each slot
 * @proto: the function
 * @where: (out) per slot as many_term::where
 * @max: entries at @where
 *
 * An argument of one or two slots is passed in registers if there are enough left for all of
 * it, otherwise on the stack, as is everything larger.
 */
void arguments_locate(const struct tramp_proto *proto, __u8 *where, unsigned int max)
{
	unsigned int i, k, regs = 0, stack = 0;

	for (i = 0; i < proto->nr_args; i++) {
		const struct tramp_arg *a = &proto->args[i];
		const bool in_regs = a->nr_slots <= 2 && regs + a->nr_slots <= MANY_REGS;

		for (k = 0; k < a->nr_slots; k++) {
			const unsigned int at = in_regs ? regs++ : MANY_ON_STACK + stack++;

			if (a->slot + k < max)
				where[a->slot + k] = at;
		}
	}
}

static const struct tramp_arg *find_arg(const struct tramp_proto *proto, const char *name)
{
	unsigned int i, n;
	char end;

	for (i = 0; i < proto->nr_args; i++)
		if (!strcmp(proto->args[i].name, name))
			return &proto->args[i];
	if (sscanf(name, "arg%u%c", &n, &end) == 1 && n >= 1 && n <= proto->nr_args)
		return &proto->args[n - 1];
	return NULL;
}

static const char *bind(const struct condition *c, const struct tramp_proto *proto,
			struct many_term *t)
{
	const bool result = !strcmp(c->name, "ret");
	const struct tramp_arg *a = result ? &proto->ret : find_arg(proto, c->name);
	__u8 where[TRACE_MAX_SLOTS] = { 0 };

	if (result && (a->flags & TRAMP_ARG_VOID))
		return "it returns nothing";
	if (!a)
		return "it has no argument of that name";
	if (a->size > 8 || !a->size || (a->flags & (TRAMP_ARG_STRUCT | TRAMP_ARG_FLOAT)))
		return "that argument or result is no number";
	if (!result && a->slot >= TRACE_MAX_SLOTS)
		return "that argument is too far behind";
	arguments_locate(proto, where, TRACE_MAX_SLOTS);
	t->where = result ? MANY_RESULT : where[a->slot];
	t->op = c->op;
	t->bits = a->size * 8;
	t->is_signed = !!(a->flags & TRAMP_ARG_SIGNED);
	t->value = c->value;
	if (c->negative && !t->is_signed && t->bits < 64)
		t->value &= (1ULL << t->bits) - 1;
	return NULL;
}

/**
 * conditions_bind() - the conditions as they are for one function
 * @c: as written
 * @proto: its prototype
 * @f: (out) @terms and @nr_terms
 *
 * Return: NULL, or why they make no sense for it.
 */
const char *conditions_bind(const struct conditions *c, const struct tramp_proto *proto,
			    struct many_func *f)
{
	const char *why = NULL;
	unsigned int i;

	for (i = 0; i < c->nr && !why; i++)
		why = bind(&c->term[i], proto, &f->terms[i]);
	f->nr_terms = c->nr;
	return why;
}
