// SPDX-License-Identifier: GPL-2.0
/*
 * Expressions that lead from an argument or the result to a member, as they are written:
 *
 *	NAME { ->MEMBER | .MEMBER | [N] }...
 */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../out/error.h"
#include "member.h"

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* A name at *@p goes to @name; false if there is none, or it is too long. */
static bool take_name(const char **p, char name[MEMBER_NAME_LEN])
{
	const char *start = *p;
	size_t len;

	while (is_word(**p))
		++*p;
	len = *p - start;
	if (!len || isdigit((unsigned char)*start) || len >= MEMBER_NAME_LEN)
		return false;
	memcpy(name, start, len);
	name[len] = '\0';
	return true;
}

static int take_index(const char *option, const char **p, __u32 *index)
{
	const char *start = *p;
	unsigned long n;
	char *end;

	errno = 0;
	n = strtoul(start, &end, 10);
	if (!isdigit((unsigned char)*start) || *end != ']' || errno || n > UINT32_MAX)
		return usage_error("%s needs a number and ] behind [, not \"%s\"", option, start);
	*index = n;
	*p = end + 1;
	return 0;
}

/* One step, if there is one. */
static int take_step(const char *option, const char **p, struct member_step *s, bool *found)
{
	const char *q = *p;
	int rc = 0;

	*found = true;
	if (*q == '[') {
		s->op = MEMBER_INDEX;
		q++;
		rc = take_index(option, &q, &s->index);
	} else if (*q == '.' || (q[0] == '-' && q[1] == '>')) {
		s->op = *q == '.' ? MEMBER_DOT : MEMBER_ARROW;
		q += *q == '.' ? 1 : 2;
		if (!take_name(&q, s->name))
			rc = usage_error("%s needs the name of a member at \"%s\"", option, *p);
	} else {
		*found = false;
	}
	*p = q;
	return rc;
}

/**
 * member_parse() - read an expression
 * @option: whose it is, for errors
 * @text: where it begins; moved behind it
 * @e: (out) the expression
 *
 * Return: 0, or EXIT_USAGE after having reported the error.
 */
int member_parse(const char *option, const char **text, struct member_expr *e)
{
	const char *start = *text;
	struct member_step step;
	bool found = true;
	int rc;

	memset(e, 0, sizeof(*e));
	if (!take_name(text, e->name))
		return usage_error("%s needs the name of an argument, argN or ret, at \"%s\"",
				   option, start);
	for (;;) {
		memset(&step, 0, sizeof(step));
		rc = take_step(option, text, &step, &found);
		if (rc)
			return rc;
		if (!found)
			break;
		if (e->nr == MEMBER_MAX_STEPS)
			return usage_error("%s takes at most %d steps from an argument to a member, and \"%s\" has more",
					   option, MEMBER_MAX_STEPS, start);
		e->step[e->nr++] = step;
	}
	if (*text - start >= (long)sizeof(e->text))
		return usage_error("%s takes at most %zu characters for a member, and \"%s\" has more",
				   option, sizeof(e->text) - 1, start);
	memcpy(e->text, start, *text - start);
	return 0;
}

static const char *skip_blanks(const char *p)
{
	while (isblank((unsigned char)*p))
		p++;
	return p;
}

/**
 * members_parse() - add the argument of an option: expressions with commas between
 * @option: the option, for errors
 * @text: the argument
 * @list: the expressions so far
 *
 * Return: 0, or EXIT_USAGE after having reported the error.
 */
int members_parse(const char *option, const char *text, struct member_list *list)
{
	const char *p = text;
	unsigned int i;
	int rc;

	for (;; p++) {
		if (list->nr == MANY_MAX_PRINTS)
			return usage_error("%s takes at most %d members in all", option,
					   MANY_MAX_PRINTS);
		p = skip_blanks(p);
		rc = member_parse(option, &p, &list->expr[list->nr]);
		if (rc)
			return rc;
		for (i = 0; i < list->nr; i++)
			if (!strcmp(list->expr[i].text, list->expr[list->nr].text))
				return usage_error("%s names %s twice", option,
						   list->expr[i].text);
		list->nr++;
		p = skip_blanks(p);
		if (!*p)
			return 0;
		if (*p != ',')
			return usage_error("%s needs a comma between members, not \"%s\"", option,
					   p);
	}
}

bool member_on_result(const struct member_expr *e)
{
	return !strcmp(e->name, "ret");
}

/* Notes why an expression makes no sense. Returns -1, for `return member_refuse(...)`. */
int member_refuse(struct member_refusal *no, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(no->why, sizeof(no->why), fmt, ap);
	va_end(ap);
	return -1;
}
