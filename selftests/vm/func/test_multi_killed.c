// SPDX-License-Identifier: GPL-2.0
/*
 * Signals at random moments of an attach to many functions, deadly ones, one that has a handler,
 * and stops: it is whole, or nothing is left. Afterwards the kernel's text, the functions that
 * ftrace has patched, the images and the memory are as before. Nor does RCU-tasks wait for it all.
 *
 * Environment: MULTI_KILLS, how many signals, default 8; MULTI_KILLED, functions in an attach,
 * default 8192, 0: all there are; PROBE_SEED. selftests/stress/probes passes them on.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "fixture.h"
#include "many.h"
#include "memory.h"
#include "multi.h"
#include "probe_functions.h"
#include "selftests/vm/func/multi.skel.h"

static struct multi *skel;
static int dev;

/* How far a child has come, and how long its attach took, in memory that it shares. */
enum stage { BEFORE, INSIDE, ATTACHED, INTERRUPTED, STAGES };
static volatile struct {
	enum stage stage;
	uint64_t took;
} *shared;

static void share_stage(void)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	REQUIRE(shared != MAP_FAILED, "mmap: %s", strerror(errno));
}

static const int signals[] = { SIGKILL, SIGTERM, SIGUSR1 };

static void ignore(int sig)
{
	(void)sig;
}

/* Attach, until a signal comes. One that has a handler lets it say what came of it. */
static void child(struct many *m)
{
	const struct sigaction handler = { .sa_handler = ignore, .sa_flags = SA_RESTART };
	uint64_t start;
	int err;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigaction(SIGUSR1, &handler, NULL);
	shared->stage = INSIDE;
	start = now_ns();
	err = many_attach_try(m, bpf_program__fd(skel->progs.on_hit), TRAMP_MULTI_F_SKIP);
	shared->took = now_ns() - start;
	shared->stage = err == -EINTR ? INTERRUPTED : ATTACHED;
	if (err)
		_exit(err == -EINTR && m->cmd.link_fd == -1 ? 0 : 1);
	pause();
	_exit(0);
}

/* A child that began to attach so long ago. */
static pid_t child_inside(struct many *m, uint64_t delay_ns)
{
	pid_t pid;

	shared->stage = BEFORE;
	pid = fork();
	REQUIRE(pid >= 0, "fork: %s", strerror(errno));
	if (!pid)
		child(m);
	while (shared->stage == BEFORE)
		usleep(100);
	usleep(delay_ns / 1000);
	return pid;
}

/* Return: how far it had come. */
static enum stage one_round(struct many *m, uint64_t delay_ns, int sig)
{
	pid_t pid = child_inside(m, delay_ns);
	int status;

	kill(pid, sig);
	/* Attached already, and asleep before or behind the signal. */
	while (waitpid(pid, &status, WNOHANG) != pid) {
		if (shared->stage == ATTACHED)
			kill(pid, sig);
		usleep(1000);
	}
	CHECK(WIFSIGNALED(status) ? WTERMSIG(status) == sig : !WEXITSTATUS(status),
	      "signal %d: status %#x", sig, status);
	CHECK_EQ(tramp_module().links, 0, "signal %d: links", sig);
	return shared->stage;
}

static uint64_t time_of_attach(struct many *m)
{
	uint64_t start = now_ns();

	many_attach(m, bpf_program__fd(skel->progs.on_hit), TRAMP_MULTI_F_SKIP);
	start = now_ns() - start;
	close(m->cmd.link_fd);
	return start;
}

#define PATCHED	TRACING "enabled_functions"

static void test_killed(void)
{
	int i, rounds = env_int("MULTI_KILLS", kernel_is_rt() ? 4 : 8), came_to[STAGES] = {};
	int inside = 0;
	struct many *m = many_new();
	static struct memory before, after;
	uint64_t state = rnd_seed(), longest;
	enum stage stage;
	char *patched, *now;
	uint8_t *text;

	dev = fixture_open("about attachments of many functions, which 6.1 has not");
	skel = FIXTURE_LOAD(multi);
	share_stage();
	many_fill(m, env_int("MULTI_KILLED", 8192));
	text = text_take(dev);
	patched = read_file(PATCHED);
	longest = time_of_attach(m);
	check_nothing_left();
	memory_measure(&before);
	/* If most of them miss the attach by chance there are more. */
	for (i = 0; (i < rounds || (i < 4 * rounds && inside <= rounds / 5)) &&
		    ktap_failures() < 5; i++) {
		stage = one_round(m, rnd(&state) % (longest * 5 / 4), signals[i % 3]);
		came_to[stage]++;
		inside = came_to[INSIDE] + came_to[INTERRUPTED];
		/* The host may have been busier, or less so, when it was measured. */
		if (stage == ATTACHED)
			longest = shared->took;
	}
	ktap_note("%d signals within %lu ms of attaches to %u functions: %d inside, %d of a "
		  "handler, %d behind", i, longest / 800000, m->cmd.nr, came_to[INSIDE],
		  came_to[INTERRUPTED], came_to[ATTACHED]);
	CHECK(inside > rounds / 5, "of %d too few came inside", i);
	check_nothing_left();
	memory_measure(&after);
	/*
	 * The arrays of one attach are more than it takes for chance. Up to 6.1 one call of the
	 * kernel's register_ftrace_direct_multi() may grow its hash more than once. It frees the
	 * last old one only: 48 kB are lost for so many functions, in slabs.
	 */
	memory_compare(&before, &after, kernel_version() <= 6001 ? i * 768 : 64);
	now = read_file(PATCHED);
	CHECK(!strcmp(now, patched), "ftrace still has patched: %.200s", now);
	text_check(dev, text);
	free(now);
	free(patched);
	free(text);
	free(m);
}

/* A task that is stopped inside, and goes on, has its attachment: it is no EINTR. */
static void test_stopped(void)
{
	struct many *m = many_new();
	uint64_t state = rnd_seed(), longest;
	int i, status, stops = 0;
	pid_t pid;

	dev = fixture_open("about attachments of many functions, which 6.1 has not");
	skel = FIXTURE_LOAD(multi);
	share_stage();
	many_fill(m, 4096);
	longest = time_of_attach(m);
	for (i = 0; (i < 4 || (i < 16 && !stops)) && ktap_failures() < 5; i++) {
		pid = child_inside(m, rnd(&state) % longest);
		stops += shared->stage == INSIDE;
		kill(pid, SIGSTOP);
		REQUIRE(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status),
			"status %#x", status);
		kill(pid, SIGCONT);
		while (shared->stage == INSIDE && !waitpid(pid, &status, WNOHANG))
			usleep(1000);
		CHECK_EQ(shared->stage, ATTACHED, "round %d", i);
		CHECK_EQ(tramp_module().links, 1, "links in round %d", i);
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		longest = shared->took;
	}
	ktap_note("%d stops inside", stops);
	CHECK(stops, "no stop came inside");
	check_nothing_left();
	free(m);
}

/* Others need not wait for the whole of an attach, nor do the grace periods that they want. */
static void test_grace_periods(void)
{
	struct many *m = many_new();
	unsigned int ended = 0, i;
	uint64_t start, period;
	char reply[64];
	pid_t pid;

	dev = fixture_open("about attachments of many functions, which 6.1 has not");
	skel = FIXTURE_LOAD(multi);
	share_stage();
	many_fill_share(m);
	start = now_ns();
	for (i = 0; i < 3; i++)
		REQUIRE(!tt_command(dev, reply, sizeof(reply), "rcu_tasks"), "rcu_tasks");
	period = (now_ns() - start) / 3;
	pid = child_inside(m, 0);
	start = now_ns();
	while (shared->stage == INSIDE) {
		REQUIRE(!tt_command(dev, reply, sizeof(reply), "rcu_tasks"), "rcu_tasks");
		ended += shared->stage == INSIDE;
	}
	start = now_ns() - start;
	ktap_note("%u grace periods of RCU-tasks have ended in the %lu ms of an attach to %u "
		  "functions; others take %lu ms", ended, start / 1000000, m->cmd.nr,
		  period / 1000000);
	/* On a fast machine it may be over before two could end. */
	CHECK(ended >= 2 || start < 6 * period, "RCU-tasks waits for it all");
	CHECK_EQ(shared->stage, ATTACHED, "the attach");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	check_nothing_left();
	free(m);
}

static const struct ktap_test tests[] = {
	{ "killed", test_killed, 240 },
	{ "stopped", test_stopped, 120 },
	{ "grace_periods", test_grace_periods, 240 },
};

KTAP_MAIN(tests)
