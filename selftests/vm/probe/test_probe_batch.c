// SPDX-License-Identifier: GPL-2.0
/*
 * Many probes at once: what they cost together.
 *
 * Grace periods are counted by the module itself (INFO). Times are compared with
 * each other within one run, since a virtual machine's own speed says nothing.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "fixture.h"
#include "places.h"
#include "selftests/vm/lib/probe_progs.skel.h"

#define NR	1000
#define FEW	100
/*
 * While the optimiser makes images, those that they replace are freed. That takes a grace period
 * for what has come in so many milliseconds (BATCH_DELAY, kernel/base/retire.c).
 */
#define FREED_EACH	50
/*
 * The optimiser begins when nothing has come for 100 ms (QUEUE_DELAY, kernel/probe/optimiser.c).
 * Something comes somewhere within each call. So when 100 ms pass between two that come, one of
 * their calls has taken half of it, less half a tick.
 */
#define GAP	45000000ULL

static int prog;
static uint64_t addr[NR];
static struct attachment at[NR];

static void setup(void)
{
	uint32_t i;

	places_setup();
	prog = places_prog;
	for (i = 0; i < NR; i++)
		addr[i] = places_item[i].addr;
}

static uint64_t grace_periods(void)
{
	return tramp_module().grace_periods;
}

/* Calls one after the other: when the first began and the last ended, and how many took long. */
struct calls {
	uint64_t start, last, gaps;
};

static struct calls calls_begin(void)
{
	uint64_t now = now_ns();

	return (struct calls){ .start = now, .last = now };
}

static void call_ended(struct calls *c)
{
	uint64_t now = now_ns();

	c->gaps += now - c->last >= GAP;
	c->last = now;
}

/*
 * Grace periods for what came one by one, when the optimiser has done the rest. It has begun when
 * the first had waited for two seconds, and at gaps. However long all of it took, one by one
 * would be twice as many.
 */
static uint64_t allowed_for(const struct calls *c)
{
	uint64_t begun = 1 + (c->last - c->start) / 2000000000 + c->gaps;
	uint64_t n = 5 * begun + time_allowance(now_ns() - c->last, FREED_EACH, 1, NR / 2);

	return n < NR / 2 ? n : NR / 2;
}

static void test_grace_periods(void)
{
	uint64_t result, periods, allowed, start, jumps = 0;
	struct calls c;
	int i;

	setup();
	result = places_run(1);
	periods = grace_periods();
	c = calls_begin();
	for (i = 0; i < NR; i++) {
		at[i] = attach_insn(OURS, prog, addr[i], 0, i);
		call_ended(&c);
	}
	probe_flush();
	periods = grace_periods() - periods;
	allowed = allowed_for(&c);
	ktap_note("%d probes attached and optimised: %lu grace periods, at most %lu", NR, periods,
		  allowed);
	CHECK(periods <= allowed, "%lu grace periods, not %lu", periods, allowed);
	for (i = 0; i < NR; i++)
		jumps += attachment_query(&at[i]).mode == TRAMP_MODE_JUMP;
	CHECK_EQ(jumps, NR, "jumps");
	CHECK_EQ(tramp_module().probes, NR, "probes as INFO counts them");
	CHECK_EQ(tramp_module().optimised, NR, "jumps as INFO counts them");
	CHECK_EQ(places_run(10), result, "result with %d jumps", NR);
	places_expect_hits(NR, 10, "as jumps");

	/* Off and on again, all of them. */
	periods = grace_periods();
	start = now_ns();
	probe_optimiser(false);
	CHECK_EQ(tramp_module().optimised, 0, "jumps with the optimiser off");
	CHECK_EQ(places_run(10), result, "result with %d int3s", NR);
	places_expect_hits(NR, 10, "as int3s");
	probe_optimiser(true);
	periods = grace_periods() - periods;
	allowed = 10 + time_allowance(now_ns() - start, FREED_EACH, 1, NR / 2);
	ktap_note("optimiser off and on: %lu grace periods, at most %lu", periods, allowed);
	CHECK(periods <= allowed, "%lu grace periods, not %lu", periods, allowed);
	CHECK_EQ(tramp_module().optimised, NR, "jumps with the optimiser on");
	CHECK_EQ(places_run(10), result, "result");
	places_expect_hits(NR, 10, "as jumps again");

	periods = grace_periods();
	c = calls_begin();
	for (i = 0; i < NR; i++) {
		detach(&at[i]);
		call_ended(&c);
	}
	probe_flush();
	allowed = allowed_for(&c);
	CHECK_EQ(places_run(10), result, "result without probes");
	places_expect_hits(NR, 0, "detached");
	check_nothing_left();
	periods = grace_periods() - periods;
	ktap_note("detached: %lu grace periods, at most %lu", periods, allowed);
	CHECK(periods <= allowed, "%lu grace periods, not %lu", periods, allowed);
	places_expect_text("at the end");
}

struct cost {
	uint64_t attach, optimise, detach;
};

/*
 * Attach, wait for the jumps, detach, wait for the text: nanoseconds of each. The optimiser,
 * which would otherwise begin at some moment in between, is off while they come.
 */
static struct cost measure(int nr)
{
	struct cost c;
	uint64_t start, t;
	int i;

	probe_optimiser(false);
	start = now_ns();
	for (i = 0; i < nr; i++)
		at[i] = attach_insn(OURS, prog, addr[i * (NR / nr)], 0, i);
	t = now_ns();
	c.attach = t - start;
	probe_optimiser(true);
	start = now_ns();
	c.optimise = start - t;
	CHECK_EQ(tramp_module().optimised, nr, "jumps");
	for (i = 0; i < nr; i++)
		detach(&at[i]);
	probe_flush();
	c.detach = now_ns() - start;
	return c;
}

/* Addresses in so many functions of the kernel, one each, all over it. */
static void spread(void)
{
	struct text_sym *syms;
	struct probe_func g;
	uint64_t seed = 4711;
	int n = 0, tries = 0;
	size_t nr;

	syms = text_symbols(&nr);
	while (n < NR && tries++ < 20 * NR) {
		struct text_sym *s = &syms[rnd(&seed) % nr];
		uint32_t k;
		int i;

		if (s->module[0] || probe_explain(&g, s->addr, NULL, false))
			continue;
		for (k = g.nr / 2; k < g.nr; k++)
			if (g.insns[k].mode == TRAMP_MODE_JUMP)
				break;
		if (k < g.nr) {
			addr[n] = g.addr + g.insns[k].offset;
			for (i = 0; i < n && addr[i] != addr[n]; i++)
				;
			n += i == n;
		}
		probe_func_free(&g);
	}
	free(syms);
	REQUIRE(n == NR, "only %d places", n);
}

#define ROUNDS	10
#define PARTS	(NR / FEW)

static struct cost sum(struct cost a, struct cost b)
{
	return (struct cost){ a.attach + b.attach, a.optimise + b.optimise, a.detach + b.detach };
}

/* All at once may take half as long again as in parts, where the square is PARTS times as much. */
static bool holds(uint64_t parts, uint64_t all)
{
	return 2 * all <= 3 * parts;
}

static void check_linear(const char *what, uint64_t parts, uint64_t all)
{
	ktap_note("%-8s %7lu us for %d times %d, %7lu us for %d", what, parts / 1000, PARTS, FEW,
		  all / 1000, NR);
	CHECK(holds(parts, all), "%s: %d at once take %lu %% of the time in parts", what, NR,
	      100 * all / parts);
}

/*
 * Nothing that grows with the square of their number.
 *
 * A busy host slows down now the one and now the other, for as long as it likes. So the same
 * number is measured in parts, half of them before and half of them after, and one round where
 * both took alike is enough. A cost that grows with the square is in each round.
 */
static void linear(void)
{
	struct cost parts, all;
	int round = 0, i;

	/* The things allocated once are there after the first round. */
	measure(FEW);
	do {
		parts = (struct cost){};
		for (i = 0; i < PARTS / 2; i++)
			parts = sum(parts, measure(FEW));
		all = measure(NR);
		for (; i < PARTS; i++)
			parts = sum(parts, measure(FEW));
	} while (++round < ROUNDS && !(holds(parts.attach, all.attach) &&
				       holds(parts.optimise, all.optimise) &&
				       holds(parts.detach, all.detach)));
	ktap_note("after %d rounds", round);
	check_linear("attach", parts.attach, all.attach);
	check_linear("optimise", parts.optimise, all.optimise);
	check_linear("detach", parts.detach, all.detach);
	check_nothing_left();
}

static void test_linear(void)
{
	setup();
	spread();
	prog = bpf_program__fd(probe_skel->progs.nothing);
	linear();
}

/* All in one function, which would have to be decoded again and again. */
static void test_linear_long(void)
{
	setup();
	linear();
	places_expect_text("at the end");
}

/* Every instruction of the function at once: regions all over each other. */
static void test_dense(void)
{
	struct attachment *all;
	uint64_t result;
	uint32_t i, nr = 0;

	setup();
	result = places_run(1);
	all = calloc(places_func.nr, sizeof(*all));
	REQUIRE(all, "out of memory");
	for (i = 0; i < places_func.nr && nr < PROBE_COUNTERS; i++) {
		/* A probe on ENDBR is one on what is behind it. */
		if (places_func.insns[i].mode == TRAMP_MODE_NONE ||
		    (!places_func.insns[i].offset && probe_is_entry(places_func.insns[1].mode)))
			continue;
		all[nr] = attach_insn(OURS, prog,
				      places_func.addr + places_func.insns[i].offset, 0, nr);
		nr++;
		/* Meanwhile some have become jumps, which now must give way. */
		if (nr == 500)
			probe_flush();
	}
	memset(probe_skel->bss->counted, 0, sizeof(probe_skel->bss->counted));
	CHECK_EQ(places_run(3), result, "result with a probe on each of %u instructions", nr);
	probe_flush();
	ktap_note("%u of %u probes are jumps", tramp_module().optimised, nr);
	CHECK_EQ(places_run(7), result, "result with a probe on each of %u instructions", nr);
	places_expect_hits(nr, 10, "all");
	/* Every other one goes: more room for the others. */
	for (i = 0; i < nr; i += 2)
		detach(&all[i]);
	probe_flush();
	ktap_note("%u of %u probes are jumps", tramp_module().optimised, nr / 2);
	CHECK_EQ(places_run(10), result, "result with a probe on every other instruction");
	for (i = 0; i < nr; i++)
		CHECK_EQ(probe_skel->bss->counted[i], i % 2 ? 10 : 0, "probe %u", i);
	for (i = 1; i < nr; i += 2)
		detach(&all[i]);
	probe_flush();
	CHECK_EQ(places_run(10), result, "result without probes");
	check_nothing_left();
	places_expect_text("at the end");
}

static const struct ktap_test tests[] = {
	{ "grace_periods", test_grace_periods, 120 },
	{ "linear", test_linear, 200 },
	{ "linear_long", test_linear_long, 200 },
	{ "dense", test_dense, 300 },
};

KTAP_MAIN(tests)
