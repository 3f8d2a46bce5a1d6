// SPDX-License-Identifier: GPL-2.0
/*
 * Measuring kernel memory so that a leak of one object an operation stands out.
 *
 * The kernel counts the free objects of a slab as taken while a CPU works with
 * the slab, and a CPU takes several slabs at once. Shrinking a cache takes its
 * slabs from the CPUs: each cache is counted right after, more than once, and
 * the least counts, as chance only adds. The files for that are open before
 * anything is measured, as a file that was closed goes after a grace period. So
 * each cache is judged alone, against the number of operations. Objects that are
 * too large for a slab, and areas, are judged in pages. Slabs are
 * not: how many there are for the same objects is chance, and grows with what else
 * the machine has done. Tasks' stacks are left out: workers of the kernel come when
 * there is work for them, and stay for minutes.
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <linux/membarrier.h>
#include <unistd.h>
#include "memory.h"
#include "percpu.h"
#include "vmtest.h"

static struct cache_files {
	int shrink, objects;
	bool smallest;		/* its objects are not larger than a number for each memory node */
} cache_files[MAX_CACHES];

static int open_cache_file(const char *name, const char *file, int flags)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "/sys/kernel/slab/%s/%s", name, file);
	fd = open(path, flags | O_CLOEXEC);
	REQUIRE(fd >= 0, "%s: %s", path, strerror(errno));
	return fd;
}

/* A number of a cache, in a file of its in sysfs. */
static uint64_t number_in_file(int fd, const char *name)
{
	char text[64];
	ssize_t len = pread(fd, text, sizeof(text) - 1, 0);

	REQUIRE(len > 0, "a number of %s", name);
	text[len] = '\0';
	return strtoull(text, NULL, 10);
}

/*
 * The kernel's checker of timers, works and RCU heads has an object for each. Slabs, pages and
 * vmalloc() tell it when memory goes (debug_check_no_obj_freed(), 6.1 and 6.12). free_percpu() does
 * not, and so it keeps those in per-CPU memory until somebody uses the same place. Some are of each
 * rude grace period of RCU-tasks (schedule_on_each_cpu()), and of each map with allocators of its
 * own (bpf_mem_alloc_destroy()). Other caches have what leaks with such a thing.
 */
#define CHECKERS_OBJECTS	"debug_objects_cache"

/* Find out which caches there are. */
static void open_caches(struct memory *m)
{
	char *text = read_file("/proc/slabinfo"), *rest = text, *line;

	while ((line = strsep(&rest, "\n"))) {
		unsigned long active, total, size;
		struct cache_files *f;
		struct slab_cache *c;
		int object_size;
		char name[48];

		if (line[0] == '#' ||
		    sscanf(line, "%47s %lu %lu %lu", name, &active, &total, &size) != 4 ||
		    !strcmp(name, CHECKERS_OBJECTS))
			continue;
		/* One that is not measured could leak. */
		REQUIRE(m->nr_caches < MAX_CACHES, "more than %d caches", MAX_CACHES);
		c = &m->cache[m->nr_caches];
		f = &cache_files[m->nr_caches];
		strcpy(c->name, name);
		c->size = size;
		f->shrink = open_cache_file(c->name, "shrink", O_WRONLY);
		f->objects = open_cache_file(c->name, "objects", O_RDONLY);
		/* Without what checkers have around an object, which is in @size. */
		object_size = open_cache_file(c->name, "object_size", O_RDONLY);
		f->smallest = number_in_file(object_size, c->name) <= 2 * sizeof(long);
		close(object_size);
		m->nr_caches++;
	}
	free(text);
}

/*
 * /proc/slabinfo, open as @slabinfo, says the same of all caches, which takes longer. But sysfs
 * needs a number for each memory node (show_slab_objects(), mm/slub.c), an object of the smallest
 * cache. So it counts one more slab of those as taken: that of the CPU that reads.
 */
static uint64_t objects_in_slabinfo(int slabinfo, const char *name)
{
	static char text[128 * MAX_CACHES];
	size_t len = 0, name_len = strlen(name);
	const char *line = text;
	ssize_t got;

	REQUIRE(!lseek(slabinfo, 0, SEEK_SET), "lseek: %s", strerror(errno));
	while ((got = read(slabinfo, text + len, sizeof(text) - 1 - len)) > 0)
		len += got;
	text[len] = '\0';
	while ((line = strchr(line, '\n')) && line++)
		if (!strncmp(line, name, name_len) && line[name_len] == ' ')
			return strtoull(line + name_len, NULL, 10);
	ktap_die("%s is not in /proc/slabinfo", name);
}

static void count_caches(struct memory *m)
{
	enum { TIMES = 5 };
	int slabinfo = open("/proc/slabinfo", O_RDONLY | O_CLOEXEC), i, k;
	uint64_t objects;

	REQUIRE(slabinfo >= 0, "/proc/slabinfo: %s", strerror(errno));
	for (i = 0; i < m->nr_caches; i++) {
		m->cache[i].objects = UINT64_MAX;
		for (k = 0; k < TIMES; k++) {
			CHECK(pwrite(cache_files[i].shrink, "1", 1, 0) == 1, "shrink %s: %s",
			      m->cache[i].name, strerror(errno));
			objects = cache_files[i].smallest ?
					  objects_in_slabinfo(slabinfo, m->cache[i].name) :
					  number_in_file(cache_files[i].objects, m->cache[i].name);
			if (objects < m->cache[i].objects)
				m->cache[i].objects = objects;
		}
	}
	close(slabinfo);
}

static void close_caches(const struct memory *m)
{
	int i;

	for (i = 0; i < m->nr_caches; i++) {
		close(cache_files[i].shrink);
		close(cache_files[i].objects);
	}
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

static struct vmalloc_caller *caller_of(struct memory *m, const char *name)
{
	int i;

	for (i = 0; i < m->nr_callers; i++)
		if (!strcmp(m->caller[i].name, name))
			return &m->caller[i];
	if (m->nr_callers == MAX_CALLERS)
		return NULL;
	snprintf(m->caller[i].name, sizeof(m->caller[i].name), "%s", name);
	m->nr_callers++;
	return &m->caller[i];
}

/*
 * A line of /proc/vmallocinfo: ADDR-ADDR SIZE CALLER pages=N ... Per-CPU memory is measured by
 * itself. The kernel's own books of it are areas, too: a new chunk, in which others' objects may
 * be, has 1 MiB of them.
 */
static void count_area(struct memory *m, const char *line)
{
	struct vmalloc_caller *c;
	uint64_t kb = 0;
	char name[64];

	if (sscanf(line, "%*s %*s %63s", name) != 1 || !strncmp(name, "pcpu_", 5))
		return;
	if (strstr(line, " pages="))
		kb = number_after(line, " pages=", 0) * 4;
	m->vmalloc_kb += kb;
	c = caller_of(m, name);
	if (c)
		c->kb += kb;
}

/* The callers whose areas have grown: the remark to a failure. */
static void note_callers(struct memory *before, const struct memory *after)
{
	const struct vmalloc_caller *now, *then;
	int i;

	for (i = 0; i < after->nr_callers; i++) {
		now = &after->caller[i];
		then = caller_of(before, now->name);
		if (then && now->kb > then->kb)
			ktap_note("%s: %lu kB, was %lu kB", now->name, now->kb, then->kb);
	}
}

/* dup_task_struct() has it, or that is part of its caller, or that again of its own. */
static bool is_stack(const char *line)
{
	return strstr(line, " dup_task_struct+") || strstr(line, " copy_process+") ||
	       strstr(line, " kernel_clone+");
}

/* NAME ACTIVE ALL SIZE OBJECTS_IN_A_SLAB PAGES_IN_A_SLAB : ... : slabdata ACTIVE SLABS ... */
static uint64_t kb_in_slabs(void)
{
	char *text = read_file("/proc/slabinfo"), *rest = text, *line;
	unsigned long pages, slabs;
	uint64_t kb = 0;

	while ((line = strsep(&rest, "\n"))) {
		const char *data = strstr(line, "slabdata");

		if (data && sscanf(line, "%*s %*u %*u %*u %*u %lu", &pages) == 1 &&
		    sscanf(data, "slabdata %*u %lu", &slabs) == 1)
			kb += pages * slabs * 4;
	}
	free(text);
	return kb;
}

static uint64_t slab_kb(void)
{
	char *text;
	uint64_t kb;

	/* Each CPU keeps changes to itself until there are enough: reading this adds them. */
	free(read_file("/proc/sys/vm/stat_refresh"));
	text = read_file("/proc/meminfo");
	kb = number_after(text, "Slab:", 0);
	free(text);
	return kb;
}

/*
 * All slabs, and of these what is in none: large objects. The two files are about one moment if
 * nothing has changed while they are read. Slabs are freed behind everybody's back: it may take a
 * few times, and the last one counts in any case.
 */
static void measure_slabs(struct memory *m)
{
	uint64_t before;
	int i;

	m->slab_kb = slab_kb();
	for (i = 0; i < 20; i++) {
		before = m->slab_kb;
		m->large_kb = kb_in_slabs();
		m->slab_kb = slab_kb();
		if (m->slab_kb == before)
			break;
		usleep(50000);
	}
	m->large_kb = m->slab_kb - m->large_kb;
}

static uint64_t lines_of(const char *path)
{
	char *text = read_file(path);
	const char *at = text;
	uint64_t n = 0;

	while ((at = strchr(at, '\n'))) {
		at++;
		n++;
	}
	free(text);
	return n;
}

void memory_measure(struct memory *m)
{
	char *text, *line, *rest;
	int i;

	memset(m, 0, sizeof(*m));
	/* It is memory itself, all the time or never. */
	percpu_load();
	open_caches(m);
	settle();
	/*
	 * Of files looked at on the way. The shrinkers spare once, each, an entry and an inode used
	 * lately: the first scan marks the entry, the second frees it, the third its inode. The
	 * rest of an inode goes by RCU callbacks. Objects of sysfs cost no reading to have anew:
	 * each round asks for half of them, and a scan begins when all are asked for. That is by
	 * the third round at the latest: do_shrink_slab(), mm/, and kernfs_get_tree(),
	 * fs/kernfs/mount.c.
	 */
	for (i = 0; i < 3 * 3; i++)
		write_file("/proc/sys/vm/drop_caches", "3");
	settle();
	/* Areas that vfree() left mapped until later are given back. */
	write_file("/proc/sys/vm/compact_memory", "1");
	count_caches(m);
	usleep(300000);

	measure_slabs(m);
	text = read_file("/proc/vmallocinfo");
	rest = text;
	while ((line = strsep(&rest, "\n"))) {
		if (!*line)
			continue;
		if (is_stack(line)) {
			m->stacks++;
			continue;
		}
		count_area(m, line);
		m->vmalloc_areas++;
		m->module_areas += !strncmp(line, "0xffffffffc", 11) ||
				   !strncmp(line, "0xffffffffa", 11);
	}
	free(text);
	m->symbols = lines_of("/proc/kallsyms");
	close_caches(m);
	m->percpu = percpu_allocated();
}

void memory_compare(struct memory *before, const struct memory *after, int operations)
{
	/* A page each for every 64 operations would be 64 bytes an operation. */
	int64_t kb = operations / 64 * 4, room, grown, most = 0;
	const char *cache = NULL;
	int i, k;

	ktap_note("%+ld tasks, slab %+ld kB, %+ld kB of it large objects, %+ld bytes on each "
		  "CPU, vmalloc %+ld kB in %+ld areas, %+ld of them of modules and images",
		  (long)(after->stacks - before->stacks),
		  (long)(after->slab_kb - before->slab_kb),
		  (long)(after->large_kb - before->large_kb),
		  (long)(after->percpu - before->percpu),
		  (long)(after->vmalloc_kb - before->vmalloc_kb),
		  (long)(after->vmalloc_areas - before->vmalloc_areas),
		  (long)(after->module_areas - before->module_areas));
	CHECK((int64_t)(after->large_kb - before->large_kb) < kb + 64,
	      "large objects: %lu kB, were %lu kB", after->large_kb, before->large_kb);
	/* The smallest object has 4 bytes. */
	CHECK((int64_t)(after->percpu - before->percpu) < 2 * operations + 1024,
	      "per-CPU: %lu bytes on each, were %lu", after->percpu, before->percpu);
	if (!CHECK((int64_t)(after->vmalloc_kb - before->vmalloc_kb) < kb + 64,
		   "vmalloc: %lu kB, was %lu kB", after->vmalloc_kb, before->vmalloc_kb))
		note_callers(before, after);
	CHECK((int64_t)(after->module_areas - before->module_areas) <= 1,
	      "areas of modules and images: %lu, were %lu", after->module_areas,
	      before->module_areas);
	for (i = 0; i < after->nr_caches; i++) {
		for (k = 0; k < before->nr_caches; k++)
			if (!strcmp(before->cache[k].name, after->cache[i].name))
				break;
		if (k == before->nr_caches)
			continue;
		/* Some inodes and their like come and go. */
		room = operations / 4 + 48;
		/* A checker of debug kernels keeps so many for later: ODEBUG_POOL_SIZE. */
		if (!strcmp(after->cache[i].name, "debug_objects_cache"))
			room += 1024;
		grown = after->cache[i].objects - before->cache[k].objects;
		CHECK(grown < room, "%s: %lu objects, were %lu", after->cache[i].name,
		      after->cache[i].objects, before->cache[k].objects);
		if (grown > most) {
			most = grown;
			cache = after->cache[i].name;
		}
	}
	if (cache)
		ktap_note("most objects more, of %d operations: %ld in %s", operations, (long)most,
			  cache);
}

/* Things that are measured one by one, caches apart. They may not grow in each part. */
static const struct thing {
	const char *name;
	size_t at;	/* in struct memory */
} things[] = {
	{ "kB of large objects", offsetof(struct memory, large_kb) },
	{ "bytes of per-CPU memory", offsetof(struct memory, percpu) },
	{ "kB of vmalloc areas", offsetof(struct memory, vmalloc_kb) },
	{ "areas of modules and images", offsetof(struct memory, module_areas) },
	{ "symbols", offsetof(struct memory, symbols) },
};
#define NR_THINGS ((int)(sizeof(things) / sizeof(things[0])))
/*
 * Objects of one kind that may be more each time. A leak at what is rare hides in it. kmemleak
 * finds that one, on debug kernels under the same work.
 */
#define CACHE_ROOM 16

/* By how much something grew in each of several times, at the least. */
struct growth {
	char what[64];
	int64_t least, room;
};

static uint64_t measured(const struct memory *m, const struct thing *t)
{
	return *(const uint64_t *)((const char *)m + t->at);
}

static int64_t thing_growth(const struct memory *m, int nr, const struct thing *t)
{
	int64_t least = INT64_MAX, grown;
	int i;

	for (i = 1; i < nr; i++) {
		grown = measured(&m[i], t) - measured(&m[i - 1], t);
		least = grown < least ? grown : least;
	}
	return least;
}

static const struct slab_cache *cache_named(const struct memory *m, const char *name)
{
	int i;

	for (i = 0; i < m->nr_caches; i++)
		if (!strcmp(m->cache[i].name, name))
			return &m->cache[i];
	return NULL;
}

/* Of a cache that was not there all the time there is nothing to say. */
static int64_t cache_growth(const struct memory *m, int nr, const char *name)
{
	const struct slab_cache *was, *is;
	int64_t least = INT64_MAX;
	int i;

	for (i = 1; i < nr; i++) {
		was = cache_named(&m[i - 1], name);
		is = cache_named(&m[i], name);
		if (!was || !is)
			return 0;
		if ((int64_t)(is->objects - was->objects) < least)
			least = is->objects - was->objects;
	}
	return least;
}

/* All of them, to be used before the next call: the things, then caches. */
static const struct growth *growths(const struct memory *m, int nr, int *nr_growths)
{
	static struct growth growth[NR_THINGS + MAX_CACHES];
	struct growth *g = growth;
	int i;

	for (i = 0; i < NR_THINGS; i++, g++) {
		snprintf(g->what, sizeof(g->what), "%s", things[i].name);
		g->least = thing_growth(m, nr, &things[i]);
		g->room = 0;
	}
	for (i = 0; i < m[0].nr_caches; i++, g++) {
		snprintf(g->what, sizeof(g->what), "objects in %s", m[0].cache[i].name);
		g->least = cache_growth(m, nr, m[0].cache[i].name);
		g->room = CACHE_ROOM;
	}
	*nr_growths = g - growth;
	return growth;
}

bool memory_grows(const struct memory *m, int nr)
{
	const struct growth *g;
	bool grows = false;
	int n;

	for (g = growths(m, nr, &n); n--; g++) {
		if (g->least <= g->room)
			continue;
		ktap_note("%ld %s more each time, of %d", (long)g->least, g->what, nr - 1);
		grows = true;
	}
	return grows;
}

void memory_flat(struct memory *m, int nr)
{
	const struct growth *g, *most;
	int i, k, n;

	g = growths(m, nr, &n);
	most = &g[NR_THINGS];
	for (i = 0; i < n; i++) {
		if (i < NR_THINGS)
			ktap_note("least growth of %d: %+ld %s", nr - 1, (long)g[i].least,
				  g[i].what);
		else if (g[i].least > most->least)
			most = &g[i];
		if (CHECK(g[i].least <= g[i].room, "%ld %s more each time", (long)g[i].least,
			  g[i].what) ||
		    i >= NR_THINGS || things[i].at != offsetof(struct memory, vmalloc_kb))
			continue;
		for (k = 1; k < nr; k++) {
			ktap_note("in part %d:", k);
			note_callers(&m[k - 1], &m[k]);
		}
	}
	ktap_note("least growth of %d: %+ld %s, of all caches the most", nr - 1,
		  (long)most->least, most->what);
}
