// SPDX-License-Identifier: GPL-2.0
/*
 * Images of many functions: they know which function has called by their return address. Run
 * contexts, sessions, and the ways to call the original.
 */
#include <string.h>

#include "../lib/ktap.h"
#include "ends.h"
#include "lint.h"

static struct ends s;
static struct rng rng = { 0x7654321 };

/* Functions with everything that can stand in front, wherever in a page. */
static void entry_ips(void)
{
	static const u32 flags[] = { MULTI | IP, MULTI | COOKIE, COOKIE, IP };
	static const u32 page_off[] = { 0, 1, 3, 4, 5, 16, 0x7f4, 0xff0 };
	u32 i, j, front, kind;

	for (i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		for (kind = 0; kind < 3; kind++) {
			if (kind == 2 && !(flags[i] & MULTI))
				continue;
			ends_init(&s, "entry_ip", &rng, true);
			ends_add(&s, kind == 0 ? ENDS_KPROBE : kind == 1 ? ENDS_KRET : ENDS_SESSION,
				 flags[i], PERCPU_NEAR);
			ends_emit(&s);
			for (front = 0; front < NR_FRONTS; front++)
				for (j = 0; j < sizeof(page_off) / sizeof(page_off[0]); j++)
					ends_call(&s, ends_site(&s, j, page_off[j], front));
		}
	}
}

/* Kernels that have no ENDBR. */
static void without_endbr(void)
{
	u32 front;

	ends_init(&s, "no ENDBR", &rng, true);
	s.env.endbr = s.env.endbr_poison = 0;
	ends_add(&s, ENDS_SESSION, MULTI, PERCPU_NEAR);
	ends_emit(&s);
	for (front = 0; front < NR_FRONTS; front++)
		ends_call(&s, ends_site(&s, 0, 0x10 * front, front));
}

/* One program, or three in one frame, with each set of flags they may have together. */
static void contexts(void)
{
	static const u32 flags[] = { 0, COOKIE, IP, COOKIE | IP };
	u32 i, k, nr, multi;

	for (i = 0; i < 64; i++) {
		for (multi = 0; multi < 2; multi++) {
			ends_init(&s, "contexts", &rng, true);
			for (k = 0; k < 3; k++)
				ends_add(&s, ENDS_KPROBE,
					 flags[i >> 2 * k & 3] | (multi ? MULTI : 0), PERCPU_NEAR);
			for (k = 0; k < 3; k++)
				s.calls[k].link = rng_u64(&rng) & ~7UL;
			s.calls[1].link = s.calls[2].link = s.calls[0].link;
			ends_run(&s);
			for (nr = 1; nr <= 3; nr++) {
				ends_init(&s, "contexts at the return", &rng, true);
				for (k = 0; k < nr; k++)
					ends_add(&s, ENDS_KRET,
						 flags[i >> 2 * k & 3] | (multi ? MULTI : 0),
						 PERCPU_NEAR);
				ends_run(&s);
			}
		}
	}
}

/* One image, many functions: each has its own cookies. */
static void many_functions(void)
{
	static const struct {
		enum ends_kind kind;
		u32 flags;
	} progs[] = {
		{ ENDS_KPROBE, COOKIE }, { ENDS_KPROBE, MULTI | COOKIE }, { ENDS_KRET, COOKIE },
		{ ENDS_KRET, MULTI | COOKIE }, { ENDS_SESSION, MULTI | COOKIE },
	};
	u64 site[8];
	u32 i, j, k;

	for (k = 0; k < sizeof(progs) / sizeof(progs[0]); k++) {
		ends_init(&s, "many functions", &rng, true);
		ends_add(&s, progs[k].kind, progs[k].flags, PERCPU_NEAR);
		ends_emit(&s);
		for (i = 0; i < 8; i++)
			site[i] = ends_site(&s, i, 0x10 * i, i % NR_FRONTS);
		for (j = 0; j < 3; j++)
			for (i = 0; i < 8; i++)
				ends_call(&s, site[i]);
		CHECK_EQ(s.progs[0].ran, progs[k].kind == ENDS_SESSION ? 48 : 24, "");
	}
}

/* A session that wants no return gets none. */
static void skipped(void)
{
	static const u64 result[] = { 0, 1, 0x80000000, ~0UL };
	u32 i, j, depth;

	for (i = 0; i < 4; i++) {
		for (depth = 0; depth < 2; depth++) {
			ends_init(&s, "skipped", &rng, true);
			ends_add(&s, ENDS_SESSION, MULTI, PERCPU_NEAR)->result = result[i];
			s.env.has_call_depth = depth;
			ends_emit(&s);
			for (j = 0; j < 3; j++) {
				s.stats_on = j == 1;
				ends_call(&s, ends_site(&s, 0, 0, FRONT_NOTHING));
			}
			CHECK_EQ(s.progs[0].ran, i ? 3 : 6, "result %#lx", (long)result[i]);
		}
	}
}

/* Nested calls, of the same function and of another; every third wants no return. */
static u32 depth;

static void nest(struct ends *e)
{
	if (depth == 12)
		return;
	depth++;
	e->progs[0].result = depth % 3 == 0;
	ends_call(e, ends_site(e, depth % 4 == 0, 0, FRONT_ENDBR64));
}

static void nested(void)
{
	u32 i;

	for (i = 0; i < 4; i++) {
		ends_init(&s, "nested", &rng, true);
		ends_add(&s, i & 1 ? ENDS_SESSION : ENDS_KRET, MULTI | COOKIE, PERCPU_NEAR);
		s.env.no_indirect = i & 2;
		s.in_body = nest;
		depth = 0;
		ends_emit(&s);
		ends_call(&s, ends_site(&s, 0, 0, FRONT_ENDBR64));
		CHECK_EQ(s.progs[0].ran, i & 1 ? 13 + 9 : 13, "");
	}
}

/* A program that calls the function itself: that call misses it, at both ends. */
static void recurse(struct ends *e, u32 i)
{
	if (e->level->outer)
		return;
	(void)i;
	ends_call(e, e->level->site);
}

static void recursive(void)
{
	ends_init(&s, "recursive", &rng, true);
	ends_add(&s, ENDS_KPROBE, MULTI | COOKIE, PERCPU_NEAR);
	s.in_prog = recurse;
	ends_run(&s);
	CHECK_EQ(s.progs[0].ran, 1, "");
	CHECK_EQ(s.progs[0].missed, 1, "");

	ends_init(&s, "recursive", &rng, true);
	ends_add(&s, ENDS_SESSION, MULTI, PERCPU_NEAR);
	s.in_prog = recurse;
	ends_run(&s);
	CHECK_EQ(s.progs[0].ran, 2, "");
	CHECK_EQ(s.progs[0].missed, 4, "");
}

/* Every way to call the original, and to come back from it. */
static void calls(void)
{
	u32 i;

	for (i = 0; i < 96; i++) {
		ends_init(&s, "calls", &rng, true);
		if (i & 1)
			ends_scatter(&s);
		s.env.no_indirect = i & 2;
		s.env.has_call_depth = i & 4;
		s.env.return_thunk = i & 8 ? machine_return_thunk(s.thunk_count) : 0;
		s.odd_stack = i & 16;
		ends_add(&s, i / 32 == 0 ? ENDS_KPROBE : i / 32 == 1 ? ENDS_KRET : ENDS_SESSION,
			 MULTI | COOKIE, PERCPU_NEAR);
		ends_run(&s);
	}
}

static const struct ktap_test tests[] = {
	KTAP_TEST(entry_ips),
	KTAP_TEST(without_endbr),
	KTAP_TEST(contexts),
	KTAP_TEST(many_functions),
	KTAP_TEST(skipped),
	KTAP_TEST(nested),
	KTAP_TEST(recursive),
	KTAP_TEST(calls),
};
KTAP_MAIN(tests)
