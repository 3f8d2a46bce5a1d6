// SPDX-License-Identifier: GPL-2.0
/*
 * Instructions per hit, for every mechanism and program, with 1, 2, 4 and 8 programs at one
 * place. The figure is what a loop of calls takes more than the same loop with nothing
 * attached.
 *
 * Under -icount the time stamp counter counts instructions, and the loop runs
 * with interrupts off: each repetition gives the same number, and it divides by
 * the number of calls. Both are checked.
 */
#include <stdlib.h>
#include <unistd.h>
#include "bench.h"

/* Calls in a loop, and how often a loop is run. */
#define CALLS		256
#define REPEATS		9
#define WARM_UP		64

#define MAX_AT_ONCE	8
static const unsigned int at_once[] = { 1, 2, 4, 8 };

/* A cookie that fits no immediate of 32 bits. */
#define COOKIE		0x1122334455667788ULL

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static unsigned int runs_in_a_call(const struct bench_mech *m)
{
	return m->runs ? m->runs : 1;
}

/* The median of the repetitions; @spread: how far the others are from each other. */
static uint64_t measure(uint32_t target, uint64_t *spread)
{
	uint64_t ticks[REPEATS];
	int i;

	bench_run(target, WARM_UP);
	for (i = 0; i < REPEATS; i++)
		ticks[i] = bench_run(target, CALLS);
	qsort(ticks, REPEATS, sizeof(ticks[0]), by_value);
	*spread = ticks[REPEATS - 1] - ticks[0];
	return ticks[REPEATS / 2];
}

/* The time stamp counter counts instructions, or the figures are none. */
static void require_icount(void)
{
	uint64_t spread, once, twice;

	once = measure(BENCH_FUNCTION, &spread);
	REQUIRE(!spread, "a bare loop is not repeatable (spread %lu): is this -icount?", spread);
	bench_run(BENCH_FUNCTION, 2 * CALLS);
	twice = bench_run(BENCH_FUNCTION, 2 * CALLS);
	REQUIRE((twice - once) % CALLS == 0, "a call takes %lu/%d instructions", twice - once,
		CALLS);
	bench_record("call bare %lu", (twice - once) / CALLS);
}

static uint64_t run_count(int prog_fd)
{
	struct bpf_prog_info info = {};
	uint32_t len = sizeof(info);

	REQUIRE(!bpf_obj_get_info_by_fd(prog_fd, &info, &len), "info of a program");
	return info.run_cnt;
}

/*
 * Does every program run as often as it should? BPF statistics tell, also of programs that
 * do not count. They are off while anything is measured.
 */
static void check_runs(const struct bench_mech *m, const struct bench_att *a, unsigned int nr)
{
	int stats = bpf_enable_stats(BPF_STATS_RUN_TIME);
	unsigned int i, runs = WARM_UP * runs_in_a_call(m);

	REQUIRE(stats >= 0, "BPF statistics cannot be enabled");
	bench_run(m->target, WARM_UP);
	for (i = 0; i < nr; i++)
		REQUIRE(run_count(a[i].prog_fd) == runs,
			"%s %s: program %u of %u ran %lu times in %d calls",
			bench_side_name(m->side), m->name, i + 1, nr, run_count(a[i].prog_fd),
			WARM_UP);
	close(stats);
}

/* One cell of the table. */
static void count_one(const struct bench_mech *m, enum bench_prog prog, unsigned int nr)
{
	struct bench_place place = bench_place(m->target, 0);
	struct bench_att a[MAX_AT_ONCE];
	uint64_t bare, ticks, spread, bare_spread, hits;
	struct bench_parts parts;
	struct bench_load as = {};
	unsigned int i;

	bare = measure(m->target, &bare_spread);
	m->as(&place, &as);
	for (i = 0; i < nr; i++) {
		int fd = bench_load_try(prog, &as);

		if (fd < 0 && !i) {
			bench_record("refused %s %s %s", m->name, bench_side_name(m->side),
				     bench_prog_name(prog));
			return;
		}
		REQUIRE(fd >= 0, "loading a second %s", bench_prog_name(prog));
		a[i] = bench_attach(m, &place, fd, prog == BENCH_COOKIE ? COOKIE + i : 0);
	}
	bench_settle(m, a, nr);

	bench_reset_hits();
	ticks = measure(m->target, &spread);
	hits = bench_hits();
	if (bench_prog_counts(prog))
		REQUIRE(hits == nr * (uint64_t)(WARM_UP + REPEATS * CALLS) * runs_in_a_call(m),
			"%s %s %s: %lu hits of %u programs in %d calls", bench_side_name(m->side),
			m->name, bench_prog_name(prog), hits, nr, WARM_UP + REPEATS * CALLS);
	check_runs(m, a, nr);

	REQUIRE(ticks > bare, "%s %s: no instructions", bench_side_name(m->side), m->name);
	bench_record("insns %s %s %s %u %lu.%02lu %lu %lu", m->name, bench_side_name(m->side),
		     bench_prog_name(prog), nr, (ticks - bare) / CALLS,
		     (ticks - bare) % CALLS * 100 / CALLS, spread + bare_spread,
		     bench_prog_counts(prog) ? hits : 0);
	if (bench_walk(m, a, nr, (ticks - bare) / CALLS, &parts))
		bench_record("parts %s %s %s %u %ld %ld %ld %ld", m->name, bench_side_name(m->side),
			     bench_prog_name(prog), nr, parts.program, parts.guard, parts.image,
			     parts.elsewhere);

	for (i = 0; i < nr; i++) {
		bench_detach(&a[i]);
		close(a[i].prog_fd);
	}
	bench_drain(m, a, nr);
	REQUIRE(measure(m->target, &spread) == bare, "%s %s: something is left after detaching",
		bench_side_name(m->side), m->name);
}

static void count_all(const struct bench_mech *m)
{
	const char *why = m->missing ? m->missing() : NULL;
	unsigned int prog, i;

	if (why) {
		bench_record("missing %s %s %s", m->name, bench_side_name(m->side), why);
		return;
	}
	bench_record("mech %s %s %d %s", m->name, bench_side_name(m->side), m->rank, m->title);
	if (m->setup)
		m->setup();
	for (prog = 0; prog < BENCH_PROGS; prog++) {
		if (!(m->progs & 1u << prog))
			continue;
		for (i = 0; i < sizeof(at_once) / sizeof(at_once[0]); i++)
			if (!i || (prog == BENCH_MAPS && (!m->most || at_once[i] <= m->most)))
				count_one(m, prog, at_once[i]);
	}
}

/*
 * The kernel's mechanisms first, all of them: probes of ours change what happens at
 * everybody's int3s (kernel/probe/trap.c), and that must not count against the kernel.
 */
void bench_count(void)
{
	static const enum bench_side sides[] = { BENCH_KERNEL, BENCH_OURS };
	const struct bench_mech *const *list;
	unsigned int i;

	require_icount();
	for (i = 0; i < sizeof(sides) / sizeof(sides[0]); i++)
		for (list = bench_mechs(); *list; list++)
			if ((*list)->side == sides[i])
				count_all(*list);
}
