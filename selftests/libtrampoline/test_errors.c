// SPDX-License-Identifier: GPL-2.0
/*
 * Errors of libtrampoline: the texts, the last error, and every check that is
 * made before the module is asked.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../../user/libtrampoline/core/device.h"
#include "../../user/libtrampoline/core/error.h"
#include "../../user/libtrampoline/core/sized.h"
#include "../lib/ktap.h"
#include "fixture.h"
#include "kinds.skel.h"

/* The output that printing left behind. */
static char printed[2048];
static unsigned int warnings;

static int keep_print(enum tramp_print_level level, const char *fmt, va_list args)
{
	if (level != TRAMP_PRINT_WARN)
		return 0;
	warnings++;
	return vsnprintf(printed, sizeof(printed), fmt, args);
}

static void test_reason_texts(void)
{
	static const struct {
		unsigned int value;
		int error;
		const char *name;
	} all[] = {
#define LIB_ENTRY(value, NAME, name, sentence) { value, EOPNOTSUPP, name },
#define ENTRY(value, NAME, name, error, sentence) { value, error, name },
		TRAMP_REASONS(ENTRY)
		TRAMP_LIB_REASONS(LIB_ENTRY)
#undef ENTRY
#undef LIB_ENTRY
	};
	size_t i, j;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		CHECK(!strcmp(tramp_reason_name(all[i].value), all[i].name), "%u", all[i].value);
		CHECK(tramp_reason_sentence(all[i].value)[0], "%s", all[i].name);
		CHECK_EQ(!tramp_reason_remedy(all[i].value)[0], all[i].value == TRAMP_REASON_NONE,
			 "%s", all[i].name);
		CHECK_EQ(tramp_reason_by_name(all[i].name), all[i].value, "%s", all[i].name);
		CHECK_EQ(tramp_reason_errno(all[i].value), -all[i].error, "%s", all[i].name);
		for (j = 0; j < i; j++)
			CHECK(strcmp(all[i].name, all[j].name), "%s twice", all[i].name);
	}
	CHECK(!strcmp(tramp_reason_name(999), "unknown"), "unknown");
	CHECK(tramp_reason_sentence(999)[0], "unknown");
	CHECK(!tramp_reason_remedy(999)[0], "unknown");
	CHECK_EQ(tramp_reason_errno(999), -EOPNOTSUPP, "unknown");
	CHECK_EQ(tramp_reason_by_name("nonsense"), -ENOENT, "unknown");
	CHECK_EQ(tramp_reason_by_name(NULL), -ENOENT, "NULL");
}

/* In the order of their numbers, which are those of the interface. */
static void test_kinds_and_modes(void)
{
	static const char *const kinds[] = {
		"none", "fentry", "fexit", "fmod_ret", "kprobe", "kretprobe", "kprobe.multi",
		"kretprobe.multi", "kprobe.session", "unknown",
	};
	static const char *const modes[] = {
		"none", "direct", "ops", "jump", "int3", "kprobe", "rethook", "unknown",
	};
	unsigned int i;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		CHECK(!strcmp(tramp_kind_name(i), kinds[i]), "kind %u: %s", i, tramp_kind_name(i));
	for (i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		CHECK(!strcmp(tramp_mode_name(i), modes[i]), "mode %u: %s", i, tramp_mode_name(i));
}

static void test_features(void)
{
	unsigned int bit, named = 0;

	for (bit = 0; bit < 70; bit++) {
		CHECK_EQ(!tramp_feature_name(bit), !tramp_feature_desc(bit), "bit %u", bit);
		named += !!tramp_feature_name(bit);
	}
	CHECK_EQ(named, 17, "features with a name");
	CHECK(!strcmp(tramp_feature_name(0), "fentry"), "the first");
}

static void test_version(void)
{
	char text[32];

	snprintf(text, sizeof(text), "v%u.%u", tramp_major_version(), tramp_minor_version());
	CHECK(!strcmp(text, tramp_version_string()), "%s %s", text, tramp_version_string());
	CHECK_EQ(tramp_major_version(), TRAMP_MAJOR_VERSION, "header and library");
	CHECK_EQ(tramp_minor_version(), TRAMP_MINOR_VERSION, "header and library");
}

static void test_message(void)
{
	const struct tramp_error *e = tramp_last_error();
	struct tramp_refusal r = {
		.reason = TRAMP_REASON_SITE_HELD,
		.addr = 0xffffffff81000004,
		.detail = "bpf_trampoline_6442509676",
	};

	CHECK(!e->err && !e->message[0] && !e->name[0] && !e->remedy[0], "nothing yet");
	errno = 0;
	CHECK_EQ(libtramp_fail_ioctl(-EBUSY, &r, "ATTACH", "program 'x'"), -EBUSY, "returned");
	CHECK_EQ(errno, EBUSY, "errno");
	e = tramp_last_error();
	CHECK(e->from_kernel, "it is");
	CHECK_EQ(e->addr, r.addr, "address");
	CHECK(!strcmp(e->name, "site-held"), "%s", e->name);
	CHECK(!strcmp(e->detail, r.detail), "%s", e->detail);
	CHECK(last_error_says("program 'x': another direct caller holds the function's entry "
			      "(bpf_trampoline_6442509676, address 0xffffffff81000004); "), "all of it");
	/* An error made of the texts of the one before. */
	LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_BAD_ARGUMENT, e->subject, "was: %s", e->detail);
	CHECK(last_error_says("program 'x': an argument of the library call is invalid "
			      "(was: bpf_trampoline_6442509676)"), "chained");
	CHECK(!tramp_last_error()->from_kernel, "not this one");
	/* Without a reason the errno speaks. */
	LIBTRAMP_FAIL(-ENFILE, TRAMP_REASON_NONE, NULL, NULL);
	CHECK(!strcmp(tramp_last_error()->message, strerror(ENFILE)), "%s",
	      tramp_last_error()->message);
	tramp_clear_error();
	CHECK(!tramp_last_error()->err && !tramp_last_error()->message[0], "cleared");
}

/* A command that failed without a reason: the errno says all. */
static void test_errno_alone(void)
{
	const struct tramp_refusal r = { .reason = TRAMP_REASON_NONE };

	CHECK_EQ(libtramp_fail_ioctl(-EPERM, &r, "QUERY", "link 1"), -EPERM, "returned");
	CHECK(!strcmp(tramp_last_error()->name, "permission"), "%s", tramp_last_error()->name);
	CHECK_EQ(libtramp_fail_ioctl(-ENOMEM, &r, "QUERY", "link 1"), -ENOMEM, "returned");
	CHECK(!strcmp(tramp_last_error()->name, "no-memory"), "%s", tramp_last_error()->name);
	CHECK_EQ(libtramp_fail_ioctl(-EIO, &r, "QUERY", "link 1"), -EIO, "returned");
	CHECK(!strcmp(tramp_last_error()->name, "system"), "%s", tramp_last_error()->name);
	CHECK(last_error_says("link 1: a system call failed (TRAMP_IOC_QUERY: "), "which");
	CHECK(!tramp_last_error()->from_kernel, "the library's");
	tramp_clear_error();
}

static void test_long_texts(void)
{
	char text[3000];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	libtramp_fail(&(struct libtramp_failure) {
		.err = -EINVAL, .reason = TRAMP_LIB_BAD_ARGUMENT, .subject = text, .remedy = text,
		.addr = 1 }, "%s", text);
	CHECK(strlen(tramp_last_error()->message) < 2048, "%zu", strlen(tramp_last_error()->message));
	CHECK(strlen(tramp_last_error()->subject) < LIBTRAMP_SUBJECT_LEN, "cut");
}

/* If nobody takes messages, warnings go to stderr. The others are for LIBTRAMPOLINE_DEBUG. */
static void test_default_print(void)
{
	char text[256] = "";
	int ends[2];

	REQUIRE(!pipe(ends) && dup2(ends[1], STDERR_FILENO) >= 0, "pipe");
	unsetenv("LIBTRAMPOLINE_DEBUG");
	libtramp_print(TRAMP_PRINT_DEBUG, "nobody wants this\n");
	libtramp_print(TRAMP_PRINT_WARN, "a warning: %d\n", 7);
	setenv("LIBTRAMPOLINE_DEBUG", "", 1);
	libtramp_print(TRAMP_PRINT_DEBUG, "nor this\n");
	setenv("LIBTRAMPOLINE_DEBUG", "1", 1);
	libtramp_print(TRAMP_PRINT_DEBUG, "a detail\n");
	fflush(stderr);
	REQUIRE(read(ends[0], text, sizeof(text) - 1) > 0, "nothing was printed");
	CHECK(!strcmp(text, "a warning: 7\na detail\n"), "%s", text);
}

static void *other_thread(void *ctx)
{
	(void)ctx;
	CHECK_EQ(tramp_last_error()->err, 0, "a fresh thread has no error");
	LIBTRAMP_FAIL(-ENFILE, TRAMP_LIB_SYSTEM, "other", NULL);
	return NULL;
}

static void test_threads(void)
{
	pthread_t thread;

	LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_BAD_ARGUMENT, "mine", NULL);
	REQUIRE(!pthread_create(&thread, NULL, other_thread, NULL), "thread");
	pthread_join(thread, NULL);
	CHECK_ERROR(-EINVAL, TRAMP_LIB_BAD_ARGUMENT);
	CHECK(!strcmp(tramp_last_error()->subject, "mine"), "%s", tramp_last_error()->subject);
}

static void test_abi(void)
{
	struct tramp_info info = { .abi_version = TRAMP_ABI_VERSION };

	CHECK_EQ(libtramp_abi_check(0, &info, "module"), 0, "fits");
	CHECK_EQ(libtramp_abi_check(-EMSGSIZE, &info, "module"), 0, "fits, more names than room");
	info.abi_version++;
	CHECK_EQ(libtramp_abi_check(0, &info, "module"), -EPROTO, "newer");
	CHECK_ERROR(-EPROTO, TRAMP_LIB_ABI_MISMATCH);
	CHECK(last_error_says("the module speaks version 2, the library version 1"), "which");
	info.abi_version = 0;
	CHECK_EQ(libtramp_abi_check(0, &info, "module"), -EPROTO, "older");
	info.abi_version = TRAMP_ABI_VERSION;
	CHECK_EQ(libtramp_abi_check(-ENOTTY, &info, "module"), -EPROTO, "no INFO");
	CHECK_EQ(libtramp_abi_check(-EINVAL, &info, "module"), -EPROTO, "longer minimum");
	CHECK_EQ(libtramp_abi_check(-ENOMEM, &info, "module"), -ENOMEM, "something else");
	CHECK_ERROR(-ENOMEM, TRAMP_LIB_SYSTEM);
}

static void test_sized(void)
{
	struct {
		size_t sz;
		uint64_t a, b;
	} user = { .sz = sizeof(user), .b = 5 }, mine = { .sz = 99, .a = 1, .b = 2 };

	CHECK(libtramp_sized_ok(&user, sizeof(user), 8, sizeof(user)), "as known");
	CHECK(libtramp_sized_ok(&user, 16, 8, sizeof(user)), "older");
	CHECK(!libtramp_sized_ok(&user, sizeof(user), 8, 16), "newer with something to say");
	user.b = 0;
	CHECK(libtramp_sized_ok(&user, sizeof(user), 8, 16), "newer with nothing to say");
	CHECK(!libtramp_sized_ok(&user, 7, 8, 16), "too short");
	CHECK(!libtramp_sized_ok(NULL, 0, 8, 16), "NULL");
	libtramp_out(&user, 16, &mine, sizeof(mine));
	CHECK_EQ(user.a, 1, "copied");
	CHECK_EQ(user.b, 0, "beyond the caller's");
	CHECK_EQ(user.sz, sizeof(user), "the caller's own");
	libtramp_out(&user, sizeof(user), &mine, 16);
	CHECK_EQ(user.b, 0, "beyond ours");
}

/* ----------------------------------------------- checks before the module -- */

static struct kinds *need_open(void)
{
	struct kinds *skel = kinds__open();

	REQUIRE(skel, "open: %s", strerror(errno));
	tramp_set_print(keep_print);
	return skel;
}

static void test_attach_args(void)
{
	TRAMP_OPTS(tramp_attach_opts, flags, .flags = 1U << 31);
	struct {
		struct tramp_attach_opts opts;
		uint64_t unknown;
	} newer = { .opts.sz = sizeof(newer), .unknown = 1 };
	struct kinds *skel = need_open();

	CHECK(!tramp_attach(NULL, NULL), "NULL");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_BAD_ARGUMENT);
	CHECK_EQ(warnings, 1, "acting calls warn");
	CHECK(strstr(printed, "prog is NULL"), "%s", printed);
	CHECK(!tramp_attach(skel->progs.on_entry, &flags), "flags");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_BAD_ARGUMENT);
	CHECK(last_error_says("0x80000000"), "which");
	CHECK(!tramp_attach(skel->progs.on_entry, &newer.opts), "newer opts");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_BAD_ARGUMENT);
	flags.sz = 2;
	CHECK(!tramp_attach(skel->progs.on_entry, &flags), "size");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_BAD_ARGUMENT);
	CHECK(!tramp_attach(skel->progs.on_entry, NULL), "not loaded");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_NOT_LOADED);
	CHECK(last_error_says("program 'on_entry' (SEC(\"fentry/do_unlinkat\"))"), "which");
	tramp_set_print(NULL);
	warnings = 0;
	CHECK(!tramp_attach(NULL, NULL), "NULL");
	CHECK_EQ(warnings, 0, "silenced");
	kinds__destroy(skel);
}

static void test_many_args(void)
{
	TRAMP_OPTS(tramp_multi_opts, flags, .flags = 1U << 31);
	struct kinds *skel = need_open();
	struct tramp_attach_item items[] = {
		{ .prog = skel->progs.on_entry }, { .prog = skel->progs.on_exit },
	};

	CHECK(!tramp_attach_many(NULL, 2), "NULL");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_BAD_ARGUMENT);
	CHECK(!tramp_attach_many(items, 0), "none");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_BAD_ARGUMENT);
	CHECK_EQ(warnings, 2, "acting calls warn");
	CHECK(!tramp_attach_many(items, 2), "not loaded");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_NOT_LOADED);
	CHECK(last_error_says("program 'on_entry'"), "which");
	CHECK(!tramp_attach_multi(NULL, NULL), "NULL");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_BAD_ARGUMENT);
	CHECK(!tramp_attach_multi(skel->progs.on_kprobe, &flags), "flags");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_BAD_ARGUMENT);
	flags.sz = 2;
	CHECK(!tramp_attach_multi(skel->progs.on_kprobe, &flags), "size");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_BAD_ARGUMENT);
	CHECK(!tramp_attach_multi(skel->progs.on_kprobe, NULL), "not loaded");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_NOT_LOADED);
	kinds__destroy(skel);
}

static void test_attach_kinds(void)
{
	struct kinds *skel = need_open();
	const struct {
		const struct bpf_program *prog;
		int reason;
		const char *why;
	} others[] = {
		{ skel->progs.on_tp_btf, TRAMP_REASON_ATTACH_TYPE,
		  "tracing programs of its section go to no function" },
		{ skel->progs.on_raw_tp, TRAMP_REASON_PROG_TYPE, "its section names a tracepoint" },
	};
	size_t i;

	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		CHECK(!tramp_attach(others[i].prog, NULL), "%zu", i);
		CHECK_ERROR(-EOPNOTSUPP, others[i].reason);
		CHECK(last_error_says(others[i].why), "what");
		CHECK(last_error_says("libbpf"), "the remedy");
	}
	kinds__destroy(skel);
}

static void test_object_args(void)
{
	struct tramp_prog_cookie cookie = { .prog_name = "nobody", .cookie = 1 };
	TRAMP_OPTS(tramp_object_attach_opts, cookies, .cookie_cnt = 1, .cookies = &cookie);
	TRAMP_OPTS(tramp_object_attach_opts, flags, .flags = 2);
	TRAMP_OPTS(tramp_object_attach_opts, skip, .flags = TRAMP_OBJECT_F_SKIP_OTHER);
	struct kinds *skel = need_open();

	CHECK(!tramp_object__open_file(NULL, NULL), "no path");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_BAD_ARGUMENT);
	CHECK(!tramp_object__open_mem(NULL, 0, NULL), "no object");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_BAD_ARGUMENT);
	CHECK_EQ(tramp_object__open_skeleton(NULL, NULL), -EINVAL, "no skeleton");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_BAD_ARGUMENT);
	libbpf_set_print(NULL);
	CHECK(!tramp_object__open_file("/nowhere", NULL) && errno == ENOENT, "no file");
	CHECK_EQ(tramp_object__check(NULL, NULL), -EINVAL, "NULL");
	CHECK_EQ(tramp_object__check(skel->obj, &flags), -EINVAL, "flags");
	CHECK(!tramp_object__attach(NULL, NULL), "NULL");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_BAD_ARGUMENT);
	CHECK(!tramp_object__attach(skel->obj, &flags), "flags");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_BAD_ARGUMENT);
	CHECK(!tramp_object__attach(skel->obj, &cookies), "cookie");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_BAD_ARGUMENT);
	CHECK(last_error_says("'nobody'"), "whose");
	cookies.cookies = NULL;
	CHECK(!tramp_object__attach(skel->obj, &cookies), "no cookies");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_BAD_ARGUMENT);
	CHECK(!tramp_object__attach(skel->obj, NULL), "not loaded");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_NOT_LOADED);
	bpf_program__set_autoload(skel->progs.on_entry, false);
	bpf_program__set_autoattach(skel->progs.on_exit, false);
	CHECK(!tramp_object__attach(skel->obj, NULL), "nothing left");
	CHECK_ERROR(-ENOENT, TRAMP_LIB_NO_PROGRAMS);
	bpf_program__set_autoload(skel->progs.on_raw_tp, true);
	CHECK(!tramp_object__attach(skel->obj, NULL), "another kind");
	CHECK_ERROR(-EOPNOTSUPP, TRAMP_REASON_PROG_TYPE);
	CHECK(!tramp_object__attach(skel->obj, &skip), "another kind, skipped");
	CHECK_ERROR(-ENOENT, TRAMP_LIB_NO_PROGRAMS);
	kinds__destroy(skel);
}

static void test_null_handles(void)
{
	TRAMP_OPTS(tramp_link_info, info);

	tramp_set_print(NULL);
	CHECK_EQ(tramp_link__destroy(NULL), 0, "destroy");
	tramp_links__destroy(NULL);
	CHECK_EQ(tramp_links__count(NULL), 0, "count");
	CHECK(!tramp_links__get(NULL, 0), "get");
	CHECK_ERROR(-ERANGE, TRAMP_LIB_BAD_ARGUMENT);
	CHECK(!tramp_links__find(NULL, "x"), "find");
	CHECK_ERROR(-ENOENT, TRAMP_LIB_BAD_ARGUMENT);
	CHECK_EQ(tramp_links__pin(NULL, "/x"), -EINVAL, "pin set");
	CHECK_EQ(tramp_link__pin(NULL, "/x"), -EINVAL, "pin");
	CHECK_EQ(tramp_link__unpin(NULL), -EINVAL, "unpin");
	CHECK_EQ(tramp_link__detach(NULL), -EINVAL, "detach");
	CHECK_EQ(tramp_link__update_program(NULL, NULL), -EINVAL, "update");
	CHECK_EQ(tramp_link__update_fd(NULL, 0), -EINVAL, "update");
	CHECK_EQ(tramp_link__info(NULL, &info), -EINVAL, "info");
	CHECK_EQ(tramp_link_info_by_id(1, NULL), -EINVAL, "no struct");
	info.sz = 0;
	CHECK_EQ(tramp_link_info_by_id(1, &info), -EINVAL, "no size");
	CHECK_ERROR(-EINVAL, TRAMP_LIB_BAD_ARGUMENT);
	CHECK_EQ(tramp_info(NULL), -EINVAL, "no struct");
	CHECK(!tramp_link_image(1, NULL), "no struct");
	CHECK_EQ(tramp_for_each(NULL, NULL), -EINVAL, "no callback");
	CHECK(!tramp_link__open(NULL), "no path");
	CHECK_EQ(tramp_explain(NULL, "x", NULL), -EINVAL, "no struct");
	CHECK_EQ(tramp_explain_btf(0, 0, NULL), -EINVAL, "no struct");
}

static int never(const struct tramp_link_info *info, void *ctx)
{
	(void)info, (void)ctx;
	ktap_fail("called back without a module");
	return 0;
}

static void test_no_device(void)
{
	TRAMP_OPTS(tramp_module_info, info);
	TRAMP_OPTS(tramp_link_info, link);

	if (!access(TRAMP_DEVICE, F_OK))
		ktap_skip("the module is loaded here");
	tramp_set_print(NULL);
	CHECK_EQ(tramp_info(&info), -ENODEV, "info");
	CHECK_ERROR(-ENODEV, TRAMP_LIB_NO_DEVICE);
	CHECK(last_error_says("modprobe trampoline"), "the remedy");
	tramp_clear_error();
	CHECK_EQ(tramp_link_info_by_id(1, &link), -ENODEV, "link");
	CHECK_ERROR(-ENODEV, TRAMP_LIB_NO_DEVICE);
	CHECK_EQ(tramp_for_each(never, NULL), -ENODEV, "links");
	CHECK(!tramp_attach_fd(0, NULL), "attach");
	CHECK_ERROR(-ENODEV, TRAMP_LIB_NO_DEVICE);
	CHECK(!tramp_link_image(1, &link), "image");
	CHECK_ERROR(-ENODEV, TRAMP_LIB_NO_DEVICE);
}

static const struct ktap_test tests[] = {
	{ .name = "reason-texts", .run = test_reason_texts },
	{ .name = "kinds-and-modes", .run = test_kinds_and_modes },
	{ .name = "feature-names", .run = test_features },
	{ .name = "version", .run = test_version },
	{ .name = "message", .run = test_message },
	{ .name = "errno-alone", .run = test_errno_alone },
	{ .name = "long-texts", .run = test_long_texts },
	{ .name = "default-print", .run = test_default_print },
	{ .name = "threads", .run = test_threads },
	{ .name = "abi-version", .run = test_abi },
	{ .name = "sized-structs", .run = test_sized },
	{ .name = "attach-arguments", .run = test_attach_args },
	{ .name = "many-arguments", .run = test_many_args },
	{ .name = "attach-kinds", .run = test_attach_kinds },
	{ .name = "object-arguments", .run = test_object_args },
	{ .name = "null-handles", .run = test_null_handles },
	{ .name = "no-device", .run = test_no_device },
};

KTAP_MAIN(tests)
