// SPDX-License-Identifier: GPL-2.0
/* A kernel made for tests that choose functions, see select_fixture.h. */
#include <bpf/btf.h>
#include <stdarg.h>
#include <stdio.h>

#include "select_fixture.h"

const char select_kallsyms[] =
	"ffffffff81000100 T vfs_read\n"
	"ffffffff81000200 T vfs_write\n"
	"ffffffff81000300 t vfs_secret\n"
	"ffffffff81000400 t helper\n"
	"ffffffff81000500 t helper\n"
	"ffffffff81000600 t split.isra.0\n"
	"ffffffff81000700 t split.constprop.0.isra.3\n"
	"ffffffff81000800 t split.isra.0.cold\n"
	"ffffffff81000900 t piece.part.1\n"
	"ffffffff81000a00 t cloned.llvm.123\n"
	"ffffffff81000b00 T real_name\n"
	"ffffffff81000b00 T alias_name\n"
	"ffffffff81000c00 T migrate_disable\n"
	"ffffffff81000d00 T do_args\n"
	"ffffffff81000e00 T printk\n"
	"ffffffffc0000100 t helper\t[ext4]\n"
	"ffffffffc0000200 t ext4_read\t[ext4]\n"
	"ffffffffc0000300 t vfs_read\t[shadow]\n"
	"ffffffffc0000400 t tramp_attach\t[trampoline]\n";

const char select_filter[] =
	"ffffffff81000100 vfs_read\n"
	"ffffffff81000204 vfs_write\n"
	"ffffffff81000400 helper\n"
	"ffffffff81000500 helper\n"
	"ffffffff81000600 split.isra.0\n"
	"ffffffff81000700 split.constprop.0.isra.3\n"
	"ffffffff81000900 piece.part.1\n"
	"ffffffff81000a00 cloned.llvm.123\n"
	"ffffffff81000b00 real_name\n"
	"ffffffff81000c00 migrate_disable\n"
	"ffffffff81000d00 do_args\n"
	"ffffffff81000e00 printk\n"
	"ffffffffc0000100 helper [ext4]\n"
	"ffffffffc0000200 ext4_read [ext4]\n"
	"ffffffffc0000300 vfs_read [shadow]\n"
	"ffffffffc0000400 tramp_attach [trampoline]\n";

struct btf *select_btf;
static int t_int, t_file_pp;

static void add_func(const char *name, const int *params)
{
	int proto = btf__add_func_proto(select_btf, t_int), i;

	for (i = 0; params[i] >= 0; i++)
		REQUIRE(!btf__add_func_param(select_btf, params[i] ? "a" : "", params[i]), "%s", name);
	REQUIRE(btf__add_func(select_btf, name, BTF_FUNC_STATIC, proto) > 0, "%s", name);
}

/* Prototypes of the kernel above. */
static const char *make_btf(void)
{
	int t_ulong, t_file, t_cfile_p, t_alias, t_handle, t_char;
	const void *raw;
	__u32 size;

	select_btf = btf__new_empty();
	REQUIRE(select_btf, "btf__new_empty");
	t_int = btf__add_int(select_btf, "int", 4, BTF_INT_SIGNED);
	t_ulong = btf__add_int(select_btf, "long unsigned int", 8, 0);
	t_char = btf__add_int(select_btf, "unsigned char", 1, 0);
	t_file = btf__add_struct(select_btf, "file", 64);
	t_cfile_p = btf__add_ptr(select_btf, btf__add_const(select_btf, t_file));
	t_file_pp = btf__add_ptr(select_btf, btf__add_ptr(select_btf, t_file));
	t_alias = btf__add_typedef(select_btf, "file_t", t_file);
	t_handle = btf__add_typedef(select_btf, "handle_t", btf__add_ptr(select_btf, t_alias));
	add_func("vfs_read", (int[]) { t_cfile_p, btf__add_ptr(select_btf, 0), t_ulong, -1 });
	add_func("vfs_write", (int[]) { t_handle, -1 });
	add_func("helper", (int[]) { t_cfile_p, -1 });
	add_func("real_name", (int[]) { -1 });
	add_func("migrate_disable", (int[]) { -1 });
	add_func("do_args", (int[]) { t_file_pp, t_char, btf__add_fwd(select_btf, "u", BTF_FWD_UNION),
				      btf__add_enum(select_btf, "mode", 4), -1 });
	add_func("printk", (int[]) { btf__add_ptr(select_btf, t_char), 0, -1 });
	add_func("no_symbol", (int[]) { -1 });
	raw = btf__raw_data(select_btf, &size);
	REQUIRE(raw, "btf__raw_data");
	return fixture_file("vmlinux", raw, size);
}

struct tramp_syms *select_load(const char *symbols, const char *list)
{
	TRAMP_OPTS(tramp_syms_opts, opts, .module_btf_dir = "/nonexistent");
	struct tramp_syms *syms;

	opts.kallsyms = fixture_text("kallsyms", symbols);
	opts.filter_functions = list ? fixture_text("filter", list) : "";
	opts.vmlinux_btf = make_btf();
	syms = tramp_syms__load(&opts);
	REQUIRE(syms, "%s", tramp_last_error()->message);
	return syms;
}

struct tramp_syms *select_syms;

const char *const *select_keep(size_t nr, ...)
{
	static const char *kept[64];
	static size_t used;
	const char **texts;
	va_list ap;
	size_t i;

	if (used + nr > sizeof(kept) / sizeof(kept[0]))
		used = 0;
	texts = &kept[used];
	used += nr;
	va_start(ap, nr);
	for (i = 0; i < nr; i++)
		texts[i] = va_arg(ap, const char *);
	va_end(ap);
	return texts;
}

static const char *name_of(const struct tramp_sym *sym)
{
	static char text[2][128];
	static int n;

	n = !n;
	snprintf(text[n], sizeof(text[n]), "%s%s%s", sym->module, sym->module[0] ? ":" : "",
		 sym->name);
	return text[n];
}

const char *select_shown(const struct tramp_selection *sel)
{
	static char text[2048];
	size_t i, pos = 0;

	text[0] = '\0';
	for (i = 0; i < tramp_selection__count(sel); i++)
		pos += sprintf(text + pos, "%s ", name_of(tramp_selection__get(sel, i)->sym));
	pos += sprintf(text + pos, "|");
	for (i = 0; i < tramp_selection__count_left(sel); i++) {
		const struct tramp_left_out *left = tramp_selection__get_left(sel, i);

		pos += sprintf(text + pos, " %s %s;", tramp_reason_name(left->reason),
			       left->sym ? name_of(left->sym) : left->pattern);
	}
	return text;
}

struct tramp_selection *select_need(const struct tramp_select_opts *opts)
{
	struct tramp_selection *sel = tramp_syms__select(select_syms, opts);

	REQUIRE(sel, "%s", tramp_last_error()->message);
	return sel;
}

void select_check(const struct tramp_select_opts *opts, const char *expect)
{
	struct tramp_selection *sel = select_need(opts);

	CHECK(!strcmp(select_shown(sel), expect), "'%s', not '%s'", select_shown(sel), expect);
	tramp_selection__free(sel);
}
