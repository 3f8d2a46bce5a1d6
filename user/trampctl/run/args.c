// SPDX-License-Identifier: GPL-2.0
/*
 * Numbers on the command line: all of the word must be the number, it must be in
 * range, and the error names the option and the range. Words of which one must be given.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../out/error.h"
#include "args.h"

/**
 * parse_u64() - an unsigned number, decimal or 0x hexadecimal
 * @what: the option or argument, for the error message
 * @text: what was given
 * @min, @max: the range allowed
 * @val: (out) the number
 *
 * Return: 0, or EXIT_USAGE after having reported the error.
 */
int parse_u64(const char *what, const char *text, uint64_t min, uint64_t max, uint64_t *val)
{
	bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	char *end;

	/* strtoull() takes signs, blanks and octal, which nobody means here. */
	if (!isxdigit((unsigned char)text[0]))
		goto bad;
	errno = 0;
	*val = strtoull(text, &end, hex ? 16 : 10);
	if (*end || end == text || (hex && end == text + 1))
		goto bad;
	if (errno == ERANGE || *val < min || *val > max)
		return usage_error("%s must be from %" PRIu64 " to %" PRIu64 ", not %s",
				   what, min, max, text);
	return 0;
bad:
	return usage_error("%s must be a number, not \"%s\"", what, text);
}

int parse_u32(const char *what, const char *text, uint32_t min, uint32_t max, uint32_t *val)
{
	uint64_t v;
	int rc;

	rc = parse_u64(what, text, min, max, &v);
	if (!rc)
		*val = v;
	return rc;
}

/**
 * parse_seconds() - a time in seconds, with up to nine decimals
 * @what: the option, for the error message
 * @text: what was given: 5 or 0.25
 * @ns: (out) nanoseconds, at least 1
 *
 * Return: 0, or EXIT_USAGE after having reported the error.
 */
int parse_seconds(const char *what, const char *text, uint64_t *ns)
{
	const uint64_t max = 100000000;	/* three years */
	uint64_t whole = 0, frac = 0, scale = 1000000000;
	const char *p = text;

	if (!isdigit((unsigned char)*p))
		goto bad;
	for (; isdigit((unsigned char)*p); p++) {
		whole = whole * 10 + (*p - '0');
		if (whole > max)
			return usage_error("%s must be at most %" PRIu64 " seconds, not %s",
					   what, max, text);
	}
	if (*p == '.') {
		for (p++; isdigit((unsigned char)*p) && scale > 1; p++) {
			scale /= 10;
			frac += (*p - '0') * scale;
		}
	}
	if (*p)
		goto bad;
	*ns = whole * 1000000000 + frac;
	if (!*ns)
		return usage_error("%s must be more than 0 seconds", what);
	return 0;
bad:
	return usage_error("%s must be a number of seconds, not \"%s\"", what, text);
}

/**
 * parse_time() - a time with its unit
 * @what: the option, for the error message
 * @text: what was given: 100ns, 10us, 1ms or 2s
 * @ns: (out) nanoseconds, at least 1
 *
 * Return: 0, or EXIT_USAGE after having reported the error.
 */
int parse_time(const char *what, const char *text, uint64_t *ns)
{
	static const struct {
		const char *unit;
		uint64_t ns;
	} units[] = { { "ns", 1 }, { "us", 1000 }, { "ms", 1000000 }, { "s", 1000000000 } };
	uint64_t n = 0;
	const char *p;
	size_t i;

	for (p = text; isdigit((unsigned char)*p) && n <= UINT32_MAX; p++)
		n = n * 10 + (*p - '0');
	for (i = 0; p > text && n && n <= UINT32_MAX && i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(p, units[i].unit)) {
			*ns = n * units[i].ns;
			return 0;
		}
	return usage_error("%s must be a time with its unit, as 100ns, 10us, 1ms or 2s, not \"%s\"",
			   what, text);
}

/* A link's id. Returns 0, or EXIT_USAGE after having reported the error. */
int parse_link_id(const char *text, uint32_t *id)
{
	return parse_u32("a link's ID", text, 1, UINT32_MAX, id);
}

/**
 * parse_word() - one of a few words
 * @what: the option, for the error message
 * @text: what was given
 * @words: two or more, and NULL behind them; the message has all of them
 * @nr: (out) which it is
 *
 * Return: 0, or EXIT_USAGE after having reported the error.
 */
int parse_word(const char *what, const char *text, const char *const *words, unsigned int *nr)
{
	char all[128] = "";
	size_t len = 0;
	unsigned int i;

	for (i = 0; words[i]; i++) {
		if (!strcmp(text, words[i])) {
			*nr = i;
			return 0;
		}
		if (len < sizeof(all))
			len += snprintf(all + len, sizeof(all) - len, "%s%s",
					!i ? "" : words[i + 1] ? ", " : " or ", words[i]);
	}
	return usage_error("%s must be %s, not \"%s\"", what, all, text);
}
