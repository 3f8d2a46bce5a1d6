// SPDX-License-Identifier: GPL-2.0
/*
 * Names that no function has and files that cannot be read: what is said of them, and which words
 * are near.
 */
#include <errno.h>
#include <stdio.h>

#include "../../user/distance.h"
#include "../lib/ktap.h"
#include "fixture.h"

static const char kallsyms[] =
	"ffffffff81000000 T do_unlinkat\n"
	"ffffffff81001000 T do_rmdir\n"
	"ffffffffc0000000 t mod_func\t[mod]\n";

static struct tramp_syms *load(const char *btf)
{
	TRAMP_OPTS(tramp_syms_opts, opts, .vmlinux_btf = btf, .filter_functions = "");
	struct tramp_syms *syms;

	opts.kallsyms = fixture_text("kallsyms", kallsyms);
	syms = tramp_syms__load(&opts);
	REQUIRE(syms, "%s", tramp_last_error()->message);
	return syms;
}

static void is_unknown(const struct tramp_syms *syms, const char *name, int err, int reason,
		       const char *says)
{
	errno = 0;
	CHECK(!tramp_syms__find(syms, name), "%s", name);
	CHECK_EQ(errno, -err, "%s: errno", name);
	CHECK_ERROR(err, reason);
	CHECK(last_error_says(says), "%s", name);
}

static void test_names(void)
{
	struct tramp_syms *syms = load("/nonexistent");
	char longest[300];

	is_unknown(syms, "do_[", -EINVAL, TRAMP_LIB_BAD_PATTERN, "'do_['");
	memset(longest, 'n', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	is_unknown(syms, longest, -ENOENT, TRAMP_REASON_NO_SUCH_FUNCTION, "nnn");
	CHECK(!strstr(tramp_last_error()->message, "nearest"), "nothing is near");
	/* Without BTF nobody knows whether the compiler has inlined it. */
	is_unknown(syms, "do_unlinkt", -ENOENT, TRAMP_REASON_NO_SUCH_FUNCTION,
		   "the nearest: do_unlinkat");
	tramp_syms__free(syms);
}

static void test_inlined(void)
{
	struct tramp_syms *syms = load(fixture_btf("do_inlined"));

	is_unknown(syms, "do_inlined", -ENOENT, TRAMP_LIB_INLINED, "function 'do_inlined'");
	is_unknown(syms, "do_unlinkt", -ENOENT, TRAMP_REASON_NO_SUCH_FUNCTION,
		   "the nearest: do_unlinkat");
	tramp_syms__free(syms);
}

static void test_match(void)
{
	TRAMP_OPTS(tramp_match_opts, opts);
	struct tramp_syms *syms = load("/nonexistent");

	opts.sz = 2;
	CHECK_EQ(tramp_syms__match(syms, "*", &opts, NULL, NULL), -EINVAL, "size");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_BAD_ARGUMENT);
	CHECK(last_error_says("TRAMP_OPTS(tramp_match_opts"), "how");
	tramp_syms__free(syms);
}

/* ------------------------------------------------------------------- files -- */

static void test_no_text(void)
{
	TRAMP_OPTS(tramp_syms_opts, opts, .kallsyms = "/", .filter_functions = "");
	struct tramp_syms *syms;

	CHECK(!tramp_syms__load(&opts), "a folder");
	CHECK_EQ(errno, EISDIR, "errno");
	CHECK_ERROR(-EISDIR, TRAMP_LIB_NO_KALLSYMS);
	/* Half a line, as of a file that is written just now. */
	opts.kallsyms = fixture_text("kallsyms", "ffffffff81000000 T whole\n"
						 "ffffffffc0000000 t half\t[mod\n");
	syms = tramp_syms__load(&opts);
	REQUIRE(syms, "%s", tramp_last_error()->message);
	CHECK_EQ(tramp_syms__count(syms), 1, "functions");
	tramp_syms__free(syms);
	/* A module whose lines are none has no range, so all of its functions count. */
	opts.kallsyms = fixture_text("kallsyms", kallsyms);
	opts.modules = fixture_text("modules", "mod 4096 0 - Live\n"
					       "mod 4096 0 - Live 1234\n");
	syms = tramp_syms__load(&opts);
	REQUIRE(syms, "%s", tramp_last_error()->message);
	CHECK_EQ(tramp_syms__count(syms), 3, "functions");
	tramp_syms__free(syms);
}

/* ------------------------------------------------------------------- words -- */

static void test_nearest(void)
{
	const char *out[2];
	struct libtramp_nearest near = { .out = out, .max = 2 };

	libtramp_nearest_add(&near, "three", 3);
	libtramp_nearest_add(&near, "one", 1);
	CHECK(!strcmp(out[0], "one") && !strcmp(out[1], "three"), "%s first", out[0]);
	/* There is no room for more that are as far. */
	libtramp_nearest_add(&near, "another", 3);
	CHECK_EQ(near.nr, 2, "words");
	CHECK(!strcmp(out[1], "three"), "%s", out[1]);
	libtramp_nearest_add(&near, "two", 2);
	CHECK_EQ(near.nr, 2, "words");
	CHECK(!strcmp(out[0], "one") && !strcmp(out[1], "two"), "%s last", out[1]);
	CHECK_EQ(near.cost[1], 2, "how far");
}

static const struct ktap_test tests[] = {
	{ .name = "names", .run = test_names },
	{ .name = "inlined", .run = test_inlined },
	{ .name = "match", .run = test_match },
	{ .name = "no-text", .run = test_no_text },
	{ .name = "nearest", .run = test_nearest },
};

KTAP_MAIN(tests)
