// SPDX-License-Identifier: GPL-2.0
/*
 * Explaining a function by its name. The library asks for it by BTF id where it can. Names may
 * lead to none, and a kernel may hide its objects.
 */
#include <errno.h>
#include <stdio.h>

#include "answers.h"
#include "kernel.h"

static const char kallsyms[] =
	"ffffffff81000000 T do_unlinkat\n"
	"ffffffff81001000 T no_type\n"
	"ffffffffc0000000 t mod_func\t[mod]\n";

/* The last question. */
static struct tramp_explain asked;

static int answer_explain(unsigned long cmd, void *arg)
{
	struct tramp_explain *e = arg;

	CHECK_EQ(cmd, TRAMP_IOC_EXPLAIN, "command");
	asked = *e;
	e->nr_args = 7;
	return 0;
}

/* A kernel that lists its BTF objects: one that is gone, of a program, and the right one. */
static void begin(void)
{
	answers_begin(answer_explain);
	memset(&asked, 0, sizeof(asked));
	kernel.kallsyms = fixture_text("kallsyms", kallsyms);
	kernel.btf = fixture_btf("do_unlinkat");
	kernel.objects[0] = (struct kernel_object) { .sort = "btf", .id = 3, .name = "vmlinux",
						     .open_fails = ENOENT };
	kernel.objects[1] = (struct kernel_object) { .sort = "btf", .id = 4, .name = "vmlinux" };
	kernel.objects[2] = (struct kernel_object) { .sort = "btf", .id = 5, .name = "vmlinux",
						     .module = true, .info_fails = EIO };
	kernel.objects[3] = (struct kernel_object) { .sort = "btf", .id = 6, .name = "vmlinux",
						     .module = true };
}

static void explains(struct tramp_syms *syms, const char *spec)
{
	TRAMP_OPTS(tramp_explanation, ex);

	memset(&asked, 0, sizeof(asked));
	CHECK_EQ(tramp_explain(syms, spec, &ex), 0, "%s: %s", spec, tramp_last_error()->message);
	CHECK_EQ(ex.nr_args, 7, "%s: the answer", spec);
	CHECK_CLOSED();
}

static void refuses(const char *spec, int err, int reason, const char *says)
{
	TRAMP_OPTS(tramp_explanation, ex);

	errno = 0;
	CHECK_EQ(tramp_explain(NULL, spec, &ex), err, "%s", spec);
	CHECK_EQ(errno, -err, "%s: errno", spec);
	CHECK_ERROR(err, reason);
	CHECK(last_error_says(says), "%s", spec);
	CHECK_CLOSED();
}

static void test_by_id(void)
{
	struct tramp_syms *syms;

	begin();
	explains(NULL, "do_unlinkat");
	CHECK_EQ(asked.btf_id, FIXTURE_BTF_FUNC, "type");
	CHECK_EQ(asked.btf_obj_id, 6, "object");
	CHECK(!asked.name[0], "no name");
	/* With a snapshot the kernel is asked once. */
	syms = tramp_syms__load(NULL);
	REQUIRE(syms, "%s", tramp_last_error()->message);
	explains(syms, "vmlinux:do_unlinkat");
	kernel.list_fails = EPERM;
	explains(syms, "do_unlinkat");
	CHECK_EQ(asked.btf_obj_id, 6, "object");
	tramp_syms__free(syms);
}

static void check_by_name(const char *spec, const char *name, const char *module)
{
	explains(NULL, spec);
	CHECK(!strcmp(asked.name, name), "%s", asked.name);
	CHECK(!strcmp(asked.module, module), "%s", asked.module);
	CHECK(!asked.btf_id && !asked.btf_obj_id, "no ids");
}

/* Without the type, or the right to see its object, or BTF at all. */
static void test_by_name(void)
{
	begin();
	check_by_name("no_type", "no_type", "");
	check_by_name("mod:mod_func", "mod_func", "mod");
	kernel.list_fails = EPERM;
	check_by_name("do_unlinkat", "do_unlinkat", "");
	begin();
	kernel.objects[3].open_fails = EPERM;
	check_by_name("do_unlinkat", "do_unlinkat", "");
	begin();
	kernel.objects[3].name = "other";
	check_by_name("do_unlinkat", "do_unlinkat", "");
	begin();
	kernel.btf = NULL;
	check_by_name("do_unlinkat", "do_unlinkat", "");
}

static void test_refused(void)
{
	TRAMP_OPTS(tramp_explanation, ex);
	char symbols[400], name[200];

	begin();
	refuses("do_unlinkt", -ENOENT, TRAMP_REASON_NO_SUCH_FUNCTION, "do_unlinkat");
	answers.open_fails = EACCES;
	refuses("do_unlinkat", -EPERM, TRAMP_REASON_PERMISSION, "function 'do_unlinkat'");
	kernel.kallsyms = NULL;
	refuses("do_unlinkat", -ENOENT, TRAMP_LIB_NO_KALLSYMS, "/proc/kallsyms");
	ex.sz = 0;
	CHECK_EQ(tramp_explain(NULL, "do_unlinkat", &ex), -EINVAL, "size");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_BAD_ARGUMENT);

	/* The kernel has longer names than the interface has room for. */
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	snprintf(symbols, sizeof(symbols), "ffffffff81000000 T %s\n", name);
	begin();
	kernel.kallsyms = fixture_text("kallsyms", symbols);
	refuses(name, -ENAMETOOLONG, TRAMP_LIB_BAD_ARGUMENT, "names of up to 127 characters");
	CHECK_EQ(answers.nr_commands, 0, "nobody is asked");
}

/* ------------------------------------------------------------ ids of types -- */

static void id_fails(struct tramp_syms *syms, int err, int reason, const char *says)
{
	const struct tramp_sym *sym = tramp_syms__find(syms, "do_unlinkat");
	uint32_t obj_id;

	REQUIRE(sym, "%s", tramp_last_error()->message);
	errno = 0;
	CHECK_EQ(tramp_syms__btf_id(syms, sym, &obj_id), err, "no object");
	CHECK_EQ(errno, -err, "errno");
	CHECK_ERROR(err, reason);
	CHECK(last_error_says(says), "%s", says);
	/* The type itself is in the file. */
	CHECK_EQ(tramp_syms__btf_id(syms, sym, NULL), FIXTURE_BTF_FUNC, "type");
}

static void test_objects(void)
{
	struct tramp_syms *syms;

	begin();
	syms = tramp_syms__load(NULL);
	REQUIRE(syms, "%s", tramp_last_error()->message);
	kernel.list_fails = EPERM;
	id_fails(syms, -EPERM, TRAMP_REASON_PERMISSION, "list of BTF objects");
	CHECK(last_error_says("CAP_SYS_ADMIN"), "the remedy");
	kernel.list_fails = 0;
	kernel.objects[1].open_fails = EPERM;
	id_fails(syms, -EPERM, TRAMP_REASON_PERMISSION, "list of BTF objects");
	kernel.objects[1].open_fails = 0;
	kernel.objects[3].module = false;
	id_fails(syms, -ENOENT, TRAMP_REASON_NO_BTF, "vmlinux: ");
	/* It is found by and by. */
	kernel.objects[3].module = true;
	explains(syms, "do_unlinkat");
	CHECK_EQ(asked.btf_obj_id, 6, "object");
	tramp_syms__free(syms);
}

/* ------------------------------------------- files that are read by themselves -- */

static void test_usual_files(void)
{
	TRAMP_OPTS(tramp_names_opts, opts);
	struct tramp_names *names;
	struct tramp_syms *syms;

	begin();
	syms = tramp_syms__load(NULL);
	REQUIRE(syms, "%s", tramp_last_error()->message);
	CHECK(!tramp_syms__knows_traceable(syms), "there is no list");
	CHECK_ERROR(-ENOENT, TRAMP_LIB_NO_TRACEFS);
	CHECK(last_error_says("available_filter_functions"), "which");
	tramp_syms__free(syms);
	/* The last one of the names that it may have is there. */
	kernel.traceable = fixture_text("traceable", "do_unlinkat\n");
	syms = tramp_syms__load(NULL);
	REQUIRE(syms, "%s", tramp_last_error()->message);
	CHECK(tramp_syms__knows_traceable(syms), "%s", tramp_last_error()->message);
	CHECK(tramp_syms__find(syms, "do_unlinkat")->flags & TRAMP_SYM_TRACEABLE, "it is");
	CHECK(!(tramp_syms__find(syms, "no_type")->flags & TRAMP_SYM_TRACEABLE), "it is not");
	tramp_syms__free(syms);

	names = tramp_names__load(&opts);
	REQUIRE(names, "%s", tramp_last_error()->message);
	tramp_names__free(names);
	kernel.kallsyms = fixture_text("kallsyms", "0000000000000000 T do_unlinkat\n");
	CHECK(!tramp_names__load(&opts), "hidden");
	CHECK_ERROR(-EPERM, TRAMP_LIB_NO_KALLSYMS);
	CHECK(last_error_says("/proc/kallsyms"), "which");
}

static const struct ktap_test tests[] = {
	{ .name = "by-id", .run = test_by_id },
	{ .name = "by-name", .run = test_by_name },
	{ .name = "refused", .run = test_refused },
	{ .name = "objects", .run = test_objects },
	{ .name = "usual-files", .run = test_usual_files },
};

KTAP_MAIN(tests)
