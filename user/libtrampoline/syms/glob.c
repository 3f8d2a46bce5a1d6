// SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause
/*
 * Globs: `*`, `?` and sets in brackets, matched against a whole string.
 *
 * Not fnmatch(3): in symbol names locale, slashes and backslashes mean nothing. And
 * time must stay proportional to pattern times string for every pattern. So we go
 * back to the last star only: if an earlier one matched more, it would leave less
 * for the rest.
 */
#include <errno.h>

#include "../core/error.h"

/*
 * A set: @p points behind its '['. Returns the character behind the closing
 * bracket, NULL if there is none, and whether @c is in it.
 */
static const char *match_set(const char *p, unsigned char c, bool *in)
{
	bool negate = *p == '!' || *p == '^', found = false, first = true;

	if (negate)
		p++;
	/* A ']' right at the start stands for itself. */
	for (; *p && (first || *p != ']'); first = false) {
		unsigned char lo = *p++, hi = lo;

		if (p[0] == '-' && p[1] && p[1] != ']') {
			hi = p[1];
			p += 2;
		}
		if (lo <= c && c <= hi)
			found = true;
	}
	if (!*p)
		return NULL;
	*in = found != negate;
	return p + 1;
}

bool tramp_glob_match(const char *p, const char *s)
{
	const char *star = NULL, *resume = NULL;

	while (*s) {
		const char *next = p + 1;
		bool in = false;

		if (*p == '*') {
			star = next;
			resume = s;
			p = next;
			continue;
		}
		if (*p == '[') {
			next = match_set(p + 1, *s, &in);
			if (!next)
				return false;
		} else {
			in = *p == '?' || *p == *s;
		}
		if (*p && in) {
			p = next;
			s++;
		} else if (star) {
			/* The last star takes one character more. */
			p = star;
			s = ++resume;
		} else {
			return false;
		}
	}
	while (*p == '*')
		p++;
	return !*p;
}

int tramp_glob_check(const char *pattern)
{
	const char *p = pattern;
	bool in;

	if (!p || !*p)
		return LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_BAD_PATTERN, "pattern", "it is empty");
	while (p && *p)
		p = *p == '[' ? match_set(p + 1, 0, &in) : p + 1;
	if (p)
		return 0;
	return LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_BAD_PATTERN, "pattern",
			     "'%s' has a '[' without its ']'", pattern);
}
