// SPDX-License-Identifier: GPL-2.0
/*
 * kernel.ftrace_enabled=0. An ops or a kprobe that goes while ftrace is switched off leaves a mark
 * in ftrace's record of the function. The last user that goes later has ftrace look at its records.
 * It stumbles over the mark, and shuts down for good. Nothing of ours leaves one.
 * test_probe_direct.ftrace_off shows that of what our int3s need.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include "ownmod.h"
#include "probe.h"
#include "selftests/vm/lib/probe_progs.skel.h"

#define FTRACE_ENABLED	"/proc/sys/kernel/ftrace_enabled"

/* Nobody else traces it. */
#define FUNCTION	"tt_hot0"

/* The last user goes. Then ftrace can be switched on, which it refuses once it has shut down. */
static void check_ftrace(void)
{
	function_tracer("ksys_sync");
	function_tracer(NULL);
	CHECK_EQ(write_file(FTRACE_ENABLED, "1"), 0, "ftrace has shut down");
}

/* Our module looks symbols up by a kprobe, then finds ftrace off and does not load. */
static void test_load(void)
{
	int err;

	ownmod_setup();
	err = ownmod_unload("trampoline", 300);
	REQUIRE(!err, "unloading: %s", strerror(-err));
	ftrace_switch(false);
	err = module_load(TRAMPOLINE_KO);
	ftrace_switch(true);
	CHECK(err, "it has loaded while ftrace is off");
	check_ftrace();
	ownmod_reload();
}

/* A kernel kprobe of ours at an entry is called by ftrace. */
static void test_kprobe(void)
{
	struct attachment a;
	int dev = tt_open(), ask;

	probe_setup();
	ask = bpf_program__fd(probe_skel->progs.ask_func_ip);

	a = attach_insn(OURS, ask, ksym_addr(FUNCTION), 0, 0);
	attachment_expect(&a, TRAMP_MODE_KPROBE, TRAMP_REASON_FUNC_IP, "ftrace is on");
	CHECK_EQ(write_file(FTRACE_ENABLED, "0"), -EBUSY, "beside a kprobe of ours");
	tt_call(dev, FUNCTION " 1");
	CHECK_EQ(probe_skel->bss->func_ip, ksym_addr(FUNCTION), "it runs");
	detach(&a);
	ftrace_switch(false);
	a = attach_insn_try(OURS, ask, ksym_addr(FUNCTION), 0, 0);
	CHECK(a.err == -ENODEV && a.reply.refusal.reason == TRAMP_REASON_FTRACE_DISABLED,
	      "ftrace is off: %s, %s", strerror(-a.err), tramp_reason_name(a.reply.refusal.reason));
	detach(&a);
	ftrace_switch(true);
	check_ftrace();
	close(dev);
}

static const struct ktap_test tests[] = {
	{ "load", test_load, 60 },
	{ "kprobe", test_kprobe, 60 },
};

KTAP_MAIN(tests)
