// SPDX-License-Identifier: GPL-2.0
/*
 * As many functions in one request as there can be: others on the CPU do not wait until they are
 * sorted, checked and answered. That matters where the kernel does not preempt itself.
 */
#include <errno.h>
#include <linux/types.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "fixture.h"
#include "probe.h"
#include "selftests/vm/lib/probe_progs.skel.h"

#define NR	TRAMP_MULTI_MAX
/* How long another task may wait: with all of it at once it is 2 s under emulation. */
#define LIMIT_MS	500

static volatile bool ready, over;

/* In front of all others on its CPU. Return: how long it once waited to go on, in ms. */
static void *waits(void *arg)
{
	const struct sched_param param = { .sched_priority = 1 };
	uint64_t then, longest = 0, took;

	pin_to_cpu(0);
	REQUIRE(!sched_setscheduler(0, SCHED_FIFO, &param), "FIFO: %s", strerror(errno));
	while (!over) {
		then = now_ns();
		usleep(1000);
		ready = true;
		took = now_ns() - then;
		if (took > longest)
			longest = took;
	}
	*(uint64_t *)arg = longest / 1000000;
	return NULL;
}

/* One function, again and again: all but one of them are left out at once. */
static void test_most(void)
{
	struct tramp_attach_multi cmd = { .size = sizeof(cmd), .nr = NR, .link_fd = -1,
					  .flags = TRAMP_MULTI_F_SKIP };
	uint64_t *addrs = malloc(NR * sizeof(*addrs)), longest, start;
	uint32_t *reasons = malloc(NR * sizeof(*reasons)), i;
	pthread_t thread;
	uint64_t addr;

	fixture_open("about our requests");
	probe_setup();
	addr = ksym_addr("tt_hot0");
	for (i = 0; i < NR; i++) {
		addrs[i] = addr;
		reasons[i] = 1;
	}
	cmd.addrs = (uintptr_t)addrs;
	cmd.reasons = (uintptr_t)reasons;
	cmd.prog_fd = bpf_program__fd(probe_skel->progs.nothing);
	pin_to_cpu(0);
	REQUIRE(!pthread_create(&thread, NULL, waits, &longest), "thread");
	while (!ready)
		usleep(1000);
	start = now_ns();
	REQUIRE(!ioctl(tramp_device(), TRAMP_IOC_ATTACH_MULTI, &cmd), "%s: %s %s", strerror(errno),
		tramp_reason_name(cmd.refusal.reason), cmd.refusal.detail);
	start = now_ns() - start;
	over = true;
	pthread_join(thread, NULL);
	CHECK_EQ(cmd.nr_attached, 1, "attached");
	CHECK_EQ(reasons[0], 0, "the first");
	CHECK_EQ(reasons[NR - 1], TRAMP_REASON_ALREADY_ATTACHED, "the last");
	ktap_note("of the %lu ms another task once waited %lu", start / 1000000, longest);
	CHECK(longest, "it never waited as much as the millisecond that it slept");
	CHECK(longest < (uint64_t)LIMIT_MS * time_scale(), "others wait %lu ms", longest);
	close(cmd.link_fd);
	free(reasons);
	free(addrs);
}

static const struct ktap_test tests[] = {
	{ "most", test_most, 120 },
};

KTAP_MAIN(tests)
