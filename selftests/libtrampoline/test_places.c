// SPDX-License-Identifier: GPL-2.0
/*
 * Where probes go: the grammar of section names and of places, held against what
 * libbpf makes of the same text; options; and what is said of places that are not.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../user/libtrampoline/ask/ask.h"
#include "../../user/libtrampoline/attach/internal.h"
#include "../../user/libtrampoline/syms/place.h"
#include "../lib/ktap.h"
#include "fixture.h"
#include "probes.skel.h"

#define LEN(a)	(sizeof(a) / sizeof((a)[0]))

static const char kallsyms[] =
	"ffffffff81000000 T do_unlinkat\n"
	"ffffffff81001000 t only_here\n"
	"ffffffff81002000 t both\n"
	"ffffffffc0000000 t both\t[mod]\n"
	"ffffffffc0001000 t mod_func\t[mod]\n";

static void test_accepted(void)
{
	static const struct {
		const char *text, *symbol;
		uint64_t offset;
		bool has_offset;
	} good[] = {
		{ "do_unlinkat", "do_unlinkat", 0, false },
		{ "do_unlinkat+0", "do_unlinkat", 0, true },
		{ "do_unlinkat+16", "do_unlinkat", 16, true },
		{ "do_unlinkat+0x10", "do_unlinkat", 16, true },
		{ "do_unlinkat+0X1f", "do_unlinkat", 31, true },
		{ "f.isra.0+0xabc", "f.isra.0", 0xabc, true },
		{ "_x", "_x", 0, false },
		{ ".text", ".text", 0, false },
		{ "A9_z.b+4294967296", "A9_z.b", 1ULL << 32, true },
	};
	struct tramp_place p;
	size_t i;

	for (i = 0; i < LEN(good); i++) {
		CHECK_EQ(libtramp_place_parse(good[i].text, true, &p, "x"), 0, "%s: %s",
			 good[i].text, tramp_last_error()->message);
		CHECK(!strcmp(p.symbol, good[i].symbol), "%s: %s", good[i].text, p.symbol);
		CHECK_EQ(p.offset, good[i].offset, "%s", good[i].text);
		CHECK_EQ(p.has_offset, good[i].has_offset, "%s", good[i].text);
		CHECK(!p.module[0] && !p.addr, "%s", good[i].text);
	}
}

static void test_refused(void)
{
	static const struct {
		const char *text, *why;
	} bad[] = {
		{ "", "it is empty" },
		{ "+16", "there is no name" },
		{ "f+", "a number is decimal" },
		{ "f+x", "a number is decimal" },
		{ "f+0x", "a number is decimal" },
		{ "f+ 1", "a number is decimal" },
		{ "f+-1", "a number is decimal" },
		{ "f++1", "a number is decimal" },
		{ "f+1 ", "a number is decimal" },
		{ "f+12ab", "a number is decimal" },
		{ "f+0x12g", "a number is decimal" },
		{ "f+010", "octal to libbpf" },
		{ "f+18446744073709551616", "too large" },
		{ "f-1", "not negative" },
		{ "f g", "only letters" },
		{ "f*", "it is a pattern" },
		{ "f/g", "only letters" },
		{ "f%ax", "only letters" },
		{ "f@plt", "only letters" },
		{ "m:f", "tramp_attach_opts::module" },
		{ "0xffffffff81000000", "tramp_attach_opts::addr" },
		{ "7", "tramp_attach_opts::addr" },
	};
	struct tramp_place p;
	size_t i;

	for (i = 0; i < LEN(bad); i++) {
		CHECK_EQ(libtramp_place_parse(bad[i].text, true, &p, "section"), -EINVAL, "%s",
			 bad[i].text);
		CHECK_ERROR(-EINVAL, TRAMP_LIB_BAD_PLACE);
		CHECK(last_error_says(bad[i].why), "'%s'", bad[i].text);
		CHECK(last_error_says("[MODULE:]FUNCTION[+OFFSET]"), "the remedy");
	}
	CHECK_EQ(libtramp_place_parse(NULL, true, &p, "section"), -EINVAL, "NULL");
}

static void test_long_names(void)
{
	char text[TRAMP_SYM_LEN + 16];
	struct tramp_place p;

	memset(text, 'f', sizeof(text));
	strcpy(text + TRAMP_SYM_LEN - 1, "+8");
	CHECK_EQ(libtramp_place_parse(text, true, &p, "x"), 0, "%s", tramp_last_error()->message);
	CHECK_EQ(strlen(p.symbol), TRAMP_SYM_LEN - 1, "as long as can be");
	CHECK_EQ(p.offset, 8, "behind it");
	text[TRAMP_SYM_LEN - 1] = 'f';
	text[TRAMP_SYM_LEN] = '\0';
	CHECK_EQ(libtramp_place_parse(text, true, &p, "x"), -EINVAL, "too long");
	CHECK(last_error_says("the name is too long"), "why");
	memset(text, 'm', TRAMP_MOD_LEN);
	strcpy(text + TRAMP_MOD_LEN, ":f");
	CHECK_EQ(libtramp_place_parse(text, false, &p, "x"), -EINVAL, "module too long");
	CHECK(last_error_says("the name is too long"), "why");
}

/* libbpf's reading of a section's text: false if it uses less than all of it. */
static bool libbpf_reads(const char *text, char *symbol, long *offset)
{
	char *func = NULL;
	int n, used = 0, plain = 0;

	*offset = 0;
	n = sscanf(text, "%m[a-zA-Z0-9_.]%n+%li%n", &func, &plain, offset, &used);
	if (n < 1)
		return false;
	snprintf(symbol, TRAMP_SYM_LEN, "%s", func);
	free(func);
	return text[n == 2 ? used : plain] == '\0';
}

/* Whatever we accept in a section name, libbpf accepts and understands alike. */
static void test_same_as_libbpf(void)
{
	static const char letters[] = "f_.9+0x1a:- %";
	unsigned int seed = 1, accepted = 0, i, j;

	for (i = 0; i < 200000; i++) {
		char text[12], symbol[TRAMP_SYM_LEN];
		struct tramp_place p;
		long offset;

		for (j = 0; j < sizeof(text) - 1; j++)
			text[j] = letters[rand_r(&seed) % (sizeof(letters) - 1)];
		text[rand_r(&seed) % sizeof(text)] = '\0';
		text[sizeof(text) - 1] = '\0';
		if (libtramp_place_parse(text, true, &p, "x"))
			continue;
		accepted++;
		if (!CHECK(libbpf_reads(text, symbol, &offset), "libbpf refuses '%s'", text))
			break;
		CHECK(!strcmp(symbol, p.symbol), "'%s': %s %s", text, symbol, p.symbol);
		CHECK_EQ(offset, p.offset, "'%s'", text);
	}
	CHECK(accepted > 1000, "only %u texts were accepted", accepted);
}

static void test_places(void)
{
	static const struct {
		const char *text, *module, *symbol;
		uint64_t offset, addr;
	} good[] = {
		{ "do_unlinkat+0x1a", "", "do_unlinkat", 0x1a, 0 },
		{ "mod:mod_func", "mod", "mod_func", 0, 0 },
		{ "mod:mod_func+7", "mod", "mod_func", 7, 0 },
		{ "vmlinux:both", "vmlinux", "both", 0, 0 },
		{ "0xffffffff81000000", "", "", 0, 0xffffffff81000000 },
		{ "0Xff", "", "", 0, 0xff },
	};
	static const char *const bad[] = {
		"0", "00", "12", "0x0", "0x", "0xfg", "0x1ffffffffffffffff", ":f", "m:", "a:b:c",
		"m:f+", "mod:0x10", "0x10+5",
	};
	char text[LIBTRAMP_PLACE_LEN];
	struct tramp_place again;
	size_t i;

	for (i = 0; i < LEN(good); i++) {
		TRAMP_OPTS(tramp_place, p);

		CHECK_EQ(tramp_place__parse(good[i].text, &p), 0, "%s", tramp_last_error()->message);
		CHECK(!strcmp(p.module, good[i].module), "%s: %s", good[i].text, p.module);
		CHECK(!strcmp(p.symbol, good[i].symbol), "%s: %s", good[i].text, p.symbol);
		CHECK_EQ(p.offset, good[i].offset, "%s", good[i].text);
		CHECK_EQ(p.addr, good[i].addr, "%s", good[i].text);
		/* Written and read again it is the same. */
		CHECK_EQ(libtramp_place_parse(libtramp_place_text(&p, text, sizeof(text)), false,
					      &again, "x"), 0, "%s", text);
		again.sz = p.sz;
		CHECK(!memcmp(&p, &again, sizeof(p)), "%s is %s", good[i].text, text);
	}
	for (i = 0; i < LEN(bad); i++) {
		TRAMP_OPTS(tramp_place, p);

		/* A name may begin with a digit only behind a module's. */
		if (!strcmp(bad[i], "mod:0x10")) {
			CHECK_EQ(tramp_place__parse(bad[i], &p), 0, "%s", bad[i]);
			continue;
		}
		CHECK_EQ(tramp_place__parse(bad[i], &p), -EINVAL, "%s", bad[i]);
		CHECK_ERROR(-EINVAL, TRAMP_LIB_BAD_PLACE);
	}
	CHECK_EQ(tramp_place__parse("f", NULL), -EINVAL, "no struct");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_BAD_ARGUMENT);
}

static void test_options(void)
{
	TRAMP_OPTS(tramp_attach_opts, addr, .addr = 0xffffffff81000010);
	TRAMP_OPTS(tramp_attach_opts, symbol, .symbol = "g", .offset = 8, .module = "mod");
	TRAMP_OPTS(tramp_attach_opts, module, .module = "mod");
	TRAMP_OPTS(tramp_attach_opts, offset, .offset = 8);
	TRAMP_OPTS(tramp_attach_opts, both, .addr = 1, .symbol = "g");
	TRAMP_OPTS(tramp_attach_opts, name, .symbol = "g+8");
	TRAMP_OPTS(tramp_attach_opts, empty, .symbol = "");
	TRAMP_OPTS(tramp_attach_opts, nowhere, .symbol = "g", .module = "");
	const struct tramp_attach_opts *bad[] = { &offset, &both, &name, &empty, &nowhere };
	struct tramp_attach_opts older = { .sz = 24, .symbol = "beyond what it knows" };
	struct tramp_place p;
	size_t i;

	CHECK_EQ(libtramp_probe_place("kprobe/f+4", NULL, &p, "x"), 0, "the section's");
	CHECK(!strcmp(p.symbol, "f") && p.offset == 4, "%s", p.symbol);
	CHECK_EQ(libtramp_probe_place("kprobe/f+4", &addr, &p, "x"), 0, "an address");
	CHECK(p.addr == addr.addr && !p.symbol[0] && !p.offset, "outdoes it");
	CHECK_EQ(libtramp_probe_place("kprobe/f+4", &symbol, &p, "x"), 0, "a symbol");
	CHECK(!strcmp(p.symbol, "g") && p.offset == 8 && !strcmp(p.module, "mod"), "outdoes it");
	CHECK_EQ(libtramp_probe_place("kprobe/f+4", &module, &p, "x"), 0, "a module");
	CHECK(!strcmp(p.symbol, "f") && p.offset == 4 && !strcmp(p.module, "mod"), "goes with it");
	CHECK_EQ(libtramp_probe_place("kprobe/f", &older, &p, "x"), 0, "an older caller");
	CHECK(!strcmp(p.symbol, "f"), "%s", p.symbol);
	CHECK_EQ(libtramp_probe_place("kprobe", &symbol, &p, "x"), 0, "a bare section");
	CHECK_EQ(libtramp_probe_place("", &addr, &p, "x"), 0, "no section");
	for (i = 0; i < LEN(bad); i++) {
		CHECK_EQ(libtramp_probe_place("kprobe/f", bad[i], &p, "x"), -EINVAL, "%zu", i);
		CHECK_ERROR(-EINVAL, TRAMP_LIB_BAD_PLACE);
	}
	CHECK_EQ(libtramp_probe_place("kprobe", NULL, &p, "x"), -EINVAL, "nowhere");
	CHECK(last_error_says("neither its section nor opts say where"), "why");
	CHECK_EQ(libtramp_probe_place("kprobe", &module, &p, "x"), -EINVAL, "a module alone");
}

/* The module's word for the kernel proper is no word at all. */
static void test_vmlinux(void)
{
	struct tramp_syms *syms = fixture_syms(kallsyms, NULL);
	struct tramp_place p;

	libtramp_place_parse("vmlinux:only_here+4", false, &p, "x");
	CHECK_EQ(libtramp_place_resolve(&p, syms), 0, "%s", tramp_last_error()->message);
	CHECK(!p.module[0] && !p.addr && !strcmp(p.symbol, "only_here"), "by name");
	libtramp_place_parse("vmlinux:both+4", false, &p, "x");
	CHECK_EQ(libtramp_place_resolve(&p, syms), 0, "%s", tramp_last_error()->message);
	CHECK(!p.module[0] && !strcmp(p.symbol, "both") && p.offset == 4,
	      "by name: the module takes the kernel's before another module's");
	libtramp_place_parse("vmlinux:mod_func", false, &p, "x");
	CHECK_EQ(libtramp_place_resolve(&p, syms), -ENOENT, "a module's only");
	CHECK(last_error_says("mod has one"), "whose");
	tramp_syms__free(syms);
}

static void test_other_kinds(void)
{
	static const struct {
		const char *section, *why, *remedy;
	} other[] = {
		{ "ksyscall/unlink", "system calls", "kprobe/__x64_sys_NAME" },
		{ "kretsyscall/unlink", "system calls", "kretprobe/__x64_sys_NAME" },
		{ "uprobe", "user space", "libbpf" },
		{ "uprobe.s//bin/x:f", "user space", "libbpf" },
		{ "uprobe.multi.s/x", "user space", "libbpf" },
		{ "uretprobe//bin/x:f", "user space", "libbpf" },
		{ "usdt//bin/x:a:b", "user space", "libbpf" },
	};
	static const char *const ours[] = { "kprobe", "kprobe/f", "kprobe/f+1", "kretprobe", "kretprobe/f",
					  "mine", "uprobes" };
	struct libtramp_failure f;
	const char *why;
	size_t i;

	for (i = 0; i < LEN(other); i++) {
		why = libtramp_not_a_probe(other[i].section, &f);
		REQUIRE(why, "%s", other[i].section);
		CHECK(strstr(why, other[i].why), "%s: %s", other[i].section, why);
		CHECK(strstr(f.remedy, other[i].remedy), "%s: %s", other[i].section, f.remedy);
	}
	for (i = 0; i < LEN(ours); i++)
		CHECK(!libtramp_not_a_probe(ours[i], &f), "%s", ours[i]);
}

/* The same as programs that libbpf has opened. */
static void test_programs(void)
{
	TRAMP_OPTS(tramp_attach_opts, place, .symbol = "f");
	TRAMP_OPTS(tramp_attach_opts, flag, .flags = TRAMP_ATTACH_F_NO_JUMP);
	TRAMP_OPTS(tramp_attach_opts, active, .symbol = "f", .maxactive = 5);
	TRAMP_OPTS(tramp_attach_opts, offset, .symbol = "f", .offset = 4,
		   .flags = TRAMP_ATTACH_F_RETURN);
	struct probes *skel = probes__open();

	REQUIRE(skel, "open: %s", strerror(errno));
	tramp_set_print(NULL);
	CHECK(!tramp_attach(skel->progs.on_return, NULL), "kretprobe with an offset");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_BAD_PLACE);
	CHECK(last_error_says("program 'on_return' (SEC(\"kretprobe/do_unlinkat+0\"))"), "which");
	CHECK(last_error_says("without an offset"), "why");
	CHECK(!tramp_attach(skel->progs.nowhere, &offset), "by flag, with an offset");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_BAD_PLACE);
	CHECK(!tramp_attach(skel->progs.nowhere, &active), "maxactive for no return probe");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_BAD_ARGUMENT);
	CHECK(!tramp_attach(skel->progs.on_many, NULL), "kprobe.multi");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_NOT_LOADED);
	CHECK(!tramp_attach(skel->progs.on_many, &place), "kprobe.multi with a place");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_BAD_ARGUMENT);
	CHECK(!tramp_attach_multi(skel->progs.on_many, NULL), "by the pattern");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_NOT_LOADED);
	CHECK(!tramp_attach(skel->progs.on_user, NULL), "uprobe");
	CHECK_ERROR(-EOPNOTSUPP, TRAMP_REASON_PROG_TYPE);
	CHECK(!tramp_attach(skel->progs.on_octal, NULL), "octal");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_BAD_PLACE);
	CHECK(last_error_says("kprobe/do_unlinkat+010"), "which");
	CHECK(!tramp_attach(skel->progs.nowhere, NULL), "no place");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_BAD_PLACE);
	CHECK(!tramp_attach(skel->progs.nowhere, &place), "a place, but not loaded");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_NOT_LOADED);
	CHECK(!tramp_attach(skel->progs.at_entry, NULL), "not loaded");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_NOT_LOADED);
	/* Members that only probes have. */
	CHECK(!tramp_attach(skel->progs.on_call, &place), "a place for a tracing program");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_BAD_ARGUMENT);
	CHECK(last_error_says("fixed when it is loaded"), "why");
	CHECK(!tramp_attach(skel->progs.on_call, &flag), "a flag for a tracing program");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_BAD_ARGUMENT);
	CHECK_EQ(libtramp_flags_for(skel->progs.on_call, 0xf), 3, "of a mixed object");
	CHECK_EQ(libtramp_flags_for(skel->progs.at_entry, 0xf), 0xf, "of a mixed object");
	/* One that names no place is left alone, as libbpf does. */
	bpf_program__set_autoload(skel->progs.at_entry, false);
	bpf_program__set_autoload(skel->progs.on_call, false);
	CHECK(!tramp_object__attach(skel->obj, NULL), "only the one without a place is left");
	CHECK_ERROR(-ENOENT, TRAMP_LIB_NO_PROGRAMS);
	probes__destroy(skel);
}

static void test_near_misses(void)
{
	struct tramp_refusal r = { .reason = TRAMP_REASON_NO_SUCH_FUNCTION };
	struct tramp_syms *syms = fixture_syms(kallsyms, NULL);
	struct tramp_place p;

	libtramp_place_parse("do_unlnkat+4", false, &p, "x");
	CHECK_EQ(libtramp_fail_place(-1, -ENOENT, &r, "ATTACH", &p, syms, "program 'p'"),
		 -ENOENT, "errno");
	CHECK_ERROR(-ENOENT, TRAMP_REASON_NO_SUCH_FUNCTION);
	CHECK(last_error_says("program 'p': no function of that name or at that address "
			      "(the nearest: do_unlinkat); use one of these"), "all of it");
	CHECK(tramp_last_error()->from_kernel, "who says so");
	libtramp_place_parse("mod:do_unlinkat", false, &p, "x");
	libtramp_fail_place(-1, -ENOENT, &r, "ATTACH", &p, syms, "program 'p'");
	CHECK(last_error_says("vmlinux has one"), "in another module");
	/* Questions that cannot be asked are left out. */
	r.reason = TRAMP_REASON_NOT_BOUNDARY;
	r.addr = 0xffffffff81000001;
	CHECK_EQ(libtramp_fail_place(-1, -EINVAL, &r, "ATTACH", &p, syms, "program 'p'"),
		 -EINVAL, "errno");
	CHECK_ERROR(-EINVAL, TRAMP_REASON_NOT_BOUNDARY);
	CHECK(last_error_says("(address 0xffffffff81000001); trampctl explain --code"), "all of it");
	tramp_syms__free(syms);
}

static void test_explain_arguments(void)
{
	struct {
		struct tramp_code_opts opts;
		uint64_t unknown;
	} newer = { .opts.sz = sizeof(newer), .unknown = 1 };

	tramp_set_print(NULL);
	CHECK(!tramp_explain_code(NULL, NULL, NULL), "NULL");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_BAD_PLACE);
	CHECK(!tramp_explain_code(NULL, "f+", NULL), "malformed");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_BAD_PLACE);
	CHECK(!tramp_explain_code(NULL, "f", &newer.opts), "newer opts");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_BAD_ARGUMENT);
	tramp_code__free(NULL);
}

static const struct ktap_test tests[] = {
	{ .name = "section-accepted", .run = test_accepted },
	{ .name = "section-refused", .run = test_refused },
	{ .name = "long-names", .run = test_long_names },
	{ .name = "same-as-libbpf", .run = test_same_as_libbpf },
	{ .name = "places", .run = test_places },
	{ .name = "options", .run = test_options },
	{ .name = "vmlinux", .run = test_vmlinux },
	{ .name = "other-kinds", .run = test_other_kinds },
	{ .name = "programs", .run = test_programs },
	{ .name = "near-misses", .run = test_near_misses },
	{ .name = "explain-arguments", .run = test_explain_arguments },
};

KTAP_MAIN(tests)
