// SPDX-License-Identifier: GPL-2.0
/*
 * Globs of libtrampoline, held against fnmatch(3) of the C library.
 */
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>

#include "../lib/ktap.h"
#include "fixture.h"

static void test_table(void)
{
	static const struct {
		const char *pattern, *str;
		bool match;
	} cases[] = {
		{ "", "", true }, { "", "a", false },
		{ "*", "", true }, { "*", "anything", true }, { "**", "x", true },
		{ "?", "", false }, { "?", "a", true }, { "?", "ab", false },
		{ "vfs_*", "vfs_read", true }, { "vfs_*", "vfs_", true }, { "vfs_*", "vfs", false },
		{ "*_read", "vfs_read", true }, { "*_read", "vfs_readv", false },
		{ "*a*b*c*", "xxaxxbxxc", true }, { "*a*b*c*", "xxcxxbxxa", false },
		{ "*aab", "aaaab", true }, { "a*b?d", "aXXbbcd", true },
		{ "[abc]x", "bx", true }, { "[abc]x", "dx", false },
		{ "[a-c]", "b", true }, { "[a-c]", "d", false },
		{ "[!a-c]", "d", true }, { "[!a-c]", "b", false }, { "[^a]", "b", true },
		{ "[]]", "]", true }, { "[!]]", "]", false }, { "[a-]", "-", true },
		{ "x[0-9][0-9]", "x42", true }, { "x[0-9][0-9]", "x4", false },
		{ "*[0-9]", "abc", false }, { "*[0-9]", "abc7", true },
		{ "[", "[", false }, { "a[", "a", false }, { "*[x", "x", false },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK_EQ(tramp_glob_match(cases[i].pattern, cases[i].str), cases[i].match,
			 "'%s' on '%s'", cases[i].pattern, cases[i].str);
}

static void test_check(void)
{
	static const char * const good[] = { "*", "a", "[a]", "[]]", "[!]]", "[a-z]*", "]", NULL };
	static const char * const bad[] = { "", "[", "a[", "[a", "[]", "[!]", "*[a-z", NULL };
	size_t i;

	for (i = 0; good[i]; i++)
		CHECK_EQ(tramp_glob_check(good[i]), 0, "'%s'", good[i]);
	for (i = 0; bad[i]; i++) {
		CHECK_EQ(tramp_glob_check(bad[i]), -EINVAL, "'%s'", bad[i]);
		CHECK_ERROR(-EINVAL, TRAMP_LIB_BAD_PATTERN);
	}
	CHECK_EQ(tramp_glob_check(NULL), -EINVAL, "NULL");
}

/* Random patterns over a small alphabet, so that many of them match. */
static void test_against_fnmatch(void)
{
	static const char * const pieces[] = { "a", "b", "c", "*", "?", "[ab]", "[!a]", "[b-c]" };
	unsigned int i, matched = 0;

	srand(7);
	for (i = 0; i < 300000; i++) {
		char pattern[64] = "", str[16];
		unsigned int n = rand() % 7, len = rand() % 10, k;
		bool want;

		for (k = 0; k < n; k++)
			strcat(pattern, pieces[rand() % (sizeof(pieces) / sizeof(pieces[0]))]);
		for (k = 0; k < len; k++)
			str[k] = 'a' + rand() % 3;
		str[len] = '\0';
		want = !fnmatch(pattern, str, 0);
		matched += want;
		if (!CHECK_EQ(tramp_glob_match(pattern, str), want, "'%s' on '%s'", pattern, str))
			return;
	}
	CHECK(matched > 10000, "%u of the patterns matched", matched);
}

static void test_many_stars(void)
{
	char pattern[512] = "", str[2001];
	unsigned int i;

	/* Exponential in a matcher that goes back to every star. */
	for (i = 0; i < 100; i++)
		strcat(pattern, "*a");
	strcat(pattern, "*b");
	memset(str, 'a', sizeof(str) - 1);
	str[sizeof(str) - 1] = '\0';
	CHECK(!tramp_glob_match(pattern, str), "no b");
}

static const struct ktap_test tests[] = {
	{ .name = "table", .run = test_table },
	{ .name = "check", .run = test_check },
	{ .name = "against-fnmatch", .run = test_against_fnmatch },
	{ .name = "many-stars", .run = test_many_stars, .seconds = 5 },
};

KTAP_MAIN(tests)
