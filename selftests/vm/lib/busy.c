// SPDX-License-Identifier: GPL-2.0
/*
 * Work on all CPUs: see busy.h.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "busy.h"
#include "probe.h"
#include "probe_sample.h"

#define MAX_CPUS	64
/* Calls of one function in a round. */
#define CALLS		10

struct done {
	uint64_t calls[BUSY_FUNCS], rounds;
};

static const char *disk;
static unsigned int idle;

void busy_files(const char *dir)
{
	disk = dir;
}

void busy_idle(unsigned int rounds)
{
	idle = rounds;
}

/* Each process has files of its own, under the same names. */
static void own_files(int cpu)
{
	char dir[128];
	int err;

	REQUIRE(!unshare(CLONE_NEWNS), "unshare: %s", strerror(errno));
	REQUIRE(!mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), "mount: %s", strerror(errno));
	if (disk && cpu % 2) {
		snprintf(dir, sizeof(dir), "%s/cpu%d", disk, cpu);
		mkdir(dir, 0700);
		err = mount(dir, "/tmp", NULL, MS_BIND, NULL);
	} else {
		err = mount("none", "/tmp", "tmpfs", 0, NULL);
	}
	REQUIRE(!err, "mount: %s", strerror(errno));
}

static void call_known(int dev, struct done *done)
{
	int i;

	for (i = 0; i < BUSY_FUNCS; i++) {
		struct tt_reply reply = tt_call(dev, "tt_hot%d n=%d %d", i, CALLS, i + 40);

		CHECK_EQ(reply.result, 2 * i + 41, "tt_hot%d", i);
		CHECK_EQ(reply.different, 0, "tt_hot%d", i);
		done->calls[i] += CALLS;
	}
}

/* It may be away: the test may have CPUs go and come (selftests/vm/stress). */
static void take_cpu(int cpu)
{
	uint64_t limit = now_ns() + 30 * 1000000000ULL * time_scale();
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	while (sched_setaffinity(0, sizeof(set), &set)) {
		REQUIRE(errno == EINVAL && now_ns() < limit, "CPU %d: %s", cpu, strerror(errno));
		usleep(10000);
	}
}

static void one_cpu(int cpu, uint64_t until, struct done *done)
{
	uint64_t begin, pause_ns;
	int dev;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	own_files(cpu);
	dev = tt_open();
	do {
		/* A CPU that went has set its tasks free. */
		take_cpu(cpu);
		begin = now_ns();
		workload(1);
		call_known(dev, done);
		done->rounds++;
		pause_ns = idle * (now_ns() - begin);
		if (now_ns() + pause_ns < until)
			usleep(pause_ns / 1000);
	} while (now_ns() < until && !ktap_failures());
	exit(ktap_failures() ? EXIT_FAILURE : EXIT_SUCCESS);
}

void busy(unsigned int seconds, uint64_t *calls)
{
	/* Also the one that is away at the moment. */
	int nr = sysconf(_SC_NPROCESSORS_CONF), cpu, i, status;
	uint64_t until = now_ns() + seconds * 1000000000ULL;
	struct done *done;
	pid_t pid[MAX_CPUS];

	nr = nr < MAX_CPUS ? nr : MAX_CPUS;
	done = mmap(NULL, nr * sizeof(*done), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		    -1, 0);
	REQUIRE(done != MAP_FAILED, "mmap: %s", strerror(errno));
	memset(calls, 0, BUSY_FUNCS * sizeof(*calls));
	for (cpu = 0; cpu < nr; cpu++) {
		pid[cpu] = fork();
		REQUIRE(pid[cpu] >= 0, "fork: %s", strerror(errno));
		if (!pid[cpu])
			one_cpu(cpu, until, &done[cpu]);
	}
	for (cpu = 0; cpu < nr; cpu++) {
		REQUIRE(waitpid(pid[cpu], &status, 0) == pid[cpu], "waitpid");
		CHECK(!status, "work on CPU %d: status %#x", cpu, status);
		CHECK(done[cpu].rounds && done[cpu].rounds * 60 * (1 + idle) >= seconds,
		      "CPU %d: %lu rounds in %u s", cpu, done[cpu].rounds, seconds);
		for (i = 0; i < BUSY_FUNCS; i++)
			calls[i] += done[cpu].calls[i];
	}
	munmap(done, nr * sizeof(*done));
}
