// SPDX-License-Identifier: GPL-2.0
/*
 * Choosing functions, on a kernel made for this: patterns, lists in files, filters by
 * arguments, what is left out and why, and the built-in deny list.
 */
#include <bpf/btf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../../user/libtrampoline/syms/select.h"
#include "../lib/ktap.h"
#include "select_fixture.h"

static void test_patterns(void)
{
	select_syms = select_load(select_kallsyms, select_filter);
	CHECK_SELECT("vfs_read vfs_write shadow:vfs_read | not-traceable vfs_secret;",
		     PATTERNS("vfs_*"));
	CHECK_SELECT("vfs_read vfs_write |", PATTERNS("vmlinux:vfs_[rw]*"));
	CHECK_SELECT("ext4:helper ext4:ext4_read |", PATTERNS("ext?:*"));
	CHECK_SELECT("vfs_read shadow:vfs_read |", PATTERNS("vfs_read"));
	CHECK_SELECT("shadow:vfs_read |", PATTERNS("shadow:vfs_read"));
	/* In the order of addresses, once each. */
	CHECK_SELECT("vfs_write ext4:ext4_read shadow:vfs_read |",
		     PATTERNS("s*:*", "ext4_read", "vfs_write", "ext4_*", "vfs_w*"));
	CHECK_SELECT("| no-such-function vfs_raed; no-match xyz*;", PATTERNS("vfs_raed", "xyz*"));
	CHECK_SELECT("| own-module trampoline:tramp_attach;", PATTERNS("tramp_*"));
	tramp_syms__free(select_syms);
}

static void test_details(void)
{
	TRAMP_OPTS(tramp_select_opts, opts, PATTERNS("vfs_*", "vfs_wriet", "migrate_*"),
		   DENY("nothing", "shadow:*"));
	const struct tramp_left_out *left;
	struct tramp_selection *sel;

	select_syms = select_load(select_kallsyms, select_filter);
	sel = select_need(&opts);
	REQUIRE(tramp_selection__count_left(sel) == 4, "%s", select_shown(sel));
	left = tramp_selection__get_left(sel, 0);
	CHECK_EQ(left->reason, TRAMP_REASON_NOT_TRACEABLE, "%s", select_shown(sel));
	CHECK(!strcmp(left->pattern, "vfs_*") && !left->file && !left->detail[0], "%s", left->detail);
	left = tramp_selection__get_left(sel, 1);
	CHECK_EQ(left->reason, TRAMP_LIB_DENY_LIST, "%s", select_shown(sel));
	CHECK(strstr(left->detail, "recursion"), "%s", left->detail);
	left = tramp_selection__get_left(sel, 2);
	CHECK_EQ(left->reason, TRAMP_LIB_DENIED, "%s", select_shown(sel));
	CHECK(!strcmp(left->detail, "shadow:*"), "%s", left->detail);
	left = tramp_selection__get_left(sel, 3);
	CHECK_EQ(left->reason, TRAMP_REASON_NO_SUCH_FUNCTION, "%s", select_shown(sel));
	CHECK(!left->sym && !strcmp(left->pattern, "vfs_wriet"), "%s", left->pattern);
	CHECK(!strcmp(left->detail, "the nearest: vfs_write"), "%s", left->detail);
	CHECK(!tramp_selection__get_left(sel, 4), "beyond the last");
	CHECK(!tramp_selection__get(sel, tramp_selection__count(sel)), "beyond the last");
	tramp_selection__free(sel);
	/* Of several patterns the one that names it is reported. */
	opts.patterns = LIST("vfs_*", "vfs_secret", "vfs_s*");
	sel = select_need(&opts);
	left = tramp_selection__get_left(sel, 0);
	CHECK(left && !strcmp(left->pattern, "vfs_secret"), "%s", select_shown(sel));
	tramp_selection__free(sel);
	tramp_selection__free(NULL);
	tramp_syms__free(select_syms);
}

/* Why nothing has the name of a pattern, and what helps: the same as all or nothing says. */
static void test_remedies(void)
{
	static const struct {
		const char *pattern;
		uint32_t reason;
		const char *detail, *remedy;
	} cases[] = {
		{ "vfs_wriet", TRAMP_REASON_NO_SUCH_FUNCTION, "the nearest: vfs_write",
		  "use one of these" },
		{ "zzzzzzzz", TRAMP_REASON_NO_SUCH_FUNCTION, "", "/proc/kallsyms" },
		{ "ext4:vfs_write", TRAMP_REASON_NO_SUCH_FUNCTION, "vmlinux has one",
		  "name vmlinux:vfs_write" },
		{ "nosuch:*", TRAMP_LIB_NO_MATCH, "'nosuch' is not loaded", "modprobe nosuch" },
		{ "xt4:absent", TRAMP_REASON_NO_SUCH_FUNCTION, "the nearest: ext4",
		  "modprobe xt4, or name ext4:absent" },
		{ "no_symbol", TRAMP_LIB_INLINED, "", "a function that calls it" },
		{ "vmlinux:no_symbol", TRAMP_LIB_INLINED, "", "a function that calls it" },
		{ "xyz*", TRAMP_LIB_NO_MATCH, "", "quote it" },
	};
	size_t i;

	select_syms = select_load(select_kallsyms, select_filter);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		TRAMP_OPTS(tramp_select_opts, opts, PATTERNS(cases[i].pattern, "vfs_read"));
		const struct tramp_left_out *left;
		struct tramp_selection *sel = select_need(&opts);

		left = tramp_selection__get_left(sel, 0);
		REQUIRE(left, "%s", cases[i].pattern);
		CHECK_EQ(left->reason, cases[i].reason, "%s", cases[i].pattern);
		CHECK(strstr(left->detail, cases[i].detail), "%s", left->detail);
		CHECK(strstr(left->remedy, cases[i].remedy), "%s", left->remedy);
		opts.flags = TRAMP_SELECT_ALL_OR_NOTHING;
		CHECK(!tramp_syms__select(select_syms, &opts), "%s", cases[i].pattern);
		CHECK_ERROR(-ENOENT, cases[i].reason);
		CHECK(!strcmp(tramp_last_error()->remedy, left->remedy), "%s",
		      tramp_last_error()->remedy);
		CHECK(!strcmp(tramp_last_error()->detail, left->detail), "%s",
		      tramp_last_error()->detail);
		tramp_selection__free(sel);
	}
	tramp_syms__free(select_syms);
}

static const struct tramp_selected *need_item(const struct tramp_selection *sel, uint64_t addr)
{
	size_t i;

	for (i = 0; i < tramp_selection__count(sel); i++)
		if (tramp_selection__get(sel, i)->sym->addr == addr)
			return tramp_selection__get(sel, i);
	REQUIRE(0, "0x%llx is not in %s", (unsigned long long)addr, select_shown(sel));
	return NULL;
}

static void test_items(void)
{
	TRAMP_OPTS(tramp_select_opts, opts, PATTERNS("*"), .flags = TRAMP_SELECT_UNTRACEABLE);
	const struct tramp_selected *item;
	struct tramp_selection *sel;

	select_syms = select_load(select_kallsyms, select_filter);
	sel = select_need(&opts);
	item = need_item(sel, 0xffffffff81000100);
	CHECK(item->traceable && item->same_name == 1 && !item->suffix, "vfs_read");
	CHECK_EQ(item->btf_id, btf__find_by_name_kind(select_btf, "vfs_read", BTF_KIND_FUNC),
		 "type");
	CHECK(!need_item(sel, 0xffffffff81000300)->traceable, "vfs_secret");
	/* BTF has a helper, but does not say which. */
	item = need_item(sel, 0xffffffff81000400);
	CHECK(item->same_name == 2 && !item->btf_id && !item->btf_obj_id, "helper");
	CHECK_EQ(need_item(sel, 0xffffffffc0000100)->same_name, 1, "helper of ext4");
	CHECK_EQ(need_item(sel, 0xffffffff81000600)->suffix, TRAMP_SUFFIX_ISRA, "suffix");
	CHECK_EQ(need_item(sel, 0xffffffff81000700)->suffix,
		 TRAMP_SUFFIX_ISRA | TRAMP_SUFFIX_CONSTPROP, "suffix");
	CHECK_EQ(need_item(sel, 0xffffffff81000800)->suffix, TRAMP_SUFFIX_ISRA | TRAMP_SUFFIX_COLD,
		 "suffix");
	CHECK_EQ(need_item(sel, 0xffffffff81000900)->suffix, TRAMP_SUFFIX_PART, "suffix");
	CHECK_EQ(need_item(sel, 0xffffffff81000a00)->suffix, TRAMP_SUFFIX_OTHER, "suffix");
	CHECK_EQ(tramp_selection__count(sel), 16, "%s", select_shown(sel));
	tramp_selection__free(sel);
	tramp_syms__free(select_syms);
}

/* An address with two names; ftrace's list and BTF have one of them. */
static void test_aliases(void)
{
	TRAMP_OPTS(tramp_select_opts, opts, PATTERNS("alias_name"), .flags = TRAMP_SELECT_BTF);
	struct tramp_selection *sel;

	select_syms = select_load(select_kallsyms, select_filter);
	sel = select_need(&opts);
	CHECK(!strcmp(select_shown(sel), "alias_name |"), "%s", select_shown(sel));
	CHECK(tramp_selection__get(sel, 0)->traceable, "under its other name");
	CHECK(tramp_selection__get(sel, 0)->btf_id, "under its other name");
	tramp_selection__free(sel);
	CHECK_SELECT("real_name |", PATTERNS("alias_*", "real_name"));
	CHECK_SELECT("| denied alias_name;", PATTERNS("alias_name"), DENY("real_*"));
	tramp_syms__free(select_syms);
}

static void test_ambiguous(void)
{
	select_syms = select_load(select_kallsyms, select_filter);
	CHECK_SELECT("helper helper ext4:helper |", PATTERNS("helper"));
	CHECK_SELECT("ext4:helper | ambiguous helper; ambiguous helper;", PATTERNS("helper"),
		     .flags = TRAMP_SELECT_UNIQUE);
	CHECK_REFUSED(-EINVAL, TRAMP_REASON_AMBIGUOUS, "vmlinux:helper", PATTERNS("helper"),
		      .flags = TRAMP_SELECT_UNIQUE | TRAMP_SELECT_ALL_OR_NOTHING);
	tramp_syms__free(select_syms);
	/* Without addresses, only names are left to tell functions apart. */
	select_syms = select_load("0000000000000000 T vfs_read\n"
		    "0000000000000000 t helper\n"
		    "0000000000000000 t helper\n", "vfs_read\nhelper\n");
	CHECK_SELECT("vfs_read | ambiguous helper; ambiguous helper;", PATTERNS("*"));
	tramp_syms__free(select_syms);
	/* A list without addresses tells functions of a name apart if it has all or none. */
	select_syms = select_load(select_kallsyms, "helper\nhelper [ext4]\nvfs_read\n");
	CHECK_SELECT("ext4:helper | ambiguous helper; ambiguous helper;", PATTERNS("helper"));
	CHECK_SELECT("helper helper ext4:helper |", PATTERNS("helper"),
		     .flags = TRAMP_SELECT_UNTRACEABLE);
	tramp_syms__free(select_syms);
	select_syms = select_load(select_kallsyms, "helper\nvfs_read\nhelper\n");
	CHECK_SELECT("helper helper | not-traceable ext4:helper;", PATTERNS("helper"));
	tramp_syms__free(select_syms);
}

static void test_suffixes(void)
{
	select_syms = select_load(select_kallsyms, select_filter);
	CHECK_SELECT("split.isra.0 split.constprop.0.isra.3 | not-traceable split.isra.0.cold;",
		     PATTERNS("split*"));
	CHECK_SELECT("split.isra.0 |", PATTERNS("split.isra.0"));
	/* The name without them is no function, and is said to be near. */
	CHECK_REFUSED(-ENOENT, TRAMP_REASON_NO_SUCH_FUNCTION, "the compiler made 'split.",
		      PATTERNS("split"), .flags = TRAMP_SELECT_ALL_OR_NOTHING);
	tramp_syms__free(select_syms);
}

static void test_deny(void)
{
	select_syms = select_load(select_kallsyms, select_filter);
	CHECK_SELECT("vfs_read | denied vfs_write; denied shadow:vfs_read;",
		     PATTERNS("vfs_[rw]*"), DENY("shadow:*", "*write"));
	CHECK_SELECT("shadow:vfs_read | denied vfs_read;", PATTERNS("vfs_read"),
		     DENY("vmlinux:*"));
	/* The built-in list, and three ways around it. */
	CHECK_SELECT("| deny-list migrate_disable;", PATTERNS("migrate*"));
	CHECK_SELECT("migrate_disable |", PATTERNS("migrate*"),
		     .flags = TRAMP_SELECT_NO_DENY_LIST);
	CHECK_SELECT("migrate_disable |", PATTERNS("migrate*", "migrate_disable"));
	CHECK_SELECT("| denied migrate_disable;", PATTERNS("migrate_disable"), DENY("migrate*"));
	CHECK_SELECT("| deny-list migrate_disable;", .file_cnt = 1,
		     .files = LIST(fixture_text("list", "migrate_disable\n")));
	tramp_syms__free(select_syms);
}

static void test_all_or_nothing(void)
{
	const char *list = fixture_text("list", "vfs_read\n\nvfs_secret\n");
	const uint32_t all = TRAMP_SELECT_ALL_OR_NOTHING;

	select_syms = select_load(select_kallsyms, select_filter);
	CHECK_SELECT("vfs_read shadow:vfs_read |", PATTERNS("vfs_read"), .flags = all);
	/* A wildcard means what can be had. */
	CHECK_SELECT("vfs_read vfs_write shadow:vfs_read | not-traceable vfs_secret;",
		     PATTERNS("vfs_*"), .flags = all);
	CHECK_SELECT("vfs_write | denied vfs_read; denied shadow:vfs_read;",
		     PATTERNS("vfs_read", "vfs_write"), DENY("vfs_read"), .flags = all);
	CHECK_SELECT("do_args | no-match vfs_write;", PATTERNS("do_args", "vfs_write"),
		     .arg_type = "struct file **", .flags = all);
	CHECK_REFUSED(-EOPNOTSUPP, TRAMP_REASON_NOT_TRACEABLE, "vfs_secret",
		      PATTERNS("vfs_read", "vfs_secret"), .flags = all);
	CHECK_REFUSED(-EOPNOTSUPP, TRAMP_REASON_NOT_TRACEABLE, "list, line 3)",
		      .files = &list, .file_cnt = 1, .flags = all);
	CHECK_REFUSED(-ENOENT, TRAMP_REASON_NO_SUCH_FUNCTION, "the nearest: vfs_write",
		      PATTERNS("vfs_read", "vfs_wriet"), .flags = all);
	CHECK_REFUSED(-ENOENT, TRAMP_LIB_NO_MATCH, "pattern 'xyz*'", PATTERNS("xyz*", "vfs_*"),
		      .flags = all);
	CHECK_REFUSED(-ENOENT, TRAMP_LIB_NO_MATCH, "of 1 that match, 1 cannot be attached to",
		      PATTERNS("vfs_s*", "vfs_read"), .flags = all);
	CHECK_REFUSED(-ENOENT, TRAMP_REASON_NO_BTF, "vmlinux:piece.part.1",
		      PATTERNS("piece.part.1"), .flags = all | TRAMP_SELECT_BTF);
	CHECK_REFUSED(-EOPNOTSUPP, TRAMP_LIB_DENY_LIST, "before a recursion",
		      .files = LIST(fixture_text("hot", "migrate_disable")),
		      .file_cnt = 1, .flags = all);
	CHECK_REFUSED(-ENOENT, TRAMP_LIB_NO_MATCH, "leave no function", PATTERNS("vfs_read"),
		      DENY("*"), .flags = all);
	tramp_syms__free(select_syms);
}

static void test_files(void)
{
	const char *files[2], *deny;
	TRAMP_OPTS(tramp_select_opts, opts, .file_cnt = 2, .files = files);
	const struct tramp_left_out *left;
	struct tramp_selection *sel;

	select_syms = select_load(select_kallsyms, select_filter);
	files[0] = fixture_text("one", "# functions\n\n  vfs_write\t# twice\r\nvfs_write\nnowhere");
	files[1] = fixture_text("two", "ext4:h*\nshadow:vfs_read#\n");
	sel = select_need(&opts);
	/* The selection has its own copy of what it was made from. */
	files[0] = files[1] = NULL;
	CHECK(!strcmp(select_shown(sel),
		      "vfs_write ext4:helper shadow:vfs_read | no-such-function nowhere;"),
	      "%s", select_shown(sel));
	left = tramp_selection__get_left(sel, 0);
	CHECK_EQ(left->line, 5, "line");
	CHECK(left->file && strstr(left->file, "/one"), "file");
	tramp_selection__free(sel);
	deny = fixture_text("deny", "*read\n");
	CHECK_SELECT("vfs_write | denied vfs_read; not-traceable vfs_secret; denied shadow:vfs_read;",
		     PATTERNS("vfs_*"), .deny_files = &deny, .deny_file_cnt = 1);
	tramp_syms__free(select_syms);
}

static void test_bad_files(void)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{ "vfs_read\nvfs_read ext4\n", "bad, line 2: " },
		{ "\n\n:vfs\n", "bad, line 3: " },
		{ "vfs_[\n", "has a '[' without its ']'" },
		{ "a:b:c", "bad, line 1: " },
	};
	const char *file;
	char zero[] = "vfs_read\nvfs\0write\n", *wide;
	size_t i;

	select_syms = select_load(select_kallsyms, select_filter);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		file = fixture_text("bad", cases[i].text);
		CHECK_REFUSED(-EINVAL, TRAMP_LIB_BAD_PATTERN, cases[i].says, .files = &file,
			      .file_cnt = 1);
		CHECK_REFUSED(-EINVAL, TRAMP_LIB_BAD_PATTERN, cases[i].says, PATTERNS("*"),
			      .deny_files = &file, .deny_file_cnt = 1);
	}
	file = fixture_file("bad", zero, sizeof(zero) - 1);
	CHECK_REFUSED(-EINVAL, TRAMP_LIB_BAD_PATTERN, "bad, line 2: ", .files = &file,
		      .file_cnt = 1);
	wide = calloc(1, TRAMP_SELECT_MAX_LINE + 2);
	memset(wide, 'a', TRAMP_SELECT_MAX_LINE + 1);
	file = fixture_text("bad", wide);
	CHECK_REFUSED(-EINVAL, TRAMP_LIB_BAD_PATTERN, "longer than 1024 bytes", .files = &file,
		      .file_cnt = 1);
	free(wide);
	file = "/nonexistent/list";
	CHECK_REFUSED(-ENOENT, TRAMP_LIB_NO_FILE, file, .files = &file, .file_cnt = 1);
	file = "/";
	CHECK_REFUSED(-EISDIR, TRAMP_LIB_NO_FILE, file, .files = &file, .file_cnt = 1);
	tramp_syms__free(select_syms);
}

/* A line that never ends is not read to the end. */
static void test_endless_line(void)
{
	const char *file = fixture_text("endless", "vfs_read\n");
	struct rlimit limit;
	long pages;
	FILE *f;

	select_syms = select_load(select_kallsyms, select_filter);
	REQUIRE(!truncate(file, 1L << 40), "truncate(): %s", strerror(errno));
	f = fopen("/proc/self/statm", "r");
	REQUIRE(f && fscanf(f, "%ld", &pages) == 1, "statm");
	fclose(f);
	limit.rlim_cur = limit.rlim_max = pages * sysconf(_SC_PAGESIZE) + (16 << 20);
	REQUIRE(!setrlimit(RLIMIT_AS, &limit), "setrlimit(): %s", strerror(errno));
	CHECK_REFUSED(-EINVAL, TRAMP_LIB_BAD_PATTERN, "endless, line 2: ", .files = &file,
		      .file_cnt = 1);
	file = "/dev/zero";
	CHECK_REFUSED(-EINVAL, TRAMP_LIB_BAD_PATTERN, "/dev/zero, line 1: ", .files = &file,
		      .file_cnt = 1);
	tramp_syms__free(select_syms);
}

static void test_arg_types(void)
{
	select_syms = select_load(select_kallsyms, select_filter);
	/* const does not matter, and a typedef is what it stands for. */
	CHECK_SELECT("vfs_read vfs_write | no-btf helper; no-btf helper; no-btf split.isra.0; "
		     "no-btf split.constprop.0.isra.3; no-btf shadow:vfs_read; "
		     "no-match real_name*; no-match do_*;",
		     PATTERNS("vfs_[rw]*", "vmlinux:h*", "real_name*", "do_*", "spl*[0-9]"),
		     .arg_type = "const struct file *");
	CHECK_SELECT("vfs_write |", PATTERNS("vmlinux:vfs_[rw]*"), .arg_type = "handle_t");
	CHECK_SELECT("vfs_write |", PATTERNS("vmlinux:vfs_[rw]*"), .arg_type = "file_t*");
	CHECK_SELECT("vfs_read |", PATTERNS("vmlinux:vfs_[rw]*"), .arg_type = "unsigned long");
	CHECK_SELECT("vfs_read |", PATTERNS("vmlinux:vfs_[rw]*"), .arg_type = " void const * ");
	CHECK_SELECT("do_args | no-match vmlinux:vfs_read;",
		     PATTERNS("do_args", "vmlinux:vfs_read"), .arg_type = "struct file **");
	CHECK_SELECT("do_args |", PATTERNS("do_args"), .arg_type = "unsigned char");
	CHECK_SELECT("do_args |", PATTERNS("do_args"), .arg_type = "union u");
	CHECK_SELECT("do_args |", PATTERNS("do_args"), .arg_type = "enum mode");
	CHECK_SELECT("| no-match do_args;", PATTERNS("do_args"), .arg_type = "struct u");
	CHECK_SELECT("| no-match do_args;", PATTERNS("do_args"), .arg_type = "struct file *");
	CHECK_SELECT("| no-match do_args;", PATTERNS("do_args"), .arg_type = "char");
	tramp_syms__free(select_syms);
}

static void test_bad_types(void)
{
	static const char * const bad[] = {
		"", "*", "struct", "struct file x", "file * x", "int (*)(void)", "char[4]",
		"struct union u", "unsigned foo", "struct file *;",
	};
	static const char * const good[][2] = {
		{ "long unsigned int", "unsigned long" }, { "int long long", "long long" },
		{ "short int", "short" }, { "unsigned", "unsigned int" }, { "signed", "int" },
		{ "unsigned short int", "unsigned short" }, { "signed char", "signed char" },
		{ "volatile char __user *", "char" }, { "_Bool", "_Bool" }, { "enum x", "x" },
	};
	struct libtramp_type type;
	size_t i;

	select_syms = select_load(select_kallsyms, select_filter);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK_REFUSED(-EINVAL, TRAMP_LIB_BAD_ARGUMENT, "argument type '",
			      PATTERNS("*"), .arg_type = bad[i]);
	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		CHECK_EQ(libtramp_type_parse(good[i][0], &type), 0, "%s", good[i][0]);
		CHECK(!strcmp(type.name, good[i][1]), "%s: %s", good[i][0], type.name);
	}
	tramp_syms__free(select_syms);
}

static void test_arg_numbers(void)
{
	select_syms = select_load(select_kallsyms, select_filter);
	CHECK_SELECT("vfs_read |", PATTERNS("vmlinux:vfs_[rw]*"), .min_args = 3, .max_args = 3,
		     .flags = TRAMP_SELECT_ARGS);
	CHECK_SELECT("vfs_read vfs_write |", PATTERNS("vmlinux:vfs_[rw]*"), .min_args = 1,
		     .max_args = 3, .flags = TRAMP_SELECT_ARGS);
	/* No arguments at all is a number as well; a "..." is not counted. */
	CHECK_SELECT("real_name | no-match printk;", PATTERNS("real_name", "printk"),
		     .flags = TRAMP_SELECT_ARGS);
	CHECK_SELECT("printk | no-match real_name; no-match do_args;",
		     PATTERNS("real_name", "printk", "do_args"), .min_args = 1, .max_args = 1,
		     .flags = TRAMP_SELECT_ARGS);
	tramp_syms__free(select_syms);
}

static int count_steps(size_t done, size_t total, void *ctx)
{
	size_t *seen = ctx;

	CHECK(done >= seen[1] && done <= total, "%zu of %zu after %zu", done, total, seen[1]);
	CHECK(seen[0] || !done, "it begins at %zu", done);
	seen[0]++;
	seen[1] = done;
	seen[2] = total;
	return seen[0] == seen[3];
}

static void test_progress(void)
{
	size_t seen[4] = { 0 };
	TRAMP_OPTS(tramp_select_opts, opts, PATTERNS("vfs_*", "*"), .progress = count_steps,
		   .progress_ctx = seen);

	select_syms = select_load(select_kallsyms, select_filter);
	tramp_selection__free(select_need(&opts));
	CHECK(seen[0] > 2, "%zu calls", seen[0]);
	CHECK_EQ(seen[1], seen[2], "the end");
	/* From each call on. */
	for (seen[3] = seen[0]; seen[3]; seen[3]--) {
		seen[0] = seen[1] = 0;
		errno = 0;
		CHECK(!tramp_syms__select(select_syms, &opts), "cancelled at call %zu", seen[3]);
		CHECK_EQ(errno, ECANCELED, "errno");
		CHECK_ERROR(-ECANCELED, TRAMP_LIB_CANCELLED);
		CHECK_EQ(seen[0], seen[3], "it is not called again");
	}
	tramp_syms__free(select_syms);
}

static void test_limits(void)
{
	const size_t nr = TRAMP_SELECT_MAX_PATTERNS;
	const char **many = calloc(nr + 1, sizeof(*many));
	size_t i;

	select_syms = select_load(select_kallsyms, select_filter);
	CHECK_SELECT("vfs_read vfs_write shadow:vfs_read |", PATTERNS("vfs_[rw]*"),
		     .max_functions = 3);
	CHECK_REFUSED(-E2BIG, TRAMP_LIB_TOO_MANY, "at most 2 functions", PATTERNS("vfs_*"),
		      .max_functions = 2);
	for (i = 0; i <= nr; i++)
		many[i] = "vfs_write";
	CHECK_SELECT("vfs_write |", .patterns = many, .pattern_cnt = nr);
	CHECK_REFUSED(-E2BIG, TRAMP_LIB_TOO_MANY, "at most 65536 patterns", .patterns = many,
		      .pattern_cnt = nr + 1);
	free(many);
	tramp_syms__free(select_syms);
}

static void test_arguments(void)
{
	struct tramp_select_opts older = { .sz = offsetof(struct tramp_select_opts, file_cnt),
					   .pattern_cnt = 1, .flags = ~0U,
					   .patterns = (const char *const[]) { "vfs_write" } };
	const char *none = NULL;

	select_syms = select_load(select_kallsyms, select_filter);
	select_check(&older, "vfs_write |");
	CHECK(!tramp_syms__select(select_syms, NULL), "no options");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_BAD_ARGUMENT);
	CHECK_REFUSED(-EINVAL, TRAMP_LIB_BAD_ARGUMENT, "no pattern", .flags = 0);
	CHECK_REFUSED(-EINVAL, TRAMP_LIB_BAD_ARGUMENT, "flags", PATTERNS("*"), .flags = 1U << 31);
	CHECK_REFUSED(-EINVAL, TRAMP_LIB_BAD_ARGUMENT, "a number without", .pattern_cnt = 1);
	CHECK_REFUSED(-EINVAL, TRAMP_LIB_BAD_ARGUMENT, "a number without", PATTERNS("*"),
		      .deny_cnt = 1);
	CHECK_REFUSED(-EINVAL, TRAMP_LIB_BAD_ARGUMENT, "TRAMP_SELECT_ARGS", PATTERNS("*"),
		      .max_args = 1);
	CHECK_REFUSED(-EINVAL, TRAMP_LIB_BAD_ARGUMENT, "above", PATTERNS("*"), .min_args = 1,
		      .flags = TRAMP_SELECT_ARGS);
	CHECK_REFUSED(-EINVAL, TRAMP_LIB_BAD_ARGUMENT, "no name", .files = &none, .file_cnt = 1);
	CHECK_REFUSED(-EINVAL, TRAMP_LIB_BAD_PATTERN, "empty", .patterns = &none,
		      .pattern_cnt = 1);
	CHECK_REFUSED(-EINVAL, TRAMP_LIB_BAD_PATTERN, "vfs_[", PATTERNS("*"), DENY("vfs_["));
	tramp_syms__free(select_syms);
	select_syms = select_load(select_kallsyms, NULL);
	CHECK_REFUSED(-ENOENT, TRAMP_LIB_NO_TRACEFS, "", PATTERNS("vfs_*"));
	CHECK_SELECT("vfs_read vfs_write vfs_secret shadow:vfs_read |", PATTERNS("vfs_*"),
		     .flags = TRAMP_SELECT_UNTRACEABLE);
	tramp_syms__free(select_syms);
}

static void test_without_btf(void)
{
	TRAMP_OPTS(tramp_syms_opts, opts, .vmlinux_btf = "/nonexistent/vmlinux");

	opts.kallsyms = fixture_text("kallsyms", select_kallsyms);
	opts.filter_functions = fixture_text("filter", select_filter);
	select_syms = tramp_syms__load(&opts);
	REQUIRE(select_syms, "%s", tramp_last_error()->message);
	CHECK_SELECT("vfs_read shadow:vfs_read |", PATTERNS("vfs_read"));
	CHECK_REFUSED(-ENOENT, TRAMP_LIB_NO_KERNEL_BTF, "", PATTERNS("vfs_read"),
		      .arg_type = "struct file *");
	tramp_syms__free(select_syms);
}

/* Is each pattern that @b matches one that @a matches as well? A star only meets a star. */
static bool shadows(const char *a, const char *b)
{
	return tramp_glob_match(a, b);
}

static void test_deny_list(void)
{
	const struct tramp_deny *entry, *other;
	size_t i, j;

	CHECK(shadows("bpf_*", "bpf_map_*_elem") && !shadows("bpf_map_*", "bpf_*"), "shadows()");
	for (i = 0; (entry = tramp_deny_list(i)); i++) {
		CHECK_EQ(tramp_glob_check(entry->pattern), 0, "%s", entry->pattern);
		CHECK(!strchr(entry->pattern, ':'), "%s", entry->pattern);
		CHECK(entry->why && strlen(entry->why) > 10 && strchr(entry->why, ' '), "%s",
		      entry->pattern);
		CHECK(entry->why[strlen(entry->why) - 1] != '.', "%s: %s", entry->pattern,
		      entry->why);
		for (j = 0; (other = tramp_deny_list(j)); j++)
			CHECK(i == j || !shadows(other->pattern, entry->pattern),
			      "'%s' is needless beside '%s'", entry->pattern, other->pattern);
	}
	CHECK(i > 20 && i < 100, "%zu entries", i);
	CHECK(!tramp_deny_list(i + 1), "beyond the last");
}

static const struct ktap_test tests[] = {
	{ .name = "patterns", .run = test_patterns },
	{ .name = "details", .run = test_details },
	{ .name = "remedies", .run = test_remedies },
	{ .name = "items", .run = test_items },
	{ .name = "aliases", .run = test_aliases },
	{ .name = "ambiguous", .run = test_ambiguous },
	{ .name = "suffixes", .run = test_suffixes },
	{ .name = "deny", .run = test_deny },
	{ .name = "all-or-nothing", .run = test_all_or_nothing },
	{ .name = "files", .run = test_files },
	{ .name = "bad-files", .run = test_bad_files },
	{ .name = "endless-line", .run = test_endless_line },
	{ .name = "arg-types", .run = test_arg_types },
	{ .name = "bad-types", .run = test_bad_types },
	{ .name = "arg-numbers", .run = test_arg_numbers },
	{ .name = "progress", .run = test_progress },
	{ .name = "limits", .run = test_limits },
	{ .name = "arguments", .run = test_arguments },
	{ .name = "without-btf", .run = test_without_btf },
	{ .name = "deny-list", .run = test_deny_list },
};

KTAP_MAIN(tests)
