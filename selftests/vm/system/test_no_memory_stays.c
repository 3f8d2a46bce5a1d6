// SPDX-License-Identifier: GPL-2.0
/*
 * A program leaves a function of a module while there is no memory to take it out of the filter of
 * an ftrace_ops (no_memory.h). The call stays, and so does the module, for ever. Nor can ours be
 * unloaded if the call leads to its image: selftests/vm/system/alone.
 */
#include <stdlib.h>
#include "no_memory.h"
#include "ownmod.h"
#include "vmtest.h"

#define MESSAGE		"no memory to take 1 calls back"

static void leave_without_memory(void)
{
	char *log;
	int status;

	memory_ends();
	detach(&one[THERE]);
	memory_comes();
	expect("detached", 0, CALLS);
	log = run_command(&status, "dmesg | grep -c '" MESSAGE "'");
	CHECK_EQ(atoi(log), 1, "messages");
	free(log);
	CHECK(ownmod_busy(module_unload(MODULE)), "unloaded, and ftrace would name its function");
}

static void begin_alone(void)
{
	if (vmtest_oracle())
		ktap_skip("about our memory");
	begin(tt_open());
}

/* The call goes with that of the last one. Its module was promised to stay. */
static void test_gate(void)
{
	begin_alone();
	come_by_gate();
	leave_without_memory();
	detach(&one[HERE]);
	expect("the other one detached", 0, 0);
	one[THERE] = attach_to(THERE);
	expect("attached again", CALLS, 0);
	detach(&one[THERE]);
	expect("detached again", 0, 0);
	CHECK(ownmod_busy(module_unload(MODULE)), "unloaded");
	check_nothing_left();
}

/* The call stays: to others it is somebody else's direct call. */
static void test_group(void)
{
	begin_alone();
	come_in_group();
	leave_without_memory();
	one[THERE] = attach_to(THERE);
	attachment_expect(&one[THERE], TRAMP_MODE_FTRACE_OPS, TRAMP_REASON_NONE,
			  "one more where the call is");
	expect("attached beside it", CALLS, CALLS);
	detach(&one[THERE]);
	detach(&one[HERE]);
	expect("the other one detached", 0, 0);
	one[HERE] = attach_to(HERE);
	expect("the other one attached again", 0, CALLS);
	detach(&one[HERE]);
	ownmod_expect_pinned("a call leads to its image");
}

static const struct ktap_test tests[] = {
	{ "gate", test_gate, 120 },
	{ "group", test_group, 120 },
};

KTAP_MAIN(tests)
