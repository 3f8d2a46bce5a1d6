// SPDX-License-Identifier: GPL-2.0
/*
 * Many single programs in one call, attached by ATTACH_BATCH and detached by DETACH_BATCH: probes
 * at neighbouring instructions of the kernel's own text, and programs at functions.
 *
 * The report compares them with the kernel's largest number of the same mechanism, scaled.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>
#include "../vm/lib/probe.h"
#include "bench.h"

#define NR		20000
#define NR_FUNCS	300
/* The median of so many is recorded, of an odd number */
#define ROUNDS		5

static struct tramp_attach items[NR];
static int32_t fds[NR];

/* The places of one function where the jumps of several probes do not meet. */
static unsigned int add_function(uint64_t addr, unsigned int nr)
{
	struct probe_func f;
	uint64_t end = 0;
	uint32_t i;

	if (probe_explain(&f, addr, NULL, false))
		return nr;
	for (i = 0; i < f.nr && nr < NR; i++) {
		uint64_t at = f.addr + f.insns[i].offset;

		if (f.insns[i].mode != TRAMP_MODE_JUMP || at < end)
			continue;
		items[nr++].addr = at;
		end = at + f.insns[i].region_len;
	}
	probe_func_free(&f);
	return nr;
}

/* Neighbours: function after function, from the middle of the text on. One may have two names. */
static void find_places(void)
{
	struct text_sym *syms;
	unsigned int nr = 0;
	size_t nr_syms, i;

	syms = text_symbols(&nr_syms);
	for (i = nr_syms / 3; i < nr_syms && nr < NR; i++)
		if (!syms[i].module[0] && syms[i].addr != syms[i - 1].addr)
			nr = add_function(syms[i].addr, nr);
	free(syms);
	REQUIRE(nr == NR, "only %u places", nr);
}

static void attach_all(unsigned int nr)
{
	struct tramp_attach_batch batch = { .size = sizeof(batch), .count = nr,
					    .item_size = sizeof(items[0]),
					    .items = (uintptr_t)items };
	unsigned int i;

	REQUIRE(!ioctl(tramp_device(), TRAMP_IOC_ATTACH_BATCH, &batch), "item %u: %s: %s",
		batch.failed, strerror(errno), tramp_reason_name(batch.refusal.reason));
	for (i = 0; i < nr; i++)
		fds[i] = items[i].link_fd;
}

static void detach_all(unsigned int nr)
{
	struct tramp_detach_batch batch = { .size = sizeof(batch), .count = nr,
					    .fds = (uintptr_t)fds };
	unsigned int i;

	REQUIRE(!ioctl(tramp_device(), TRAMP_IOC_DETACH_BATCH, &batch), "detach: %s",
		strerror(errno));
	for (i = 0; i < nr; i++)
		close(fds[i]);
}

static uint64_t since(uint64_t *begin)
{
	uint64_t now = now_ns(), us = (now - *begin) / 1000;

	*begin = now;
	return us;
}

static void add(unsigned int i, int prog)
{
	items[i].size = sizeof(items[i]);
	items[i].prog_fd = prog;
}

static void bench_probes(void)
{
	static const struct bench_load as = { .type = BPF_PROG_TYPE_KPROBE };
	uint64_t begin, attached, settled, detached;
	unsigned int i;
	int prog;

	if (!(tramp_module().features & TRAMP_FEAT_JUMP))
		return;
	prog = bench_load(BENCH_EMPTY, &as);
	find_places();
	for (i = 0; i < NR; i++)
		add(i, prog);
	begin = now_ns();
	attach_all(NR);
	attached = since(&begin);
	probe_flush();
	settled = since(&begin);
	REQUIRE(tramp_module().optimised == NR, "%u jumps", tramp_module().optimised);
	detach_all(NR);
	detached = since(&begin);
	probe_flush();
	while (tramp_module().images)
		usleep(1000);
	bench_record("batch kprobe-jump %d %lu %lu %lu %lu", NR, attached, settled, detached,
		     since(&begin));
	close(prog);
}

/* Each function once, all of them: so many hits. */
static void check_hits(unsigned int nr)
{
	bench_reset_hits();
	bench_run(BENCH_MANY, 1);
	REQUIRE(bench_hits() == nr, "%lu hits of %u attachments", bench_hits(), nr);
}

static int by_time(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static uint64_t median(uint64_t *times)
{
	qsort(times, ROUNDS, sizeof(times[0]), by_time);
	return times[ROUNDS / 2];
}

/* One is over in a tenth of a second, and a tick more or less is seen in it. */
static void bench_funcs(void)
{
	uint64_t attached[ROUNDS], detached[ROUNDS], drained[ROUNDS], begin;
	unsigned int i;

	memset(items, 0, sizeof(items));
	for (i = 0; i < NR_FUNCS; i++) {
		struct bench_place place = bench_place(BENCH_MANY, i);
		struct bench_load as = { BPF_PROG_TYPE_TRACING, BPF_TRACE_FENTRY, place.name };

		add(i, bench_load(BENCH_MAPS, &as));
	}
	/* The first one does what is done once in a kernel's life: the next overwrites it. */
	for (i = 0; i <= ROUNDS; i++) {
		unsigned int to = i ? i - 1 : 0;

		begin = now_ns();
		attach_all(NR_FUNCS);
		attached[to] = since(&begin);
		check_hits(NR_FUNCS);
		begin = now_ns();
		detach_all(NR_FUNCS);
		detached[to] = since(&begin);
		while (tramp_module().images)
			usleep(1000);
		drained[to] = since(&begin);
		check_hits(0);
	}
	bench_record("batch fentry %d %lu 0 %lu %lu", NR_FUNCS, median(attached),
		     median(detached), median(drained));
	for (i = 0; i < NR_FUNCS; i++)
		close(items[i].prog_fd);
}

void bench_batch(void)
{
	const struct rlimit limit = { NR + 1024, NR + 1024 };

	REQUIRE(!setrlimit(RLIMIT_NOFILE, &limit), "a limit of many open files");
	bench_probes();
	bench_funcs();
}
