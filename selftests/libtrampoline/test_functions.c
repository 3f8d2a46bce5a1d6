// SPDX-License-Identifier: GPL-2.0
/*
 * Attaching one program to many functions: what the module (answers.h) gets of a list, a selection
 * or the section's pattern, and which function a refusal names. The programs count as loaded
 * (kernel.h).
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "answers.h"
#include "kernel.h"
#include "sorts.skel.h"

static const char kallsyms[] =
	"ffffffff81000000 T do_unlinkat\n"
	"ffffffff81001000 T do_rmdir\n"
	"ffffffff81002000 T other\n";

/* The last request, with its lists. */
static struct tramp_attach_multi asked;
static uint64_t addrs[4], cookies[4];
static char names[128];
static int fails;
/* How often a signal ends it before. */
static int interrupts;
static uint32_t failed, reason = TRAMP_REASON_NOT_TRACEABLE;
/* Those of the last probe. */
static uint32_t probe_flags;

static int attach_probe(struct tramp_attach *cmd)
{
	probe_flags = cmd->flags;
	cmd->link_id = 6;
	cmd->link_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	REQUIRE(cmd->link_fd >= 0, "/dev/null");
	return 0;
}

static int answer_multi(unsigned long cmd, void *arg)
{
	struct tramp_attach_multi *m = arg;
	uint32_t *reasons = (uint32_t *)(uintptr_t)m->reasons;

	if (cmd == TRAMP_IOC_ATTACH)
		return attach_probe(arg);
	CHECK_EQ(cmd, TRAMP_IOC_ATTACH_MULTI, "command");
	CHECK_EQ(m->size, sizeof(*m), "size");
	CHECK_EQ(!m->addrs, !!m->names, "addresses or names");
	REQUIRE(m->nr <= 4 && m->names_len <= sizeof(names), "%u functions", m->nr);
	asked = *m;
	if (m->addrs)
		memcpy(addrs, (void *)(uintptr_t)m->addrs, m->nr * sizeof(addrs[0]));
	else
		memcpy(names, (void *)(uintptr_t)m->names, m->names_len);
	if (m->cookies)
		memcpy(cookies, (void *)(uintptr_t)m->cookies, m->nr * sizeof(cookies[0]));
	if (interrupts) {
		interrupts--;
		return -EINTR;
	}
	if (fails) {
		m->failed = failed;
		m->refusal.reason = reason;
		return -fails;
	}
	if (reasons)
		reasons[0] = TRAMP_REASON_NOTRACE;
	m->nr_attached = m->nr - !!reasons;
	m->link_id = 5;
	m->link_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	REQUIRE(m->link_fd >= 0, "/dev/null");
	return 0;
}

static struct sorts *begin(void)
{
	struct sorts *skel;

	answers_begin(answer_multi);
	libbpf_set_print(NULL);
	kernel.kallsyms = fixture_text("kallsyms", kallsyms);
	kernel.traceable = fixture_text("traceable", "do_unlinkat\ndo_rmdir\nother\n");
	kernel.objects[0] = (struct kernel_object) { .sort = "prog", .id = 1,
						     .type = BPF_PROG_TYPE_KPROBE };
	kernel.prog_fd = kernel_open("prog", 1);
	answers.info.features = TRAMP_FEAT_SESSION;
	fails = 0;
	REQUIRE(!tramp_register_sections(), "%s", tramp_last_error()->message);
	skel = sorts__open();
	REQUIRE(skel, "open: %s", strerror(errno));
	return skel;
}

static void attaches(const struct bpf_program *prog, const struct tramp_multi_opts *opts)
{
	struct tramp_link *link = tramp_attach_multi(prog, opts);

	REQUIRE(link, "%s: %s", bpf_program__name(prog), tramp_last_error()->message);
	CHECK_EQ(tramp_link__id(link), 5, "id");
	CHECK_EQ(asked.prog_fd, kernel.prog_fd, "which");
	tramp_link__destroy(link);
	CHECK_CLOSED();
}

static void refuses(const struct bpf_program *prog, const struct tramp_multi_opts *opts, int err,
		    int reason, const char *says)
{
	errno = 0;
	CHECK(!tramp_attach_multi(prog, opts), "%s", says);
	CHECK_EQ(errno, -err, "errno");
	CHECK_ERROR(err, reason);
	CHECK(last_error_says(says), "what");
	CHECK_CLOSED();
}

/* -------------------------------------------------------------- functions -- */

static void test_addresses(void)
{
	const uint64_t list[] = { 0xffffffff81001000, 0xffffffff81000000 }, cookies[] = { 1, 2 };
	uint32_t reasons[2] = { 0, 0 };
	size_t attached = 0;
	TRAMP_OPTS(tramp_multi_opts, opts, .addrs = list, .cnt = 2, .cookies = cookies,
		   .reasons = reasons, .attached = &attached, .flags = TRAMP_MULTI_F_SKIP);
	struct sorts *skel = begin();

	attaches(skel->progs.on_list, &opts);
	CHECK_EQ(asked.nr, 2, "functions");
	CHECK(addrs[0] == list[0] && addrs[1] == list[1], "in their order");
	CHECK_EQ(asked.cookies, (uintptr_t)cookies, "cookies");
	CHECK_EQ(asked.flags, TRAMP_MULTI_F_SKIP, "flags");
	CHECK_EQ(reasons[0], TRAMP_REASON_NOTRACE, "a reason");
	CHECK_EQ(attached, 1, "the other one");
	sorts__destroy(skel);
}

static void test_names(void)
{
	static const char *const list[] = { "do_rmdir", "mod:func" };
	TRAMP_OPTS(tramp_multi_opts, opts, .names = list, .cnt = 2);
	struct sorts *skel = begin();

	attaches(skel->progs.on_list, &opts);
	CHECK_EQ(asked.nr, 2, "functions");
	CHECK_EQ(asked.names_len, sizeof("do_rmdir\0mod:func"), "bytes");
	CHECK(!memcmp(names, "do_rmdir\0mod:func", asked.names_len), "%s", names);
	/* The section has a pattern, which a list outdoes. */
	attaches(skel->progs.on_returns, &opts);
	CHECK_EQ(asked.flags, TRAMP_MULTI_F_RETURN, "flags");
	CHECK_EQ(asked.names_len, sizeof("do_rmdir\0mod:func"), "the list");
	sorts__destroy(skel);
}

/* Of the symbols that @syms gets. */
static struct tramp_selection *need_selection(const char *pattern, struct tramp_syms **syms)
{
	TRAMP_OPTS(tramp_select_opts, what, .patterns = &pattern, .pattern_cnt = 1);
	struct tramp_selection *sel;

	*syms = tramp_syms__load(NULL);
	REQUIRE(*syms, "%s", tramp_last_error()->message);
	sel = tramp_syms__select(*syms, &what);
	REQUIRE(sel, "%s", tramp_last_error()->message);
	return sel;
}

static void test_selection(void)
{
	TRAMP_OPTS(tramp_multi_opts, opts);
	struct sorts *skel = begin();
	struct tramp_selection *sel;
	struct tramp_syms *syms;

	sel = need_selection("do_*", &syms);
	opts.selection = sel;
	attaches(skel->progs.on_list, &opts);
	CHECK_EQ(asked.nr, 2, "functions");
	CHECK_EQ(asked.flags, 0, "none is left out");
	CHECK_EQ(addrs[0] + addrs[1], 2 * 0xffffffff81000000 + 0x1000, "which");
	/* A refusal has a name. */
	fails = EOPNOTSUPP;
	failed = 1;
	refuses(skel->progs.on_list, &opts, -EOPNOTSUPP, TRAMP_REASON_NOT_TRACEABLE,
		addrs[1] == 0xffffffff81000000 ? "function 'do_unlinkat'" : "function 'do_rmdir'");
	tramp_selection__free(sel);
	tramp_syms__free(syms);
	sorts__destroy(skel);
}

/* The last request has such functions, and not one address. */
static void asked_names(const char *list, size_t len, uint32_t nr)
{
	CHECK_EQ(asked.nr, nr, "functions");
	CHECK(!asked.addrs, "addresses");
	CHECK_EQ(asked.names_len, len, "bytes");
	CHECK(!memcmp(names, list, asked.names_len < len ? asked.names_len : len), "%s", names);
}

#define ASKED_NAMES(list, nr)	asked_names(list, sizeof(list), nr)

/* Too little room for the names is noticed in the heap. */
#define MODULE	"a_module_that_has_a_long_name"

/* Where the kernel hides addresses, the module looks for the names. */
static void test_hidden(void)
{
	static const char hidden[] =
		"0000000000000000 T do_unlinkat\n"
		"0000000000000000 T do_rmdir\n"
		"0000000000000000 t do_twice\n"
		"0000000000000000 t do_twice\n"
		"0000000000000000 t do_mod\t[" MODULE "]\n";
	TRAMP_OPTS(tramp_multi_opts, opts);
	struct sorts *skel = begin();
	struct tramp_selection *sel;
	struct tramp_syms *syms;

	kernel.kallsyms = fixture_text("kallsyms", hidden);
	kernel.traceable = fixture_text("traceable", "do_unlinkat\ndo_rmdir\ndo_twice\n"
						     "do_twice\ndo_mod [" MODULE "]\n");
	sel = need_selection("do_*", &syms);
	opts.selection = sel;
	attaches(skel->progs.on_list, &opts);
	/* Neither of two that share a name can be named. */
	ASKED_NAMES(MODULE ":do_mod\0do_rmdir\0do_unlinkat", 3);
	CHECK_EQ(asked.flags, 0, "none is left out");
	fails = EOPNOTSUPP;
	failed = 1;
	refuses(skel->progs.on_list, &opts, -EOPNOTSUPP, TRAMP_REASON_NOT_TRACEABLE,
		"function 'do_rmdir'");
	tramp_selection__free(sel);
	tramp_syms__free(syms);

	/* By the section's pattern. */
	failed = 0;
	refuses(skel->progs.on_many, NULL, -EOPNOTSUPP, TRAMP_REASON_NOT_TRACEABLE,
		"function '" MODULE ":do_mod'");
	fails = 0;
	attaches(skel->progs.on_many, NULL);
	ASKED_NAMES(MODULE ":do_mod\0do_rmdir\0do_unlinkat", 3);
	CHECK_EQ(asked.flags, TRAMP_MULTI_F_SKIP, "others are left out");
	sorts__destroy(skel);
}

static void attaches_one(const struct bpf_program *prog, const struct tramp_attach_opts *opts)
{
	struct tramp_link *link = tramp_attach(prog, opts);

	REQUIRE(link, "%s: %s", bpf_program__name(prog), tramp_last_error()->message);
	tramp_link__destroy(link);
	CHECK_CLOSED();
}

/* The one cookie of a program is that of each of its functions. */
static void test_cookie(void)
{
	struct tramp_prog_cookie named = { .prog_name = "on_returns", .cookie = 1ULL << 63 };
	TRAMP_OPTS(tramp_object_attach_opts, all, .cookies = &named, .cookie_cnt = 1);
	TRAMP_OPTS(tramp_attach_opts, one, .cookie = 5);
	struct sorts *skel = begin();
	struct tramp_links *links;

	attaches_one(skel->progs.on_many, &one);
	CHECK_EQ(asked.nr, 2, "functions");
	CHECK(asked.cookies && cookies[0] == 5 && cookies[1] == 5, "of a program");
	one.cookie = 0;
	attaches_one(skel->progs.on_many, &one);
	CHECK(!asked.cookies, "none");

	/* Of an object's programs, on_returns is the last. */
	bpf_program__set_autoload(skel->progs.on_many, true);
	bpf_program__set_autoload(skel->progs.on_returns, true);
	links = tramp_object__attach(skel->obj, &all);
	REQUIRE(links, "%s", tramp_last_error()->message);
	CHECK_EQ(asked.flags, TRAMP_MULTI_F_SKIP | TRAMP_MULTI_F_RETURN, "which");
	CHECK(asked.cookies && cookies[0] == named.cookie && cookies[1] == named.cookie,
	      "of one in an object");
	tramp_links__destroy(links);
	named.prog_name = "on_many";
	links = tramp_object__attach(skel->obj, &all);
	REQUIRE(links, "%s", tramp_last_error()->message);
	CHECK_EQ(asked.flags, TRAMP_MULTI_F_SKIP | TRAMP_MULTI_F_RETURN, "which");
	CHECK(!asked.cookies, "of the other");
	tramp_links__destroy(links);
	CHECK_CLOSED();
	sorts__destroy(skel);
}

/*
 * It may take seconds: tramp_attach() goes on after a signal, tramp_attach_multi() ends. That is
 * about no one of the functions, as none was looked at.
 */
static void test_interrupted(void)
{
	struct sorts *skel = begin();

	interrupts = 3;
	attaches_one(skel->progs.on_many, NULL);
	CHECK_EQ(interrupts, 0, "again and again");
	CHECK_EQ(asked.nr, 2, "functions");
	interrupts = 3;
	refuses(skel->progs.on_many, NULL, -EINTR, TRAMP_LIB_SYSTEM, "program 'on_many'");
	CHECK_EQ(interrupts, 2, "tries");
	sorts__destroy(skel);
}

/* Attach flags are for those programs of an object that they apply to. */
static void test_object(void)
{
	TRAMP_OPTS(tramp_object_attach_opts, opts, .attach_flags = TRAMP_ATTACH_F_NO_JUMP |
		   TRAMP_ATTACH_F_NO_KPROBE | TRAMP_ATTACH_F_NO_OPS, .maxactive = 3);
	TRAMP_OPTS(tramp_attach_opts, one, .flags = TRAMP_ATTACH_F_NO_JUMP);
	struct sorts *skel = begin();
	struct tramp_links *links;

	bpf_program__set_autoload(skel->progs.on_many, true);
	bpf_program__set_autoload(skel->progs.on_returns, true);
	bpf_program__set_autoload(skel->progs.on_both, true);
	bpf_program__set_autoload(skel->progs.on_offset, true);
	links = tramp_object__attach(skel->obj, &opts);
	REQUIRE(links, "%s", tramp_last_error()->message);
	CHECK_EQ(tramp_links__count(links), 4, "links");
	CHECK_EQ(probe_flags, opts.attach_flags, "of the probe");
	tramp_links__destroy(links);
	/* Of a program alone they are a mistake. */
	CHECK(!tramp_attach(skel->progs.on_many, &one), "a probe's flag");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_BAD_ARGUMENT);
	CHECK(last_error_says("attach flags 0x4 are for probes"), "which");
	CHECK_CLOSED();
	sorts__destroy(skel);
}

/* As libbpf takes it: what can be had of it. */
static void test_pattern(void)
{
	struct sorts *skel = begin();
	struct tramp_link *link;

	attaches(skel->progs.on_many, NULL);
	CHECK_EQ(asked.nr, 2, "functions");
	CHECK_EQ(asked.flags, TRAMP_MULTI_F_SKIP, "others are left out");
	attaches(skel->progs.on_returns, NULL);
	CHECK_EQ(asked.flags, TRAMP_MULTI_F_SKIP | TRAMP_MULTI_F_RETURN, "at returns");
	/* Its attach type says that it is a session, where there are some. */
	attaches(skel->progs.on_both, NULL);
	CHECK_EQ(asked.flags, TRAMP_MULTI_F_SKIP, "a session");
	answers.info.features = TRAMP_FEAT_SESSION_MAP;
	attaches(skel->progs.on_both, NULL);
	CHECK_EQ(asked.flags, TRAMP_MULTI_F_SKIP | TRAMP_MULTI_F_SESSION, "a session by map");
	link = tramp_attach(skel->progs.on_many, NULL);
	REQUIRE(link, "%s", tramp_last_error()->message);
	tramp_link__destroy(link);
	CHECK_EQ(asked.nr, 2, "the same");
	refuses(skel->progs.on_list, NULL, -EINVAL, TRAMP_LIB_BAD_ARGUMENT,
		"neither its section nor opts name a function");
	kernel.kallsyms = fixture_text("kallsyms", "ffffffff81002000 T other\n");
	refuses(skel->progs.on_many, NULL, -ENOENT, TRAMP_LIB_NO_MATCH, "do_*");
	kernel.kallsyms = NULL;
	refuses(skel->progs.on_many, NULL, -ENOENT, TRAMP_LIB_NO_KALLSYMS, "/proc/kallsyms");
	sorts__destroy(skel);
}

/* --------------------------------------------------------------- refusals -- */

static void test_options(void)
{
	static const char *const list[] = { "do_rmdir", NULL };
	const uint64_t one = 0xffffffff81000000, cookie = 1;
	uint32_t reason;
	TRAMP_OPTS(tramp_multi_opts, opts, .names = list, .addrs = &one, .cnt = 1);
	struct sorts *skel = begin();
	const struct bpf_program *prog = skel->progs.on_many;

	refuses(prog, &opts, -EINVAL, TRAMP_LIB_BAD_ARGUMENT, "more than one of");
	opts.addrs = NULL;
	opts.cnt = 2;
	refuses(prog, &opts, -EINVAL, TRAMP_LIB_BAD_ARGUMENT, "name 1 is NULL");
	opts.names = NULL;
	refuses(prog, &opts, -EINVAL, TRAMP_LIB_BAD_ARGUMENT, "cnt without");
	opts.addrs = &one;
	opts.cnt = 0;
	refuses(prog, &opts, -EINVAL, TRAMP_LIB_BAD_ARGUMENT, "0 functions: from 1 to");
	opts.cnt = TRAMP_MULTI_MAX + 1;
	refuses(prog, &opts, -EINVAL, TRAMP_LIB_BAD_ARGUMENT, "1048577 functions");
	opts = (struct tramp_multi_opts) { .sz = sizeof(opts), .cookies = &cookie };
	refuses(prog, &opts, -EINVAL, TRAMP_LIB_BAD_ARGUMENT, "need a list of functions");
	opts.cookies = NULL;
	opts.reasons = &reason;
	refuses(prog, &opts, -EINVAL, TRAMP_LIB_BAD_ARGUMENT, "need a list of functions");
	kernel.prog_fd = -1;
	refuses(prog, NULL, -EINVAL, TRAMP_LIB_NOT_LOADED, "on_many");
	CHECK_EQ(asked.size, 0, "nobody was asked");
	sorts__destroy(skel);
}

/* More bytes of names than the interface takes: some of them, again and again. */
static void test_long_names(void)
{
	const size_t nr = 1024, len = TRAMP_MULTI_NAMES_MAX / nr;
	const char **list = calloc(nr, sizeof(*list));
	TRAMP_OPTS(tramp_multi_opts, opts, .names = list, .cnt = nr);
	struct sorts *skel = begin();
	char *name = malloc(len + 1);
	size_t i;

	REQUIRE(list && name, "no memory");
	memset(name, 'n', len);
	name[len] = '\0';
	for (i = 0; i < nr; i++)
		list[i] = name;
	refuses(skel->progs.on_list, &opts, -EINVAL, TRAMP_LIB_BAD_ARGUMENT, "bytes of names");
	CHECK_EQ(asked.size, 0, "nobody was asked");
	free(name);
	free(list);
	sorts__destroy(skel);
}

static void test_refused(void)
{
	static const char *const list[] = { "do_rmdir", "other" };
	const uint64_t two[] = { 0xffffffff81001000, 0xffffffff81002000 };
	TRAMP_OPTS(tramp_multi_opts, opts, .names = list, .cnt = 2);
	struct sorts *skel = begin();
	const struct bpf_program *prog = skel->progs.on_list;

	fails = EOPNOTSUPP;
	failed = 1;
	refuses(prog, &opts, -EOPNOTSUPP, TRAMP_REASON_NOT_TRACEABLE, "function 'other'");
	CHECK(tramp_last_error()->from_kernel, "it is");
	opts.names = NULL;
	opts.addrs = two;
	refuses(prog, &opts, -EOPNOTSUPP, TRAMP_REASON_NOT_TRACEABLE,
		"function 1 of the list (0xffffffff81002000)");
	failed = 2;
	refuses(prog, &opts, -EOPNOTSUPP, TRAMP_REASON_NOT_TRACEABLE, "program 'on_list'");
	/* It is about the caller, whatever else the module says. */
	failed = 0;
	fails = EPERM;
	reason = TRAMP_REASON_LOCKDOWN;
	refuses(prog, &opts, -EPERM, TRAMP_REASON_LOCKDOWN, "program 'on_list'");
	reason = TRAMP_REASON_PERMISSION;
	refuses(prog, &opts, -EPERM, TRAMP_REASON_PERMISSION, "program 'on_list'");
	fails = ENOTTY;
	refuses(prog, &opts, -EOPNOTSUPP, TRAMP_REASON_NOT_BUILT, "one function at a time");
	answers.open_fails = ENOENT;
	refuses(prog, &opts, -ENODEV, TRAMP_LIB_NO_DEVICE, "program 'on_list'");
	sorts__destroy(skel);
}

static const struct ktap_test tests[] = {
	{ .name = "addresses", .run = test_addresses },
	{ .name = "names", .run = test_names },
	{ .name = "selection", .run = test_selection },
	{ .name = "hidden", .run = test_hidden },
	{ .name = "cookie", .run = test_cookie },
	{ .name = "interrupted", .run = test_interrupted },
	{ .name = "object", .run = test_object },
	{ .name = "pattern", .run = test_pattern },
	{ .name = "options", .run = test_options },
	{ .name = "long-names", .run = test_long_names },
	{ .name = "refused", .run = test_refused },
};

KTAP_MAIN(tests)
