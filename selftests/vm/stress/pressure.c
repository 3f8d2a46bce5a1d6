// SPDX-License-Identifier: GPL-2.0
/*
 * Memory gets short. Of all memory, pressure_step() leaves little, so that the kernel has to take
 * pages back from others. A process in a control group of its own is killed when the group's
 * memory runs out: in the middle of a request, as likely as anywhere.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>
#include "actors.h"
#include "probe.h"

#define CGROUPS		"/sys/fs/cgroup"
/* A process of ours has a few of its own; programs, links and the like count, too. */
#define GROUP_LIMIT	"24M"
#define PIECE		(8UL << 20)
#define MAX_PIECES	1024

static char *take(size_t size)
{
	char *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		return NULL;
	/* Fewer faults, which are slow in an emulated machine. */
	madvise(at, size, MADV_HUGEPAGE);
	memset(at, 1, size);
	return at;
}

static uint64_t meminfo(const char *name)
{
	char *text = read_file("/proc/meminfo");
	uint64_t kb = number_after(text, name, 0);

	free(text);
	return kb;
}

void pressure_step(uint64_t *r)
{
	static char *taken[MAX_PIECES];
	static int nr;

	if (nr < MAX_PIECES && meminfo("MemAvailable:") > meminfo("MemTotal:") / 16) {
		taken[nr] = take(PIECE);
		REQUIRE(taken[nr], "memory: %s", strerror(errno));
		nr++;
		my_counts->done++;
		return;
	}
	usleep(rnd(r) % 500000);
	while (nr)
		munmap(taken[--nr], PIECE);
	my_counts->times_full++;
	my_counts->done++;
}

void group_setup(void)
{
	mkdir(CGROUPS, 0755);
	REQUIRE(!mount("cgroup2", CGROUPS, "cgroup2", 0, NULL) || errno == EBUSY, "cgroup2: %s",
		strerror(errno));
	REQUIRE(!write_file(CGROUPS "/cgroup.subtree_control", "+memory"), "control of memory");
	REQUIRE(!mkdir(CGROUPS "/stress", 0755) || errno == EEXIST, "group: %s", strerror(errno));
	REQUIRE(!write_file(CGROUPS "/stress/memory.max", GROUP_LIMIT), "limit of memory");
}

void group_enter(void)
{
	REQUIRE(!write_file(CGROUPS "/stress/cgroup.procs", "0"), "into the group");
}

void group_use(void)
{
	REQUIRE(take(4 << 20), "memory: %s", strerror(errno));
}

uint64_t group_kills(void)
{
	char *text = read_file(CGROUPS "/stress/memory.events");
	uint64_t kills = number_after(text, "oom_kill ", 0);

	free(text);
	return kills;
}

void group_remove(void)
{
	CHECK(!rmdir(CGROUPS "/stress"), "group: %s", strerror(errno));
}
