// SPDX-License-Identifier: GPL-2.0
/*
 * Choosing functions of the running kernel. Results are held against ftrace's list and BTF as
 * this test reads them itself. How choosing works is tested without a kernel, in
 * selftests/libtrampoline/test_select.c.
 */
#include <bpf/btf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "vmtest.h"

#define ADDRS	"/sys/kernel/tracing/available_filter_functions_addrs"
#define NAMES	"/sys/kernel/tracing/available_filter_functions"

static struct tramp_syms *syms;

static void setup(void)
{
	close(tt_open());
	tramp_set_print(NULL);
	syms = tramp_syms__load(NULL);
	REQUIRE(syms, "%s", tramp_last_error()->message);
}

static struct tramp_selection *need(const struct tramp_select_opts *opts)
{
	struct tramp_selection *sel = tramp_syms__select(syms, opts);

	REQUIRE(sel, "%s", tramp_last_error()->message);
	return sel;
}

/* The selection of one pattern. */
static struct tramp_selection *need_pattern(const char *pattern, uint32_t flags)
{
	TRAMP_OPTS(tramp_select_opts, opts, .patterns = &pattern, .pattern_cnt = 1,
		   .flags = flags);

	return need(&opts);
}

/* Entries with a reason among those left out. */
static size_t left_for(const struct tramp_selection *sel, uint32_t reason)
{
	size_t i, nr = 0;

	for (i = 0; i < tramp_selection__count_left(sel); i++)
		nr += tramp_selection__get_left(sel, i)->reason == reason;
	return nr;
}

/* Lines of ftrace's list with a module ("": none, NULL: any) and a name that begins so. */
static size_t count_lines(const char *module, const char *begins)
{
	char line[1024], name[512], mod[128];
	FILE *f = fopen(NAMES, "re");
	size_t nr = 0;
	int fields;

	REQUIRE(f, "%s", NAMES);
	while (fgets(line, sizeof(line), f)) {
		fields = sscanf(line, "%511s [%127[^]]]", name, mod);
		if (fields < 2)
			mod[0] = '\0';
		if (fields < 1 || !strncmp(name, "__ftrace_invalid", 16) ||
		    strncmp(name, begins, strlen(begins)))
			continue;
		nr += module ? !strcmp(mod, module) : strcmp(mod, "trampoline") != 0;
	}
	fclose(f);
	return nr;
}

/*
 * A selection against lines of ftrace's list. Without addresses in it, functions may be left out
 * since it does not say which of several it has.
 */
static void check_lines(const struct tramp_selection *sel, size_t more, size_t lines)
{
	size_t nr = tramp_selection__count(sel) + more;
	size_t unclear = left_for(sel, TRAMP_REASON_AMBIGUOUS);

	if (!access(ADDRS, R_OK))
		CHECK_EQ(unclear, 0, "there are addresses");
	CHECK(nr <= lines && nr + unclear >= lines, "%zu and %zu that are not clear, of %zu", nr,
	      unclear, lines);
}

/* Is this a whole kernel of Debian's, or a small one made for debugging? */
static bool is_stock(void)
{
	return count_lines("", "") > 30000;
}

static void test_all(void)
{
	struct tramp_selection *sel;
	size_t i, nr, denied, lines;
	uint64_t last = 0, took;

	setup();
	REQUIRE(tramp_syms__knows_traceable(syms), "%s", tramp_last_error()->message);
	took = now_ns();
	sel = need_pattern("*", 0);
	took = now_ns() - took;
	nr = tramp_selection__count(sel);
	denied = left_for(sel, TRAMP_LIB_DENY_LIST);
	lines = count_lines(NULL, "");
	ktap_note("%zu taken, %zu on the deny list, of %zu that ftrace can patch, in %llu ms", nr,
		  denied, lines, (unsigned long long)took / 1000000);
	for (i = 0; i < nr; i++) {
		const struct tramp_selected *item = tramp_selection__get(sel, i);

		CHECK(item->sym->addr > last && item->traceable, "%s", item->sym->name);
		CHECK(strcmp(item->sym->module, "trampoline") != 0, "%s", item->sym->name);
		last = item->sym->addr;
	}
	check_lines(sel, denied, lines);
	CHECK(left_for(sel, TRAMP_REASON_OWN_MODULE) > 100, "ourselves");
	if (kernel_version() >= 6012 && !kernel_is_rt() && is_stock())
		CHECK(nr >= 40000, "%zu", nr);
	tramp_selection__free(sel);
	tramp_syms__free(syms);
}

static void test_patterns(void)
{
	const char *list = "/tmp/test_select_live.list", *what = "vfs_*", *deny = "vfs_r*";
	TRAMP_OPTS(tramp_select_opts, opts, .patterns = &what, .pattern_cnt = 1, .deny = &deny,
		   .deny_cnt = 1);
	struct tramp_selection *sel;
	size_t i, all;
	FILE *f;

	setup();
	sel = need_pattern("vfs_*", 0);
	all = tramp_selection__count(sel);
	check_lines(sel, 0, count_lines(NULL, "vfs_"));
	CHECK(all > 30, "%zu", all);
	tramp_selection__free(sel);
	sel = need(&opts);
	CHECK_EQ(tramp_selection__count(sel), all - count_lines(NULL, "vfs_r"), "without vfs_r*");
	for (i = 0; i < tramp_selection__count(sel); i++)
		CHECK(strncmp(tramp_selection__get(sel, i)->sym->name, "vfs_r", 5), "denied");
	tramp_selection__free(sel);
	sel = need_pattern("trampoline_t*:tt_*", 0);
	CHECK(tramp_selection__count(sel) > 20, "%zu", tramp_selection__count(sel));
	check_lines(sel, 0, count_lines("trampoline_test", "tt_"));
	for (i = 0; i < tramp_selection__count(sel); i++)
		CHECK(!strcmp(tramp_selection__get(sel, i)->sym->module, "trampoline_test"), "%zu", i);
	tramp_selection__free(sel);
	f = fopen(list, "we");
	REQUIRE(f, "%s", list);
	fprintf(f, "# some\nvmlinux:vfs_read\n\n  vfs_write # that too\ntrampoline_test:tt_hot0\n");
	fclose(f);
	opts = (struct tramp_select_opts) { .sz = sizeof(opts), .files = &list, .file_cnt = 1 };
	sel = need(&opts);
	CHECK_EQ(tramp_selection__count(sel), 3, "of the file");
	CHECK_EQ(tramp_selection__count_left(sel), 0, "of the file");
	tramp_selection__free(sel);
	unlink(list);
	tramp_syms__free(syms);
}

/* Behind typedefs, const and their like. */
static const struct btf_type *bare(const struct btf *btf, uint32_t id)
{
	const struct btf_type *t = btf__type_by_id(btf, id);

	while (t && (btf_is_mod(t) || btf_is_typedef(t)))
		t = btf__type_by_id(btf, t->type);
	return t;
}

/* A function's prototype with a struct file * in it. */
static bool takes_file(const struct btf *btf, const struct btf_type *func)
{
	const struct btf_type *proto = btf__type_by_id(btf, func->type), *t;
	uint32_t i;

	for (i = 0; i < btf_vlen(proto); i++) {
		t = bare(btf, btf_params(proto)[i].type);
		t = t && btf_is_ptr(t) ? bare(btf, t->type) : NULL;
		if (t && btf_is_struct(t) && !strcmp(btf__name_by_offset(btf, t->name_off), "file"))
			return true;
	}
	return false;
}

static bool is_denied(const char *name)
{
	const struct tramp_deny *entry;
	size_t i;

	for (i = 0; (entry = tramp_deny_list(i)); i++)
		if (tramp_glob_match(entry->pattern, name))
			return true;
	return false;
}

static bool is_in(const struct tramp_selection *sel, uint64_t addr)
{
	size_t lo = 0, hi = tramp_selection__count(sel);

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (tramp_selection__get(sel, mid)->sym->addr < addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < tramp_selection__count(sel) && tramp_selection__get(sel, lo)->sym->addr == addr;
}

static void test_arguments(void)
{
	const char *what = "vmlinux:*", *vfs = "vmlinux:vfs_*";
	TRAMP_OPTS(tramp_select_opts, opts, .patterns = &what, .pattern_cnt = 1,
		   .arg_type = "struct file *");
	const struct btf *btf;
	struct tramp_selection *sel;
	size_t i, nr = 0;
	uint32_t id;

	setup();
	btf = tramp_syms__btf(syms, NULL);
	REQUIRE(btf, "%s", tramp_last_error()->message);
	sel = need(&opts);
	ktap_note("%zu functions take a struct file *", tramp_selection__count(sel));
	/* Each function of the selection takes one, ... */
	for (i = 0; i < tramp_selection__count(sel); i++) {
		const struct tramp_selected *item = tramp_selection__get(sel, i);

		CHECK(item->btf_id && takes_file(btf, btf__type_by_id(btf, item->btf_id)), "%s",
		      item->sym->name);
	}
	/* ... and each that takes one is in the selection. */
	for (id = 1; id < btf__type_cnt(btf); id++) {
		const struct btf_type *func = btf__type_by_id(btf, id);
		const struct tramp_sym *sym;
		char spec[600];

		if (!btf_is_func(func) || !takes_file(btf, func))
			continue;
		snprintf(spec, sizeof(spec), "vmlinux:%s", btf__name_by_offset(btf, func->name_off));
		sym = tramp_syms__find(syms, spec);
		if (!sym || !(sym->flags & TRAMP_SYM_TRACEABLE) || is_denied(sym->name))
			continue;
		CHECK(is_in(sel, sym->addr), "%s", sym->name);
		nr++;
	}
	CHECK(nr > 100 && nr <= tramp_selection__count(sel) + 5, "%zu of %zu", nr,
	      tramp_selection__count(sel));
	tramp_selection__free(sel);
	opts = (struct tramp_select_opts) { .sz = sizeof(opts), .patterns = &vfs, .pattern_cnt = 1,
					    .flags = TRAMP_SELECT_ARGS, .min_args = 3,
					    .max_args = 4 };
	sel = need(&opts);
	for (i = nr = 0; i < tramp_syms__count(syms); i++) {
		const struct tramp_sym *sym = tramp_syms__get(syms, i);
		struct tramp_proto *proto;

		if (strncmp(sym->name, "vfs_", 4) || sym->module[0] ||
		    !(sym->flags & TRAMP_SYM_TRACEABLE))
			continue;
		proto = tramp_syms__proto(syms, sym);
		nr += proto && (proto->nr_args == 3 || proto->nr_args == 4);
		tramp_proto__free(proto);
	}
	CHECK_EQ(tramp_selection__count(sel), nr, "vfs_* of 3 or 4 arguments");
	CHECK(nr > 10, "%zu", nr);
	tramp_selection__free(sel);
	tramp_syms__free(syms);
}

/* Names that do not say which function is meant, or that the compiler made. */
static void test_names(void)
{
	struct tramp_selection *all, *sel;
	bool twice = false, isra = false;
	size_t i;

	setup();
	all = need_pattern("vmlinux:*", 0);
	for (i = 0; i < tramp_selection__count(all) && !(twice && isra); i++) {
		const struct tramp_selected *item = tramp_selection__get(all, i);
		char spec[600];

		snprintf(spec, sizeof(spec), "vmlinux:%s", item->sym->name);
		if (item->same_name > 1 && !twice) {
			twice = true;
			CHECK(!item->btf_id, "%s", spec);
			CHECK(!tramp_syms__find(syms, spec), "%s", spec);
			sel = need_pattern(spec, 0);
			CHECK(tramp_selection__count(sel) + tramp_selection__count_left(sel) ==
			      item->same_name, "%s", spec);
			CHECK(is_in(sel, item->sym->addr), "%s", spec);
			tramp_selection__free(sel);
			sel = need_pattern(spec, TRAMP_SELECT_UNIQUE);
			CHECK_EQ(tramp_selection__count(sel), 0, "%s", spec);
			CHECK(left_for(sel, TRAMP_REASON_AMBIGUOUS) > 0, "%s", spec);
			tramp_selection__free(sel);
		}
		if (item->suffix & TRAMP_SUFFIX_ISRA && item->same_name == 1 && !isra) {
			isra = true;
			CHECK(strstr(spec, ".isra."), "%s", spec);
			sel = need_pattern(spec, 0);
			CHECK(tramp_selection__count(sel) == 1 && is_in(sel, item->sym->addr), "%s",
			      spec);
			tramp_selection__free(sel);
		}
	}
	CHECK(isra || kernel_is_clangs(), "no .isra function");
	CHECK(twice || !is_stock(), "no name of two functions");
	tramp_selection__free(all);
	tramp_syms__free(syms);
}

/* One bad name in 5,000. */
static void test_bad_name(void)
{
	enum { NAMES_NR = 5000, BAD = 3210 };
	const char **names = calloc(NAMES_NR, sizeof(*names));
	TRAMP_OPTS(tramp_select_opts, opts, .patterns = names, .pattern_cnt = NAMES_NR);
	const struct tramp_left_out *left;
	struct tramp_selection *sel;
	size_t i, nr = 0;

	setup();
	if (!is_stock())
		ktap_skip("too few functions");
	sel = need_pattern("vmlinux:*", TRAMP_SELECT_UNIQUE);
	for (i = 0; nr < NAMES_NR; i++) {
		const struct tramp_selected *item = tramp_selection__get(sel, i);

		REQUIRE(item, "%zu names", nr);
		/* Without another function of that name in a module. */
		if (tramp_syms__find(syms, item->sym->name))
			names[nr++] = item->sym->name;
	}
	names[BAD] = "vfs_raed";
	tramp_selection__free(sel);
	sel = need(&opts);
	CHECK_EQ(tramp_selection__count(sel), NAMES_NR - 1, "the rest");
	REQUIRE(tramp_selection__count_left(sel) == 1, "%zu", tramp_selection__count_left(sel));
	left = tramp_selection__get_left(sel, 0);
	CHECK(!strcmp(left->pattern, "vfs_raed") && strstr(left->detail, "vfs_read"), "%s: %s",
	      left->pattern, left->detail);
	CHECK_EQ(left->reason, TRAMP_REASON_NO_SUCH_FUNCTION, "reason");
	tramp_selection__free(sel);
	opts.flags = TRAMP_SELECT_ALL_OR_NOTHING;
	CHECK(!tramp_syms__select(syms, &opts), "all or nothing");
	CHECK_EQ(errno, ENOENT, "errno");
	CHECK(strstr(tramp_last_error()->subject, "vfs_raed"), "%s", tramp_last_error()->message);
	names[BAD] = "vfs_read";
	sel = need(&opts);
	CHECK(tramp_selection__count(sel) >= NAMES_NR - 1, "%zu", tramp_selection__count(sel));
	tramp_selection__free(sel);
	free(names);
	tramp_syms__free(syms);
}

static int cancel_halfway(size_t done, size_t total, void *ctx)
{
	++*(int *)ctx;
	return done > total / 2;
}

static void test_cancel(void)
{
	const char *what = "*";
	int calls = 0;
	TRAMP_OPTS(tramp_select_opts, opts, .patterns = &what, .pattern_cnt = 1,
		   .progress = cancel_halfway, .progress_ctx = &calls);

	setup();
	CHECK(!tramp_syms__select(syms, &opts), "cancelled");
	CHECK_EQ(tramp_last_error()->reason, TRAMP_LIB_CANCELLED, "%s", tramp_last_error()->message);
	CHECK(calls > 10, "%d calls", calls);
	tramp_syms__free(syms);
}

/* The deny list against this kernel. */
static void test_deny_list(void)
{
	uint64_t from = ksym_addr("__cpuidle_text_start"), to = ksym_addr("__cpuidle_text_end");
	struct tramp_selection *sel;
	const struct tramp_deny *entry;
	size_t i, used = 0;

	setup();
	/* Nothing that may run without RCU is left; kernel/text/idle.c has the same section. */
	sel = need_pattern("vmlinux:*", 0);
	REQUIRE(from && to > from, "__cpuidle_text_start");
	for (i = 0; i < tramp_selection__count(sel); i++) {
		const struct tramp_sym *sym = tramp_selection__get(sel, i)->sym;

		CHECK(sym->addr < from || sym->addr >= to, "%s", sym->name);
	}
	tramp_selection__free(sel);
	for (i = 0; (entry = tramp_deny_list(i)); i++)
		used += tramp_syms__match(syms, entry->pattern, NULL, NULL, NULL) > 0;
	ktap_note("%zu of %zu entries are of use here", used, i);
	CHECK(!is_stock() || used > i * 3 / 4, "%zu of %zu", used, i);
	tramp_syms__free(syms);
}

static const struct ktap_test tests[] = {
	{ "all", test_all, 120 },
	{ "patterns", test_patterns, 120 },
	{ "arguments", test_arguments, 120 },
	{ "names", test_names, 120 },
	{ "bad-name", test_bad_name, 120 },
	{ "cancel", test_cancel, 120 },
	{ "deny-list", test_deny_list, 120 },
};

KTAP_MAIN(tests)
