// SPDX-License-Identifier: GPL-2.0
/*
 * Conditions on arguments, results and their members.
 *
 *	--if 'WHERE OP CONSTANT [&& or || ...]'
 *
 * WHERE is an argument by its BTF name or argN, or `ret`, or a member that it leads to. Comparisons
 * are on its type: by its sign and size. A negative number is converted to the type of an unsigned
 * argument, so `ret >= -4095` finds the error pointers. One in hexadecimal is converted to a signed
 * type: 0xffffff9c is -100 as an int. One that has no place in the type is refused. `&` holds if
 * the number has one of the bits. As in C && goes before ||, and parentheses before both.
 */
#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../out/error.h"
#include "condition.h"
#include "member_type.h"

/* Parentheses inside of each other. */
#define MAX_NESTING	16

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

static const char *op_text(enum many_op op)
{
	size_t i;

	for (i = 0; ops[i].op != op; i++)
		;
	return ops[i].text;
}

/* Decimal or 0x hexadecimal, with a sign and with K, M or G for powers of 1024; NULL is 0. */
static int parse_value(const char **p, struct condition *c)
{
	const char *s = *p;
	unsigned int shift = 0;
	char *end;

	if (!strncmp(s, "NULL", 4)) {
		*p = s + 4;
		return 0;
	}
	c->negative = *s == '-';
	s += c->negative;
	if (!isdigit((unsigned char)*s))
		return -1;
	c->is_hex = s[0] == '0' && (s[1] == 'x' || s[1] == 'X');
	/* Nobody means octal. */
	if (!c->is_hex && s[0] == '0' && isdigit((unsigned char)s[1]))
		return -1;
	errno = 0;
	c->value = strtoull(s, &end, c->is_hex ? 16 : 10);
	if (errno || (c->is_hex && end == s + 2))
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

/* ------------------------------------------------------------ constants -- */

/* Of a text: the character behind a backslash; -1 if there is none such. */
static int parse_escape(const char **p)
{
	static const char from[] = "ntr\\\"'", to[] = "\n\t\r\\\"'";
	const char *at = **p ? strchr(from, **p) : NULL;
	unsigned int byte;
	char digits[3];

	if (at) {
		++*p;
		return to[at - from];
	}
	if (**p != 'x' || !isxdigit((unsigned char)(*p)[1]) || !isxdigit((unsigned char)(*p)[2]))
		return -1;
	snprintf(digits, sizeof(digits), "%.2s", *p + 1);
	byte = strtoul(digits, NULL, 16);
	*p += 3;
	/* It would end the text. */
	return byte ? (int)byte : -1;
}

/* "TEXT", with the escapes that texts are shown with. Errors show @whole, all that --if has. */
static int parse_text(const char **p, struct condition *c, const char *whole)
{
	const char *s = *p + 1;
	size_t len = 0;
	int byte;

	while (*s != '"') {
		byte = (unsigned char)*s;
		if (!byte)
			return usage_error("--if has a text without its end: %s", *p);
		s++;
		if (byte == '\\')
			byte = parse_escape(&s);
		if (byte < 0)
			return usage_error("--if has a \\ in a text with nothing like \\n, \\\" or \\x1f: %s",
					   *p);
		/* One byte less than fits: what is cut must not be equal to it. */
		if (len == sizeof(c->text) - 2)
			return usage_error("--if compares with texts of at most %zu bytes, not %s",
					   sizeof(c->text) - 2, *p);
		c->text[len++] = byte;
	}
	c->is_text = true;
	*p = s + 1;
	if (c->op != MANY_EQ && c->op != MANY_NE)
		return usage_error("--if compares a text by == and != only, unlike in: %s", whole);
	return 0;
}

/* The right side of a comparison, one of those in @whole. */
static int parse_constant(const char **p, struct condition *c, const char *whole)
{
	const char *s = *p;
	size_t len = 0;

	if (*s == '"')
		return parse_text(p, c, whole);
	while (isalnum((unsigned char)s[len]) || s[len] == '_')
		len++;
	if ((len == 4 && !strncmp(s, "true", 4)) || (len == 5 && !strncmp(s, "false", 5))) {
		c->value = len == 4;
		*p += len;
		return 0;
	}
	if (len && len < sizeof(c->word) && !isdigit((unsigned char)*s) &&
	    !(len == 4 && !strncmp(s, "NULL", 4))) {
		memcpy(c->word, s, len);
		*p += len;
		return 0;
	}
	if (parse_value(p, c))
		return usage_error("--if needs a number of at most 64 bits (12, -1, 0x1f, 4K), a name of an enum, or a \"TEXT\", not \"%s\", in: %s",
				   s, whole);
	return 0;
}

/* ------------------------------------------------------------- conditions -- */

/* A condition that is being read, and the outcomes of comparisons of which it holds. */
struct parse {
	struct conditions *c;
	const char *whole, *p;
	int depth;
};

/* Outcomes of which one comparison holds. */
static struct many_outcomes holds_of(unsigned int term)
{
	struct many_outcomes set = { 0 };
	unsigned int i;

	for (i = 0; i < MANY_OUTCOMES; i++)
		set.bits[i / 64] |= (__u64)(i >> term & 1) << (i % 64);
	return set;
}

static void intersect(struct many_outcomes *a, const struct many_outcomes *b)
{
	size_t i;

	for (i = 0; i < sizeof(a->bits) / sizeof(a->bits[0]); i++)
		a->bits[i] &= b->bits[i];
}

static void unite(struct many_outcomes *a, const struct many_outcomes *b)
{
	size_t i;

	for (i = 0; i < sizeof(a->bits) / sizeof(a->bits[0]); i++)
		a->bits[i] |= b->bits[i];
}

static int parse_comparison(struct parse *in, struct many_outcomes *holds)
{
	struct conditions *c = in->c;
	struct condition *t;
	int rc;

	if (c->nr >= MANY_MAX_TERMS)
		return usage_error("--if takes at most %d comparisons in all", MANY_MAX_TERMS);
	t = &c->term[c->nr];
	memset(t, 0, sizeof(*t));
	rc = member_parse("--if", &in->p, &t->member);
	if (rc)
		return rc;
	in->p = skip_blanks(in->p);
	if (parse_op(&in->p, &t->op))
		return usage_error("--if needs one of == != < <= > >= & behind %s, not \"%s\"",
				   t->member.text, in->p);
	in->p = skip_blanks(in->p);
	rc = parse_constant(&in->p, t, in->whole);
	if (rc)
		return rc;
	*holds = holds_of(c->nr++);
	in->p = skip_blanks(in->p);
	return 0;
}

static int parse_any(struct parse *in, struct many_outcomes *holds);

static int parse_one(struct parse *in, struct many_outcomes *holds)
{
	const char *start;
	int rc;

	start = in->p = skip_blanks(in->p);
	if (*in->p != '(')
		return parse_comparison(in, holds);
	if (in->depth == MAX_NESTING)
		return usage_error("--if takes at most %d ( inside of each other", MAX_NESTING);
	in->depth++;
	in->p++;
	rc = parse_any(in, holds);
	if (rc)
		return rc;
	if (*in->p != ')')
		return usage_error("--if has a ( without its ): %s", start);
	in->depth--;
	in->p = skip_blanks(in->p + 1);
	return 0;
}

/* All of those with && between. */
static int parse_all(struct parse *in, struct many_outcomes *holds)
{
	struct many_outcomes more;
	int rc = parse_one(in, holds);

	while (!rc && !strncmp(in->p, "&&", 2)) {
		in->p += 2;
		rc = parse_one(in, &more);
		if (!rc)
			intersect(holds, &more);
	}
	return rc;
}

/* Any of those with || between. */
static int parse_any(struct parse *in, struct many_outcomes *holds)
{
	struct many_outcomes more;
	int rc = parse_all(in, holds);

	while (!rc && !strncmp(in->p, "||", 2)) {
		in->p += 2;
		rc = parse_all(in, &more);
		if (!rc)
			unite(holds, &more);
	}
	return rc;
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
	struct parse in = { .c = c, .whole = text, .p = text };
	struct many_outcomes holds;
	const bool first = !c->nr;
	int rc;

	rc = parse_any(&in, &holds);
	if (rc)
		return rc;
	if (*in.p == ')')
		return usage_error("--if has a ) without its (: %s", text);
	if (*in.p)
		return usage_error("--if needs && or || between comparisons, not \"%s\"", in.p);
	if (first)
		c->holds = holds;
	else
		intersect(&c->holds, &holds);
	return 0;
}

/* Does one of them need the result? */
bool conditions_on_result(const struct conditions *c)
{
	unsigned int i;

	for (i = 0; i < c->nr; i++)
		if (member_on_result(&c->term[i].member))
			return true;
	return false;
}

/* Does one of them need more than the argument itself? */
bool conditions_use_paths(const struct conditions *c)
{
	unsigned int i;

	for (i = 0; i < c->nr; i++)
		if (c->term[i].member.nr || c->term[i].is_text)
			return true;
	return false;
}

/* Tells the programs what is the same for all functions. */
void conditions_configure(const struct conditions *c, struct many_config *cfg)
{
	struct many_outcomes *may = &cfg->may_hold;
	unsigned int i, outcome;

	cfg->nr_terms = c->nr;
	cfg->holds = c->holds;
	*may = c->holds;
	/* It may, if it does with this comparison of the result either way. */
	for (i = 0; i < c->nr; i++) {
		memcpy(cfg->text[i], c->term[i].text, sizeof(cfg->text[i]));
		for (outcome = 0; member_on_result(&c->term[i].member) && outcome < MANY_OUTCOMES;
		     outcome++) {
			const unsigned int other = outcome ^ 1U << i;

			if (may->bits[other / 64] >> (other % 64) & 1)
				may->bits[outcome / 64] |= 1ULL << (outcome % 64);
		}
	}
}

/* -------------------------------------------------------------- functions -- */

/* The bits of a number as one with that sign. */
static __u64 extend(__u64 value, unsigned int bits, bool is_signed)
{
	const unsigned int unused = 64 - bits;

	value <<= unused;
	return is_signed ? (__u64)((__s64)value >> unused) : value >> unused;
}

/* "t->small > 70000 compares with what s16 cannot be: it goes from -32768 to 32767" */
static int refuse_number(const struct condition *c, const struct tramp_proto *proto,
			 const struct member *m, const struct many_term *t,
			 struct member_refusal *no)
{
	char number[24], range[64];

	snprintf(number, sizeof(number), c->is_hex ? "%s0x%llx" : "%s%llu", c->negative ? "-" : "",
		 c->negative ? -c->value : c->value);
	if (t->is_signed)
		snprintf(range, sizeof(range), "-%llu to %llu", 1ULL << (t->bits - 1),
			 (1ULL << (t->bits - 1)) - 1);
	else
		snprintf(range, sizeof(range), "0 to %llu", (1ULL << t->bits) - 1);
	return member_refuse(no, "%s %s %s compares with a number that %s (%u bits) cannot be: it goes from %s",
			     c->member.text, op_text(c->op), number,
			     type_text(proto->btf, m->arg.type_id), t->bits, range);
}

/*
 * The number as the type has it, in @t. 0xffffff9c is written for an int's bits, and 4294967196 is
 * not: there is no such int. To & all are bits.
 */
static int convert(const struct condition *c, struct many_term *t)
{
	const bool is_bits = c->is_hex || c->op == MANY_AND;
	const __u64 as_signed = extend(c->value, t->bits, true);
	const __u64 as_unsigned = extend(c->value, t->bits, false);

	t->value = t->is_signed ? as_signed : as_unsigned;
	/* It has the bits of a negative number, and is none. */
	if (!is_bits && t->is_signed && !c->negative && c->value > INT64_MAX)
		return -1;
	if (c->value == (c->negative || t->is_signed ? as_signed : as_unsigned))
		return 0;
	return is_bits && t->is_signed && !c->negative && c->value == as_unsigned ? 0 : -1;
}

static int bind(const struct condition *c, const struct tramp_proto *proto, struct many_term *t,
		struct many_path *path, struct member_refusal *no)
{
	struct member m;

	if (member_bind(&c->member, proto, c->is_text ? MEMBER_TEXT : MEMBER_NUMBER, &m, no))
		return -1;
	t->where = m.path.where;
	t->op = c->op;
	t->by_path = m.path.kind != MANY_PATH_SLOT;
	t->shift = m.shift;
	t->bits = m.bits;
	t->is_signed = !!(m.arg.flags & TRAMP_ARG_SIGNED);
	if (c->word[0]) {
		if (member_enumerator(proto, &m, c->word, &t->value, no))
			return -1;
	} else if (!c->is_text && convert(c, t)) {
		return refuse_number(c, proto, &m, t, no);
	}
	if (path)
		*path = m.path;
	return 0;
}

/**
 * conditions_bind() - the conditions as they are for one function
 * @c: as written
 * @proto: its prototype
 * @f: (out) @terms and @nr_terms
 * @paths: (out) of each comparison; NULL if conditions_use_paths() says that none is used
 * @no: (out) why they make no sense for it
 *
 * Return: 0, or -1 with @no filled.
 */
int conditions_bind(const struct conditions *c, const struct tramp_proto *proto,
		    struct many_func *f, struct many_path *paths, struct member_refusal *no)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < c->nr && !err; i++)
		err = bind(&c->term[i], proto, &f->terms[i], paths ? &paths[i] : NULL, no);
	f->nr_terms = c->nr;
	return err;
}
