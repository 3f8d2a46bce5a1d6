// SPDX-License-Identifier: GPL-2.0
/*
 * Measuring kernel memory so that a leak of one object an operation stands out.
 *
 * /proc/slabinfo counts objects, which per-CPU and partial slabs blur by a few
 * slabs a cache; so each cache is judged alone, against the number of
 * operations. Shrinking the caches first makes the counts of active objects
 * nearly exact. Memory of other kinds is judged in pages.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <linux/membarrier.h>
#include <unistd.h>
#include "memory.h"
#include "vmtest.h"

static void shrink_caches(void)
{
	DIR *dir = opendir("/sys/kernel/slab");
	struct dirent *d;
	char path[512];

	while (dir && (d = readdir(dir))) {
		if (d->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/sys/kernel/slab/%s/shrink", d->d_name);
		write_file(path, "1");
	}
	if (dir)
		closedir(dir);
}

/* RCU callbacks, works that free, and callbacks of these. */
static void settle(void)
{
	bool has_module = module_loaded("trampoline_test");
	int i, fd = has_module ? tt_open() : -1;

	for (i = 0; i < 3; i++) {
		syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
		/* On a loaded machine, and with -rt, they may run much later. */
		if (has_module)
			CHECK_EQ(tt_command(fd, NULL, 0, "rcu_barrier"), 0, "rcu_barrier");
		usleep(300000);
	}
	if (has_module)
		close(fd);
}

void memory_measure(struct memory *m)
{
	char *text, *line, *rest;

	memset(m, 0, sizeof(*m));
	settle();
	/* Of files looked at on the way: the rest of an inode goes by RCU callbacks. */
	write_file("/proc/sys/vm/drop_caches", "3");
	settle();
	/* Areas that vfree() left mapped until later are given back. */
	write_file("/proc/sys/vm/compact_memory", "1");
	shrink_caches();
	usleep(300000);

	text = read_file("/proc/meminfo");
	m->slab_kb = number_after(text, "Slab:", 0);
	m->percpu_kb = number_after(text, "Percpu:", 0);
	m->vmalloc_kb = number_after(text, "VmallocUsed:", 0);
	free(text);

	text = read_file("/proc/vmallocinfo");
	rest = text;
	while ((line = strsep(&rest, "\n"))) {
		if (!*line)
			continue;
		m->vmalloc_areas++;
		m->module_areas += !strncmp(line, "0xffffffffc", 11) ||
				   !strncmp(line, "0xffffffffa", 11);
	}
	free(text);

	text = read_file("/proc/slabinfo");
	rest = text;
	while ((line = strsep(&rest, "\n"))) {
		struct slab_cache *c = &m->cache[m->nr_caches];
		unsigned long active, total, size, at_once;

		if (m->nr_caches == MAX_CACHES || line[0] == '#' ||
		    sscanf(line, "%47s %lu %lu %lu %lu", c->name, &active, &total, &size,
			   &at_once) != 5)
			continue;
		c->objects = active;
		c->size = size;
		c->at_once = at_once;
		m->nr_caches++;
	}
	free(text);
}

void memory_compare(const struct memory *before, const struct memory *after, int operations)
{
	/* A page each for every 64 operations would be 64 bytes an operation. */
	int64_t kb = operations / 64 * 4, room;
	int i, k;

	ktap_note("slab %+ld kB, per-CPU %+ld kB, vmalloc %+ld kB in %+ld areas, %+ld of them of "
		  "modules and images", (long)(after->slab_kb - before->slab_kb),
		  (long)(after->percpu_kb - before->percpu_kb),
		  (long)(after->vmalloc_kb - before->vmalloc_kb),
		  (long)(after->vmalloc_areas - before->vmalloc_areas),
		  (long)(after->module_areas - before->module_areas));
	CHECK((int64_t)(after->slab_kb - before->slab_kb) < kb + 256, "slab: %lu kB, was %lu kB",
	      after->slab_kb, before->slab_kb);
	CHECK((int64_t)(after->percpu_kb - before->percpu_kb) < kb, "per-CPU: %lu kB, was %lu kB",
	      after->percpu_kb, before->percpu_kb);
	/* The kernel's workers have their stacks there, 16 kB each, and come and go. */
	CHECK((int64_t)(after->vmalloc_kb - before->vmalloc_kb) < kb + 64,
	      "vmalloc: %lu kB, was %lu kB", after->vmalloc_kb, before->vmalloc_kb);
	CHECK((int64_t)(after->module_areas - before->module_areas) <= 1,
	      "areas of modules and images: %lu, were %lu", after->module_areas,
	      before->module_areas);
	for (i = 0; i < after->nr_caches; i++) {
		for (k = 0; k < before->nr_caches; k++)
			if (!strcmp(before->cache[k].name, after->cache[i].name))
				break;
		if (k == before->nr_caches)
			continue;
		/* The free objects of the slab that each CPU works with count as taken. */
		room = operations / 4 + 64 + (int64_t)after->cache[i].at_once * nr_cpus();
		CHECK((int64_t)(after->cache[i].objects - before->cache[k].objects) < room,
		      "%s: %lu objects, were %lu", after->cache[i].name, after->cache[i].objects,
		      before->cache[k].objects);
	}
}
