// SPDX-License-Identifier: GPL-2.0
/*
 * Why the programs of an object could not be attached, asked before it is loaded. The symbols, BTF
 * and the module's verdict are made up (kernel.h, answers.h).
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>

#include "answers.h"
#include "kernel.h"
#include "kinds.skel.h"
#include "sorts.skel.h"

static const char kallsyms[] =
	"ffffffff81000000 T do_unlinkat\n"
	"ffffffff81001000 T do_rmdir\n";

/* The module's verdict on each function. */
static struct tramp_explain verdict;
static int verdict_fails;
static int nr_verdicts;

static int answer_explain(unsigned long cmd, void *arg)
{
	struct tramp_explain *e = arg;

	CHECK_EQ(cmd, TRAMP_IOC_EXPLAIN, "command");
	nr_verdicts++;
	e->can = verdict.can;
	e->fentry_reason = verdict.fentry_reason;
	e->fexit_reason = verdict.fexit_reason;
	e->refusal = verdict.refusal;
	memcpy(e->holder, verdict.holder, sizeof(e->holder));
	return -verdict_fails;
}

static void begin(void)
{
	answers_begin(answer_explain);
	libbpf_set_print(NULL);
	kernel.kallsyms = fixture_text("kallsyms", kallsyms);
	kernel.btf = fixture_btf("do_unlinkat");
	verdict = (struct tramp_explain) { .can = TRAMP_CAN_FENTRY | TRAMP_CAN_FEXIT };
	verdict_fails = nr_verdicts = 0;
}

static void passes(const struct bpf_object *obj, const struct tramp_object_attach_opts *opts)
{
	CHECK_EQ(tramp_object__check(obj, opts), 0, "%s", tramp_last_error()->message);
	CHECK_CLOSED();
}

static void refuses(const struct bpf_object *obj, const struct bpf_program *prog, int err,
		    int reason, const char *says)
{
	char subject[128];

	errno = 0;
	CHECK_EQ(tramp_object__check(obj, NULL), err, "%s", bpf_program__name(prog));
	CHECK_EQ(errno, -err, "errno");
	CHECK_ERROR(err, reason);
	CHECK(last_error_says(says), "what");
	snprintf(subject, sizeof(subject), "program '%s' (SEC(\"%s\"))", bpf_program__name(prog),
		 bpf_program__section_name(prog));
	CHECK(!strcmp(tramp_last_error()->subject, subject), "about %s",
	      tramp_last_error()->subject);
	CHECK_CLOSED();
}

static struct kinds *need_kinds(void)
{
	struct kinds *skel = kinds__open();

	REQUIRE(skel, "open: %s", strerror(errno));
	return skel;
}

/* With one program that is to be loaded. */
static struct sorts *need_sorts(struct bpf_program *(*which)(const struct sorts *skel))
{
	struct sorts *skel = sorts__open();

	REQUIRE(skel, "open: %s", strerror(errno));
	bpf_program__set_autoload(which(skel), true);
	return skel;
}

/* ----------------------------------------------------------- the functions -- */

static void test_good(void)
{
	struct kinds *skel = need_kinds();

	begin();
	passes(skel->obj, NULL);
	CHECK_EQ(nr_verdicts, 2, "both programs");
	/* The kernel's attaching does not concern the module. */
	bpf_program__set_autoattach(skel->progs.on_exit, false);
	bpf_program__set_autoattach(skel->progs.on_entry, false);
	verdict.can = 0;
	passes(skel->obj, NULL);
	CHECK_EQ(nr_verdicts, 2, "none");
	kinds__destroy(skel);
}

static void test_functions(void)
{
	struct kinds *skel = need_kinds();

	begin();
	kernel.btf = fixture_btf("do_rmdir");
	kernel.kallsyms = fixture_text("kallsyms", "ffffffff81000000 T do_unlinkt\n");
	refuses(skel->obj, skel->progs.on_entry, -ENOENT, TRAMP_REASON_NO_SUCH_FUNCTION,
		"the nearest: do_unlinkt");
	/* Several are libbpf's to choose from. */
	kernel.kallsyms = fixture_text("kallsyms", "ffffffff81000000 T do_unlinkat\n"
						   "ffffffff81001000 T do_unlinkat\n");
	passes(skel->obj, NULL);
	/* The module can do without the type; libbpf cannot. */
	kernel.kallsyms = fixture_text("kallsyms", kallsyms);
	refuses(skel->obj, skel->progs.on_entry, -ENOENT, TRAMP_REASON_NO_BTF, "on_entry");
	/* There is a type, by a name that libbpf does not look for. */
	kernel.kallsyms = fixture_text("kallsyms", "ffffffff81000000 T do_unlinkat\n"
						   "ffffffff81000000 T do_rmdir\n");
	refuses(skel->obj, skel->progs.on_entry, -ENOENT, TRAMP_REASON_NO_BTF,
		"(BTF calls it do_rmdir); use that name in SEC()");
	kinds__destroy(skel);
}

static void test_verdicts(void)
{
	struct kinds *skel = need_kinds();

	begin();
	verdict.can = TRAMP_CAN_FENTRY;
	verdict.fexit_reason = TRAMP_REASON_SITE_HELD;
	strcpy(verdict.holder, "its holder");
	refuses(skel->obj, skel->progs.on_exit, -EBUSY, TRAMP_REASON_SITE_HELD, "(its holder)");
	verdict.fexit_reason = TRAMP_REASON_NORETURN;
	refuses(skel->obj, skel->progs.on_exit, -EINVAL, TRAMP_REASON_NORETURN, "never returns");
	/* Of a newer module. */
	verdict.fexit_reason = TRAMP_REASON_COUNT;
	refuses(skel->obj, skel->progs.on_exit, -EOPNOTSUPP, TRAMP_REASON_COUNT, "does not know");
	verdict.can = 0;
	verdict.fentry_reason = TRAMP_REASON_NOT_TRACEABLE;
	verdict.holder[0] = '\0';
	refuses(skel->obj, skel->progs.on_entry, -EOPNOTSUPP, TRAMP_REASON_NOT_TRACEABLE,
		"on_entry");
	/* It answers nothing. */
	verdict_fails = ENOENT;
	verdict.refusal.reason = TRAMP_REASON_NO_BTF;
	verdict.refusal.addr = 0xffffffff81000000;
	refuses(skel->obj, skel->progs.on_entry, -ENOENT, TRAMP_REASON_NO_BTF,
		"address 0xffffffff81000000");
	CHECK(tramp_last_error()->from_kernel, "the module has said so");
	answers.open_fails = ENOENT;
	refuses(skel->obj, skel->progs.on_entry, -ENODEV, TRAMP_LIB_NO_DEVICE, "modprobe");
	CHECK(!tramp_last_error()->from_kernel, "nobody was there to say so");
	kinds__destroy(skel);
}

/* Nothing is refused because of what cannot be asked. */
static void test_cannot_ask(void)
{
	struct kinds *skel = need_kinds();

	begin();
	answers.open_fails = EACCES;
	passes(skel->obj, NULL);
	kernel.kallsyms = NULL;
	passes(skel->obj, NULL);
	kinds__destroy(skel);
}

/* ------------------------------------------------------------ the programs -- */

static struct bpf_program *typo(const struct sorts *skel)
{
	return skel->progs.on_typo;
}

static struct bpf_program *nonsense(const struct sorts *skel)
{
	return skel->progs.on_nonsense;
}

static struct bpf_program *given(const struct sorts *skel)
{
	return skel->progs.on_given;
}

static struct bpf_program *pattern(const struct sorts *skel)
{
	return skel->progs.on_pattern;
}

static struct bpf_program *socket(const struct sorts *skel)
{
	return skel->progs.on_socket;
}

static void test_sections(void)
{
	struct sorts *skel;

	begin();
	skel = need_sorts(typo);
	refuses(skel->obj, skel->progs.on_typo, -EINVAL, TRAMP_LIB_BAD_SECTION,
		"the nearest: SEC(\"fentry/do_unlinkat\")");
	sorts__destroy(skel);
	skel = need_sorts(nonsense);
	refuses(skel->obj, skel->progs.on_nonsense, -EINVAL, TRAMP_LIB_BAD_SECTION, "on_nonsense");
	CHECK(!strstr(tramp_last_error()->message, "nearest"), "none is");
	sorts__destroy(skel);
	skel = need_sorts(given);
	passes(skel->obj, NULL);
	sorts__destroy(skel);
	skel = need_sorts(pattern);
	refuses(skel->obj, skel->progs.on_pattern, -EINVAL, TRAMP_LIB_BAD_PATTERN,
		"it is a pattern, where the name of one function is needed (2 functions match it)");
	sorts__destroy(skel);
}

/* Other programs are right as well, if somebody else attaches them. */
static void test_others(void)
{
	TRAMP_OPTS(tramp_object_attach_opts, skip, .flags = TRAMP_OBJECT_F_SKIP_OTHER);
	struct kinds *skel = need_kinds();
	struct sorts *sorts;

	begin();
	bpf_program__set_autoload(skel->progs.on_kprobe, true);
	passes(skel->obj, NULL);
	bpf_program__set_autoload(skel->progs.on_tp_btf, true);
	refuses(skel->obj, skel->progs.on_tp_btf, -EOPNOTSUPP, TRAMP_REASON_ATTACH_TYPE,
		"go to no function");
	passes(skel->obj, &skip);
	bpf_program__set_autoload(skel->progs.on_tp_btf, false);
	bpf_program__set_autoload(skel->progs.on_raw_tp, true);
	refuses(skel->obj, skel->progs.on_raw_tp, -EOPNOTSUPP, TRAMP_REASON_PROG_TYPE,
		"names a tracepoint");
	passes(skel->obj, &skip);
	sorts = need_sorts(socket);
	refuses(sorts->obj, sorts->progs.on_socket, -EOPNOTSUPP, TRAMP_REASON_PROG_TYPE,
		"it goes to no function of the kernel");
	sorts__destroy(sorts);
	/* Of another version, with something to say. */
	skip.sz = 2;
	CHECK_EQ(tramp_object__check(skel->obj, &skip), -EINVAL, "size");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_BAD_ARGUMENT);
	CHECK(last_error_says("object 'kinds'"), "which");
	kinds__destroy(skel);
}

static const struct ktap_test tests[] = {
	{ .name = "good", .run = test_good },
	{ .name = "functions", .run = test_functions },
	{ .name = "verdicts", .run = test_verdicts },
	{ .name = "cannot-ask", .run = test_cannot_ask },
	{ .name = "sections", .run = test_sections },
	{ .name = "others", .run = test_others },
};

KTAP_MAIN(tests)
