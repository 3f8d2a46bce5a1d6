// SPDX-License-Identifier: GPL-2.0
/*
 * BTF as no compiler makes it, and as few do: types that are long, go round or are not there.
 */
#include <bpf/btf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../user/libtrampoline/syms/select.h"
#include "../lib/ktap.h"
#include "fixture.h"

/* No type has it. */
#define NO_TYPE		100000
/* Longer than a declaration may be. */
#define LONG		3000

static struct btf *btf;
static int t_int, t_void_p;
static char long_name[LONG + 1];

static int need(int id)
{
	REQUIRE(id > 0, "libbpf: %d", id);
	return id;
}

static void begin(void)
{
	btf = btf__new_empty();
	REQUIRE(btf, "btf__new_empty");
	t_int = need(btf__add_int(btf, "int", 4, BTF_INT_SIGNED));
	t_void_p = need(btf__add_ptr(btf, 0));
	memset(long_name, 'n', LONG);
}

static int next_id(void)
{
	return btf__type_cnt(btf);
}

/* A function type with one or two parameters; 0: there is no second. */
static int new_proto(int ret, int first, int second)
{
	int id = need(btf__add_func_proto(btf, ret));

	need(!btf__add_func_param(btf, "first", first));
	if (second)
		need(!btf__add_func_param(btf, "second", second));
	return id;
}

/* int func(@type arg) */
static int new_func(int type)
{
	return need(btf__add_func(btf, "func", BTF_FUNC_STATIC, new_proto(t_int, type, 0)));
}

/* ------------------------------------------------------------ declarations -- */

static void declares(int type, const char *name, int err, const char *expect)
{
	char text[4096];

	CHECK_EQ(libtramp_type_decl(btf, type, name, text, sizeof(text)), err, "%.20s", name);
	if (expect)
		CHECK(!strcmp(text, expect), "'%s', not '%s'", text, expect);
}

static void test_dots(void)
{
	int proto, id;

	begin();
	proto = need(btf__add_func_proto(btf, t_int));
	need(!btf__add_func_param(btf, "fmt", t_void_p));
	need(!btf__add_func_param(btf, "", 0));
	id = need(btf__add_ptr(btf, proto));
	declares(id, "print", 0, "int (*print)(void *, ...)");
	btf__free(btf);
}

static void test_long(void)
{
	int id, proto;

	begin();
	declares(t_int, long_name, -ENAMETOOLONG, NULL);
	id = need(btf__add_struct(btf, long_name, 4));
	declares(id, "", -ENAMETOOLONG, NULL);
	/* The stars have taken the room. */
	id = need(btf__add_ptr(btf, need(btf__add_ptr(btf, id))));
	declares(id, "x", -ENAMETOOLONG, "**x");
	/* Of a parameter. */
	proto = new_proto(t_int, id, 0);
	declares(proto, "f", -ENAMETOOLONG, NULL);
	btf__free(btf);
}

/* Functions that take functions, and so on; those that take themselves. */
static void test_deep(void)
{
	int id, i;

	begin();
	id = need(btf__add_ptr(btf, new_proto(t_int, t_int, 0)));
	for (i = 0; i < 3; i++)
		id = need(btf__add_ptr(btf, new_proto(t_int, id, 0)));
	declares(id, "", 0, "int (*)(int (*)(int (*)(int (*)(int))))");
	id = need(btf__add_ptr(btf, new_proto(t_int, id, 0)));
	declares(id, "", -EINVAL, NULL);
	id = next_id();
	need(new_proto(t_int, id, 0));
	declares(id, "", -EINVAL, NULL);
	btf__free(btf);
}

static void test_round(void)
{
	int id;

	begin();
	id = next_id();
	need(btf__add_ptr(btf, id));
	declares(id, "", -EINVAL, NULL);
	id = next_id();
	need(btf__add_const(btf, id));
	declares(id, "", -EINVAL, NULL);
	CHECK(!libtramp_skip_mods(btf, id), "there is nothing behind");
	declares(NO_TYPE, "", -EINVAL, NULL);
	declares(need(btf__add_ptr(btf, NO_TYPE)), "", -EINVAL, NULL);
	btf__free(btf);
}

/* -------------------------------------------------------------- prototypes -- */

static void breaks(int func)
{
	errno = 0;
	CHECK(!tramp_proto__new(btf, func), "type %d", func);
	CHECK_EQ(errno, EINVAL, "errno");
	CHECK_ERROR(-EINVAL, TRAMP_REASON_NO_BTF);
	CHECK(last_error_says("the BTF is broken"), "why");
}

static void test_broken(void)
{
	begin();
	breaks(need(btf__add_func(btf, "func", BTF_FUNC_STATIC, t_int)));
	breaks(need(btf__add_func(btf, "func", BTF_FUNC_STATIC, NO_TYPE)));
	breaks(new_func(NO_TYPE));
	/* By value, of a struct that is declared only. */
	breaks(new_func(need(btf__add_fwd(btf, "later", BTF_FWD_STRUCT))));
	btf__free(btf);
}

static void test_arguments(void)
{
	struct tramp_proto *p;
	uint64_t slots[4] = {};
	char text[64];

	begin();
	p = tramp_proto__new(btf, new_func(need(btf__add_float(btf, "double", 8))));
	REQUIRE(p, "%s", tramp_last_error()->message);
	CHECK_EQ(p->args[0].flags, TRAMP_ARG_FLOAT, "flags");
	CHECK_EQ(p->args[0].nr_slots, 1, "slots");
	tramp_proto__free(p);
	/* Too large for registers: its bytes are elsewhere. */
	p = tramp_proto__new(btf, new_func(need(btf__add_struct(btf, "large", 32))));
	REQUIRE(p, "%s", tramp_last_error()->message);
	CHECK_EQ(p->args[0].nr_slots, 4, "slots");
	CHECK_EQ(tramp_arg__format(p, &p->args[0], slots, text, sizeof(text)), 5, "length");
	CHECK(!strcmp(text, "{...}"), "%s", text);
	tramp_proto__free(p);
	btf__free(btf);
}

/* Of a wide one the context has the first eight bytes, which are not shown as if they were all. */
static void test_results(void)
{
	static const struct {
		uint32_t size;
		bool is_int;
		const char *text;
	} all[] = {
		{ 4, false, "{08 07 06 05}" },
		{ 8, false, "{08 07 06 05 04 03 02 01}" },
		{ 9, false, "{...}" },
		{ 16, false, "{...}" },
		{ 16, true, "{...}" },
		{ 8, true, "72623859790382856" },
	};
	/* The second one is not the result's. */
	const uint64_t slots[] = { 0x0102030405060708, 0x1112131415161718 };
	struct tramp_proto *p;
	char text[64];
	size_t i;
	int type;

	begin();
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		type = all[i].is_int ? need(btf__add_int(btf, "number", all[i].size, 0)) :
				       need(btf__add_struct(btf, "some", all[i].size));
		p = tramp_proto__new(btf, need(btf__add_func(btf, "func", BTF_FUNC_STATIC,
							     new_proto(type, t_int, 0))));
		REQUIRE(p, "%s", tramp_last_error()->message);
		CHECK_EQ(p->ret.slot, 1, "behind the arguments");
		CHECK_EQ(tramp_arg__format(p, &p->ret, slots, text, sizeof(text)),
			 strlen(all[i].text), "%zu: length", i);
		CHECK(!strcmp(text, all[i].text), "%zu: %s", i, text);
		tramp_proto__free(p);
	}
	btf__free(btf);
}

/* --------------------------------------------------------------- selection -- */

static bool is(int id, const char *text)
{
	struct libtramp_type type;

	REQUIRE(!libtramp_type_parse(text, &type), "%s", tramp_last_error()->message);
	return libtramp_type_is(btf, id, &type);
}

static void test_is(void)
{
	int id;

	begin();
	CHECK(!is(NO_TYPE, "int"), "no type");
	CHECK(!is(need(btf__add_ptr(btf, NO_TYPE)), "int *"), "a pointer to none");
	id = next_id();
	need(btf__add_const(btf, id));
	CHECK(!is(id, "int"), "nothing behind it");
	id = need(btf__add_struct(btf, NULL, 4));
	CHECK(!is(id, "struct x"), "without a name");
	id = need(btf__add_enum64(btf, "flags", 8, false));
	CHECK(is(id, "enum flags"), "of 64 bits");
	CHECK(!is(id, "struct flags"), "an enum");
	id = need(btf__add_int(btf, "_Bool", 1, BTF_INT_BOOL));
	CHECK(is(id, "_Bool"), "it has one name");
	CHECK(!is(id, "int"), "and no other");
	btf__free(btf);
}

static void test_pass(void)
{
	const struct libtramp_args args = { .by_number = true, .max = 6 };

	begin();
	CHECK(libtramp_args_pass(btf, new_func(t_int), &args), "any number");
	CHECK(!libtramp_args_pass(btf, need(btf__add_func(btf, "f", BTF_FUNC_STATIC, t_int)),
				  &args), "it has no arguments that are known");
	CHECK(!libtramp_args_pass(btf, NO_TYPE, &args), "it is none");
	btf__free(btf);
}

/* --------------------------------------------------------------- functions -- */

#define NR_FUNCS	200

/* In the table of functions, names share places, and some share the name. */
static void test_many(void)
{
	TRAMP_OPTS(tramp_syms_opts, opts, .filter_functions = "");
	char *symbols = calloc(NR_FUNCS, 64), name[32];
	int i, len = 0, ids[NR_FUNCS];
	struct tramp_syms *syms;
	const void *raw;
	__u32 size;

	begin();
	REQUIRE(symbols, "no memory");
	for (i = 0; i < NR_FUNCS; i++) {
		snprintf(name, sizeof(name), "func_%d", i);
		len += sprintf(symbols + len, "ffffffff81%06x T %s\n", i * 16, name);
		ids[i] = need(btf__add_func(btf, name, BTF_FUNC_STATIC, new_proto(0, t_int, 0)));
	}
	for (i = 0; i < NR_FUNCS; i += 7) {
		snprintf(name, sizeof(name), "func_%d", i);
		need(btf__add_func(btf, name, BTF_FUNC_STATIC, new_proto(0, t_int, t_int)));
	}
	raw = btf__raw_data(btf, &size);
	REQUIRE(raw, "btf__raw_data");
	opts.vmlinux_btf = fixture_file("vmlinux", raw, size);
	opts.kallsyms = fixture_text("kallsyms", symbols);
	syms = tramp_syms__load(&opts);
	REQUIRE(syms, "%s", tramp_last_error()->message);
	for (i = 0; i < NR_FUNCS; i++) {
		snprintf(name, sizeof(name), "func_%d", i);
		CHECK_EQ(tramp_syms__btf_id(syms, tramp_syms__find(syms, name), NULL), ids[i],
			 "the first %s", name);
	}
	tramp_syms__free(syms);
	btf__free(btf);
	free(symbols);
}

/* A name that is cut would be another module's, and one with a / leads out of the folder. */
static void test_modules(void)
{
	TRAMP_OPTS(tramp_syms_opts, opts, .filter_functions = "");
	char name[TRAMP_MOD_LEN + 1];
	struct tramp_syms *syms;

	opts.kallsyms = fixture_text("kallsyms", "ffffffff81001000 T func\n");
	opts.vmlinux_btf = fixture_btf("func");
	opts.module_btf_dir = "/";
	syms = tramp_syms__load(&opts);
	REQUIRE(syms, "%s", tramp_last_error()->message);
	memset(name, 'm', TRAMP_MOD_LEN);
	name[TRAMP_MOD_LEN] = 0;
	CHECK(!tramp_syms__btf(syms, name), "a name that is too long");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_BAD_ARGUMENT);
	name[TRAMP_MOD_LEN - 1] = 0;
	CHECK(!tramp_syms__btf(syms, name), "no such module");
	CHECK_ERROR(-ENOENT, TRAMP_REASON_NO_BTF);
	CHECK(!tramp_syms__btf(syms, opts.vmlinux_btf + 1), "a path");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_BAD_ARGUMENT);
	tramp_syms__free(syms);
}

static const struct ktap_test tests[] = {
	{ .name = "dots", .run = test_dots },
	{ .name = "long", .run = test_long },
	{ .name = "deep", .run = test_deep },
	{ .name = "round", .run = test_round },
	{ .name = "broken", .run = test_broken },
	{ .name = "arguments", .run = test_arguments },
	{ .name = "results", .run = test_results },
	{ .name = "is", .run = test_is },
	{ .name = "pass", .run = test_pass },
	{ .name = "many", .run = test_many },
	{ .name = "modules", .run = test_modules },
};

KTAP_MAIN(tests)
