// SPDX-License-Identifier: GPL-2.0
/*
 * While the last program of ours goes, another user of ftrace does so too, and is first. Then ours
 * is ftrace's only user for a moment. Our callback must not be called by itself then: a task may be
 * on its way to the call from a function of the other user's. The test module holds ftrace's lock
 * until both wait for it, and looks what is called when they go on.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>
#include "attachment.h"
#include "fixture.h"
#include "ones.h"
#include "probe.h"
#include "selftests/vm/lib/probe_progs.skel.h"

/* Milliseconds that the lock is held. Each of the two has a third to come to it. */
#define HELD	900
/* Which of the two is first is up to the scheduler, and so is whether it is seen. */
#define ROUNDS	3
/* They come together, and share an ops where functions can. */
#define ONES	4

static int watcher;
static char reply[64];

static void *watch(void *arg)
{
	int err = tt_command(watcher, reply, sizeof(reply), "ftrace_watch %d",
			     HELD * time_scale());

	REQUIRE(!err, "ftrace_watch: %s", strerror(-err));
	return arg;
}

static void *tracer_goes(void *arg)
{
	function_tracer(NULL);
	return arg;
}

static void setup(void)
{
	fixture_open("is about our module");
	probe_setup();
	watcher = tt_open();
}

static pthread_t start(void *(*func)(void *arg))
{
	pthread_t thread;

	REQUIRE(!pthread_create(&thread, NULL, func, NULL), "pthread_create");
	usleep(HELD / 3 * 1000 * time_scale());
	return thread;
}

static void check(void)
{
	CHECK(!strcmp(reply, "direct=0\n"), "ftrace calls our callback by itself: %s", reply);
}

static void test_single(void)
{
	pthread_t lock, tracer;
	struct attachment one;
	int i;

	setup();
	for (i = 0; i < ROUNDS; i++) {
		function_tracer("tt_hot1");
		one = attach_insn(OURS, bpf_program__fd(probe_skel->progs.count),
				  ksym_addr("tt_hot0"), 0, 0);
		attachment_expect(&one, TRAMP_MODE_DIRECT, TRAMP_REASON_NONE, "tt_hot0");
		/* Ours that keeps ftrace on goes a second later. */
		usleep(2000000 * time_scale());
		lock = start(watch);
		tracer = start(tracer_goes);
		detach(&one);
		pthread_join(tracer, NULL);
		pthread_join(lock, NULL);
		check();
	}
}

static void test_group(void)
{
	struct tramp_attach item[ONES];
	int32_t fds[ONES];
	pthread_t lock, tracer;
	int i;

	setup();
	ones_fill(item, ONES, bpf_program__fd(probe_skel->progs.count));
	for (i = 0; i < ROUNDS; i++) {
		function_tracer("tt_hot1");
		ones_come(item, fds, ONES);
		ones_go(fds, ONES - 1);
		usleep(2000000 * time_scale());
		lock = start(watch);
		tracer = start(tracer_goes);
		close(fds[ONES - 1]);
		pthread_join(tracer, NULL);
		pthread_join(lock, NULL);
		check();
	}
}

static const struct ktap_test tests[] = {
	{ "single", test_single, 120 },
	{ "group", test_group, 120 },
};

KTAP_MAIN(tests)
