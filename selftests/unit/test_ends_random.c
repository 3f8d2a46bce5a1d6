// SPDX-License-Identifier: GPL-2.0
/*
 * Random requests with kprobe programs at the ends of functions, in random circumstances:
 * emitted, executed and held against the oracle.
 *
 * Environment:
 *   TRAMP_SEED	first seed; the same seed makes the same images. "random": any.
 *   TRAMP_COUNT	how many images, 6000 otherwise
 */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "../lib/ktap.h"
#include "ends.h"

#define DEFAULT_SEED	0x656e647321ULL
#define DEFAULT_COUNT	6000

static struct ends s;

static void random_env(struct rng *r)
{
	u32 words = 1 + rng_below(r, 8), at[4], i, j;

	s.env.trace_ctx_size = 8 * words;
	s.env.trace_ctx_cookie = 8 * rng_below(r, words);
	words = 4 + rng_below(r, 5);
	s.env.multi_ctx_size = 8 * words;
	/* all different, and is_return in front of data, as each kernel has it */
	do {
		for (i = 0; i < 4; i++)
			at[i] = 8 * rng_below(r, words);
		for (i = j = 0; i < 16; i++)
			j += at[i / 4] == at[i % 4];
	} while (j > 4 || at[0] > at[1]);
	s.env.multi_ctx_is_return = at[0];
	s.env.multi_ctx_data = at[1];
	s.env.multi_ctx_link = at[2];
	s.env.multi_ctx_ip = at[3];
	s.env.task_bpf_ctx = 8 * rng_below(r, 0x400);
	if (rng_chance(r, 20))
		s.env.endbr = s.env.endbr_poison = 0;
	if (rng_chance(r, 30))
		s.env.stats_key = 0;
	if (rng_chance(r, 30))
		s.env.no_regs = 0;
	if (rng_chance(r, 30))
		s.env.return_thunk = machine_return_thunk(s.thunk_count);
	s.env.no_indirect = rng_chance(r, 30);
	s.env.has_call_depth = rng_chance(r, 30);
	s.req.check_rcu = !s.req.many && rng_chance(r, 20);
	s.stats_on = s.env.stats_key && rng_chance(r, 30);
	s.rcu_off = rng_chance(r, 20);
	s.odd_stack = rng_chance(r, 50);
	s.patch_in_body = rng_chance(r, 30);
	s.free_in_body = rng_chance(r, 50);
	*s.preempt_count = 0x80000000u + rng_below(r, 2);
}

static u32 random_mask(struct rng *r)
{
	u32 kind = rng_below(r, 4);

	return kind == 0 ? 0 : kind == 1 ? TRAMP_X86_REGS_ALL :
	       (rng_u64(r) & (kind == 2 ? rng_u64(r) : ~0U)) & TRAMP_X86_REGS_ALL;
}

/*
 * @flags: those they all have. In an image of one function each may be of many: then it may be
 * one that was loaded for many.
 */
static void random_progs(struct rng *r, enum ends_kind kind, u32 nr, u32 flags)
{
	static const u32 some[] = { 0, 0, COOKIE, IP, COOKIE | IP };
	u64 link = rng_u64(r);

	while (nr--) {
		struct ends_prog *p = ends_add(&s, kind, flags | some[rng_below(r, 5)],
					       rng_below(r, 3));
		struct tramp_x86_call *c = ends_prog_call(&s, p);

		p->word = rng_below(r, rng_chance(r, 50) ? 1 : HIT_MAX_WORDS);
		c->active = s.word_off[p->word];
		p->resched_due = rng_chance(r, 10);
		p->left_out = kind >= ENDS_KRET && rng_chance(r, 20);
		p->muted = rng_chance(r, 10);
		p->result = rng_chance(r, 40) ? rng_below(r, 3) : 0;
		if (s.req.many || kind == ENDS_SESSION)
			c->link = link;
		else if (rng_chance(r, 40))
			c->link = rng_u64(r);
		if (!s.req.many && c->link && rng_chance(r, 50))
			c->flags |= MULTI;
		if (rng_chance(r, 20))
			c->insns = rng_u64(r);
	}
}

static void random_plain(struct rng *r, enum ends_kind kind, u32 nr)
{
	while (nr--) {
		struct ends_prog *p = ends_add(&s, kind, 0, rng_below(r, 3));

		p->result = kind == ENDS_FMOD_RET && rng_chance(r, 20);
		p->taken = rng_chance(r, 20);
	}
}

/* Of one function: of many beside its own, sessions around programs of tracing type. */
static void random_own(struct rng *r)
{
	bool sessions = rng_chance(r, 50), tracing = rng_chance(r, 30);

	random_progs(r, ENDS_KPROBE, rng_below(r, 4), 0);
	if (tracing) {
		random_plain(r, ENDS_FENTRY, rng_below(r, 2));
		random_plain(r, ENDS_FMOD_RET, rng_below(r, 2));
		random_plain(r, ENDS_FEXIT, rng_below(r, 2));
		/* such a program may skip the body */
		s.patch_in_body &= !s.req.nr_fmod_ret;
	}
	random_progs(r, ENDS_KRET, rng_below(r, 3) + !sessions, 0);
	if (sessions)
		random_progs(r, ENDS_SESSION, 1 + rng_below(r, 3), MULTI);
}

static void one(struct rng *r)
{
	u32 i, page_off, kind;
	bool many = rng_chance(r, 70);

	ends_init(&s, "random", r, many);
	if (rng_chance(r, 30))
		ends_scatter(&s);
	random_env(r);
	if (many) {
		kind = rng_below(r, 3);
		random_progs(r, kind == 0 ? ENDS_KPROBE : kind == 1 ? ENDS_KRET : ENDS_SESSION,
			     kind == 2 ? 1 : 1 + rng_below(r, 4),
			     kind == 2 || rng_chance(r, 50) ? MULTI : 0);
	} else {
		random_own(r);
	}
	s.req.regs = random_mask(r);
	s.req.ret_regs = random_mask(r);
	s.image_off = rng_below(r, 0x100000);
	/* functions of many have no arguments on the stack */
	s.model.nr_args = rng_below(r, s.req.nr_session ? 7 : 12);
	if (!many && s.model.nr_args > 6)
		s.nr_stack = s.model.nr_args - 6;
	for (i = 0; i < HIT_MAX_WORDS; i++)
		s.taken[i] = rng_chance(r, 20);
	if (!ends_emit(&s))
		return;
	page_off = rng_chance(r, 50) ? rng_below(r, 8) : rng_below(r, 0xff0);
	ends_call(&s, ends_site(&s, many ? rng_below(r, 4) : 0, many ? page_off : 0,
				rng_below(r, NR_FRONTS)));
}

static void images(void)
{
	const char *seed_text = getenv("TRAMP_SEED"), *count_text = getenv("TRAMP_COUNT");
	u64 count = count_text ? strtoull(count_text, NULL, 0) : DEFAULT_COUNT;
	u64 seed = DEFAULT_SEED, i;

	if (seed_text && !strcmp(seed_text, "random"))
		REQUIRE(getrandom(&seed, sizeof(seed), 0) == sizeof(seed), "getrandom: %m");
	else if (seed_text)
		seed = strtoull(seed_text, NULL, 0);
	for (i = 0; i < count; i++) {
		struct rng rng = { (seed + i) * 0x9e3779b97f4a7c15 | 1 };
		unsigned int failures = ktap_failures();

		one(&rng);
		if (ktap_failures() != failures)
			ktap_die("seed %#llx", (unsigned long long)(seed + i));
	}
}

static const struct ktap_test tests[] = {
	KTAP_TEST(images),
};
KTAP_MAIN(tests)
