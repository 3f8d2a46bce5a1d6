// SPDX-License-Identifier: GPL-2.0
/*
 * Kprobe programs at both ends of a function, in images of the function's own and in those of
 * many: pt_regs, results, programs that are left out, what stands beside them.
 */
#include <string.h>

#include "../lib/ktap.h"
#include "ends.h"
#include "lint.h"

static struct ends s;
static struct rng rng = { 0x1234567 };

/* Every kind of image with such programs. */
enum { OWN, MANY_ENTRY, MANY_RETURN, MANY_SESSION, WAYS };

static void begin(u32 way)
{
	static const char * const names[] = { "own", "many, entry", "many, return", "session" };

	ends_init(&s, names[way], &rng, way != OWN);
	if (way <= MANY_ENTRY)
		ends_add(&s, ENDS_KPROBE, 0, PERCPU_NEAR);
	if (way == OWN || way == MANY_RETURN)
		ends_add(&s, ENDS_KRET, 0, PERCPU_NEAR);
	if (way == MANY_SESSION)
		ends_add(&s, ENDS_SESSION, MULTI, PERCPU_NEAR);
}

/* One member of pt_regs, two, all but those, all of them, and no member at all. */
static void members(void)
{
	u32 way, i, j, k;

	for (way = 0; way < WAYS; way++) {
		for (i = 0; i < NR_PT; i++) {
			for (j = i; j < NR_PT; j++) {
				for (k = 0; k < 2; k++) {
					begin(way);
					s.req.regs = 1u << i | 1u << j;
					if (k)
						s.req.regs ^= TRAMP_X86_REGS_ALL;
					s.req.ret_regs = s.req.regs;
					ends_run(&s);
					CHECK_EQ(s.progs[0].ran, way == MANY_SESSION ? 2 : 1, "");
				}
			}
		}
		begin(way);
		ends_run(&s);
		begin(way);
		s.req.regs = s.req.ret_regs = 0;
		ends_run(&s);
	}
}

/* At either end another set of members. */
static void other_members(void)
{
	u32 i;

	for (i = 0; i < 2000; i++) {
		begin(i & 1 ? OWN : MANY_SESSION);
		s.req.regs = rng_u64(&rng) & TRAMP_X86_REGS_ALL;
		s.req.ret_regs = rng_u64(&rng) & TRAMP_X86_REGS_ALL;
		ends_run(&s);
	}
}

/* A program that was there when the original was called, and is not when it returns. */
static void left_out(void)
{
	u32 i;

	for (i = 0; i < 16; i++) {
		ends_init(&s, "left out", &rng, false);
		ends_add(&s, ENDS_KRET, 0, PERCPU_NEAR);
		ends_add(&s, ENDS_KRET, COOKIE, PERCPU_FAR)->left_out = i & 1;
		ends_add(&s, ENDS_KRET, 0, PERCPU_NEAR)->left_out = i & 2;
		s.taken[0] = i & 4;
		s.patch_in_body = i & 8;
		ends_run(&s);
		CHECK_EQ(s.progs[0].missed, i & 4 ? 1 : 0, "");
		CHECK_EQ(s.progs[1].ran + s.progs[1].missed, i & 1 ? 0 : 1, "");
		CHECK_EQ(s.progs[2].ran + s.progs[2].missed, i & 2 ? 0 : 1, "");
	}
	for (i = 0; i < 8; i++) {
		begin(i & 1 ? MANY_RETURN : MANY_SESSION);
		s.progs[0].left_out = true;
		s.taken[0] = i & 2;
		s.patch_in_body = i & 4;
		ends_run(&s);
		CHECK_EQ(s.progs[0].ran + s.progs[0].missed, i & 1 ? 0 : 1, "at the entry only");
	}
}

/* A muted program counts, but its calls do nothing. */
static void muted(void)
{
	u32 way, i;

	for (way = 0; way < WAYS; way++) {
		for (i = 0; i < 2; i++) {
			begin(way);
			s.progs[0].muted = s.progs[s.nr - 1].muted = true;
			s.progs[0].result = 1;
			s.stats_on = i;
			ends_run(&s);
			CHECK_EQ(s.progs[0].ran, 0, "");
			CHECK(*s.progs[0].hits > 0, "");
		}
	}
}

static void recursion(void)
{
	u32 way;

	for (way = 0; way < WAYS; way++) {
		begin(way);
		s.taken[0] = true;
		ends_run(&s);
		CHECK_EQ(s.progs[0].ran, 0, "");
		CHECK_EQ(s.progs[0].missed, way == MANY_SESSION ? 2 : 1, "");
		if (way == MANY_ENTRY)
			continue;
		/* missed at the entry, but not at the return */
		s.free_in_body = true;
		ends_run(&s);
		CHECK_EQ(s.progs[s.nr - 1].ran, 1, "at the return");
	}
	begin(OWN);
	s.req.check_rcu = true;
	s.rcu_off = true;
	ends_run(&s);
	CHECK_EQ(s.progs[0].ran + s.progs[1].ran, 0, "where RCU does not watch");
	CHECK_EQ(s.progs[0].missed + s.progs[1].missed, 2, "");
}

static void hits(void)
{
	u32 way, i;

	for (way = 0; way < WAYS; way++) {
		begin(way);
		s.stats_on = 1;
		ends_emit(&s);
		for (i = 0; i < 5; i++) {
			s.stats_on = i & 1;
			s.taken[0] = i == 4;
			ends_call(&s, ends_site(&s, 0, 0, FRONT_NOTHING));
		}
		for (i = 0; i < s.nr; i++)
			CHECK_EQ(*s.progs[i].hits, s.progs[i].ran, "hits of program %u", i);
	}
}

/* Beside programs of tracing type, which may replace the result or the whole original. */
static void beside_tracing(void)
{
	struct ends_prog *p;
	u32 i, nr_stack;

	for (i = 0; i < 128; i++) {
		for (nr_stack = 0; nr_stack < 4; nr_stack++) {
			ends_init(&s, "beside tracing programs", &rng, false);
			if (i & 1)
				ends_add(&s, ENDS_KPROBE, COOKIE, PERCPU_NEAR);
			if (i & 2)
				ends_add(&s, ENDS_FENTRY, i & 64 ? COOKIE : IP, PERCPU_NEAR);
			if (i & 4) {
				ends_add(&s, ENDS_FMOD_RET, 0, PERCPU_NEAR)->result = 0;
				p = ends_add(&s, ENDS_FMOD_RET, 0, PERCPU_FAR);
				p->result = i & 8 ? 0x1234567890 : 0;
				p->resched_due = true;
			}
			if (i & 16)
				ends_add(&s, ENDS_FEXIT, i & 64 ? 0 : IP, PERCPU_NEAR);
			ends_add(&s, ENDS_KRET, i & 32 ? COOKIE : 0, PERCPU_NEAR);
			ends_add(&s, ENDS_KRET, 0, PERCPU_FAR);
			s.nr_stack = nr_stack;
			s.odd_stack = nr_stack & 1;
			s.model.nr_args = 6 + nr_stack;
			ends_run(&s);
		}
	}
}

/* All kinds of per-CPU variables, a reschedule at each program, no call is left uncounted. */
static void resched(void)
{
	u32 i, j;

	for (i = 0; i < WAYS * 8; i++) {
		ends_init(&s, "resched", &rng, i % WAYS != OWN);
		if (i / WAYS & 1)
			ends_scatter(&s);
		if (i % WAYS <= MANY_ENTRY)
			ends_add(&s, ENDS_KPROBE, COOKIE, PERCPU_NEAR);
		if (i % WAYS == OWN || i % WAYS == MANY_RETURN)
			ends_add(&s, ENDS_KRET, COOKIE, PERCPU_NEAR);
		if (i % WAYS == MANY_SESSION)
			ends_add(&s, ENDS_SESSION, MULTI, PERCPU_NEAR);
		for (j = 0; j < s.nr; j++)
			s.progs[j].resched_due = true;
		s.env.has_call_depth = i / WAYS & 2;
		s.env.return_thunk = i / WAYS & 4 ? machine_return_thunk(s.thunk_count) : 0;
		ends_run(&s);
	}
}

/* Limits of what the hot path may cost; the program, and the call at the site, come on top. */
static void instructions(void)
{
	/* a program of many that reads orig_ax gets the function's address there: 9 more */
	enum { DI = 1 << PT_DI, AX = 1 << PT_AX, MOST = TRAMP_X86_REGS_ALL & ~(1 << PT_ORIG_AX) };
	static const struct {
		const char *what;
		bool many;
		u32 nr[3], flags, regs, ret_regs, limit;
	} hit[] = {
		{ "kret, ax", false, { 0, 1, 0 }, 0, 0, AX, 36 },
		{ "kret, all", false, { 0, 1, 0 }, 0, 0, TRAMP_X86_REGS_ALL, 56 },
		{ "kret, ax, cookie", false, { 0, 1, 0 }, COOKIE, 0, AX, 49 },
		{ "many, entry, di", true, { 1, 0, 0 }, 0, DI, 0, 29 },
		{ "many, entry, most", true, { 1, 0, 0 }, 0, MOST, 0, 44 },
		{ "many, entry, all", true, { 1, 0, 0 }, 0, TRAMP_X86_REGS_ALL, 0, 53 },
		{ "many, entry, di, ip", true, { 1, 0, 0 }, MULTI | IP, DI, 0, 55 },
		{ "many, return, ax", true, { 0, 1, 0 }, 0, 0, AX, 29 },
		{ "many, return, ax, ip", true, { 0, 1, 0 }, MULTI | IP, 0, AX, 55 },
		{ "session, di, ax", true, { 0, 0, 1 }, MULTI, DI, AX, 75 },
	};
	u32 i, j, n;

	for (i = 0; i < sizeof(hit) / sizeof(hit[0]); i++) {
		ends_init(&s, hit[i].what, &rng, hit[i].many);
		for (j = 0; j < hit[i].nr[0]; j++)
			ends_add(&s, ENDS_KPROBE, hit[i].flags, PERCPU_NEAR);
		for (j = 0; j < hit[i].nr[1]; j++)
			ends_add(&s, ENDS_KRET, hit[i].flags, PERCPU_NEAR);
		for (j = 0; j < hit[i].nr[2]; j++)
			ends_add(&s, ENDS_SESSION, hit[i].flags, PERCPU_NEAR);
		s.req.regs = hit[i].regs;
		s.req.ret_regs = hit[i].ret_regs;
		ends_run(&s);
		n = lint_path();
		CHECK(n <= hit[i].limit, "%s: %u instructions, %u allowed", hit[i].what, n,
		      hit[i].limit);
		ktap_note("%s: %u of %u", hit[i].what, n, hit[i].limit);
	}
}

static const struct ktap_test tests[] = {
	KTAP_TEST(members),
	KTAP_TEST(other_members),
	KTAP_TEST(left_out),
	KTAP_TEST(muted),
	KTAP_TEST(recursion),
	KTAP_TEST(hits),
	KTAP_TEST(beside_tracing),
	KTAP_TEST(resched),
	KTAP_TEST(instructions),
};
KTAP_MAIN(tests)
