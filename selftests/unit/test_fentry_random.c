// SPDX-License-Identifier: GPL-2.0
/*
 * Random requests in random circumstances: emitted, executed and held against
 * the oracle like every scene.
 *
 * Environment:
 *   TRAMP_SEED	first seed; the same seed makes the same images. "random": any.
 *   TRAMP_COUNT	how many images, 20000 otherwise
 */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "../lib/ktap.h"
#include "lint.h"
#include "scene.h"

#define DEFAULT_SEED	0x7261706d6172ULL
#define DEFAULT_COUNT	20000

static struct scene s;

static u64 pick(struct rng *r, const u64 *values, u32 nr)
{
	return rng_chance(r, 50) ? values[rng_below(r, nr)] : rng_u64(r);
}

/* Numbers around which encodings change. */
static u64 odd_number(struct rng *r)
{
	static const u64 values[] = {
		0, 1, 0x7f, 0x80, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000,
		0xffffffff80000000, 0xffffffff7fffffff, 0xffffffffffffff80, -1ULL,
	};

	return pick(r, values, sizeof(values) / sizeof(values[0]));
}

static void random_model(struct rng *r)
{
	u32 max = rng_below(r, TRAMP_X86_MAX_SLOTS + 1), structs = rng_below(r, 60), slots = 0;

	s.model.ret_size = rng_below(r, 9);
	while (slots < max) {
		u32 size = rng_chance(r, structs) ? 9 + rng_below(r, 8) : 1 + rng_below(r, 8);

		if (slots + (size + 7) / 8 > TRAMP_X86_MAX_SLOTS)
			return;
		slots += (size + 7) / 8;
		s.model.arg_size[s.model.nr_args++] = size;
	}
}

static void random_env(struct rng *r)
{
	u32 words = 2 + rng_below(r, 7);

	if (rng_chance(r, 30))
		scene_scatter(&s, r);
	s.env.task_bpf_ctx = 8 * rng_below(r, 0x400);
	s.env.run_ctx_size = 8 * words;
	s.env.run_ctx_cookie = 8 * rng_below(r, words);
	do
		s.env.run_ctx_saved = 8 * rng_below(r, words);
	while (s.env.run_ctx_saved == s.env.run_ctx_cookie);
	if (rng_chance(r, 20))
		s.env.stats_key = 0;
	if (rng_chance(r, 20))
		s.env.resched = 0;
	if (rng_chance(r, 20)) {
		s.env.rcu_read_lock = machine_thunk(T_RCU_LOCK);
		s.env.rcu_read_unlock = machine_thunk(T_RCU_UNLOCK);
	}
	s.req.check_rcu = rng_chance(r, 20);
	s.rcu_off = rng_chance(r, 50);
	s.env.has_call_depth = rng_chance(r, 20);
	s.return_thunk = rng_chance(r, 30);
	s.req.func_addr = odd_number(r);
	s.endbr = rng_chance(r, 50);
	s.image_off = rng_below(r, AREA_SIZE - AREA_IMAGES - 2 * MACHINE_ROOM);
}

static u32 random_flags(struct rng *r, u32 guarded)
{
	u32 flags = 0;

	if (rng_chance(r, 30))
		flags |= TRAMP_X86_CALL_COOKIE;
	if (rng_chance(r, 10))
		flags |= TRAMP_X86_CALL_IP;
	if (rng_chance(r, 10))
		flags |= TRAMP_X86_CALL_NARGS;
	if (rng_chance(r, guarded)) {
		flags |= TRAMP_X86_CALL_GUARDED;
		if (rng_chance(r, 30))
			flags |= TRAMP_X86_CALL_SLEEPABLE;
	}
	return flags;
}

static void random_programs(struct rng *r)
{
	static const u32 max[] = { 1, 1, 2, 2, 3, 6, 21 };
	u32 guarded = rng_chance(r, 50) ? rng_below(r, 101) : 0, nr[3], kind, i;
	enum percpu_where where = rng_below(r, 3);
	bool same = rng_chance(r, 70);

	do {
		for (kind = 0; kind < 3; kind++)
			nr[kind] = rng_below(r, max[rng_below(r, 7)] + 1);
		if (rng_chance(r, 1))
			nr[rng_below(r, 3)] = SCENE_MAX_PROGS;
	} while (nr[0] + nr[1] + nr[2] == 0 || nr[0] + nr[1] + nr[2] > SCENE_MAX_PROGS);

	for (kind = 0; kind < 3; kind++) {
		for (i = 0; i < nr[kind]; i++) {
			/* one draw after the other: compilers order arguments as they like */
			enum percpu_where hits = same ? where : rng_below(r, 3);
			struct scene_prog *p;
			struct tramp_x86_call *c;

			p = scene_add(&s, kind, random_flags(r, guarded), hits);
			c = scene_call(&s, p);
			c->cookie = odd_number(r);
			if (rng_chance(r, 10))
				c->insns = odd_number(r);
			p->left_out = kind == SCENE_FEXIT && rng_chance(r, 10);
			p->muted = rng_chance(r, 5);
		}
	}
}

/* How everything behaves; the image stays as it is. */
static void random_behaviour(struct rng *r)
{
	static const u32 counts[] = {
		0x80000000, 0x80000000, 0x80000000, 0, 0x80000001, 1, 0x80010000,
	};
	u32 i, taken = rng_chance(r, 30) ? 30 : 0, mod = rng_below(r, 30);

	scene_fill_slots(&s, r);
	s.odd_stack = rng_chance(r, 50);
	s.stats_on = rng_chance(r, 40) ? (u32)odd_number(r) : 0;
	s.preempt_start = counts[rng_below(r, sizeof(counts) / sizeof(counts[0]))];
	s.orig_result = odd_number(r);
	s.outer_ctx = rng_u64(r);
	s.flags = rng_u64(r) & (0x8d5 | FLAG_ID | FLAG_DF);
	for (i = 0; i < NR_REGS; i++)
		s.regs[i] = rng_u64(r);
	for (i = 0; i < s.nr; i++) {
		struct scene_prog *p = &s.progs[i];

		p->taken = rng_chance(r, taken);
		p->start = rng_chance(r, taken) ? 0 : odd_number(r) | 1;
		p->resched_due = rng_chance(r, 5);
		p->result = p->kind == SCENE_FMOD_RET && !rng_chance(r, mod) ? 0 : odd_number(r);
	}
}

static void random_images(void)
{
	const char *seed_text = getenv("TRAMP_SEED"), *count_text = getenv("TRAMP_COUNT");
	u32 count = count_text ? strtoul(count_text, NULL, 0) : DEFAULT_COUNT, i, j;
	u64 seed = DEFAULT_SEED, events = 0, bytes = 0;
	u32 largest = 0;

	if (seed_text && !strcmp(seed_text, "random"))
		REQUIRE(getrandom(&seed, sizeof(seed), 0) == sizeof(seed), "getrandom: %m");
	else if (seed_text)
		seed = strtoull(seed_text, NULL, 0);
	ktap_note("TRAMP_SEED=%#lx TRAMP_COUNT=%u", seed, count);

	machine_init();
	for (i = 0; i < count; i++) {
		/* each image has a seed of its own, to be made again alone; never 0 */
		struct rng r = { (seed + i) * 0x9e3779b97f4a7c15ULL | 1 };
		bool ok;

		scene_init(&s, "random", &r);
		random_model(&r);
		random_env(&r);
		random_programs(&r);
		random_behaviour(&r);
		s.patch_in_body = !s.req.nr_fmod_ret && rng_chance(&r, 50);
		ok = scene_run(&s);
		events += s.pos;
		bytes += s.out.size;
		if (s.out.size > largest)
			largest = s.out.size;
		for (j = 0; ok && j < 2; j++) {
			random_behaviour(&r);
			ok = scene_rerun(&s);
			events += s.pos;
		}
		if (!ok) {
			ktap_note("again: TRAMP_SEED=%#lx TRAMP_COUNT=1", seed + i);
			lint_print(&s);
			return;
		}
	}
	ktap_note("%u images, %lu bytes, the largest %u; %lu calls made by them", count, bytes,
		  largest, events);
}

static const struct ktap_test tests[] = {
	KTAP_TEST_SECONDS(random_images, 600),
};
KTAP_MAIN(tests)
