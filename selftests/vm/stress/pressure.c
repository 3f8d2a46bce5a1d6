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
#include <unistd.h>
#include "actors.h"
#include "control_group.h"
#include "probe.h"

#define GROUP		"stress"
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
	control_group_make(GROUP);
	REQUIRE(!control_group_set(GROUP, "memory.max", GROUP_LIMIT), "limit of memory");
}

void group_enter(void)
{
	control_group_enter(GROUP);
}

void group_use(void)
{
	REQUIRE(take(4 << 20), "memory: %s", strerror(errno));
}

uint64_t group_kills(void)
{
	return control_group_number(GROUP, "memory.events", "oom_kill ");
}

void group_remove(void)
{
	control_group_remove(GROUP);
}
