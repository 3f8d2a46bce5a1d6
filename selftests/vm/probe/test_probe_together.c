// SPDX-License-Identifier: GPL-2.0
/*
 * Many links that go together: by close_range(), at exit; and processes that get a signal or are
 * killed while they attach many in one call or close them.
 *
 * How often all CPUs were made to see new text is counted by a kernel kprobe at text_poke_sync().
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include "fixture.h"
#include "places.h"
#include "selftests/vm/lib/probe_progs.skel.h"

/* Syncs that going together may take: a few, and some of the optimiser's. */
#define FEW	50
/* Which counter counts syncs. */
#define SYNCS	(PROBE_COUNTERS - 1)

/* ---------------------------------------------------------------------------- signals -- */

static void on_alarm(int sig)
{
	(void)sig;
}

static void test_signal(void)
{
	struct sigaction act = { .sa_handler = on_alarm };
	uint32_t files, ended = 0, i, after_us;
	uint64_t t;

	places_setup();
	sigaction(SIGALRM, &act, NULL);
	/* The first one reads the text of the module. */
	places_attach(1);
	places_close(1);
	t = now_ns();
	places_attach(MANY);
	t = (now_ns() - t) / 1000;
	places_close(MANY);
	files = open_fds();
	/* A call that was done before the signal says how long one takes on a machine so busy. */
	for (i = 0; i < 60 && (i < 6 || ended < 3); i++) {
		struct itimerval in = {};
		uint64_t begin;
		int err;

		after_us = 100 + t * (i % 6) / 8;
		in.it_value.tv_sec = after_us / 1000000;
		in.it_value.tv_usec = after_us % 1000000;
		begin = now_ns();
		setitimer(ITIMER_REAL, &in, NULL);
		err = places_try(places_item, MANY);
		if (err) {
			CHECK_EQ(err, -EINTR, "a signal after %u us", after_us);
			CHECK_EQ(places_cmd.failed, MANY, "no item is to blame");
			CHECK_EQ(tramp_module().links, 0, "links");
			CHECK_EQ(open_fds(), files, "open files");
			ended++;
		} else {
			uint32_t k;

			t = (now_ns() - begin) / 1000;
			for (k = 0; k < MANY; k++)
				close(places_item[k].link_fd);
		}
	}
	ktap_note("%u of %u calls, the last whole one of %lu us, were ended by a signal", ended, i,
		  t);
	CHECK(ended >= 3, "%u", ended);
	places_run(1);
	places_expect_hits(MANY, 0, "at the end");
	check_nothing_left();
	places_expect_text("at the end");
}

/* A child says in memory that it shares how far it has come. */
struct done {
	uint64_t begun, attached, closed;
	uint64_t round_us;	/* the shortest: now and then a grace period takes seconds */
};

static void one_round(volatile struct done *done, void (*end)(void))
{
	uint64_t t = now_ns();

	done->begun++;
	places_attach(MANY);
	done->attached++;
	end();
	done->closed++;
	t = (now_ns() - t) / 1000;
	if (!done->round_us || t < done->round_us)
		done->round_us = t;
}

static void end_each(void)
{
	places_close(MANY);
}

static void end_range(void)
{
	close_range(places_fds[0], places_fds[MANY - 1], 0);
}

/* Each is killed after up to two rounds of attaching and closing, at any time of the next. */
static void test_kill(void)
{
	volatile struct done *done;
	uint64_t seed = rnd_seed(), until;
	uint32_t i, children = short_form(8, 4);
	int status;
	pid_t pid;

	places_setup();
	done = mmap(NULL, sizeof(*done), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	REQUIRE(done != MAP_FAILED, "memory");
	one_round(done, end_each);
	for (i = 0; i < children; i++) {
		until = done->closed + rnd(&seed) % 3;
		fflush(stdout);
		pid = fork();
		REQUIRE(pid >= 0, "fork");
		if (!pid) {
			for (;;)
				one_round(done, i % 2 ? end_range : end_each);
		}
		while (done->closed < until && !waitpid(pid, &status, WNOHANG))
			usleep(1000);
		usleep(rnd(&seed) % (2 * done->round_us));
		kill(pid, SIGKILL);
		REQUIRE(waitpid(pid, &status, 0) == pid, "attaching failed in child %u", i);
		CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "status %#x", status);
		CHECK_EQ(tramp_module().links, 0, "links of a process that was killed");
	}
	ktap_note("%lu us a round; %lu begun, %lu attached, %lu closed", done->round_us,
		  done->begun, done->attached, done->closed);
	CHECK(done->attached > 1, "no child had attached anything");
	CHECK(done->closed < done->begun, "none was killed at it");
	places_run(1);
	check_nothing_left();
	places_expect_text("at the end");
}

/* ----------------------------------------------------------------------- going together -- */

static struct attachment watch;

static uint64_t syncs(void)
{
	return probe_skel->bss->counted[SYNCS];
}

static void watch_syncs(void)
{
	watch = attach_insn(KERNEL, places_prog, ksym_addr("text_poke_sync"), 0, SYNCS);
}

/* All have gone, with so many syncs. */
static void expect_gone(uint64_t n)
{
	CHECK(n >= 2 && n <= FEW, "%lu syncs", n);
	detach(&watch);
	memset(probe_skel->bss->counted, 0, sizeof(probe_skel->bss->counted));
	places_run(1);
	places_expect_hits(MANY, 0, "afterwards");
	check_nothing_left();
	places_expect_text("at the end");
}

/* The links of a process that exits: gone when its parent hears of it. */
static void test_exit(void)
{
	uint64_t n;
	int status;
	pid_t pid;

	places_setup();
	watch_syncs();
	fflush(stdout);
	pid = fork();
	REQUIRE(pid >= 0, "fork");
	if (!pid) {
		places_attach(MANY);
		probe_flush();
		if (tramp_module().optimised != MANY)
			_exit(1);
		probe_skel->bss->counted[SYNCS] = 0;
		_exit(0);
	}
	REQUIRE(waitpid(pid, &status, 0) == pid, "wait");
	CHECK_EQ(status, 0, "the process: 256 says that not all had become jumps");
	n = syncs();
	CHECK_EQ(tramp_module().links, 0, "links");
	ktap_note("%lu syncs at the exit of a process with %d jumps", n, MANY);
	expect_gone(n);
}

static void test_close_range(void)
{
	uint32_t i;
	uint64_t n;

	places_setup();
	watch_syncs();
	/* File descriptors that are free in between go first. */
	for (i = 0; i < 100; i++)
		dup(places_dev);
	places_attach(MANY);
	probe_flush();
	for (i = 1; i < MANY; i++)
		REQUIRE(places_fds[i] == places_fds[0] + (int)i, "link %u has fd %d", i,
			places_fds[i]);
	probe_skel->bss->counted[SYNCS] = 0;
	REQUIRE(!close_range(places_fds[0], places_fds[MANY - 1], 0), "close_range: %s",
		strerror(errno));
	n = syncs();
	CHECK_EQ(tramp_module().links, 0, "links");
	ktap_note("%lu syncs for %d jumps", n, MANY);
	expect_gone(n);
}

static const struct ktap_test tests[] = {
	{ "signal", test_signal, 240 },
	{ "kill", test_kill, 240 },
	{ "exit", test_exit, 240 },
	{ "close_range", test_close_range, 120 },
};

KTAP_MAIN(tests)
