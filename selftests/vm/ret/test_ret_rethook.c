// SPDX-License-Identifier: GPL-2.0
/*
 * Return probes by the kernel's rethook: its nodes run out, calls nest, tasks die inside, or sleep
 * inside while everything goes, our module included. Stacks show the true callers.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/bpf.h>
#include <bpf/bpf.h>
#include "fixture.h"
#include "memory.h"
#include "ownmod.h"
#include "probe.h"
#include "record.h"
#include "selftests/vm/lib/probe_progs.skel.h"
#include "selftests/vm/lib/record.skel.h"

static int dev, count;
static struct record *record;

static void load(void)
{
	probe_skel = FIXTURE_LOAD(probe_progs);
	record = FIXTURE_LOAD(record);
	count = bpf_program__fd(probe_skel->progs.count);
}

static void setup(void)
{
	dev = fixture_open("about our own nodes");
	load();
}

/* The kernel's trampoline has the site while this is attached: no exit image of ours. */
static struct attachment hold_site(const char *func)
{
	return attach_func(KERNEL, prog_clone(record->progs.count_entry, func, BPF_TRACE_FENTRY),
			   NULL);
}

static void expect_counts(const struct attachment *a, uint64_t hits, uint64_t misses,
			  const char *what)
{
	uint64_t h, m;

	attachment_counts(a, &h, &m);
	CHECK_EQ(h, hits, "%s: hits", what);
	CHECK_EQ(m, misses, "%s: misses", what);
}

/* Each level has a node. The outermost calls come first, and get them. */
static void test_nested(void)
{
	uint64_t plain = 0, result;
	struct attachment hold, p;

	setup();
	plain = tt_call(dev, "tt_factorial 400").result;
	hold = hold_site("tt_factorial");
	p = attach_return(OURS, count, "tt_factorial", 400, 0);
	attachment_expect(&p, TRAMP_MODE_RETHOOK, TRAMP_REASON_SITE_HELD, "tt_factorial");
	result = tt_call(dev, "tt_factorial n=3 400").result;
	CHECK_EQ(result, plain, "the result, 400 levels deep");
	expect_counts(&p, 1200, 0, "as many nodes as levels");
	detach(&p);

	p = attach_return(OURS, count, "tt_factorial", 7, 0);
	CHECK_EQ(tt_call(dev, "tt_factorial n=2 400").result, plain, "the result");
	expect_counts(&p, 14, 786, "seven nodes");
	CHECK_EQ(tt_call(dev, "tt_factorial n=2 6").result, 720, "the result");
	expect_counts(&p, 14 + 12, 786, "seven nodes, six levels");
	detach(&p);

	p = attach_return(OURS, count, "tt_factorial", 0, 0);
	tt_call(dev, "tt_factorial 400");
	CHECK_EQ(attachment_query(&p).hits, nr_cpus() > 5 ? 2 * nr_cpus() : 10,
		 "nodes unless it is said how many");
	detach(&p);
	detach(&hold);
}

/* Tail calls: a thousand calls return in one place of the stack. */
static void test_thousand(void)
{
	struct attachment hold, p;

	setup();
	hold = hold_site("tt_even");
	p = attach_return(OURS, count, "tt_even", 1001, 0);
	attachment_expect(&p, TRAMP_MODE_RETHOOK, TRAMP_REASON_SITE_HELD, "tt_even");
	CHECK_EQ(tt_call(dev, "tt_even n=20 2000").result, 1, "the result");
	expect_counts(&p, 20 * 1001, 0, "a thousand levels");
	detach(&p);
	detach(&hold);
}

/* The nodes of tasks that died inside come back; an exit image that they were in goes. */
static void test_died(void)
{
	struct attachment hold, p;
	uint64_t misses;
	int i;

	setup();
	p = attach_return(OURS, count, "tt_noreturn", 0, 0);
	attachment_expect(&p, TRAMP_MODE_DIRECT, TRAMP_REASON_NONE, "tt_noreturn");
	tt_call(dev, "tt_exits n=12 1");
	expect_counts(&p, 0, 0, "nobody returned to the image");
	detach(&p);

	hold = hold_site("tt_noreturn");
	p = attach_return(OURS, count, "tt_noreturn", 4, 0);
	tt_call(dev, "tt_exits n=30 1");
	expect_counts(&p, 0, attachment_query(&p).misses, "nobody returned");
	/* The dead are buried behind a grace period of RCU. */
	for (i = 0; i < 50; i++) {
		misses = attachment_query(&p).misses;
		usleep(100000);
		tt_call(dev, "tt_exits n=2 1");
		if (attachment_query(&p).misses == misses)
			break;
	}
	CHECK(i < 50, "nodes stay with the dead");
	detach(&p);
	detach(&hold);
}

/*
 * Calls that are inside when programs come and go: at their return they run those that were there
 * when they came and still are, once each.
 */
static void test_leaving(void)
{
	struct attachment hold = {}, stays, goes, comes, exits;
	struct ownmod_sleeper s[5];
	uint64_t hits, misses;
	int held, i, other;

	setup();
	other = probe_clone(probe_skel->progs.count);
	for (held = 0; held < 2; held++) {
		if (held)
			hold = hold_site("tt_sleep");
		else
			exits = attach_func(OURS, prog_clone(record->progs.count_exit, "tt_sleep",
							     BPF_TRACE_FEXIT), NULL);
		stays = attach_return(OURS, count, "tt_sleep", 0, 0);
		goes = attach_return(OURS, other, "tt_sleep", 0, 1);
		attachment_expect(&goes, held ? TRAMP_MODE_RETHOOK : TRAMP_MODE_DIRECT,
				  held ? TRAMP_REASON_SITE_HELD : TRAMP_REASON_NONE, "tt_sleep");
		for (i = 0; i < 5; i++)
			ownmod_sleep(&s[i], i);
		ownmod_wait_for_sleepers(dev, 5);
		CHECK_EQ(bpf_link_detach(goes.fd), 0, "detach");
		comes = attach_return(OURS, other, "tt_sleep", 0, 2);
		REQUIRE(!tt_command(dev, NULL, 0, "wake"), "wake");
		for (i = 0; i < 5; i++)
			ownmod_join(&s[i]);
		expect_counts(&stays, 5, 0, "the one that stayed");
		expect_counts(&goes, 0, 0, "the one that went");
		expect_counts(&comes, 0, 0, "the one that came");
		if (!held) {
			attachment_counts(&exits, &hits, &misses);
			CHECK_EQ(hits, 5, "the exit program");
			detach(&exits);
		}
		detach(&comes);
		detach(&goes);
		detach(&stays);
		detach(&hold);
	}
}

static void test_stacks(void)
{
	struct attachment hold = {}, ours, kernels, user;
	char name[128], *text;
	uint64_t *frames;
	int held, status, i;
	bool found;
	pid_t pid;

	setup();
	frames = (uint64_t *)probe_skel->bss->frames;
	for (held = 0; held < 2; held++) {
		if (held)
			hold = hold_site("tt_sleep");
		ours = attach_return(OURS, count, "tt_sleep", 0, 0);
		kernels = attach_return(KERNEL, bpf_program__fd(probe_skel->progs.count_too),
					"tt_sleep", 0, 0);
		fflush(stdout);
		pid = fork();
		if (!pid) {
			tt_call(tt_open(), "tt_sleep 5");
			_exit(0);
		}
		ownmod_wait_for_sleepers(dev, 1);
		text = stack_of(pid);
		CHECK(strstr(text, "] tt_sleep+"), "the function itself:\n%s", text);
		CHECK(strstr(text, "] tt_repeat+"), "its caller:\n%s", text);
		CHECK(strstr(text, "] ksys_write+"), "the system call:\n%s", text);
		CHECK(!strstr(text, "rethook"), "no trampoline:\n%s", text);
		free(text);
		REQUIRE(!tt_command(dev, NULL, 0, "wake"), "wake");
		waitpid(pid, &status, 0);
		detach(&kernels);
		detach(&ours);
		detach(&hold);

		/* At the return, by bpf_get_stack(). */
		if (held)
			hold = hold_site("tt_callee");
		probe_skel->bss->only_pid = getpid();
		user = attach_return(OURS, bpf_program__fd(probe_skel->progs.stack), "tt_callee", 0,
				     0);
		tt_call(dev, "tt_callee 5");
		CHECK(probe_skel->bss->nr_frames > 24, "frames: %lld",
		      (long long)probe_skel->bss->nr_frames);
		CHECK(!strncmp(ksym_name(frames[0], name, sizeof(name)), "tt_repeat+", 10),
		      "the top: %s", name);
		for (i = 0, found = false; i < probe_skel->bss->nr_frames / 8; i++)
			found |= !strncmp(ksym_name(frames[i], name, sizeof(name)), "ksys_write+",
					  11);
		CHECK(found, "the system call");
		detach(&user);
		detach(&hold);
	}
}

/* ------------------------------------------------- our module comes and goes --- */

enum { SLEEPERS = 200 };

static int attach_own(const char *func, uint32_t maxactive)
{
	struct tramp_attach a = { .size = sizeof(a), .prog_fd = count, .maxactive = maxactive,
				  .flags = TRAMP_ATTACH_F_RETURN };
	int err;

	snprintf(a.symbol, sizeof(a.symbol), "%s", func);
	err = ownmod_ioctl(TRAMP_IOC_ATTACH, &a);
	REQUIRE(!err, "attach: %s (%s)", strerror(-err), tramp_reason_name(a.refusal.reason));
	return a.link_fd;
}

/*
 * 200 tasks asleep inside, half of them killed: detached, the module gone and back. By rethook it
 * is gone while they sleep. By an exit image it is in use until they have come out.
 */
static void test_asleep(void)
{
	static struct ownmod_sleeper sleepers[SLEEPERS];
	struct attachment hold = {};
	int held, link, i, err;

	ownmod_setup();
	dev = tt_open();
	load();
	for (held = 0; held < 2; held++) {
		if (held)
			hold = hold_site("tt_sleep");
		link = attach_own("tt_sleep", SLEEPERS);
		for (i = 0; i < SLEEPERS; i++)
			ownmod_sleep(&sleepers[i], i);
		ownmod_wait_for_sleepers(dev, SLEEPERS);
		close(link);
		err = ownmod_unload("trampoline", held ? 300 : 1);
		if (held)
			CHECK_EQ(err, 0, "unloading while %d sleep", SLEEPERS);
		else
			CHECK(ownmod_busy(err), "unloading while %d sleep in an image: %s",
			      SLEEPERS, strerror(-err));
		REQUIRE(!tt_command(dev, NULL, 0, "wake"), "wake");
		for (i = 0; i < SLEEPERS; i++)
			ownmod_join(&sleepers[i]);
		if (!held)
			CHECK_EQ(ownmod_unload("trampoline", 300), 0, "unloading when all are out");
		ownmod_reload();
		CHECK(ownmod_settle(), "images of the self-test stay");
		detach(&hold);
	}
}

/* They die of a signal, inside a function of the kernel proper. */
static void test_killed(void)
{
	enum { CHILDREN = 20 };
	struct attachment p, hold;
	uint64_t hits, hits_before, misses, misses_before;
	pid_t pids[CHILDREN];
	int round, i;

	setup();
	hold = hold_site("do_nanosleep");
	p = attach_return(OURS, count, "do_nanosleep", CHILDREN, 0);
	for (round = 0; round < 3; round++) {
		attachment_counts(&p, &hits, &misses_before);
		fflush(stdout);
		for (i = 0; i < CHILDREN; i++) {
			pids[i] = fork();
			if (!pids[i]) {
				prctl(PR_SET_PDEATHSIG, SIGKILL);
				sleep(1000);
				_exit(0);
			}
		}
		/* The function itself is the scheduler's: its caller is what a stack shows. */
		for (i = 0; i < CHILDREN; i++)
			wait_asleep_in(pids[i], "hrtimer_nanosleep");
		/* This task has slept there, too. A child was missed at its entry, or hits now. */
		attachment_counts(&p, &hits_before, &misses);
		for (i = 0; i < CHILDREN; i++)
			kill(pids[i], SIGKILL);
		for (i = 0; i < CHILDREN; i++)
			waitpid(pids[i], NULL, 0);
		attachment_counts(&p, &hits, &misses);
		hits -= hits_before;
		misses -= misses_before;
		CHECK(hits + misses >= CHILDREN, "round %d: %lu hits, %lu misses", round, hits,
		      misses);
	}
	detach(&p);
	detach(&hold);
}

/* Nodes, counters, hooks and images all go, with calls inside or without. */
static void test_leaks(void)
{
	enum { TIMES = 80 };
	struct attachment hold, p;
	struct memory before, after;
	int round, i;

	setup();
	hold = hold_site("tt_factorial");
	for (round = 0; round < 2; round++) {
		if (round)
			memory_measure(&before);
		/* The first round fills what the kernel keeps for later. */
		for (i = 0; i < (round ? TIMES : 4); i++) {
			p = attach_return(OURS, count, i % 2 ? "tt_factorial" : "sysfs_emit", 64,
					  0);
			tt_call(dev, "tt_factorial 70");
			detach(&p);
		}
		CHECK(tramp_settle(), "something waits to be freed");
	}
	memory_measure(&after);
	memory_compare(&before, &after, TIMES);
	detach(&hold);
}

/*
 * Its module goes, and may come to the same place again: the link is at no function any more. It
 * takes no other program, and its program is free to be attached.
 */
static void test_module_gone(void)
{
	struct attachment hold, p, again;
	int prog, i, err = -EBUSY;

	setup();
	prog = prog_clone(record->progs.count_entry, "tt_hot1", BPF_TRACE_FENTRY);
	hold = attach_func(KERNEL, prog, NULL);
	p = attach_return(OURS, count, "tt_hot1", 0, 0);
	attachment_expect(&p, TRAMP_MODE_RETHOOK, TRAMP_REASON_SITE_HELD, "held");
	detach(&hold);
	close(prog);
	for (i = 0; i < 5; i++) {
		close(dev);
		err = ownmod_unload("trampoline_test", 300);
		REQUIRE(!err, "unloading: %s", strerror(-err));
		attachment_expect(&p, TRAMP_MODE_NONE, TRAMP_REASON_MODULE_GONE, "gone");
		err = bpf_link_update(p.fd, bpf_program__fd(probe_skel->progs.count_too), NULL);
		CHECK_EQ(err, -ENXIO, "update");
		dev = tt_open();
		ksym_reload();
		again = attach_return(OURS, count, "tt_hot1", 0, 0);
		tt_call(dev, "tt_hot1 1");
		expect_counts(&again, 1, 0, "again");
		expect_counts(&p, 0, 0, "gone");
		detach(&again);
		CHECK(tramp_settle(), "an image waits to be freed");
	}
	detach(&p);
}

/*
 * No node is taken on a CPU that RCU takes for dead: nothing protects RCU's readers there, and a
 * kernel that proves it says so.
 */
static void test_cpu_goes(void)
{
	uint64_t hits, misses = 0;
	struct attachment p;
	char *func;
	int n;

	setup();
	func = called_on_dead_cpu(1);
	p = attach_return(OURS, count, func, 0, 0);
	if (attachment_query(&p).mode != TRAMP_MODE_RETHOOK)
		ktap_skip("%s() has a prototype, and so an exit image", func);
	for (n = 0; n < 100 && !misses; n++) {
		REQUIRE(!cpu_set_online(1, false) && !cpu_set_online(1, true), "CPU 1");
		attachment_counts(&p, &hits, &misses);
	}
	ktap_note("%s(): %lu hits, %lu misses, %d times", func, hits, misses, n);
	CHECK(misses, "it has left nobody's address space");
	detach(&p);
	free(func);
}

static const struct ktap_test tests[] = {
	{ "nested", test_nested, 60 },
	{ "thousand", test_thousand, 60 },
	{ "died", test_died, 60 },
	{ "leaving", test_leaving, 60 },
	{ "stacks", test_stacks, 60 },
	{ "asleep", test_asleep, 90 },
	{ "killed", test_killed, 120 },
	{ "leaks", test_leaks, 200 },
	{ "module_gone", test_module_gone, 90 },
	{ "cpu_goes", test_cpu_goes, 120 },
};

KTAP_MAIN(tests)
