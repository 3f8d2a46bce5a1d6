// SPDX-License-Identifier: GPL-2.0
/*
 * Questions about functions there are not, and who may ask and attach: capabilities, hidden
 * addresses, ftrace switched off.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <bpf/btf.h>
#include "requests.h"
#include "selftests/vm/lib/errors.skel.h"

/* ----------------------------------------------------------------- EXPLAIN --- */

static void explain_case(const char *what, const char *name, const char *module, int err,
			 int reason)
{
	union arg a;

	good_request(&a, TRAMP_IOC_EXPLAIN);
	strcpy(a.explain.name, name);
	strcpy(a.explain.module, module);
	expect(what, TRAMP_IOC_EXPLAIN, &a, err, reason);
}

static void explain_id_case(const char *what, uint32_t obj, uint32_t id, int err, int reason)
{
	union arg a;

	good_request(&a, TRAMP_IOC_EXPLAIN);
	a.explain.name[0] = '\0';
	a.explain.btf_obj_id = obj;
	a.explain.btf_id = id;
	expect(what, TRAMP_IOC_EXPLAIN, &a, err, reason);
}

/* Asked by BTF id: can it be, and why not? */
static void can_case(const char *func, uint32_t can, unsigned int fentry, unsigned int fexit)
{
	struct func_btf f = func_btf(func);
	union arg a;

	if (!CHECK(f.id > 0, "%s is not in BTF", func))
		return;
	cases++;
	good_request(&a, TRAMP_IOC_EXPLAIN);
	a.explain.name[0] = '\0';
	a.explain.btf_obj_id = f.obj_id;
	a.explain.btf_id = f.id;
	CHECK_EQ(call(TRAMP_IOC_EXPLAIN, &a), 0, "%s", func);
	CHECK_EQ(a.explain.can, can, "%s", func);
	CHECK_EQ(a.explain.fentry_reason, fentry, "%s: %s", func,
		 tramp_reason_name(a.explain.fentry_reason));
	CHECK_EQ(a.explain.fexit_reason, fexit, "%s: %s", func,
		 tramp_reason_name(a.explain.fexit_reason));
	CHECK(!strcmp(a.explain.name, func), "%s: name '%s'", func, a.explain.name);
}

static void test_explain(void)
{
	struct bpf_prog_info info = {};
	uint32_t len = sizeof(info);
	struct tramp_explain ex = { .size = sizeof(ex) };
	struct func_btf f;
	int fd;

	setup();
	fd = tt_open();
	f = func_btf("bpf_fentry_test2");
	explain_case("unknown function", "no_such_function_at_all", "", -ENOENT,
		     TRAMP_REASON_NO_SUCH_FUNCTION);
	explain_case("a variable", "jiffies", "", -ENOENT, TRAMP_REASON_NO_SUCH_FUNCTION);
	explain_case("unknown module", "tt_hot0", "no_such_module", -ENOENT,
		     TRAMP_REASON_NO_SUCH_FUNCTION);
	explain_case("another module's function", "tt_hot0", "trampoline", -ENOENT,
		     TRAMP_REASON_NO_SUCH_FUNCTION);
	explain_id_case("unknown BTF object", 0x7fffffff, 1, -ENOENT, TRAMP_REASON_NO_BTF);
	explain_id_case("type id beyond the last", f.obj_id, 0x7fffffff, -ENOENT,
			TRAMP_REASON_NO_BTF);
	explain_id_case("a type that is no function", f.obj_id, 1, -ENOENT, TRAMP_REASON_NO_BTF);
	REQUIRE(!bpf_obj_get_info_by_fd(FD(good_entry), &info, &len), "%s", strerror(errno));
	explain_id_case("BTF of a program", info.btf_id, 1, -ENOENT, TRAMP_REASON_NO_BTF);

	can_case("bpf_fentry_test2", TRAMP_CAN_FENTRY | TRAMP_CAN_FEXIT, 0, 0);
	can_case("tt_args12", TRAMP_CAN_FENTRY | TRAMP_CAN_FEXIT, 0, 0);
	can_case("tt_notrace", 0, TRAMP_REASON_NOT_TRACEABLE, TRAMP_REASON_NOT_TRACEABLE);
	can_case("tt_args13", 0, TRAMP_REASON_TOO_MANY_ARGS, TRAMP_REASON_TOO_MANY_ARGS);
	can_case("tt_struct16_7", 0, TRAMP_REASON_TOO_MANY_ARGS, TRAMP_REASON_TOO_MANY_ARGS);
	can_case("tt_struct24", 0, TRAMP_REASON_ARG_TYPE, TRAMP_REASON_ARG_TYPE);
	can_case("tt_ret_int128", TRAMP_CAN_FENTRY, 0, TRAMP_REASON_ARG_TYPE);
	can_case("tt_variadic", 0, TRAMP_REASON_VARIADIC, TRAMP_REASON_VARIADIC);
	can_case("do_exit", TRAMP_CAN_FENTRY, 0, TRAMP_REASON_NORETURN);
	/* BTF has functions of __init, and their text is gone. */
	f = func_btf("setup_arch");
	ex.btf_obj_id = f.obj_id;
	ex.btf_id = f.id;
	CHECK(!ioctl(tramp_device(), TRAMP_IOC_EXPLAIN, &ex), "setup_arch: %s", strerror(errno));
	CHECK_EQ(ex.fentry_reason, TRAMP_REASON_NOT_TRACEABLE, "setup_arch");
	close(fd);
	ktap_note("%d cases", cases);
}

/* ------------------------------------------------------------- capabilities --- */

/* In a child with these capabilities: open() and ATTACH through an open file. */
static void caps_case(const char *what, uint64_t caps, bool allowed)
{
	struct state before = state_now();
	int status;
	pid_t pid;

	cases++;
	fflush(stdout);
	pid = fork();
	REQUIRE(pid >= 0, "fork");
	if (!pid) {
		union arg a;
		int err, fd;

		set_caps(caps);
		fd = open(TRAMP_DEVICE, O_RDWR | O_CLOEXEC);
		CHECK_EQ(fd < 0 ? -errno : 0, allowed ? 0 : -EPERM, "%s: open", what);
		good_request(&a, TRAMP_IOC_ATTACH);
		err = call(TRAMP_IOC_ATTACH, &a);
		CHECK_EQ(err, allowed ? 0 : -EPERM, "%s: ATTACH", what);
		if (!allowed)
			CHECK_EQ(a.attach.refusal.reason, TRAMP_REASON_PERMISSION, "%s", what);
		if (!allowed)
			CHECK(a.attach.link_fd <= 0, "%s: descriptor %d", what, a.attach.link_fd);
		/* INFO needs no more than the open file. */
		good_request(&a, TRAMP_IOC_INFO);
		CHECK_EQ(call(TRAMP_IOC_INFO, &a), 0, "%s: INFO", what);
		exit(ktap_failures() ? 1 : 0);
	}
	waitpid(pid, &status, 0);
	CHECK_EQ(status, 0, "%s", what);
	check_unchanged(&before, what);
}

static void test_capabilities(void)
{
	setup();
	caps_case("none", 0, false);
	caps_case("CAP_BPF", CAP(BPF), false);
	caps_case("CAP_PERFMON", CAP(PERFMON), false);
	caps_case("all but CAP_SYS_ADMIN and CAP_BPF",
		  ALL_CAPS & ~(CAP(SYS_ADMIN) | CAP(BPF)), false);
	caps_case("all but CAP_SYS_ADMIN and CAP_PERFMON",
		  ALL_CAPS & ~(CAP(SYS_ADMIN) | CAP(PERFMON)), false);
	caps_case("CAP_BPF and CAP_PERFMON", CAP(BPF) | CAP(PERFMON), true);
	caps_case("CAP_SYS_ADMIN", CAP(SYS_ADMIN), true);
}

/* Addresses and code only to those whom /proc/kallsyms would show them. */
static void test_hidden_addresses(void)
{
	struct attachment link;
	int status;
	pid_t pid;

	setup();
	link = attach_func(OURS, FD(good_entry), NULL);
	REQUIRE(!write_file("/proc/sys/kernel/kptr_restrict", "2"), "kptr_restrict");
	fflush(stdout);
	pid = fork();
	REQUIRE(pid >= 0, "fork");
	if (!pid) {
		unsigned char image[4096];
		union arg a;

		good_request(&a, TRAMP_IOC_QUERY);
		CHECK_EQ(call(TRAMP_IOC_QUERY, &a), 0, "QUERY");
		CHECK_EQ(a.query.func_addr, 0, "address of the function");
		CHECK_EQ(a.query.image_addr, 0, "address of the image");
		good_request(&a, TRAMP_IOC_QUERY);
		a.query.image = (uintptr_t)image;
		a.query.image_len = sizeof(image);
		CHECK_EQ(call(TRAMP_IOC_QUERY, &a), -EPERM, "QUERY of the image");
		CHECK_EQ(a.query.refusal.reason, TRAMP_REASON_HIDDEN_ADDRESS, "QUERY");
		good_request(&a, TRAMP_IOC_EXPLAIN);
		CHECK_EQ(call(TRAMP_IOC_EXPLAIN, &a), 0, "EXPLAIN");
		CHECK_EQ(a.explain.func_addr, 0, "address of the function");
		CHECK_EQ(a.explain.site_addr, 0, "address of the site");
		good_request(&a, TRAMP_IOC_ATTACH);
		CHECK_EQ(call(TRAMP_IOC_ATTACH, &a), -EBUSY, "ATTACH");
		CHECK_EQ(a.attach.refusal.addr, 0, "address in the refusal");
		CHECK(!strstr(a.attach.refusal.detail, "ffffffff"), "'%s'",
		      a.attach.refusal.detail);
		exit(ktap_failures() ? 1 : 0);
	}
	waitpid(pid, &status, 0);
	write_file("/proc/sys/kernel/kptr_restrict", "0");
	CHECK_EQ(status, 0, "in the child");
	detach(&link);
}

/* ---------------------------------------------------------- ftrace switched off --- */

#define FTRACE_ENABLED "/proc/sys/kernel/ftrace_enabled"

static void test_ftrace_disabled(void)
{
	struct attachment link;
	int err;

	setup();
	ftrace_switch(false);
	attach_fd_case("ftrace switched off", FD(good_entry), -ENODEV,
		       TRAMP_REASON_FTRACE_DISABLED);
	ftrace_switch(true);
	/* While something is attached it would lose hits silently: the kernel refuses. */
	link = attach_func(OURS, FD(good_entry), NULL);
	err = write_file(FTRACE_ENABLED, "0");
	CHECK_EQ(err, -EBUSY, "switching ftrace off under a link");
	if (!err)
		write_file(FTRACE_ENABLED, "1");
	CHECK(!run_fentry_tests(FD(good_exit)), "the functions");
	CHECK_EQ(attachment_query(&link).hits, 1, "hits");
	detach(&link);
}

static const struct ktap_test tests[] = {
	{ "explain", test_explain, 60 },
	{ "capabilities", test_capabilities, 60 },
	{ "hidden_addresses", test_hidden_addresses, 60 },
	{ "ftrace_disabled", test_ftrace_disabled, 60 },
};

KTAP_MAIN(tests)
