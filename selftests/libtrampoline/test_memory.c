// SPDX-License-Identifier: GPL-2.0
/* Symbols, prototypes and selections without memory (starve.h). */
#define _GNU_SOURCE
#include <bpf/btf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../../user/libtrampoline/attach/internal.h"
#include "../lib/ktap.h"
#include "fixture.h"
#include "starve.h"

static const char kallsyms[] =
	"ffffffff81000000 T do_unlinkat\n"
	"ffffffffc0000000 t mod_func\t[mod]\n";

static const char *list_file;
static struct tramp_syms_opts syms_opts = { .sz = sizeof(syms_opts) };

FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);

/* A line at a time: behind the first one there may be no memory for the next. */
static ssize_t read_list(void *cookie, char *buf, size_t size)
{
	if (starve_fails())
		return -1;
	return fgets(buf, size, cookie) ? strlen(buf) : 0;
}

static int close_list(void *cookie)
{
	return fclose(cookie);
}

/* The kernel, too, needs memory when a list is read. */
FILE *__wrap_fopen(const char *path, const char *mode)
{
	const cookie_io_functions_t functions = { .read = read_list, .close = close_list };
	FILE *f = __real_fopen(path, mode);

	if (!f || mode[0] != 'r' || !list_file || strcmp(path, list_file))
		return f;
	return fopencookie(f, mode, functions);
}

static bool load_symbols(void)
{
	struct tramp_syms *syms = tramp_syms__load(&syms_opts);
	int err = errno;

	tramp_syms__free(syms);
	errno = err;
	return syms;
}

static bool load_names(void)
{
	TRAMP_OPTS(tramp_names_opts, opts, .kallsyms = syms_opts.kallsyms,
		   .modules = syms_opts.modules);
	struct tramp_names *names = tramp_names__load(&opts);
	int err = errno;

	tramp_names__free(names);
	errno = err;
	return names;
}

/*
 * Objects that are made when they are asked for. Neither call has an error of its own for that:
 * they do not know, and do when there is memory again.
 */
static bool ask_later(void)
{
	struct tramp_syms *syms = tramp_syms__load(&syms_opts);
	const uint64_t addr = 0xffffffff81000000;
	int err = errno;

	if (syms) {
		CHECK(tramp_syms__find_addr(syms, addr, NULL) || errno == ENOMEM, "errno is %d",
		      errno);
		CHECK(tramp_syms__find_addr(syms, addr, NULL), "the order of addresses");
		CHECK(tramp_syms__knows_traceable(syms) || tramp_syms__knows_traceable(syms),
		      "what ftrace can patch");
		tramp_syms__free(syms);
	}
	errno = err;
	return syms;
}

static void test_symbols(void)
{
	syms_opts.kallsyms = fixture_text("kallsyms", kallsyms);
	syms_opts.filter_functions = fixture_text("filter", "do_unlinkat\nmod_func [mod]\n");
	syms_opts.module_btf_dir = "/nonexistent";
	syms_opts.modules = fixture_text("modules", "mod 4096 0 - Live 0xffffffffc0000000\n");
	starve("tramp_syms__load", load_symbols);
	starve("tramp_names__load", load_names);
	starve("what is asked later", ask_later);
}

static struct btf *btf;
static int func_id;

static void make_btf(void)
{
	int t_int, proto;

	btf = btf__new_empty();
	REQUIRE(btf, "btf__new_empty");
	t_int = btf__add_int(btf, "int", 4, BTF_INT_SIGNED);
	proto = btf__add_func_proto(btf, t_int);
	btf__add_func_param(btf, "dfd", t_int);
	btf__add_func_param(btf, "name", btf__add_ptr(btf, t_int));
	func_id = btf__add_func(btf, "do_unlinkat", BTF_FUNC_STATIC, proto);
	REQUIRE(func_id > 0, "btf__add_func");
}

static bool read_prototype(void)
{
	struct tramp_proto *p = tramp_proto__new(btf, func_id);
	int err = errno;

	tramp_proto__free(p);
	errno = err;
	return p;
}

static void test_prototype(void)
{
	make_btf();
	starve("tramp_proto__new", read_prototype);
	btf__free(btf);
}

/* From the symbols to the prototype: with BTF loaded and indexed on the way. */
static bool find_prototype_of(const char *name)
{
	struct tramp_syms *syms = tramp_syms__load(&syms_opts);
	struct tramp_proto *p = NULL;
	const struct tramp_sym *sym;
	int err;

	if (syms) {
		sym = tramp_syms__find(syms, name);
		p = sym ? tramp_syms__proto(syms, sym) : NULL;
	}
	err = errno;
	tramp_proto__free(p);
	tramp_syms__free(syms);
	errno = err;
	return p;
}

static bool find_prototype(void)
{
	return find_prototype_of("do_unlinkat");
}

/* BTF has the other name of the address, which is looked for among all in their order. */
static bool find_alias_prototype(void)
{
	return find_prototype_of("alias");
}

/* The snapshot has functions with prototypes; @btf is to be freed. */
static void use_btf(void)
{
	const void *raw;
	__u32 size;

	make_btf();
	raw = btf__raw_data(btf, &size);
	REQUIRE(raw, "btf__raw_data");
	syms_opts.vmlinux_btf = fixture_file("vmlinux", raw, size);
	syms_opts.kallsyms = fixture_text("kallsyms", kallsyms);
}

static void test_symbol_to_prototype(void)
{
	use_btf();
	syms_opts.filter_functions = "";
	starve("tramp_syms__proto", find_prototype);
	syms_opts.kallsyms = fixture_text("kallsyms", "ffffffff81000000 T do_unlinkat\n"
						      "ffffffff81000000 T alias\n");
	starve("tramp_syms__proto, another name", find_alias_prototype);
	btf__free(btf);
}

/* Whether there is a selection; it has @nr functions then. The errno is that of what failed. */
static bool select_these(const struct tramp_select_opts *opts, size_t nr)
{
	struct tramp_syms *syms = tramp_syms__load(&syms_opts);
	struct tramp_selection *sel = NULL;
	int err = errno;

	if (syms) {
		sel = tramp_syms__select(syms, opts);
		err = errno;
		CHECK(!sel || tramp_selection__count(sel) == nr, "%zu functions",
		      tramp_selection__count(sel));
	}
	tramp_selection__free(sel);
	tramp_syms__free(syms);
	errno = err;
	return sel;
}

/* All of a selection: a list in a file, filters, details of what was left out. */
static bool select_functions(void)
{
	static const char *const patterns[] = { "do_*", "mod_func", "do_unlnkat" };
	TRAMP_OPTS(tramp_select_opts, opts, .patterns = patterns, .pattern_cnt = 3,
		   .files = &list_file, .file_cnt = 1, .deny = patterns + 1, .deny_cnt = 1,
		   .arg_type = "int");

	return select_these(&opts, 1);
}

/* No function that the pattern matches has such arguments. */
static bool select_nothing(void)
{
	static const char *const patterns[] = { "do_*", "mod_func" };
	TRAMP_OPTS(tramp_select_opts, opts, .patterns = patterns, .pattern_cnt = 2,
		   .arg_type = "struct file *");

	return select_these(&opts, 0);
}

/* All of the list, or no selection. */
static bool select_list(void)
{
	TRAMP_OPTS(tramp_select_opts, opts, .files = &list_file, .file_cnt = 1);

	return select_these(&opts, 2);
}

static void test_selection(void)
{
	use_btf();
	syms_opts.filter_functions = fixture_text("filter", "do_unlinkat\nmod_func [mod]\n");
	list_file = fixture_text("list", "do_unlinkat\n");
	starve("tramp_syms__select", select_functions);
	starve("a selection of nothing", select_nothing);
	list_file = fixture_text("list", "do_unlinkat\nmod_func\n");
	starve("a selection by a list", select_list);
	btf__free(btf);
}

static bool make_link(void)
{
	struct tramp_link *link = libtramp_link_new(dup(0), 1, "name");
	int err = errno;

	tramp_link__destroy(link);
	errno = err;
	return link;
}

static void test_link(void)
{
	starve("a link", make_link);
}

static const struct ktap_test tests[] = {
	{ .name = "symbols", .run = test_symbols },
	{ .name = "prototype", .run = test_prototype },
	{ .name = "symbol-to-prototype", .run = test_symbol_to_prototype },
	{ .name = "selection", .run = test_selection },
	{ .name = "link", .run = test_link },
};

KTAP_MAIN(tests)
