// SPDX-License-Identifier: GPL-2.0
/*
 * A module goes while there is no memory to take its function out of the filter of an ftrace_ops
 * (no_memory.h): it waits for memory. If it went without that, ftrace's filter would name a
 * function that is gone. ftrace would warn when the module comes back, and shut down later.
 */
#include <pthread.h>
#include <string.h>
#include <unistd.h>
#include "fixture.h"
#include "no_memory.h"
#include "ownmod.h"
#include "probe.h"

static volatile bool without, unloaded;

static void *unload(void *arg)
{
	int err;

	memory_ends(1, TT_FAULT_RESERVES);
	without = true;
	err = module_unload(MODULE);
	unloaded = true;
	CHECK(!err, "unloading: %s", strerror(-err));
	return arg;
}

/* Longer than the module waits before it leaves a function (shrink.c). */
static void unload_without_memory(void)
{
	pthread_t thread;

	without = unloaded = false;
	REQUIRE(!pthread_create(&thread, NULL, unload, NULL), "thread");
	while (!without)
		usleep(1000);
	usleep(1000000 * time_scale());
	CHECK(!unloaded, "unloaded while there is no memory");
	CHECK(memory_comes(), "nothing wanted memory");
	pthread_join(thread, NULL);
	CHECK(!module_loaded(MODULE), "the module is there still");
}

/* As if nothing had been there. The filter that the function has left changes once more. */
static void come_again(void)
{
	uint64_t was = func[THERE];

	load();
	ktap_note("the module is back %s", func[THERE] == was ? "where it was" : "elsewhere");
	expect("back", 0, CALLS);
	detach(&one[THERE]);
	one[THERE] = attach_to(THERE);
	expect("attached again", CALLS, CALLS);
	detach(&one[HERE]);
	expect("the other one detached", CALLS, 0);
	detach(&one[THERE]);
	expect("both detached", 0, 0);
	CHECK_EQ(ownmod_unload(MODULE, 300), 0, "unloading it at last");
}

static void test_gate(void)
{
	begin(fixture_open("about our memory"));
	come_by_gate();
	unload_without_memory();
	come_again();
}

static void test_group(void)
{
	begin(fixture_open("about our memory"));
	come_in_group();
	unload_without_memory();
	come_again();
}

static const struct ktap_test tests[] = {
	{ "gate", test_gate, 120 },
	{ "group", test_group, 120 },
};

KTAP_MAIN(tests)
