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

	memory_ends(1, TT_FAULT_RESERVES);
	detach(&one[THERE]);
	CHECK(memory_comes(), "nothing wanted memory");
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

/* A program of many leaves, beside another at one function. Return: whether memory failed. */
static bool leave_many(uint32_t nth, uint32_t lasting)
{
	struct many *m = come_many();
	bool failed;

	one[HERE] = attach_to(HERE);
	memory_ends(nth, lasting);
	many_detach(m);
	failed = memory_comes();
	expect("many detached", 0, CALLS);
	one[THERE] = attach_to(THERE);
	expect("attached", CALLS, CALLS);
	detach(&one[HERE]);
	detach(&one[THERE]);
	expect("both detached", 0, 0);
	return failed;
}

/* Each allocation fails for once, and it and all after it. The module stays after the latter. */
static void test_many(void)
{
	uint32_t n, last;

	begin_alone();
	for (n = 1; leave_many(n, 0) && n < 100; n++)
		;
	ktap_note("%u chances to fail", n - 1);
	CHECK(n > 2 && n < 100, "they are too few or too many");
	check_nothing_left();
	CHECK_EQ(ownmod_unload(MODULE, 300), 0, "unloading");
	load();
	for (last = n, n = 1; n < last; n++)
		leave_many(n, TT_FAULT_RESERVES);
	CHECK(ownmod_busy(module_unload(MODULE)), "unloaded, and ftrace would name its function");
	check_nothing_left();
}

static const struct ktap_test tests[] = {
	{ "gate", test_gate, 120 },
	{ "group", test_group, 120 },
	{ "many", test_many, 120 },
};

KTAP_MAIN(tests)
