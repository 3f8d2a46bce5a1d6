// SPDX-License-Identifier: GPL-2.0
/*
 * Where the calling convention has arguments and results, by prototypes made for this, and that
 * values of them are read no further than they go.
 */
#include <bpf/btf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../user/trampctl/run/arguments.h"
#include "../lib/ktap.h"

#define MAX_SLOTS	24
/* An argument on the stack; a register that programs do not see. */
#define ON(n)		(MANY_ON_STACK + (n))
#define NO		MANY_NOWHERE

static struct btf *btf;

/* Types of it by short names. */
static int t_u8, t_u16, t_u32, t_u64, t_u128, t_float, t_double, t_ptr, t_name;
static int t_s16, t_s24, t_two_u8, t_packed, t_packed3, t_in_place, t_nested, t_fields;
static int t_halves, t_array;
static int t_has_u128, t_mixed, t_two_doubles, t_union;

static int need(int id)
{
	REQUIRE(id > 0, "libbpf: %d", id);
	return id;
}

struct field {
	int type;
	unsigned int bit, bits;
};

static int new_struct(bool is_union, unsigned int size, const struct field *f, size_t nr)
{
	const int id = need(is_union ? btf__add_union(btf, NULL, size) :
				       btf__add_struct(btf, NULL, size));
	size_t i;

	for (i = 0; i < nr; i++)
		need(!btf__add_field(btf, NULL, f[i].type, f[i].bit, f[i].bits));
	return id;
}
#define FIELDS(...)	(const struct field[]){ __VA_ARGS__ }, \
			sizeof((const struct field[]){ __VA_ARGS__ }) / sizeof(struct field)

static void begin(void)
{
	btf = btf__new_empty();
	REQUIRE(btf, "btf__new_empty");
	t_u8 = need(btf__add_int(btf, "u8", 1, 0));
	t_u16 = need(btf__add_int(btf, "u16", 2, 0));
	t_u32 = need(btf__add_int(btf, "u32", 4, 0));
	t_u64 = need(btf__add_int(btf, "u64", 8, 0));
	t_u128 = need(btf__add_int(btf, "u128", 16, 0));
	t_float = need(btf__add_float(btf, "float", 4));
	t_double = need(btf__add_float(btf, "double", 8));
	t_ptr = need(btf__add_ptr(btf, t_u8));
	t_s16 = new_struct(false, 16, FIELDS({ t_u64, 0, 0 }, { t_ptr, 64, 0 }));
	t_name = need(btf__add_typedef(btf, "name", need(btf__add_const(btf, t_s16))));
	t_s24 = new_struct(false, 24, FIELDS({ t_u64, 0, 0 }, { t_u64, 64, 0 },
					     { t_u64, 128, 0 }));
	t_two_u8 = new_struct(false, 2, FIELDS({ t_u8, 0, 0 }, { t_u8, 8, 0 }));
	t_packed = new_struct(false, 9, FIELDS({ t_u8, 0, 0 }, { t_u64, 8, 0 }));
	t_packed3 = new_struct(false, 3, FIELDS({ t_u8, 0, 0 }, { t_u16, 8, 0 }));
	/* Packed as well, but each member is where it would be anyway. */
	t_in_place = new_struct(false, 9, FIELDS({ t_u64, 0, 0 }, { t_u8, 64, 0 }));
	t_nested = new_struct(false, 5, FIELDS({ t_u16, 0, 0 }, { t_packed3, 16, 0 }));
	t_fields = new_struct(false, 9, FIELDS({ t_u32, 4, 31 }, { t_u64, 35, 33 }));
	t_halves = need(btf__add_array(btf, t_u32, t_u16, 8));
	t_array = new_struct(false, 16, FIELDS({ t_halves, 0, 0 }));
	t_has_u128 = new_struct(false, 32, FIELDS({ t_u64, 0, 0 }, { t_u128, 128, 0 }));
	t_mixed = new_struct(false, 16, FIELDS({ t_double, 0, 0 }, { t_u32, 64, 0 },
					       { t_float, 96, 0 }));
	t_two_doubles = new_struct(false, 16, FIELDS({ t_double, 0, 0 }, { t_double, 64, 0 }));
	t_union = new_struct(true, 16, FIELDS({ t_s16, 0, 0 }, { t_two_doubles, 0, 0 }));
}

/* @args: types, ended by 0 */
static struct tramp_proto *new_proto(int ret, const int *args)
{
	const int type = need(btf__add_func_proto(btf, ret));
	struct tramp_proto *p;
	char name[16];
	int i;

	for (i = 0; args[i]; i++) {
		snprintf(name, sizeof(name), "a%d", i);
		need(!btf__add_func_param(btf, name, args[i]));
	}
	p = tramp_proto__new(btf, need(btf__add_func(btf, "func", BTF_FUNC_STATIC, type)));
	REQUIRE(p, "%s", tramp_last_error()->message);
	return p;
}

static void check(const char *what, int ret, const int *args, const __u8 *want, size_t nr)
{
	struct tramp_proto *p = new_proto(ret, args);
	__u8 where[MAX_SLOTS];
	size_t i;

	memset(where, 0xee, sizeof(where));
	arguments_locate(p, where, MAX_SLOTS);
	CHECK_EQ(p->nr_slots, nr, "%s", what);
	for (i = 0; i < nr; i++)
		CHECK_EQ(where[i], want[i], "%s: %s, slot %zu", what, p->text, i);
	CHECK_EQ(where[nr], 0xee, "%s: beyond the last", what);
	tramp_proto__free(p);
}
#define TYPES(...)	(const int[]){ __VA_ARGS__, 0 }
#define CHECK_PLACES(what, ret, types, ...)					\
	check(what, ret, types, (const __u8[]){ __VA_ARGS__ },			\
	      sizeof((const __u8[]){ __VA_ARGS__ }))

static void test_registers(void)
{
	begin();
	CHECK_PLACES("scalars", 0, TYPES(t_u8, t_ptr, t_u64, t_u32, t_u16, t_u64, t_u8, t_u64),
		     0, 1, 2, 3, 4, 5, ON(0), ON(1));
	CHECK_PLACES("small structs", t_u64, TYPES(t_two_u8, t_name, t_array, t_u8),
		     0, 1, 2, 3, 4, 5);
	CHECK_PLACES("what does not fit whole", 0,
		     TYPES(t_u8, t_u8, t_u8, t_u8, t_u8, t_s16, t_u64, t_u64),
		     0, 1, 2, 3, 4, ON(0), ON(1), 5, ON(2));
	CHECK_PLACES("__int128", t_u128, TYPES(t_u8, t_u128, t_u8), 0, 1, 2, 3);
	CHECK_PLACES("bit fields", 0, TYPES(t_fields, t_u8), 0, 1, 2);
	CHECK_PLACES("packed, in place", 0, TYPES(t_in_place, t_u8), 0, 1, 2);
	btf__free(btf);
}

static void test_memory(void)
{
	begin();
	CHECK_PLACES("large", 0, TYPES(t_u8, t_s24, t_u8), 0, ON(0), ON(1), ON(2), 1);
	CHECK_PLACES("packed", 0, TYPES(t_packed, t_u8, t_packed3), ON(0), ON(1), 0, ON(2));
	CHECK_PLACES("packed inside", 0, TYPES(t_nested, t_u8), ON(0), 0);
	CHECK_PLACES("__int128 behind a hole", 0,
		     TYPES(t_u128, t_u128, t_u128, t_u64, t_u128, t_u64),
		     0, 1, 2, 3, 4, 5, ON(0), ON(2), ON(3), ON(4));
	CHECK_PLACES("a struct behind a hole", 0, TYPES(t_s24, t_has_u128),
		     ON(0), ON(1), ON(2), ON(4), ON(5), ON(6), ON(7));
	btf__free(btf);
}

static void test_results(void)
{
	begin();
	CHECK_PLACES("in two registers", t_s16, TYPES(t_u8, t_u64), 0, 1);
	CHECK_PLACES("large", t_s24, TYPES(t_u8, t_u64), 1, 2);
	CHECK_PLACES("large, and five left", t_s24, TYPES(t_s16, t_s16, t_s16, t_u8),
		     1, 2, 3, 4, ON(0), ON(1), 5);
	CHECK_PLACES("packed", t_packed3, TYPES(t_u8, t_u64), 1, 2);
	btf__free(btf);
}

/* The kernel has few of them: they take no integer register, and programs do not see them. */
static void test_sse(void)
{
	begin();
	CHECK_PLACES("numbers", 0, TYPES(t_double, t_u8, t_float, t_u8), NO, 0, NO, 1);
	CHECK_PLACES("more than eight", 0,
		     TYPES(t_two_doubles, t_two_doubles, t_two_doubles, t_double, t_two_doubles,
			   t_double, t_double, t_u8),
		     NO, NO, NO, NO, NO, NO, NO, ON(0), ON(1), NO, ON(2), 0);
	CHECK_PLACES("both in a struct", 0, TYPES(t_mixed, t_u8), NO, 0, 1);
	CHECK_PLACES("both in a union", 0, TYPES(t_union, t_u8), 0, 1, 2);
	btf__free(btf);
}

static void test_seen(void)
{
	static const struct {
		int *type;
		bool seen;
	} cases[] = {
		{ &t_u8, true }, { &t_ptr, true }, { &t_u128, true }, { &t_s16, true },
		{ &t_name, true }, { &t_s24, false }, { &t_packed, false }, { &t_packed3, false },
		{ &t_double, false }, { &t_mixed, false }, { &t_union, true },
	};
	struct tramp_proto *p;
	size_t i;

	begin();
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		p = new_proto(*cases[i].type, TYPES(t_u8));
		CHECK(arguments_result_seen(p) == cases[i].seen, "%s", p->text);
		tramp_proto__free(p);
	}
	p = new_proto(0, TYPES(t_u8));
	CHECK(arguments_result_seen(p), "void");
	tramp_proto__free(p);
	btf__free(btf);
}

/* A result has one slot, and nothing behind it is read. An argument has all of its own. */
static void test_format(void)
{
	const uint64_t two[2] = { 0x0807060504030201, 0x100f0e0d0c0b0a09 };
	uint64_t *slots = malloc(sizeof(*slots));
	struct tramp_proto *p;
	struct tramp_arg copy;
	char text[80];

	begin();
	*slots = 0x1122;
	p = new_proto(t_s16, TYPES(t_s16));
	tramp_arg__format(p, &p->ret, slots, text, sizeof(text));
	CHECK(!strcmp(text, "{...}"), "a struct as result: %s", text);
	copy = p->ret;
	tramp_arg__format(p, &copy, slots, text, sizeof(text));
	CHECK(!strcmp(text, "{...}"), "a copy of it: %s", text);
	tramp_arg__format(p, &p->args[0], two, text, sizeof(text));
	CHECK(!strcmp(text, "{01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f 10}"),
	      "an argument: %s", text);
	tramp_proto__free(p);
	p = new_proto(t_u128, TYPES(t_u8));
	tramp_arg__format(p, &p->ret, slots, text, sizeof(text));
	CHECK(!strcmp(text, "{...}"), "__int128 as result: %s", text);
	tramp_proto__free(p);
	p = new_proto(t_two_u8, TYPES(t_u8));
	tramp_arg__format(p, &p->ret, slots, text, sizeof(text));
	CHECK(!strcmp(text, "{22 11}"), "a small struct: %s", text);
	tramp_proto__free(p);
	free(slots);
	btf__free(btf);
}

static const struct ktap_test tests[] = {
	{ .name = "registers", .run = test_registers },
	{ .name = "memory", .run = test_memory },
	{ .name = "results", .run = test_results },
	{ .name = "sse", .run = test_sse },
	{ .name = "seen", .run = test_seen },
	{ .name = "format", .run = test_format },
};

KTAP_MAIN(tests)
