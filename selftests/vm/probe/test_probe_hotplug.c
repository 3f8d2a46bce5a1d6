// SPDX-License-Identifier: GPL-2.0
/*
 * A CPU goes and comes back, over and over, while probes are attached to what it runs then,
 * become jumps, and are detached. No splat, no hang, text as before, right results.
 * (With an int3 in every function: test_probe_hostile.c.)
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "fixture.h"
#include "probe.h"
#include "probe_sample.h"
#include "selftests/vm/lib/probe_progs.skel.h"

#define ROUNDS		12
#define PER_FUNCTION	12
#define MAX_PLACES	256
/* Cookies behind those of the places. */
#define STEPS		1000
#define TIMES		1001

/* These run on the CPU that comes or goes, and around it, where the kernel has them. */
static const char *const functions[] = {
	"start_secondary", "ap_starting", "smp_callin", "cpu_init", "cpu_init_secondary",
	"identify_secondary_cpu", "identify_cpu", "set_cpu_sibling_map", "check_tsc_sync_target",
	"notify_cpu_starting", "cpuhp_online_idle", "cpu_startup_entry", "cpuhp_invoke_callback",
	"sched_cpu_activate", "sched_cpu_deactivate", "take_cpu_down", "native_cpu_disable",
	"cpu_disable_common", "cpuhp_report_idle_dead", "smp_call_function_single",
	"native_play_dead", "do_boot_cpu", "native_kick_ap", "native_cpu_up",
};

static int dev, prog;
static struct sample sample[MAX_PLACES];
static struct attachment at[MAX_PLACES];
static int nr_places;

/* Instructions of a function that may be probed, from its beginning to its end. */
static void take_places(const char *function)
{
	struct probe_func f;
	uint32_t i, step;

	if (probe_explain(&f, 0, function, true) || !f.nr)
		return;
	step = f.nr / PER_FUNCTION + 1;
	for (i = 1; i < f.nr && nr_places < MAX_PLACES; i += step) {
		struct sample *s = &sample[nr_places];

		if (f.insns[i].mode != TRAMP_MODE_INT3 && f.insns[i].mode != TRAMP_MODE_JUMP)
			continue;
		*s = (struct sample){ .addr = f.addr + f.insns[i].offset, .func = f.addr };
		s->code_len = f.insns[i].len;
		memcpy(s->code, f.code + f.insns[i].offset, s->code_len);
		memset(s->mask, 0xff, s->code_len);
		nr_places++;
	}
	probe_func_free(&f);
}

/* Off and on, until killed; each time counted. */
static void toggle_cpu(volatile unsigned int *times)
{
	for (;;) {
		if (cpu_set_online(1, false) || cpu_set_online(1, true))
			_exit(1);
		++*times;
	}
}

static void setup(void)
{
	if (!cpu_can_go(1))
		ktap_skip("there is no second CPU that can go");
	dev = fixture_open("the kernel's own takes 0.15 s a detach");
	probe_setup();
	prog = bpf_program__fd(probe_skel->progs.count);
}

static void test_hotplug(void)
{
	unsigned int attached = 0, jumps = 0, hit = 0, flushed = 0, most = 0;
	volatile unsigned int *times;
	struct tt_reply right;
	int i, round, status;
	pid_t pid;

	setup();
	for (i = 0; i < (int)(sizeof(functions) / sizeof(functions[0])); i++)
		take_places(functions[i]);
	REQUIRE(nr_places > 20, "%d places", nr_places);
	right = tt_call(dev, "tt_steps 77 40");
	times = (volatile unsigned int *)&probe_skel->bss->counted[TIMES];
	*times = 0;

	pid = fork();
	REQUIRE(pid >= 0, "fork: %s", strerror(errno));
	if (!pid)
		toggle_cpu(times);
	for (round = 0; round < ROUNDS || *times < ROUNDS; round++) {
		struct attachment steps = attach_insn(OURS, prog, ksym_addr("tt_steps"), 0, STEPS);
		struct tt_reply r;

		for (i = 0; i < nr_places; i++) {
			at[i] = attach_insn_try(OURS, prog, sample[i].addr, 0, i);
			attached += !at[i].err;
		}
		if (round % 3) {
			probe_flush();
			/* The same ones each time. */
			flushed = tramp_module().optimised;
			most = most ?: flushed;
			CHECK_EQ(flushed, most, "round %d: jumps", round);
		}
		probe_skel->bss->counted[STEPS] = 0;
		r = tt_call(dev, "tt_steps n=100 77 40");
		CHECK(r.result == right.result && !r.different, "a wrong result");
		CHECK_EQ(probe_skel->bss->counted[STEPS], 100, "calls of tt_steps");
		usleep(round % 4 * 50000);
		for (i = 0; i < nr_places; i++) {
			if (at[i].err)
				continue;
			jumps += attachment_query(&at[i]).mode == TRAMP_MODE_JUMP;
			hit += !!attachment_query(&at[i]).hits;
			detach(&at[i]);
		}
		detach(&steps);
		if (waitpid(pid, &status, WNOHANG) == pid) {
			CHECK(false, "the CPU does not come and go any more: %#x", status);
			break;
		}
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	cpu_set_online(1, true);
	probe_flush();
	ktap_note("%u times off and on, %d rounds of %d places: %u attached, %u jumps, %u hit",
		  *times, round, nr_places, attached, jumps, hit);
	CHECK(hit > (unsigned int)round, "hardly one was hit");
	CHECK_EQ(attached, round * nr_places, "attached");
	CHECK(most > (unsigned int)nr_places / 2, "only %u of %d became jumps", most, nr_places);
	for (i = 0; i < nr_places; i++)
		CHECK(sample_unchanged(dev, &sample[i]), "place %d: bytes have changed", i);
}

static const struct ktap_test tests[] = {
	{ "hotplug", test_hotplug, 200 },
};

KTAP_MAIN(tests)
