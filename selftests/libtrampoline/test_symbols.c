// SPDX-License-Identifier: GPL-2.0
/*
 * Symbols of libtrampoline: reading a symbol table, finding functions by name,
 * address and glob, and what is said about names that do not exist.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../user/distance.h"
#include "../../user/libtrampoline/syms/internal.h"
#include "../lib/ktap.h"
#include "fixture.h"

static const char kallsyms[] =
	"0000000000000000 A fixed_percpu_data\n"
	"ffffffff81000000 T _text\n"
	"ffffffff810000f0 T __pfx_do_unlinkat\n"
	"ffffffff81000100 T do_unlinkat\n"
	"ffffffff810001f0 T __cfi_do_rmdir\n"
	"ffffffff81000200 T do_rmdir\n"
	"ffffffff81000300 t helper\n"
	"ffffffff81000400 t helper\n"
	"ffffffff81000500 t split.isra.0\n"
	"ffffffff81000600 t split.isra.0.cold\n"
	"ffffffff81000700 T __x64_sys_unlink\n"
	"ffffffff81000700 T __ia32_alias_of_unlink\n"
	"ffffffff81000800 W weak_one\n"
	"ffffffff81000880 w weak_two\n"
	"ffffffff81000900 T vfs_read\n"
	"ffffffff81000a00 T vfs_write\n"
	"ffffffff81000b00 t vfs_secret\n"
	"ffffffff82000000 D some_data\n"
	"ffffffff82000100 r some_rodata\n"
	"ffffffffc0000000 t helper\t[ext4]\n"
	"ffffffffc0000100 t ext4_read\t[ext4]\n"
	"ffffffffc0000105 t .Ltmp8\t[ext4]\n"
	"ffffffffc0000200 t vfs_read\t[shadow]\n"
	"ffffffffc0000300 t trampoline_6442509676_1\t[bpf]\n"
	"ffffffffc0000400 t kprobe_insn_page\t[__builtin__kprobes]\n"
	"a line that is none\n";

static const char filter[] =
	"do_unlinkat\n"
	"helper\n"
	"__x64_sys_unlink\n"
	"__ftrace_invalid_address___1234\n"
	"vfs_read\n"
	"vfs_write\n"
	"ext4_read [ext4]\n"
	"vfs_read [shadow]\n";

static const char * const fixed_names[] = {
	"__ia32_alias_of_unlink", "__x64_sys_unlink", "_text", "do_rmdir", "do_unlinkat",
	"ext4_read", "helper", "helper", "helper", "split.isra.0", "split.isra.0.cold",
	"vfs_read", "vfs_read", "vfs_secret", "vfs_write", "weak_one", "weak_two",
};

static void test_load(void)
{
	struct tramp_syms *syms = fixture_syms(kallsyms, filter);
	const size_t nr = sizeof(fixed_names) / sizeof(fixed_names[0]);
	size_t i;

	REQUIRE(tramp_syms__count(syms) == nr, "%zu of %zu", tramp_syms__count(syms), nr);
	for (i = 0; i < nr; i++)
		CHECK(!strcmp(tramp_syms__get(syms, i)->name, fixed_names[i]), "%zu: %s", i,
		      tramp_syms__get(syms, i)->name);
	CHECK(!tramp_syms__get(syms, nr), "beyond the last");
	CHECK(tramp_syms__knows_traceable(syms), "there was a list");
	tramp_syms__free(syms);
}

static void test_load_fails(void)
{
	TRAMP_OPTS(tramp_syms_opts, opts, .kallsyms = "/nonexistent/kallsyms");

	errno = 0;
	CHECK(!tramp_syms__load(&opts), "no such file");
	CHECK_EQ(errno, ENOENT, "errno");
	CHECK_ERROR(-ENOENT, TRAMP_LIB_NO_KALLSYMS);
	opts.kallsyms = fixture_text("empty", "");
	CHECK(!tramp_syms__load(&opts), "empty file");
	CHECK_ERROR(-ENODATA, TRAMP_LIB_NO_KALLSYMS);
	opts.sz = 3;
	CHECK(!tramp_syms__load(&opts), "bad size");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_BAD_ARGUMENT);
	tramp_syms__free(NULL);
}

static const struct tramp_sym *need(const struct tramp_syms *syms, const char *spec)
{
	const struct tramp_sym *sym = tramp_syms__find(syms, spec);

	REQUIRE(sym, "%s: %s", spec, tramp_last_error()->message);
	return sym;
}

/* A snapshot that has been asked what ftrace can patch. */
static struct tramp_syms *traceable_syms(const char *text, const char *list)
{
	struct tramp_syms *syms = fixture_syms(text, list);

	CHECK(tramp_syms__knows_traceable(syms), "there is a list");
	return syms;
}

/* ftrace's list is read when somebody asks, once. */
static void test_traceable_later(void)
{
	struct tramp_syms *syms = fixture_syms(kallsyms, filter);
	const struct tramp_sym *sym = need(syms, "do_unlinkat");

	CHECK_EQ(sym->flags, 0, "nobody has asked");
	CHECK_EQ(tramp_syms__match(syms, "do_*", NULL, NULL, NULL), 1, "match() asks");
	CHECK_EQ(sym->flags, TRAMP_SYM_TRACEABLE, "flags");
	fixture_text("filter", "do_rmdir\n");
	CHECK(tramp_syms__knows_traceable(syms), "it was read");
	CHECK_EQ(need(syms, "do_rmdir")->flags, 0, "and is not read again");
	tramp_syms__free(syms);
	syms = fixture_syms(kallsyms, NULL);
	CHECK(!tramp_syms__knows_traceable(syms), "without a list");
	CHECK(tramp_syms__match(syms, "do_*", NULL, NULL, NULL) > 1, "then all of them match");
	tramp_syms__free(syms);
}

static void test_find(void)
{
	struct tramp_syms *syms = traceable_syms(kallsyms, filter);
	const struct tramp_sym *sym;

	sym = need(syms, "do_unlinkat");
	CHECK_EQ(sym->addr, 0xffffffff81000100, "address");
	CHECK_EQ(sym->flags, TRAMP_SYM_TRACEABLE, "flags");
	CHECK(!sym->module[0], "%s", sym->module);
	sym = need(syms, "ext4_read");
	CHECK(!strcmp(sym->module, "ext4"), "%s", sym->module);
	CHECK_EQ(sym->flags, TRAMP_SYM_TRACEABLE | TRAMP_SYM_LOCAL, "flags");
	CHECK_EQ(need(syms, "ext4:helper")->addr, 0xffffffffc0000000, "in a module");
	CHECK_EQ(need(syms, "vmlinux:vfs_read")->addr, 0xffffffff81000900, "in the kernel proper");
	CHECK_EQ(need(syms, "shadow:vfs_read")->addr, 0xffffffffc0000200, "in a module");
	CHECK_EQ(need(syms, "weak_one")->flags, TRAMP_SYM_WEAK, "flags");
	CHECK_EQ(need(syms, "weak_two")->flags, TRAMP_SYM_WEAK, "flags");
	CHECK_EQ(need(syms, "do_rmdir")->flags, 0, "not traceable");
	tramp_syms__free(syms);
}

static void test_ambiguous(void)
{
	struct tramp_syms *syms = fixture_syms(kallsyms, filter);

	CHECK(!tramp_syms__find(syms, "vfs_read"), "in two modules");
	CHECK_ERROR(-EINVAL, TRAMP_REASON_AMBIGUOUS);
	CHECK(last_error_says("2 of them, in vmlinux, shadow"), "where");
	CHECK(!tramp_syms__find(syms, "vmlinux:helper"), "twice in one");
	CHECK_ERROR(-EINVAL, TRAMP_REASON_AMBIGUOUS);
	CHECK(!tramp_syms__find(syms, "helper"), "thrice");
	CHECK(last_error_says("3 of them, in vmlinux, ext4"), "where");
	tramp_syms__free(syms);
}

static void test_malformed(void)
{
	static const char * const bad[] = { "", ":", "a:", ":a", "a:b:c", NULL };
	struct tramp_syms *syms = fixture_syms(kallsyms, filter);
	size_t i;

	for (i = 0; bad[i]; i++) {
		CHECK(!tramp_syms__find(syms, bad[i]), "'%s'", bad[i]);
		CHECK_ERROR(-EINVAL, TRAMP_LIB_BAD_PATTERN);
	}
	CHECK(!tramp_syms__find(syms, NULL), "NULL");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_BAD_PATTERN);
	tramp_syms__free(syms);
}

static void test_unknown(void)
{
	static const struct {
		const char *name, *says;
	} cases[] = {
		{ "do_unlnkat", "the nearest: do_unlinkat" },
		{ "od_rmdir", "the nearest: do_rmdir" },
		{ "unlinkat", "the nearest: do_unlinkat" },
		{ "split", "the compiler made 'split.isra.0' of it" },
		{ "sys_unlink", "the system call is '__x64_sys_unlink'" },
		{ "unlink", "the system call is '__x64_sys_unlink'" },
		{ "ext4:vfs_write", "vmlinux has one" },
		{ "vmlinux:ext4_read", "ext4 has one" },
		{ "ex4:ext4_read", "the module 'ex4' is not loaded; ext4 has one of that name" },
		{ "xt4:absent", "the module 'xt4' is not loaded; the nearest: ext4" },
		{ "nosuch:absent", "the module 'nosuch' is not loaded" },
		{ "nosuch:absent", "modprobe nosuch" },
		{ "some_data", "no function of that name" },
	};
	struct tramp_syms *syms = fixture_syms(kallsyms, filter);
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		errno = 0;
		CHECK(!tramp_syms__find(syms, cases[i].name), "%s", cases[i].name);
		CHECK_EQ(errno, ENOENT, "%s", cases[i].name);
		CHECK_ERROR(-ENOENT, TRAMP_REASON_NO_SUCH_FUNCTION);
		CHECK(last_error_says(cases[i].says), "%s", cases[i].name);
		CHECK(last_error_says(cases[i].name), "%s", cases[i].name);
	}
	CHECK(!tramp_syms__find(syms, "zzzzzzzz"), "nothing like it");
	CHECK(!tramp_last_error()->detail[0], "%s", tramp_last_error()->detail);
	tramp_syms__free(syms);
}

/* The example can be traced, if one of them can. Otherwise it is no static call, if one is none. */
static void test_find_pattern(void)
{
	static const char symbols[] =
		"ffffffff81000100 T __SCT__a_unlink\n"
		"ffffffff81000200 T a_unlink\n"
		"ffffffff81000300 t do_unlink\n"
		"ffffffff81000400 T __SCT__b_rmdir\n"
		"ffffffff81000500 T b_rmdir\n"
		"ffffffff81000600 T __SCT__alone\n"
		"ffffffffc0000100 t m_unlink\t[ext4]\n";
	static const struct {
		const char *pattern, *says, *remedy;
	} cases[] = {
		{ "*_unlink", "4 functions match it", "name one of them, as do_unlink" },
		{ "*_rmdir", "2 functions match it", "name one of them, as b_rmdir" },
		{ "*alone", "1 function matches it", "name one of them, as __SCT__alone" },
		{ "m_*", "1 function matches it", "name one of them, as ext4:m_unlink" },
		{ "absent*", "no function matches it", "name one function; none matches" },
	};
	struct tramp_syms *syms = fixture_syms(symbols, "do_unlink\nm_unlink [ext4]\n");
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		errno = 0;
		CHECK(!tramp_syms__find(syms, cases[i].pattern), "%s", cases[i].pattern);
		CHECK_EQ(errno, EINVAL, "%s", cases[i].pattern);
		CHECK_ERROR(-EINVAL, TRAMP_LIB_BAD_PATTERN);
		CHECK(last_error_says("it is a pattern, where the name of one function is needed"),
		      "%s", cases[i].pattern);
		CHECK(last_error_says(cases[i].says), "%s", cases[i].pattern);
		CHECK(last_error_says(cases[i].remedy), "%s", cases[i].pattern);
	}
	tramp_syms__free(syms);
}

static void test_find_addr(void)
{
	struct tramp_syms *syms = fixture_syms(kallsyms, filter);
	const struct tramp_sym *sym;
	uint64_t off = 0;

	sym = tramp_syms__find_addr(syms, 0xffffffff81000123, &off);
	CHECK(sym && !strcmp(sym->name, "do_unlinkat"), "within");
	CHECK_EQ(off, 0x23, "offset");
	sym = tramp_syms__find_addr(syms, 0xffffffff81000200, &off);
	CHECK(sym && !strcmp(sym->name, "do_rmdir"), "at the start");
	CHECK_EQ(off, 0, "offset");
	sym = tramp_syms__find_addr(syms, 0xffffffff81000704, NULL);
	CHECK(sym && !strcmp(sym->name, "__ia32_alias_of_unlink"), "of two names the first");
	errno = 0;
	CHECK(!tramp_syms__find_addr(syms, 0xffffffff80ffffff, NULL), "below all");
	CHECK_EQ(errno, ENOENT, "errno");
	tramp_syms__free(syms);
}

static void test_hidden_addresses(void)
{
	struct tramp_syms *syms = traceable_syms("0000000000000000 T do_unlinkat\n"
						 "0000000000000000 T do_rmdir\n",
						 "do_rmdir\n");

	CHECK_EQ(need(syms, "do_unlinkat")->addr, 0, "hidden");
	CHECK_EQ(need(syms, "do_rmdir")->flags, TRAMP_SYM_TRACEABLE, "told by name");
	CHECK(!tramp_syms__find_addr(syms, 0xffffffff81000000, NULL), "nothing to find");
	tramp_syms__free(syms);
}

static void test_traceable_by_address(void)
{
	/* With addresses, functions of one name are told apart; "add" is also a number. */
	struct tramp_syms *syms = traceable_syms("ffffffff81000300 t helper\n"
						 "ffffffff81000400 t helper\n"
						 "ffffffff81000500 t add\n"
						 "ffffffffc0000500 t add\t[dead]\n",
						 "ffffffff81000404 helper\n"
						 "ffffffffc0000504 add [dead]\n");

	CHECK_EQ(tramp_syms__get(syms, 2)->flags, TRAMP_SYM_LOCAL, "the first helper");
	CHECK_EQ(tramp_syms__get(syms, 3)->flags, TRAMP_SYM_LOCAL | TRAMP_SYM_TRACEABLE,
		 "the second");
	CHECK_EQ(need(syms, "vmlinux:add")->flags, TRAMP_SYM_LOCAL, "another add");
	CHECK_EQ(need(syms, "dead:add")->flags, TRAMP_SYM_LOCAL | TRAMP_SYM_TRACEABLE, "this add");
	tramp_syms__free(syms);
	syms = traceable_syms("ffffffffc0000500 t add\t[dead]\n", "add [dead]\n");
	CHECK_EQ(need(syms, "dead:add")->flags, TRAMP_SYM_LOCAL | TRAMP_SYM_TRACEABLE, "no number");
	tramp_syms__free(syms);
}

static int collect(const struct tramp_sym *sym, void *ctx)
{
	char *out = ctx;

	sprintf(out + strlen(out), "%s%s%s ", sym->module, sym->module[0] ? ":" : "", sym->name);
	return 0;
}

static int stop_at_second(const struct tramp_sym *sym, void *ctx)
{
	int *n = ctx;

	(void)sym;
	return ++*n == 2 ? -ECANCELED : 0;
}

static void check_match(const struct tramp_syms *syms, const char *pattern,
			const struct tramp_match_opts *opts, const char *expect)
{
	char got[512] = "";
	int nr;

	nr = tramp_syms__match(syms, pattern, opts, collect, got);
	CHECK(!strcmp(got, expect), "%s: %s, not %s", pattern, got, expect);
	CHECK_EQ(tramp_syms__match(syms, pattern, opts, NULL, NULL), nr, "counting %s", pattern);
}

static void test_match(void)
{
	struct tramp_syms *syms = fixture_syms(kallsyms, filter);
	const char *deny[] = { "*_read", "shadow:*" };
	TRAMP_OPTS(tramp_match_opts, denied, .deny_cnt = 1, .deny = deny);
	TRAMP_OPTS(tramp_match_opts, module_denied, .deny_cnt = 1, .deny = deny + 1);
	TRAMP_OPTS(tramp_match_opts, all, .untraceable = true);
	int n = 0;

	check_match(syms, "vfs_*", NULL, "vfs_read shadow:vfs_read vfs_write ");
	check_match(syms, "vfs_*", &all, "vfs_read shadow:vfs_read vfs_secret vfs_write ");
	check_match(syms, "vfs_*", &denied, "vfs_write ");
	check_match(syms, "vfs_*", &module_denied, "vfs_read vfs_write ");
	check_match(syms, "*_read", NULL, "ext4:ext4_read vfs_read shadow:vfs_read ");
	check_match(syms, "vmlinux:*_read", NULL, "vfs_read ");
	check_match(syms, "*:*_read", NULL, "ext4:ext4_read shadow:vfs_read ");
	check_match(syms, "ext?:*", NULL, "ext4:ext4_read ");
	check_match(syms, "do_unlinkat", NULL, "do_unlinkat ");
	CHECK_EQ(tramp_syms__match(syms, "*", &all, stop_at_second, &n), -ECANCELED, "stopped");
	CHECK_EQ(n, 2, "stopped at once");
	tramp_syms__free(syms);
	/* Without a list of traceable functions everything counts. */
	syms = fixture_syms(kallsyms, NULL);
	CHECK(!tramp_syms__knows_traceable(syms), "no list");
	CHECK_ERROR(-ENOENT, TRAMP_LIB_NO_TRACEFS);
	check_match(syms, "vfs_[rs]*", NULL, "vfs_read shadow:vfs_read vfs_secret ");
	tramp_syms__free(syms);
}

static void test_match_fails(void)
{
	struct tramp_syms *syms = fixture_syms(kallsyms, filter);
	const char *deny[] = { "vfs_*" }, *bad_deny[] = { "[" };
	TRAMP_OPTS(tramp_match_opts, denied, .deny_cnt = 1, .deny = deny);
	TRAMP_OPTS(tramp_match_opts, malformed, .deny_cnt = 1, .deny = bad_deny);
	TRAMP_OPTS(tramp_match_opts, missing, .deny_cnt = 1);

	CHECK_EQ(tramp_syms__match(syms, "nothing_*", NULL, NULL, NULL), -ENOENT, "none");
	CHECK_ERROR(-ENOENT, TRAMP_LIB_NO_MATCH);
	CHECK_EQ(tramp_syms__match(syms, "vfs_wirte", NULL, NULL, NULL), -ENOENT, "misspelt");
	CHECK(last_error_says("the nearest: vfs_write"), "suggestion");
	CHECK_EQ(tramp_syms__match(syms, "vfs_s*", NULL, NULL, NULL), -ENOENT, "not traceable");
	CHECK(last_error_says("1 match by name, but ftrace cannot patch"), "why");
	CHECK_EQ(tramp_syms__match(syms, "vfs_w*", &denied, NULL, NULL), -ENOENT, "denied");
	CHECK(last_error_says("all 1 that match are left out"), "why");
	CHECK_EQ(tramp_syms__match(syms, "[", NULL, NULL, NULL), -EINVAL, "malformed");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_BAD_PATTERN);
	CHECK_EQ(tramp_syms__match(syms, "*", &malformed, NULL, NULL), -EINVAL, "malformed deny");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_BAD_PATTERN);
	CHECK_EQ(tramp_syms__match(syms, "*", &missing, NULL, NULL), -EINVAL, "no deny");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_BAD_ARGUMENT);
	tramp_syms__free(syms);
}

static void test_suggest(void)
{
	struct tramp_syms *syms = fixture_syms(kallsyms, filter);
	const char *out[40];

	CHECK_EQ(tramp_syms__suggest(syms, "vfs_raed", out, 40), 1, "a swap");
	CHECK(!strcmp(out[0], "vfs_read"), "%s", out[0]);
	CHECK_EQ(tramp_syms__suggest(syms, "vfs_wread", out, 1), 1, "no more than asked for");
	CHECK(!strcmp(out[0], "vfs_read"), "%s", out[0]);
	CHECK_EQ(tramp_syms__suggest(syms, "vfs_read", out, 0), 0, "no room");
	CHECK_EQ(tramp_syms__suggest(syms, "", out, 40), 0, "empty");
	CHECK_EQ(tramp_syms__suggest(syms, "xy", out, 40), 0, "too short to be meant");
	CHECK_EQ(tramp_syms__suggest(syms, "qqqqqqqqqqqq", out, 40), 0, "nothing near");
	tramp_syms__free(syms);
}

/* The textbook recurrence, without any of the short cuts. */
static unsigned int plain_distance(const char *a, const char *b)
{
	unsigned int d[16][16], na = strlen(a), nb = strlen(b), i, j;

	for (i = 0; i <= na; i++) {
		for (j = 0; j <= nb; j++) {
			unsigned int best = i ? d[i - 1][j] + 1 : j;

			if (!j)
				best = i;
			else if (d[i][j - 1] + 1 < best && i)
				best = d[i][j - 1] + 1;
			if (i && j && d[i - 1][j - 1] + (a[i - 1] != b[j - 1]) < best)
				best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    d[i - 2][j - 2] + 1 < best)
				best = d[i - 2][j - 2] + 1;
			d[i][j] = best;
		}
	}
	return d[na][nb];
}

static void test_distance(void)
{
	char a[12], b[12];
	unsigned int i, max;

	srand(1);
	for (i = 0; i < 200000; i++) {
		unsigned int na = rand() % 11, nb = rand() % 11, k, want, got;

		for (k = 0; k < na; k++)
			a[k] = 'a' + rand() % 3;
		for (k = 0; k < nb; k++)
			b[k] = 'a' + rand() % 3;
		a[na] = b[nb] = '\0';
		max = rand() % 6;
		want = plain_distance(a, b);
		got = libtramp_distance(a, b, max);
		if (!CHECK_EQ(got, want > max ? max + 1 : want, "'%s' '%s' within %u", a, b, max))
			return;
	}
}

/* Tables that are none: nothing may be read beyond a line, and nothing go wrong later. */
static void test_garbage(void)
{
	static const char alphabet[] = "0f T\t[]ab:*\n\n";
	unsigned int round, i;

	srand(3);
	for (round = 0; round < 300; round++) {
		TRAMP_OPTS(tramp_syms_opts, opts);
		struct tramp_syms *syms;
		char text[512];

		for (i = 0; i < sizeof(text) - 1; i++)
			text[i] = alphabet[rand() % (sizeof(alphabet) - 1)];
		/* One line that is good, so that there is a table. */
		strcpy(text + sizeof(text) - 12, "\nf T good\n");
		opts.kallsyms = opts.filter_functions = fixture_text("garbage", text);
		syms = tramp_syms__load(&opts);
		REQUIRE(syms, "%s", tramp_last_error()->message);
		CHECK(tramp_syms__find(syms, "good"), "%s", tramp_last_error()->message);
		for (i = 0; i < tramp_syms__count(syms); i++) {
			const struct tramp_sym *sym = tramp_syms__get(syms, i);

			CHECK(sym->name[0] && !strpbrk(sym->name, " \t\n"), "'%s'", sym->name);
			if (sym->addr)
				CHECK(tramp_syms__find_addr(syms, sym->addr, NULL), "%s", sym->name);
		}
		tramp_syms__free(syms);
	}
}

static const struct ktap_test tests[] = {
	{ .name = "load", .run = test_load },
	{ .name = "load-fails", .run = test_load_fails },
	{ .name = "garbage", .run = test_garbage },
	{ .name = "traceable-later", .run = test_traceable_later },
	{ .name = "find", .run = test_find },
	{ .name = "find-ambiguous", .run = test_ambiguous },
	{ .name = "find-malformed", .run = test_malformed },
	{ .name = "find-unknown", .run = test_unknown },
	{ .name = "find-pattern", .run = test_find_pattern },
	{ .name = "find-address", .run = test_find_addr },
	{ .name = "hidden-addresses", .run = test_hidden_addresses },
	{ .name = "traceable-by-address", .run = test_traceable_by_address },
	{ .name = "match", .run = test_match },
	{ .name = "match-fails", .run = test_match_fails },
	{ .name = "suggest", .run = test_suggest },
	{ .name = "distance", .run = test_distance },
};

KTAP_MAIN(tests)
