// SPDX-License-Identifier: GPL-2.0
/*
 * Many attachments at once: how long attaching, getting into the final state and
 * detaching take, and how much memory an attachment takes.
 *
 * Times are those of an emulated machine: what means something is ours divided
 * by the kernel's, from one run. The kernel's come first, at every number that it is measured
 * with (bench_mech::many). It detaches fentry one by one, at a grace period each, so a thousand
 * would take minutes.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include "../vm/lib/memory.h"
#include "bench.h"

static const unsigned int counts[] = { 1, 10, 100, 300, 1000 };
#define MANY_NR	(sizeof(counts) / sizeof(counts[0]))

/* How many attachments of the kernel's memory is measured with. */
#define KERNEL_MEMORY_NR	100

/* Microseconds that the parts of one round took. */
struct times {
	uint64_t attach;	/* all of the attach calls */
	uint64_t settle;	/* then, until all are in the final state */
	uint64_t detach;	/* all of the closes */
	uint64_t drain;		/* then, until nothing is left to be freed; see report_figures.c */
};

static struct bench_att atts[BENCH_MANY_NR];
static int progs[BENCH_MANY_NR];

static uint64_t since(uint64_t *begin)
{
	uint64_t now = now_ns(), us = (now - *begin) / 1000;

	*begin = now;
	return us;
}

/* A program for each function where programs are made for one, else one for all. */
static void load(const struct bench_mech *m, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		struct bench_place place = bench_place(BENCH_MANY, i);
		struct bench_load as = {};

		m->as(&place, &as);
		progs[i] = i && !as.func ? progs[0] : bench_load(BENCH_MAPS, &as);
	}
}

static void unload(unsigned int nr)
{
	unsigned int i;

	for (i = nr; i-- > 0; )
		if (!i || progs[i] != progs[0])
			close(progs[i]);
}

static void attach(const struct bench_mech *m, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		struct bench_place place = bench_place(BENCH_MANY, i);

		atts[i] = bench_attach(m, &place, progs[i], 0);
	}
}

static void detach(unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		bench_detach(&atts[i]);
}

/* Each function once: as many hits as attachments, and nothing else. */
static void check_hits(const struct bench_mech *m, unsigned int nr)
{
	bench_reset_hits();
	bench_run(BENCH_MANY, 1);
	REQUIRE(bench_hits() == nr, "%s %s: %lu hits of %u attachments",
		bench_side_name(m->side), m->name, bench_hits(), nr);
}

static struct times one_round(const struct bench_mech *m, unsigned int nr)
{
	struct times t = {};
	uint64_t begin;

	load(m, nr);
	begin = now_ns();
	attach(m, nr);
	t.attach = since(&begin);
	bench_settle(m, atts, nr);
	t.settle = since(&begin);
	check_hits(m, nr);

	begin = now_ns();
	detach(nr);
	t.detach = since(&begin);
	bench_drain(m, atts, nr);
	t.drain = since(&begin);
	check_hits(m, 0);
	unload(nr);
	return t;
}

static bool wanted(const struct bench_mech *m)
{
	if (!m->many || (m->missing && m->missing()))
		return false;
	if (m->setup)
		m->setup();
	return true;
}

static void allow_many_files(void)
{
	struct rlimit limit = { 16384, 16384 };

	REQUIRE(!setrlimit(RLIMIT_NOFILE, &limit), "a limit of many open files");
}

/* 300 only matters where the kernel's side ends there. */
static bool measured_with(const struct bench_mech *m, unsigned int nr)
{
	const struct bench_mech *const *list;

	if (nr != 300)
		return nr <= m->many;
	for (list = bench_mechs(); *list; list++)
		if (!strcmp((*list)->name, m->name) && (*list)->many == nr)
			return true;
	return false;
}

void bench_times(void)
{
	const struct bench_mech *const *list;
	unsigned int i;

	allow_many_files();
	bench_record("cpus %d", nr_cpus());
	for (list = bench_mechs(); *list; list++) {
		const struct bench_mech *m = *list;

		if (!wanted(m))
			continue;
		/* Work that is done once in a kernel's life is not to be in the figures. */
		one_round(m, 1);
		for (i = 0; i < MANY_NR; i++) {
			struct times t;

			if (!measured_with(m, counts[i]))
				continue;
			t = one_round(m, counts[i]);

			bench_record("times %s %s %u %lu %lu %lu %lu", m->name,
				     bench_side_name(m->side), counts[i], t.attach, t.settle,
				     t.detach, t.drain);
		}
	}
	bench_batch();
}

/*
 * Bytes of slab objects that were not there before; caches that grew by an object
 * for every second attachment, or more, are recorded one by one.
 */
static int64_t grown_objects(const struct bench_mech *m, const struct memory *before,
			     const struct memory *after, unsigned int nr)
{
	int64_t bytes = 0;
	int i, k;

	for (i = 0; i < after->nr_caches; i++) {
		const struct slab_cache *c = &after->cache[i];
		int64_t grown;

		for (k = 0; k < before->nr_caches; k++)
			if (!strcmp(before->cache[k].name, c->name))
				break;
		grown = c->objects - (k < before->nr_caches ? before->cache[k].objects : 0);
		bytes += grown * (int64_t)c->size;
		if (grown >= nr / 2)
			bench_record("cache %s %s %u %s %lu %ld", m->name,
				     bench_side_name(m->side), nr, c->name, c->size, grown);
	}
	return bytes;
}

void bench_memory(void)
{
	const struct bench_mech *const *list;
	static struct memory before, after;

	allow_many_files();
	for (list = bench_mechs(); *list; list++) {
		const struct bench_mech *m = *list;
		unsigned int nr = m->side == BENCH_KERNEL ? KERNEL_MEMORY_NR : BENCH_MANY_NR;
		uint64_t image_bytes = 0;

		if (!wanted(m))
			continue;
		one_round(m, 1);
		load(m, nr);
		memory_measure(&before);
		attach(m, nr);
		bench_settle(m, atts, nr);
		memory_measure(&after);
		if (m->side == BENCH_OURS)
			image_bytes = tramp_module().image_bytes;
		bench_record("memory %s %s %u %ld %ld %ld %ld %lu", m->name,
			     bench_side_name(m->side), nr, grown_objects(m, &before, &after, nr),
			     (after.slab_kb - before.slab_kb) * 1024,
			     (after.vmalloc_kb - before.vmalloc_kb) * 1024,
			     (after.percpu - before.percpu) * nr_cpus(), image_bytes);
		detach(nr);
		bench_drain(m, atts, nr);
		unload(nr);
	}
}
