// SPDX-License-Identifier: GPL-2.0
/*
 * Random requests in random circumstances: emitted, executed in every form and held
 * against the function without a probe, like every hit.
 *
 * Environment:
 *   TRAMP_SEED	first seed; the same seed makes the same images. "random": any.
 *   TRAMP_COUNT	how many images, 20000 otherwise
 */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "../lib/ktap.h"
#include "hit.h"

#define DEFAULT_SEED	0x646574756f72ULL
#define DEFAULT_COUNT	20000

static struct hit h;

/* Numbers around which encodings change. */
static u64 odd_number(struct rng *r)
{
	static const u64 values[] = {
		0, 1, 0x7f, 0x80, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000,
		0xffffffff80000000, 0xffffffff7fffffff, 0xffffffffffffff80, -1ULL,
	};

	if (rng_chance(r, 50))
		return values[rng_below(r, sizeof(values) / sizeof(values[0]))];
	return rng_u64(r);
}

static void random_env(struct rng *r)
{
	u32 words = 1 + rng_below(r, 8);

	if (rng_chance(r, 30))
		hit_scatter(&h, r);
	h.env.task_bpf_ctx = 8 * rng_below(r, 0x400);
	h.env.trace_ctx_size = 8 * words;
	h.env.trace_ctx_cookie = 8 * rng_below(r, words);
	h.env.cs = odd_number(r);
	h.env.ss = odd_number(r);
	if (rng_chance(r, 20))
		h.env.stats_key = 0;
	if (rng_chance(r, 20))
		h.env.resched = 0;
	if (rng_chance(r, 20)) {
		h.env.probe_enter = machine_thunk(T_RCU_LOCK);
		h.env.probe_exit = machine_thunk(T_RCU_UNLOCK);
	}
	h.env.has_call_depth = rng_chance(r, 20);
	h.image_off = rng_below(r, AREA_SIZE - AREA_IMAGES - 2 * MACHINE_ROOM);
}

static void random_programs(struct rng *r)
{
	static const u32 max[] = { 0, 1, 1, 1, 2, 2, 3, 6, 21 };
	u32 nr = rng_below(r, max[rng_below(r, 9)] + 1), i, words = 1 + rng_below(r, 3);
	enum percpu_where where = rng_below(r, 3);
	bool same = rng_chance(r, 70);

	if (rng_chance(r, 1))
		nr = HIT_MAX_PROGS;
	for (i = 0; i < nr; i++) {
		u32 flags = (rng_chance(r, 30) ? COOKIE : 0) | (rng_chance(r, 10) ? IP : 0) |
			    (rng_chance(r, 10) ? NARGS : 0);
		struct hit_prog *p = hit_add(&h, flags, same ? where : rng_below(r, 3));

		if (rng_chance(r, 30))
			hit_word(&h, p, rng_below(r, words));
		h.calls[i].cookie = odd_number(r);
		if (rng_chance(r, 10))
			h.calls[i].insns = odd_number(r);
		p->muted = rng_chance(r, 5);
	}
	h.req.regs = TRAMP_X86_REGS_ALL;
	if (rng_chance(r, 80))
		h.req.regs &= rng_u64(r);
	if (rng_chance(r, 40))
		h.req.regs &= rng_u64(r);
}

/* One instruction that goes on behind itself, @left bytes or less. */
static void random_plain(struct rng *r, struct tasm *a, u32 left)
{
	static const u8 usable[] = { RAX, RCX, RDX, RBX, RSI, RDI, R8, R9, R10, R11, R12, R15 };
	enum tasm_reg x = usable[rng_below(r, sizeof(usable))];
	enum tasm_reg y = usable[rng_below(r, sizeof(usable))];
	u64 word = (u64)machine_word(WORD_DATA) + 8 * rng_below(r, 2);
	static const u8 one_byte[] = { 0x90, 0xf5, 0xf8, 0xf9, 0xfc, 0xfd, 0x98 };

	switch (rng_below(r, left < 11 ? left < 8 ? left < 3 ? 1 : 3 : 6 : 7)) {
	case 0:
		tasm_byte(a, one_byte[rng_below(r, sizeof(one_byte))]);
		break;
	case 1:
		tasm_mov(a, x, y);
		break;
	case 2:
		tasm_test(a, x, y);
		break;
	case 3:
		tasm_load(a, x, tasm_rip(word));
		break;
	case 4:
		tasm_mem_op(a, TASM_INC, true, tasm_rip(word), 0);
		break;
	case 5:
		tasm_mem_op(a, TASM_CMP_IMM8, true, tasm_rip(word), (s8)rng_u64(r));
		break;
	case 6:
		tasm_mem_op(a, TASM_STORE_IMM32, true, tasm_rip(word), (s32)rng_u64(r));
	}
}

/* The last instruction of a region, 6 bytes or less, which may go elsewhere. */
static void random_last(struct rng *r, struct tasm *a)
{
	switch (rng_below(r, 6)) {
	case 0:		/* over the three bytes that follow the region */
		tasm_byte(a, 0x70 | rng_below(r, 16));
		tasm_byte(a, 3);
		break;
	case 1:
		tasm_byte(a, 0x0f);
		tasm_byte(a, 0x80 | rng_below(r, 16));
		tasm_imm(a, 3, 4);
		break;
	case 2:
		tasm_byte(a, 0xe0 | rng_below(r, 4));
		tasm_byte(a, 3);
		break;
	case 3:
		tasm_branch_to(a, TASM_JMP, a->off + 5 + 3);
		break;
	case 4:
		tasm_branch(a, TASM_CALL, HIT_ELSEWHERE);
		break;
	default:
		tasm_op(a, TASM_RET);
	}
}

static void random_code(struct rng *r)
{
	/* mov (%rsp), %rax: the return address; lea 1(%rcx), %rcx; ret */
	static const u8 elsewhere[] = "\x48\x8b\x04\x24\x48\x8d\x49\x01\xc3";
	static u8 bytes[HIT_MAX_CODE];
	struct tasm a = { .buf = bytes, .len = sizeof(bytes), .addr = HIT_SITE };
	bool one = rng_chance(r, 20), last = rng_chance(r, 50);

	memcpy((u8 *)HIT_ELSEWHERE, elsewhere, sizeof(elsewhere));
	while (!one && a.off < 5 && (a.off == 0 || !rng_chance(r, last ? 40 : 0)))
		random_plain(r, &a, TRAMP_X86_MAX_REGION - a.off);
	if (last && a.off + 6 <= TRAMP_X86_MAX_REGION)
		random_last(r, &a);
	else if (one)
		random_plain(r, &a, TRAMP_X86_MAX_REGION);
	h.req.len = a.off;
	/* inc %rbx, which the last instruction may jump over */
	tasm_byte(&a, 0x48);
	tasm_byte(&a, 0xff);
	tasm_byte(&a, 0xc3);
	tasm_op(&a, TASM_RET);
	hit_code_of(&h, &a, h.req.len);
}

/* How everything behaves; the image stays as it is. */
static void random_behaviour(struct rng *r)
{
	static const u32 counts[] = {
		0x80000000, 0x80000000, 0x80000000, 0, 0x80000001, 1, 0x80010000,
	};
	u32 i, taken = rng_chance(r, 30) ? 30 : 0;

	h.odd_stack = rng_chance(r, 50);
	h.stats_on = rng_chance(r, 40) ? (u32)odd_number(r) : 0;
	h.preempt_start = counts[rng_below(r, sizeof(counts) / sizeof(counts[0]))];
	h.outer_ctx = rng_u64(r);
	h.flags = rng_u64(r) & (0x8d5 | FLAG_ID | FLAG_DF);
	for (i = 0; i < NR_REGS; i++)
		h.regs[i] = odd_number(r);
	for (i = 0; i < 2; i++)
		h.words[i] = odd_number(r);
	for (i = 0; i < HIT_MAX_WORDS; i++)
		h.taken[i] = rng_chance(r, taken);
	for (i = 0; i < h.nr; i++)
		h.progs[i].resched_due = rng_chance(r, 5);
}

static void random_images(void)
{
	const char *seed_text = getenv("TRAMP_SEED"), *count_text = getenv("TRAMP_COUNT");
	u32 count = count_text ? strtoul(count_text, NULL, 0) : DEFAULT_COUNT, i, j;
	u64 seed = DEFAULT_SEED, bytes = 0, jumps = 0;
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

		hit_init(&h, "random", &r);
		random_env(&r);
		random_programs(&r);
		random_code(&r);
		random_behaviour(&r);
		ok = hit_run(&h);
		bytes += h.out.size;
		jumps += h.req.len >= TRAMP_X86_JUMP_SIZE;
		if (h.out.size > largest)
			largest = h.out.size;
		for (j = 0; ok && j < 2; j++) {
			random_behaviour(&r);
			ok = hit_rerun(&h);
		}
		if (!ok) {
			ktap_note("again: TRAMP_SEED=%#lx TRAMP_COUNT=1", seed + i);
			hit_show(&h);
			return;
		}
	}
	ktap_note("%u images, %lu bytes, the largest %u; %lu reached by a jump, too", count, bytes,
		  largest, jumps);
}

static const struct ktap_test tests[] = {
	KTAP_TEST_SECONDS(random_images, 600),
};
KTAP_MAIN(tests)
