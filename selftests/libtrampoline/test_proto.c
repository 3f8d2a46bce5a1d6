// SPDX-License-Identifier: GPL-2.0
/*
 * Prototypes of libtrampoline: declarations, slots and values out of BTF. Most
 * of it on BTF made here; declarations also over a whole kernel, held against
 * libbpf's own printer.
 */
#include <bpf/btf.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../../user/libtrampoline/syms/internal.h"
#include "../lib/ktap.h"
#include "fixture.h"

/* The types the functions below are made of. */
struct types {
	struct btf *btf;
	int t_int, t_uint, t_ulong, t_char, t_uchar, t_bool, t_short, t_void_p, t_char_p;
	int t_str, t_file, t_file_p, t_pair, t_mode, t_level, t_flags64, t_cb, t_ssize;
};

static int need_type(int id)
{
	REQUIRE(id > 0, "libbpf: %d", id);
	return id;
}

static void make_types(struct types *t)
{
	struct btf *btf = t->btf = btf__new_empty();
	int proto;

	REQUIRE(btf, "btf__new_empty");
	t->t_int = need_type(btf__add_int(btf, "int", 4, BTF_INT_SIGNED));
	t->t_uint = need_type(btf__add_int(btf, "unsigned int", 4, 0));
	t->t_ulong = need_type(btf__add_int(btf, "long unsigned int", 8, 0));
	t->t_char = need_type(btf__add_int(btf, "char", 1, BTF_INT_SIGNED));
	t->t_uchar = need_type(btf__add_int(btf, "unsigned char", 1, 0));
	t->t_bool = need_type(btf__add_int(btf, "_Bool", 1, BTF_INT_BOOL));
	t->t_short = need_type(btf__add_int(btf, "short int", 2, BTF_INT_SIGNED));
	t->t_void_p = need_type(btf__add_ptr(btf, 0));
	t->t_char_p = need_type(btf__add_ptr(btf, t->t_char));
	t->t_str = need_type(btf__add_ptr(btf, need_type(btf__add_const(btf, t->t_char))));
	t->t_file = need_type(btf__add_struct(btf, "file", 200));
	t->t_file_p = need_type(btf__add_ptr(btf, t->t_file));
	t->t_pair = need_type(btf__add_struct(btf, "pair", 16));
	need_type(btf__add_typedef(btf, "long_t", btf__add_int(btf, "long int", 8, BTF_INT_SIGNED)));
	t->t_ssize = need_type(btf__add_typedef(btf, "ssize_t", btf__type_cnt(btf) - 1));
	t->t_mode = need_type(btf__add_enum(btf, "mode", 4));
	need_type(!btf__add_enum_value(btf, "MODE_OFF", 0));
	need_type(!btf__add_enum_value(btf, "MODE_ON", 1));
	t->t_level = need_type(btf__add_enum(btf, "level", 4));
	need_type(!btf__add_enum_value(btf, "LEVEL_LOW", -1));
	t->t_flags64 = need_type(btf__add_enum64(btf, "flags64", 8, false));
	need_type(!btf__add_enum64_value(btf, "FLAG_HIGH", 1ULL << 40));
	/* int (*)(void *, struct file *) */
	proto = need_type(btf__add_func_proto(btf, t->t_int));
	need_type(!btf__add_func_param(btf, "", t->t_void_p));
	need_type(!btf__add_func_param(btf, "", t->t_file_p));
	t->t_cb = need_type(btf__add_ptr(btf, proto));
}

/* A function with up to 6 parameters; a type of 0 is the "..." and ends them, -1 just ends. */
static uint32_t make_func(struct types *t, const char *name, int ret, const char *const *names,
			  const int *params)
{
	int proto = need_type(btf__add_func_proto(t->btf, ret)), i;

	for (i = 0; params[i] >= 0; i++) {
		need_type(!btf__add_func_param(t->btf, names[i], params[i]));
		if (!params[i])
			break;
	}
	return need_type(btf__add_func(t->btf, name, BTF_FUNC_STATIC, proto));
}

static struct tramp_proto *need_proto(const struct types *t, uint32_t id, const char *text)
{
	struct tramp_proto *p = tramp_proto__new(t->btf, id);

	REQUIRE(p, "%s", tramp_last_error()->message);
	CHECK(!strcmp(p->text, text), "'%s', not '%s'", p->text, text);
	return p;
}

static void test_text(void)
{
	struct tramp_proto *p;
	struct types t;

	make_types(&t);
	p = need_proto(&t, make_func(&t, "vfs_read", t.t_ssize,
				     (const char *[]){ "file", "buf", "count", "cb" },
				     (int[]){ t.t_file_p, t.t_str, t.t_ulong, t.t_cb, -1 }),
		       "ssize_t vfs_read(struct file *file, const char *buf, long unsigned int count, int (*cb)(void *, struct file *))");
	CHECK_EQ(p->nr_args, 4, "arguments");
	CHECK_EQ(p->nr_slots, 4, "slots");
	CHECK(!strcmp(p->args[3].type, "int (*)(void *, struct file *)"), "%s", p->args[3].type);
	CHECK(!strcmp(p->args[1].type, "const char *"), "%s", p->args[1].type);
	tramp_proto__free(p);
	tramp_proto__free(need_proto(&t, make_func(&t, "nothing", 0, NULL, (int[]){ -1 }),
				     "void nothing(void)"));
	p = need_proto(&t, make_func(&t, "printk", t.t_int, (const char *[]){ "fmt", "" },
				     (int[]){ t.t_str, 0 }),
		       "int printk(const char *fmt, ...)");
	CHECK(p->variadic, "it is");
	CHECK_EQ(p->nr_args, 1, "without the dots");
	tramp_proto__free(p);
	tramp_proto__free(need_proto(&t, make_func(&t, "unnamed", t.t_file_p,
						   (const char *[]){ "", "x" },
						   (int[]){ t.t_int, t.t_mode, -1 }),
				     "struct file *unnamed(int arg0, enum mode x)"));
	/* A function that returns a pointer to a function. */
	tramp_proto__free(need_proto(&t, make_func(&t, "signal", t.t_cb, (const char *[]){ "nr" },
						   (int[]){ t.t_int, -1 }),
				     "int (*signal(int nr))(void *, struct file *)"));
	tramp_proto__free(NULL);
	btf__free(t.btf);
}

static void check_decl(const struct btf *btf, int id, const char *name, const char *want)
{
	char text[256];

	CHECK_EQ(libtramp_type_decl(btf, id, name, text, sizeof(text)), 0, "%s", want);
	CHECK(!strcmp(text, want), "'%s', not '%s'", text, want);
}

static void test_declarations(void)
{
	struct types t;
	int cp, arr, fn;
	char text[8];

	make_types(&t);
	cp = btf__add_const(t.btf, t.t_char_p);
	check_decl(t.btf, cp, "x", "char *const x");
	check_decl(t.btf, cp, "", "char *const");
	check_decl(t.btf, btf__add_ptr(t.btf, cp), "x", "char *const *x");
	check_decl(t.btf, btf__add_volatile(t.btf, btf__add_const(t.btf, t.t_int)), "",
		   "volatile const int");
	check_decl(t.btf, btf__add_restrict(t.btf, t.t_void_p), "p", "void *restrict p");
	arr = btf__add_array(t.btf, t.t_int, btf__add_array(t.btf, t.t_int, t.t_char, 3), 2);
	check_decl(t.btf, arr, "a", "char a[2][3]");
	check_decl(t.btf, arr, "", "char[2][3]");
	check_decl(t.btf, btf__add_ptr(t.btf, arr), "p", "char (*p)[2][3]");
	/* A pointer to a function that returns a pointer to an array. */
	fn = btf__add_func_proto(t.btf, btf__add_ptr(t.btf, arr));
	check_decl(t.btf, btf__add_ptr(t.btf, fn), "f", "char (*(*f)(void))[2][3]");
	check_decl(t.btf, btf__add_fwd(t.btf, "u", BTF_FWD_UNION), "x", "union u x");
	check_decl(t.btf, btf__add_struct(t.btf, "", 8), "x", "struct {...} x");
	check_decl(t.btf, btf__add_ptr(t.btf, btf__add_type_tag(t.btf, "user", t.t_char)), "p",
		   "char *p");
	check_decl(t.btf, 0, "", "void");
	CHECK_EQ(libtramp_type_decl(t.btf, t.t_file_p, "x", text, sizeof(text)), -ENAMETOOLONG,
		 "cut");
	CHECK(!strcmp(text, "struct "), "'%s'", text);
	CHECK_EQ(libtramp_type_decl(t.btf, 9999, "x", text, sizeof(text)), -EINVAL, "no such type");
	btf__free(t.btf);
}

static void test_slots(void)
{
	struct tramp_proto *p;
	struct types t;

	make_types(&t);
	p = tramp_proto__new(t.btf, make_func(&t, "f", t.t_pair,
					      (const char *[]){ "a", "b", "c" },
					      (int[]){ t.t_char, t.t_pair, t.t_str, -1 }));
	REQUIRE(p, "%s", tramp_last_error()->message);
	CHECK_EQ(p->args[0].slot, 0, "a");
	CHECK_EQ(p->args[0].nr_slots, 1, "a");
	CHECK_EQ(p->args[0].flags, TRAMP_ARG_CHAR | TRAMP_ARG_SIGNED, "a");
	CHECK_EQ(p->args[1].slot, 1, "b");
	CHECK_EQ(p->args[1].nr_slots, 2, "b");
	CHECK_EQ(p->args[1].flags, TRAMP_ARG_STRUCT, "b");
	CHECK_EQ(p->args[2].slot, 3, "c");
	CHECK_EQ(p->args[2].flags, TRAMP_ARG_PTR | TRAMP_ARG_STR, "c");
	CHECK_EQ(p->nr_slots, 4, "all");
	CHECK_EQ(p->ret.size, 16, "result");
	CHECK_EQ(p->ret.slot, 4, "result");
	tramp_proto__free(p);
	btf__free(t.btf);
}

static void test_bad_id(void)
{
	struct types t;

	make_types(&t);
	CHECK(!tramp_proto__new(t.btf, t.t_int), "not a function");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_BAD_ARGUMENT);
	CHECK(!tramp_proto__new(t.btf, 0), "void");
	CHECK(!tramp_proto__new(t.btf, 12345), "none");
	CHECK(!tramp_proto__new(NULL, 1), "NULL");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_BAD_ARGUMENT);
	btf__free(t.btf);
}

static void check_value(struct types *t, int type, uint64_t lo, uint64_t hi, const char *want)
{
	uint64_t slots[2] = { lo, hi };
	struct tramp_proto *p;
	char text[128];
	int n;

	p = tramp_proto__new(t->btf, make_func(t, "f", 0, (const char *[]){ "x" },
					       (int[]){ type, -1 }));
	REQUIRE(p, "%s", tramp_last_error()->message);
	n = tramp_arg__format(p, &p->args[0], slots, text, sizeof(text));
	CHECK(!strcmp(text, want), "'%s', not '%s'", text, want);
	CHECK_EQ(n, strlen(want), "length of '%s'", want);
	tramp_proto__free(p);
}

static void test_values(void)
{
	const uint64_t junk = 0xdeadbeef00000000;
	struct tramp_proto *p;
	struct types t;
	char text[8];

	make_types(&t);
	/* The bits above a narrow value in its slot are not part of it. */
	check_value(&t, t.t_int, junk | 0xfffffffe, 0, "-2");
	check_value(&t, t.t_uint, junk | 0xfffffffe, 0, "4294967294");
	check_value(&t, t.t_short, junk | 0x8000, 0, "-32768");
	check_value(&t, t.t_uchar, junk | 0xff, 0, "255");
	check_value(&t, t.t_bool, junk | 0x100, 0, "false");
	check_value(&t, t.t_bool, 1, 0, "true");
	check_value(&t, t.t_ssize, (uint64_t)-22, 0, "-22");
	check_value(&t, t.t_ulong, 42, 0, "42");
	check_value(&t, t.t_ulong, 0xffffffff81000000, 0, "0xffffffff81000000");
	check_value(&t, t.t_char, 'x', 0, "'x'");
	check_value(&t, t.t_char, '\'', 0, "'\\''");
	check_value(&t, t.t_char, 0x07, 0, "'\\x07'");
	check_value(&t, t.t_file_p, 0, 0, "NULL");
	check_value(&t, t.t_file_p, 0xffff888000000000, 0, "0xffff888000000000");
	check_value(&t, t.t_file_p, (uint64_t)-2, 0, "ERR_PTR(-2)");
	check_value(&t, t.t_mode, 1, 0, "MODE_ON");
	check_value(&t, t.t_mode, 7, 0, "7");
	check_value(&t, t.t_level, junk | 0xffffffff, 0, "LEVEL_LOW");
	check_value(&t, t.t_level, junk | 0xfffffffe, 0, "-2");
	check_value(&t, t.t_flags64, 1ULL << 40, 0, "FLAG_HIGH");
	check_value(&t, t.t_pair, 0x0807060504030201, 0x100f0e0d0c0b0a09,
		    "{01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f 10}");
	p = tramp_proto__new(t.btf, make_func(&t, "g", 0, NULL, (int[]){ -1 }));
	REQUIRE(p, "%s", tramp_last_error()->message);
	CHECK_EQ(tramp_arg__format(p, &p->ret, NULL, text, sizeof(text)), 4, "void");
	CHECK(!strcmp(text, "void"), "%s", text);
	tramp_proto__free(p);
	btf__free(t.btf);
}

/* Functions of the snapshot's BTF, in a file as the kernel shows it. */
static void test_snapshot(void)
{
	TRAMP_OPTS(tramp_syms_opts, opts);
	struct tramp_syms *syms;
	struct tramp_proto *p;
	struct types t;
	const void *raw;
	__u32 size;

	make_types(&t);
	make_func(&t, "do_unlinkat", t.t_int, (const char *[]){ "dfd" }, (int[]){ t.t_int, -1 });
	raw = btf__raw_data(t.btf, &size);
	REQUIRE(raw, "btf__raw_data");
	opts.vmlinux_btf = fixture_file("vmlinux", raw, size);
	opts.kallsyms = fixture_text("kallsyms", "ffffffff81000000 T another\n"
						 "ffffffff81000000 T do_unlinkat\n"
						 "ffffffff81000100 T undescribed\n"
						 "ffffffffc0000000 t do_unlinkat\t[mod]\n");
	opts.filter_functions = "";
	opts.module_btf_dir = "/nonexistent";
	syms = tramp_syms__load(&opts);
	REQUIRE(syms, "%s", tramp_last_error()->message);
	p = tramp_syms__proto(syms, tramp_syms__find(syms, "vmlinux:do_unlinkat"));
	REQUIRE(p, "%s", tramp_last_error()->message);
	CHECK(!strcmp(p->text, "int do_unlinkat(int dfd)"), "%s", p->text);
	CHECK(p->btf == tramp_syms__btf(syms, "vmlinux"), "the kernel's");
	tramp_proto__free(p);
	p = tramp_syms__proto(syms, tramp_syms__find(syms, "another"));
	REQUIRE(p, "%s", tramp_last_error()->message);
	CHECK(!strcmp(p->name, "do_unlinkat"), "another name of it: %s", p->name);
	tramp_proto__free(p);
	CHECK(!tramp_syms__proto(syms, tramp_syms__find(syms, "undescribed")), "no BTF");
	CHECK_ERROR(-ENOENT, TRAMP_REASON_NO_BTF);
	/* A module without BTF does not borrow the kernel's. */
	CHECK(!tramp_syms__proto(syms, tramp_syms__find(syms, "mod:do_unlinkat")), "no module BTF");
	CHECK_ERROR(-ENOENT, TRAMP_REASON_NO_BTF);
	CHECK(last_error_says("module 'mod'"), "which");
	tramp_syms__free(syms);
	opts.vmlinux_btf = "/nonexistent/vmlinux";
	syms = tramp_syms__load(&opts);
	REQUIRE(syms, "%s", tramp_last_error()->message);
	CHECK(!tramp_syms__btf(syms, NULL), "no BTF at all");
	CHECK_EQ(tramp_last_error()->reason, TRAMP_LIB_NO_KERNEL_BTF, "%s",
		 tramp_last_error()->message);
	tramp_syms__free(syms);
	btf__free(t.btf);
}

static struct tramp_syms *asked;
static int answers;

static int ask_in_print(enum tramp_print_level level, const char *fmt, va_list args)
{
	(void)level, (void)fmt, (void)args;
	/* If that fails, it prints as well. */
	if (asked && !answers++)
		tramp_syms__btf(asked, NULL);
	return 0;
}

/* @name has no prototype; the callback that hears of it asks for BTF itself. */
static void ask_about(struct tramp_syms *syms, const char *name)
{
	const struct tramp_sym *sym = tramp_syms__find(syms, name);

	REQUIRE(sym, "%s", tramp_last_error()->message);
	asked = syms;
	answers = 0;
	CHECK(!tramp_syms__proto(syms, sym), "%s", name);
	CHECK(answers, "%s: it was called", name);
	asked = NULL;
}

/* A callback for messages may use the snapshot that the message is about. */
static void test_print_asks(void)
{
	TRAMP_OPTS(tramp_syms_opts, opts, .filter_functions = "",
		   .module_btf_dir = "/nonexistent");
	struct tramp_syms *syms;

	tramp_set_print(ask_in_print);
	opts.vmlinux_btf = fixture_btf("do_unlinkat");
	opts.kallsyms = fixture_text("kallsyms", "ffffffff81000100 T undescribed\n"
						 "ffffffffc0000000 t in_module\t[mod]\n");
	syms = tramp_syms__load(&opts);
	REQUIRE(syms, "%s", tramp_last_error()->message);
	ask_about(syms, "undescribed");
	ask_about(syms, "in_module");
	tramp_syms__free(syms);
	opts.vmlinux_btf = "/nonexistent/vmlinux";
	syms = tramp_syms__load(&opts);
	REQUIRE(syms, "%s", tramp_last_error()->message);
	ask_about(syms, "undescribed");
	tramp_syms__free(syms);
}

/* A module's BTF continues the kernel's; its functions are those it adds. */
static void test_module_btf(void)
{
	TRAMP_OPTS(tramp_syms_opts, opts);
	struct tramp_syms *syms;
	struct tramp_proto *p;
	struct types t, m = {};
	const void *raw;
	uint32_t shared;
	char dir[256];
	__u32 size;

	make_types(&t);
	make_func(&t, "common", t.t_int, (const char *[]){ "kernels" }, (int[]){ t.t_int, -1 });
	raw = btf__raw_data(t.btf, &size);
	REQUIRE(raw, "btf__raw_data");
	opts.vmlinux_btf = fixture_file("vmlinux", raw, size);
	m = t;
	m.btf = btf__new_empty_split(t.btf);
	REQUIRE(m.btf, "btf__new_empty_split");
	shared = make_func(&m, "common", t.t_int, (const char *[]){ "modules", "file" },
			   (int[]){ t.t_int, t.t_file_p, -1 });
	raw = btf__raw_data(m.btf, &size);
	REQUIRE(raw, "btf__raw_data");
	snprintf(dir, sizeof(dir), "%s", fixture_file("mod", raw, size));
	*strrchr(dir, '/') = '\0';
	opts.module_btf_dir = dir;
	opts.kallsyms = fixture_text("kallsyms", "ffffffff81000000 T common\n"
						 "ffffffffc0000000 t common\t[mod]\n"
						 "ffffffffc0000100 t other\t[mod]\n");
	opts.filter_functions = "";
	syms = tramp_syms__load(&opts);
	REQUIRE(syms, "%s", tramp_last_error()->message);
	p = tramp_syms__proto(syms, tramp_syms__find(syms, "mod:common"));
	REQUIRE(p, "%s", tramp_last_error()->message);
	/* With types of the kernel's. */
	CHECK(!strcmp(p->text, "int common(int modules, struct file *file)"), "%s", p->text);
	CHECK_EQ(p->func_id, shared, "an id behind the kernel's");
	tramp_proto__free(p);
	p = tramp_syms__proto(syms, tramp_syms__find(syms, "vmlinux:common"));
	REQUIRE(p, "%s", tramp_last_error()->message);
	CHECK(!strcmp(p->text, "int common(int kernels)"), "%s", p->text);
	tramp_proto__free(p);
	CHECK(!tramp_syms__proto(syms, tramp_syms__find(syms, "mod:other")), "not in it");
	CHECK_ERROR(-ENOENT, TRAMP_REASON_NO_BTF);
	tramp_syms__free(syms);
	btf__free(m.btf);
	btf__free(t.btf);
}

/* --------------------------------------------------- against libbpf's own -- */

static char theirs[16384];
static size_t theirs_len;

static void collect(void *ctx, const char *fmt, va_list args)
{
	int n = vsnprintf(theirs + theirs_len, sizeof(theirs) - theirs_len, fmt, args);

	(void)ctx;
	theirs_len += n;
}

/*
 * Spell libbpf's text our way: "* const" without the blank, "()" with void,
 * qualifiers in the order of the types, no numbers on types that share a name.
 */
static void respell(char *s)
{
	char out[sizeof(theirs)], *o = out;

	while (*s) {
		if (s[0] == '*' && s[1] == ' ') {
			*o++ = '*';
			s += 2;
		} else if (s[0] == '(' && s[1] == ')') {
			o = stpcpy(o, "(void)");
			s += 2;
		} else if (!strncmp(s, "volatile const ", 15)) {
			o = stpcpy(o, "const volatile ");
			s += 15;
		} else if (!strncmp(s, "___", 3) && isdigit(s[3])) {
			s += 3 + strspn(s + 3, "0123456789");
		} else {
			*o++ = *s++;
		}
	}
	*o = '\0';
	strcpy(theirs, out);
}

static void test_whole_kernel(void)
{
	struct btf *btf = btf__parse(VMLINUX, NULL);
	unsigned int id, total = 0, differ = 0;
	struct btf_dump *d;

	REQUIRE(btf, "%s", VMLINUX);
	d = btf_dump__new(btf, collect, NULL, NULL);
	REQUIRE(d, "btf_dump__new");
	for (id = 1; id < btf__type_cnt(btf); id++) {
		const struct btf_type *proto = btf__type_by_id(btf, id);
		const struct btf_param *p;
		int i, nr;

		if (!btf_is_func_proto(proto))
			continue;
		p = btf_params(proto);
		for (i = 0, nr = btf_vlen(proto); i < nr; i++) {
			LIBBPF_OPTS(btf_dump_emit_type_decl_opts, opts, .field_name = "x");
			char ours[4096];

			if (!p[i].type)
				continue;
			theirs_len = 0;
			if (btf_dump__emit_type_decl(d, p[i].type, &opts))
				ktap_die("type %u: libbpf fails", p[i].type);
			/* Types without a name are written out by libbpf, not by us. */
			if (strchr(theirs, '{'))
				continue;
			respell(theirs);
			CHECK_EQ(libtramp_type_decl(btf, p[i].type, "x", ours, sizeof(ours)), 0,
				 "type %u", p[i].type);
			total++;
			if (strcmp(ours, theirs)) {
				differ++;
				ktap_fail("type %u: '%s', libbpf says '%s'", p[i].type, ours, theirs);
			}
		}
	}
	ktap_note("%u parameters", total);
	CHECK(total > 10000, "%u parameters", total);
	btf_dump__free(d);
	btf__free(btf);
}

static const struct ktap_test tests[] = {
	{ .name = "text", .run = test_text },
	{ .name = "declarations", .run = test_declarations },
	{ .name = "slots", .run = test_slots },
	{ .name = "bad-id", .run = test_bad_id },
	{ .name = "values", .run = test_values },
	{ .name = "snapshot", .run = test_snapshot },
	{ .name = "print-asks", .run = test_print_asks, .seconds = 5 },
	{ .name = "module-btf", .run = test_module_btf },
	{ .name = "whole-kernel", .run = test_whole_kernel },
};

KTAP_MAIN(tests)
