// SPDX-License-Identifier: GPL-2.0
/*
 * The memory that one program at many functions takes: what trampoline.ko allocates, and what
 * the kernel has less of.
 *
 * Ours is traced while attaching: the allocator's events whose caller lies in the module, and
 * those of kvmalloc(), which has no caller but us meanwhile. Memory that is freed again does not
 * count. Of vmalloc() the kernel's own list tells whose each area is. The image is added. All is
 * the growth of slab pages, vmalloc and per-CPU memory: the rest of it is ftrace's.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "../vm/lib/memory.h"
#include "multi.h"

#define TRACEFS		"/sys/kernel/tracing"
#define MAX_LIVE	8192

static const char *const events[] = { "kmalloc", "kmem_cache_alloc", "kfree", "kmem_cache_free" };
/* Before 6.4 this makes ftrace's table of direct calls larger, which is ftrace's and stays. */
#define FOR_FTRACE	"call_site=tramp_ftrace_room+"

static void set_event(const char *event, const char *file, const char *value)
{
	char path[128];

	snprintf(path, sizeof(path), TRACEFS "/events/kmem/%s/%s", event, file);
	REQUIRE(!write_file(path, "%s", value), "'%s' to %s", value, path);
}

/* The events of this process that come from the module, or from kvmalloc() and kvfree(). */
static void trace(bool on)
{
	static const char *const also[] = { "kvmalloc_node", "__kvmalloc_node_noprof", "kvfree" };
	char filter[512], value[8], *text = read_file("/proc/modules"), *line;
	unsigned long size = 0, base = 0;
	size_t i, len;

	line = strstr(text, "trampoline ");
	REQUIRE(line && sscanf(line, "trampoline %lu %*s %*s %*s %lx", &size, &base) == 2 && base,
		"where trampoline.ko is");
	free(text);
	len = snprintf(filter, sizeof(filter),
		       "common_pid == %d && ((call_site >= 0x%lx && call_site < 0x%lx)", getpid(),
		       base, base + size);
	for (i = 0; i < sizeof(also) / sizeof(also[0]); i++) {
		uint64_t addr = ksym_addr(also[i]);

		if (addr)
			len += snprintf(filter + len, sizeof(filter) - len,
					" || (call_site >= 0x%lx && call_site < 0x%lx)", addr,
					addr + 0x100);
	}
	snprintf(filter + len, sizeof(filter) - len, ")");
	snprintf(value, sizeof(value), "%d", on);
	for (i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		if (on)
			set_event(events[i], "filter", filter);
		set_event(events[i], "enable", value);
		if (!on)
			set_event(events[i], "filter", "0");
	}
}

/* "... kmalloc: call_site=F+0x1/0x2 [trampoline] ptr=00000000f00 bytes_req=9 bytes_alloc=16 ..." */
static int64_t traced_bytes(void)
{
	static struct { uint64_t ptr, bytes; } live[MAX_LIVE];
	char *text = read_file(TRACEFS "/trace"), *rest = text, *line;
	unsigned int i, nr = 0;
	int64_t bytes = 0;

	while ((line = strsep(&rest, "\n"))) {
		const char *ptr = strstr(line, " ptr=");
		uint64_t at, size;

		if (line[0] == '#' || !ptr || strstr(line, FOR_FTRACE))
			continue;
		at = strtoull(ptr + 5, NULL, 16);
		size = number_after(line, "bytes_alloc=", 0);
		if (size) {
			REQUIRE(nr < MAX_LIVE, "more than %d allocations of ours", MAX_LIVE);
			live[nr].ptr = at;
			live[nr++].bytes = size;
			continue;
		}
		for (i = nr; i-- > 0; )
			if (live[i].ptr == at) {
				live[i] = live[--nr];
				break;
			}
	}
	for (i = 0; i < nr; i++)
		bytes += live[i].bytes;
	REQUIRE(nr, "no allocation of ours was traced");
	free(text);
	return bytes;
}

/* Areas whose caller is in the module; a guard page is part of each. */
static int64_t our_vmalloc(void)
{
	char *text = read_file("/proc/vmallocinfo"), *rest = text, *line;
	int64_t bytes = 0;

	while ((line = strsep(&rest, "\n")))
		if (strstr(line, "[trampoline]"))
			bytes += number_after(line, "pages=", 0) * 4096;
	free(text);
	return bytes;
}

static int64_t grown(const struct memory *before, const struct memory *after)
{
	return (int64_t)(after->slab_kb + after->vmalloc_kb) * 1024 -
	       (int64_t)(before->slab_kb + before->vmalloc_kb) * 1024 +
	       (int64_t)(after->percpu - before->percpu) * nr_cpus();
}

struct multi_memory multi_memory(const struct multi_set *set, uint32_t nr, int prog_fd)
{
	struct bench_att a = { .prog_fd = prog_fd, .fd = -1, .event_fd = -1 };
	static struct memory before, after;
	struct multi_memory m;
	int64_t vmalloc;

	write_file(TRACEFS "/trace", "0");
	memory_measure(&before);
	vmalloc = our_vmalloc();
	trace(true);
	REQUIRE(!bench_link_our_multi(&a, set->addrs, nr, NULL, 0), "%u functions", nr);
	trace(false);
	memory_measure(&after);
	m.own = traced_bytes() + our_vmalloc() - vmalloc + tramp_module().image_bytes;
	m.all = grown(&before, &after) + tramp_module().image_bytes;
	bench_detach(&a);
	while (tramp_module().images)
		usleep(1000);
	return m;
}
