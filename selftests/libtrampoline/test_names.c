// SPDX-License-Identifier: GPL-2.0
/*
 * Names of addresses, and what the library leaves out of kallsyms: functions that ran at a
 * module's load, which ftrace lists on where another module may be by now.
 */
#include <errno.h>
#include <stdio.h>

#include "../lib/ktap.h"
#include "fixture.h"

static const char kallsyms[] =
	"0000000000000000 A __per_cpu_start\n"
	"0000000000000000 D fixed_percpu_data\n"
	"0000000000000100 D some_counter\n"
	"0000000000001000 D __per_cpu_end\n"
	"ffffffff81000000 T _text\n"
	"ffffffff81000100 t local_alias\n"
	"ffffffff81000100 T do_unlinkat\n"
	"ffffffff82000000 D some_data\n"
	"ffffffff82000000 r const_some_data\n"
	"ffffffffc0000000 t first_func\t[first]\n"
	"ffffffffc0000800 T first_last\t[first]\n"
	"ffffffffc0010000 d first_data\t[first]\n"
	"ffffffffc0002000 t second_func\t[second]\n"
	"ffffffffc0002400 t second_last\t[second]\n"
	"ffffffffc0009000 T third_func\t[third]\n"
	"ffffffffc000a000 T third_init\t[third]\n"
	"ffffffffc0002010 T first_init\t[first]\n"
	"ffffffffbfff0000 T first_other_init\t[first]\n"
	"ffffffffc0002410 T no_text_init\t[no_text]\n"
	"ffffffffc000b000 T went_func\t[went]\n"
	"ffffffffc0002600 t trampoline_6442509676_1\t[bpf]\n"
	"ffffffffc000c000 t kprobe_insn_page\t[__builtin__kprobes]\n"
	"a line that is none\n";

/* The size is that of all sections: the first one's would reach into the second. */
static const char modules[] =
	"third 16 0 - Loading 0xffffffffc0009000 (OE+)\n"
	"second 12288 1 first,third, Live 0xffffffffc0002000\n"
	"no_text 4096 0 - Live 0x0000000000000000\n"
	"first 65536 2 - Live 0xffffffffc0000000 (OE)\n"
	"broken 12\n"
	"\n";

static const char *const gone[] = { "first_init", "first_other_init", "no_text_init" };

static struct tramp_names *load(const char *module_text)
{
	TRAMP_OPTS(tramp_names_opts, opts);
	struct tramp_names *names;

	opts.kallsyms = fixture_text("kallsyms", kallsyms);
	opts.modules = module_text ? fixture_text("modules", module_text) : NULL;
	names = tramp_names__load(&opts);
	REQUIRE(names, "%s", tramp_last_error()->message);
	return names;
}

static struct tramp_syms *load_functions(const char *module_text)
{
	TRAMP_OPTS(tramp_syms_opts, opts, .filter_functions = "");
	struct tramp_syms *syms;

	opts.kallsyms = fixture_text("kallsyms", kallsyms);
	opts.modules = module_text ? fixture_text("modules", module_text) : NULL;
	syms = tramp_syms__load(&opts);
	REQUIRE(syms, "%s", tramp_last_error()->message);
	return syms;
}

static void check_at(const struct tramp_names *names, uint64_t addr, const char *want)
{
	uint64_t off = 0;
	const struct tramp_name *s = tramp_names__find_addr(names, addr, &off);
	char got[256] = "nothing";

	if (s)
		snprintf(got, sizeof(got), "%s+%#llx [%s]", s->name, (unsigned long long)off,
			 s->module);
	CHECK(!strcmp(got, want), "%#llx: %s, not %s", (unsigned long long)addr, got, want);
}

static void test_find(void)
{
	struct tramp_names *names = load(modules);
	const struct tramp_name *s;
	uint64_t off;

	check_at(names, 0xffffffff81000104, "do_unlinkat+0x4 []");
	check_at(names, 0xffffffff82000000, "some_data+0 []");
	check_at(names, 0xffffffffc0010008, "first_data+0x8 [first]");
	check_at(names, 0xffffffffc0002601, "trampoline_6442509676_1+0x1 [bpf]");
	check_at(names, 0xffffffffc000c001, "kprobe_insn_page+0x1 [__builtin__kprobes]");
	errno = 0;
	check_at(names, 0xffffffff81010100, "nothing");
	CHECK_EQ(errno, ENOENT, "errno");
	s = tramp_names__find_percpu(names, 0x108, &off);
	CHECK(s && !strcmp(s->name, "some_counter") && off == 8, "%s", s ? s->name : "nothing");
	s = tramp_names__find_percpu(names, 0, NULL);
	CHECK(s && !strcmp(s->name, "fixed_percpu_data"), "%s", s ? s->name : "nothing");
	CHECK(!tramp_names__find_percpu(names, 0x1000, NULL), "behind the last");
	tramp_names__free(names);
	tramp_names__free(NULL);
}

static void test_gone(void)
{
	struct tramp_names *names = load(modules);
	struct tramp_syms *syms = load_functions(modules);
	const struct tramp_sym *sym;
	size_t i;

	/* Of the second module, though a function of the first ran there. */
	check_at(names, 0xffffffffc0002020, "second_func+0x20 [second]");
	check_at(names, 0xffffffffc0002420, "second_last+0x20 [second]");
	check_at(names, 0xffffffffbfff0000, "nothing");
	sym = tramp_syms__find_addr(syms, 0xffffffffc0002020, NULL);
	CHECK(sym && !strcmp(sym->name, "second_func"), "%s", sym ? sym->name : "nothing");
	for (i = 0; i < sizeof(gone) / sizeof(gone[0]); i++) {
		CHECK(!tramp_syms__find(syms, gone[i]), "%s", gone[i]);
		CHECK_ERROR(-ENOENT, TRAMP_REASON_NO_SUCH_FUNCTION);
	}
	tramp_syms__free(syms);
	tramp_names__free(names);
}

static void test_there(void)
{
	static const char *const there[] = {
		"do_unlinkat", "first_func", "first_last", "second_func", "second_last",
		/* A module that is loading runs its own; one without a line came or went. */
		"third_func", "third_init", "went_func",
	};
	struct tramp_names *names = load(modules);
	struct tramp_syms *syms = load_functions(modules);
	size_t i;

	for (i = 0; i < sizeof(there) / sizeof(there[0]); i++) {
		const struct tramp_sym *sym = tramp_syms__find(syms, there[i]);
		const struct tramp_name *s;

		if (!CHECK(sym, "%s", tramp_last_error()->message))
			continue;
		s = tramp_names__find_addr(names, sym->addr, NULL);
		CHECK(s && !strcmp(s->name, there[i]), "%s: %s", there[i], s ? s->name : "nothing");
	}
	tramp_syms__free(syms);
	tramp_names__free(names);
}

/* Nothing is left out where nothing is known of modules, or of addresses. */
static void test_unknown(void)
{
	static const char hidden[] = "first 4096 2 - Live 0x0000000000000000 (OE)\n"
				     "second 4096 2 - Live 0x0000000000000000\n";
	static const char *const texts[] = { NULL, "", "rubbish\n 0x \n[\n", hidden };
	size_t i, k;

	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct tramp_syms *syms = load_functions(texts[i]);
		struct tramp_names *names = load(texts[i]);

		for (k = 0; k < sizeof(gone) / sizeof(gone[0]); k++)
			CHECK(tramp_syms__find(syms, gone[k]), "%zu: %s", i,
			      tramp_last_error()->message);
		check_at(names, 0xffffffffc0002020, "first_init+0x10 [first]");
		tramp_syms__free(syms);
		tramp_names__free(names);
	}
}

static void test_hidden(void)
{
	static const char text[] = "0000000000000000 T do_unlinkat\n"
				   "0000000000000000 t mod_func\t[first]\n";
	TRAMP_OPTS(tramp_names_opts, opts);
	TRAMP_OPTS(tramp_syms_opts, syms_opts);
	struct tramp_syms *syms;

	opts.kallsyms = syms_opts.kallsyms = fixture_text("kallsyms", text);
	opts.modules = syms_opts.modules = fixture_text("modules", modules);
	CHECK(!tramp_names__load(&opts), "without addresses");
	CHECK_EQ(errno, EPERM, "errno");
	CHECK_ERROR(-EPERM, TRAMP_LIB_NO_KALLSYMS);
	syms = tramp_syms__load(&syms_opts);
	REQUIRE(syms, "%s", tramp_last_error()->message);
	CHECK(tramp_syms__find(syms, "first:mod_func"), "%s", tramp_last_error()->message);
	tramp_syms__free(syms);
}

static void test_load_fails(void)
{
	TRAMP_OPTS(tramp_names_opts, opts, .kallsyms = "/nonexistent/kallsyms");

	errno = 0;
	CHECK(!tramp_names__load(&opts), "no such file");
	CHECK_EQ(errno, ENOENT, "errno");
	CHECK_ERROR(-ENOENT, TRAMP_LIB_NO_KALLSYMS);
	opts.kallsyms = fixture_text("empty", "");
	CHECK(!tramp_names__load(&opts), "empty file");
	CHECK_ERROR(-ENODATA, TRAMP_LIB_NO_KALLSYMS);
	opts.kallsyms = fixture_text("kallsyms", kallsyms);
	opts.modules = "/nonexistent/modules";
	CHECK(!tramp_names__load(&opts), "no such file");
	CHECK_ERROR(-ENOENT, TRAMP_LIB_NO_FILE);
	opts.sz = 3;
	CHECK(!tramp_names__load(&opts), "bad size");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_BAD_ARGUMENT);
}

static const struct ktap_test tests[] = {
	{ .name = "find", .run = test_find },
	{ .name = "gone", .run = test_gone },
	{ .name = "there", .run = test_there },
	{ .name = "unknown", .run = test_unknown },
	{ .name = "hidden", .run = test_hidden },
	{ .name = "load-fails", .run = test_load_fails },
};

KTAP_MAIN(tests)
