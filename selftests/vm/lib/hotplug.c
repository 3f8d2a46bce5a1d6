// SPDX-License-Identifier: GPL-2.0
/*
 * CPUs that go and come.
 *
 * Linux 6.12 has a fair server for each CPU: a deadline entity that runs ordinary tasks when others
 * starve them. It counts as a running task of its CPU (inc_dl_tasks() in kernel/sched/deadline.c).
 * sched_cpu_dying() looks whether anything runs there, and stops the server behind that. So one
 * that is at work when its CPU goes makes the kernel warn "Dying CPU not properly vacated!", with a
 * task more than it can list. On a busy host virtual CPUs do starve tasks. A CPU that is to go is
 * without the server from then on. (To give it back each time is no way: the kernel's sum of
 * bandwidths may become negative, of which it warns, too.)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "probe.h"
#include "vmtest.h"

static const char *online_file(int cpu)
{
	static char path[64];

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", cpu);
	return path;
}

static void stop_fair_server(int cpu)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/kernel/debug/sched/fair_server/cpu%d/runtime", cpu);
	/* Other kernels have none. */
	if (!access(path, W_OK))
		write_file(path, "0");
}

bool cpu_can_go(int cpu)
{
	return !access(online_file(cpu), W_OK);
}

int cpu_set_online(int cpu, bool on)
{
	static int stopped = -1;

	if (!on && stopped != cpu) {
		stop_fair_server(cpu);
		stopped = cpu;
	}
	return write_file(online_file(cpu), "%d", on);
}

char *called_on_dead_cpu(int cpu)
{
	struct text_sym *syms;
	char *name = NULL;
	size_t nr, i;

	if (!cpu_can_go(cpu))
		ktap_skip("CPU %d cannot go", cpu);
	syms = text_symbols(&nr);
	for (i = 0; i < nr && !name; i++)
		if (!strncmp(syms[i].name, "load_new_mm_cr3", 15))
			name = strdup(syms[i].name);
	free(syms);
	if (!name)
		ktap_skip("load_new_mm_cr3() is part of another function");
	return name;
}
