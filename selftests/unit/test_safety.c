// SPDX-License-Identifier: GPL-2.0
/*
 * May the instructions at an address be jumped over? Each rule with the reason it
 * gives, the length of the region, and which reason wins where several object.
 */
#include <string.h>

#include "../../kernel/x86/fentry_image.h"
#include "../../kernel/x86/relocate.h"
#include "../../kernel/x86/safety.h"
#include "../lib/ktap.h"
#include "code.h"
#include "machine.h"

/* A kernel without thunks. */
static const struct tramp_x86_env env;

#define IP	0xffffffff81234560ULL

/*
 * A world in which there is at most one of each, as an offset from IP, and -1 for
 * none. The world writes down what it is asked: bit n for the byte at IP + n.
 */
struct world {
	s32 target, fixup, held;
	bool indirect;
	u64 asked_target, asked_fixup, asked_held;
	bool asked_indirect;
};

#define NOTHING	{ .target = -1, .fixup = -1, .held = -1 }
#define HOLDER	77

static bool is_target(u64 addr, void *arg)
{
	struct world *w = arg;

	REQUIRE(addr - IP < 64, "asked for %#lx", addr);
	w->asked_target |= 1ULL << (addr - IP);
	return (s64)(addr - IP) == w->target;
}

static bool has_fixup(u64 addr, void *arg)
{
	struct world *w = arg;

	REQUIRE(addr - IP < 64, "asked for %#lx", addr);
	w->asked_fixup |= 1ULL << (addr - IP);
	return (s64)(addr - IP) == w->fixup;
}

static u32 held(u64 start, u64 end, u64 *where, void *arg)
{
	struct world *w = arg;
	u64 addr;

	REQUIRE(start <= end && start >= IP && end - IP < 64, "asked for %#lx to %#lx", start, end);
	for (addr = start; addr < end; addr++)
		w->asked_held |= 1ULL << (addr - IP);
	if (w->held < 0 || IP + w->held < start || IP + w->held >= end)
		return 0;
	*where = IP + w->held;
	return HOLDER;
}

static bool indirect(u64 ip, void *arg)
{
	struct world *w = arg;

	REQUIRE(ip == IP, "asked for %#lx", ip);
	w->asked_indirect = true;
	return w->indirect;
}

static const struct tramp_x86_world functions = { &env, is_target, has_fixup, held, indirect };

static enum tramp_x86_why check(const struct code *c, struct world *w, struct tramp_x86_verdict *v)
{
	enum tramp_x86_why why;

	memset(v, 0xff, sizeof(*v));
	why = tramp_x86_check_region(IP, (const u8 *)c->bytes, c->len, &functions, w, v);
	CHECK_EQ(why, v->why, "%s", hex(c));
	return why;
}

/* Bits @from to @to, exclusive. */
static u64 bits(u32 from, u32 to)
{
	return ((1ULL << to) - 1) & ~((1ULL << from) - 1);
}

/* @len bytes may be jumped over; @starts says where its live instructions start. */
struct region {
	struct code code;
	u32 len;
	u64 starts;
	bool indirect;		/* there is a place where an indirect jump could land */
};

static const struct region safe[] = {
	/* one instruction of 5 bytes or more */
	{ CODE("\xb8\1\2\3\4"), 5, 1, false },
	{ CODE("\x48\x8b\x05\1\2\3\4\x90\x90"), 7, 1, false },
	{ CODE("\x48\xb8\1\2\3\4\5\6\7\x08\x90"), 10, 1, false },
	{ CODE("\x2e\x2e\x65\x48\x81\x05\1\2\3\4\5\6\7\x08\x90"), 14, 1, false },
	/* several */
	{ CODE("\x55\x48\x89\xe5\x53\x90"), 5, 0x13, true },
	{ CODE("\x41\x57\x41\x56\x41\x55\x90"), 6, 0x15, true },
	{ CODE("\x90\x90\x90\x90\x90\x90"), 5, 0x1f, true },
	{ CODE("\x90\x90\x90\x90\x90"), 5, 0x1f, true },
	{ CODE("\x31\xc0\x48\x8b\x05\1\2\3\4"), 9, 0x05, true },
	{ CODE("\x90\x90\x90\x90\x48\xb8\1\2\3\4\5\6\7\x08"), 14, 0x1f, true },
	{ CODE("\x90\x90\x90\x90\x2e\x2e\x2e\x65\x48\x81\x05\1\2\3\4\5\6\7\x08"), 19, 0x1f, true },
	/* branches away */
	{ CODE("\x85\xc0\x74\x20\x90"), 5, 0x15, true },
	{ CODE("\x85\xc0\x0f\x84\1\2\3\4"), 8, 0x05, true },
	{ CODE("\xe2\x20\xe3\x20\x90"), 5, 0x15, true },
	{ CODE("\xe9\1\2\3\4"), 5, 1, false },
	/* back to its own start, and to just behind itself: neither is inside */
	{ CODE("\x90\x90\x75\xfc\x90"), 5, 0x17, true },
	{ CODE("\x90\x90\x90\x75\x00\x90"), 5, 0x0f, true },
	/* a call as the last instruction returns to what is behind */
	{ CODE("\xe8\1\2\3\4\x90"), 5, 1, false },
	{ CODE("\x31\xc0\xe8\1\2\3\4\x90"), 7, 0x05, true },
	{ CODE("\x90\x90\x90\xff\xd0\x90"), 5, 0x0f, true },
	{ CODE("\x90\x90\x90\x90\xff\x15\1\2\3\4"), 10, 0x1f, true },
	/* sti with what has to be right behind it */
	{ CODE("\xfb\x0f\x01\xc9\x90\x90"), 5, 0x13, true },
	/* dead bytes: padding, instructions, no instructions at all */
	{ CODE("\xc3\xcc\xcc\xcc\xcc"), 5, 1, true },
	{ CODE("\xc3\x90\x90\x90\x90\x90"), 5, 1, true },
	{ CODE("\x5d\xc3\x66\x2e\x0f\x1f\x84\0\0\0\0\0"), 12, 0x03, true },
	{ CODE("\xeb\x20\x0f\x0b\x0f\x0b"), 6, 1, true },
	{ CODE("\xeb\x20\xe8\1\2\3\4"), 7, 1, true },		/* never called */
	{ CODE("\xff\xe0\xf4\xf4\xf4"), 5, 1, true },
	{ CODE("\xc2\x08\x00\x06\x06"), 5, 1, true },
	{ CODE("\xc3\x90\x06\x06\x06"), 5, 1, true },
	{ CODE("\xc3\x06\x90\x48\xc7\xc0\1\2\3\4"), 5, 1, true },
	{ CODE("\x90\x90\x90\xc3\x48\xb8"), 5, 0x0f, true },	/* cut off */
	{ CODE("\xc3\x48\xc7\xc0\1\2\3\4"), 8, 1, true },
	/* ENDBR as the first */
	{ CODE("\xf3\x0f\x1e\xfa\x55"), 5, 0x11, true },
};

/* The region's length, and what the world is asked: neither too much nor too little. */
static void safe_regions(void)
{
	struct tramp_x86_verdict v;
	u32 i;

	for (i = 0; i < NR(safe); i++) {
		const struct region *r = &safe[i];
		struct world w = NOTHING;

		CHECK_EQ(check(&r->code, &w, &v), TRAMP_X86_SAFE, "%s", hex(&r->code));
		CHECK_EQ(v.len, r->len, "%s", hex(&r->code));
		CHECK_EQ(v.where, IP, "%s", hex(&r->code));
		CHECK_EQ(v.reloc, 0, "%s", hex(&r->code));
		CHECK_EQ(v.held, 0, "%s", hex(&r->code));
		CHECK(v.len >= TRAMP_X86_JUMP_SIZE && v.len <= TRAMP_X86_MAX_REGION, "%s",
		      hex(&r->code));
		CHECK_EQ(w.asked_target, bits(1, r->len), "%s", hex(&r->code));
		CHECK_EQ(w.asked_fixup, r->starts, "%s", hex(&r->code));
		CHECK_EQ(w.asked_held, bits(0, r->len), "%s", hex(&r->code));
		CHECK_EQ(w.asked_indirect, r->indirect, "%s", hex(&r->code));
	}
}

/* One thing at a time at every byte of and around each of these regions. */
static void each_rule(void)
{
	struct tramp_x86_verdict v;
	u32 i;
	s32 at;

	for (i = 0; i < NR(safe); i++) {
		const struct region *r = &safe[i];
		const char *text = hex(&r->code);
		struct world w = NOTHING;

		for (at = 0; at < (s32)r->len + 3; at++) {
			bool inside = at < (s32)r->len;
			bool bad;

			w = (struct world)NOTHING;
			w.target = at;
			bad = inside && at > 0;
			CHECK_EQ(check(&r->code, &w, &v), bad ? TRAMP_X86_TARGET : TRAMP_X86_SAFE,
				 "%starget at +%d", text, at);
			CHECK_EQ(v.where, bad ? IP + at : IP, "%s", text);
			CHECK_EQ(v.len, r->len, "%s", text);

			w = (struct world)NOTHING;
			w.held = at;
			CHECK_EQ(check(&r->code, &w, &v), inside ? TRAMP_X86_HELD : TRAMP_X86_SAFE,
				 "%sheld at +%d", text, at);
			CHECK_EQ(v.where, inside ? IP + at : IP, "%s", text);
			CHECK_EQ(v.held, inside ? HOLDER : 0, "%s", text);

			w = (struct world)NOTHING;
			w.fixup = at;
			bad = r->starts >> at & 1;
			CHECK_EQ(check(&r->code, &w, &v), bad ? TRAMP_X86_FIXUP : TRAMP_X86_SAFE,
				 "%sfix-up at +%d", text, at);
			CHECK_EQ(v.where, bad ? IP + at : IP, "%s", text);
		}
		w = (struct world)NOTHING;
		w.indirect = true;
		CHECK_EQ(check(&r->code, &w, &v),
			 r->indirect ? TRAMP_X86_INDIRECT : TRAMP_X86_SAFE, "%s", text);
		if (r->indirect)
			CHECK(v.where > IP && v.where < IP + r->len, "%s", text);
	}
}

/* Verdicts from the bytes alone; @where is the offset of the byte in question. */
static void bytes_alone(void)
{
	static const struct {
		enum tramp_x86_why why;
		struct code code;
		u32 where, len;
		u32 reloc;
	} codes[] = {
		/* the symbol ends before the jump would */
		{ TRAMP_X86_SHORT, CODE(""), 0, 0, 0 },
		{ TRAMP_X86_SHORT, CODE("\xc3"), 1, 0, 0 },
		{ TRAMP_X86_SHORT, CODE("\x90\x90\x90\x90"), 4, 0, 0 },
		{ TRAMP_X86_SHORT, CODE("\x31\xc0\xc3\xcc"), 4, 0, 0 },
		/* not an instruction, or not all of it */
		{ TRAMP_X86_UNDECODABLE, CODE("\x06\x90\x90\x90\x90"), 0, 0, 0 },
		{ TRAMP_X86_UNDECODABLE, CODE("\x90\x90\x06\x90\x90"), 2, 0, 0 },
		{ TRAMP_X86_UNDECODABLE, CODE("\x90\x90\x48\xb8\1\2\3"), 2, 0, 0 },
		/* an instruction that stays where it is, in each place */
		{ TRAMP_X86_STUCK, CODE("\xcc\x90\x90\x90\x90"), 0, 5, TRAMP_X86_RELOC_FIXED },
		{ TRAMP_X86_STUCK, CODE("\x90\x0f\x0b\x90\x90"), 1, 5, TRAMP_X86_RELOC_FIXED },
		{ TRAMP_X86_STUCK, CODE("\x90\x90\x90\x90\xf4"), 4, 5, TRAMP_X86_RELOC_FIXED },
		{ TRAMP_X86_STUCK, CODE("\xfb\xf4\x90\x90\x90"), 1, 5, TRAMP_X86_RELOC_FIXED },
		{ TRAMP_X86_STUCK, CODE("\x90\x90\x90\xff\xd4"), 3, 5, TRAMP_X86_RELOC_RSP },
		{ TRAMP_X86_STUCK, CODE("\x90\xff\x54\x24\xf8"), 1, 5, TRAMP_X86_RELOC_RSP },
		/* interrupts would come between sti and what is behind the region */
		{ TRAMP_X86_STUCK, CODE("\x90\x90\x90\x90\xfb"), 4, 5, TRAMP_X86_RELOC_FIXED },
		/* a call that is not the last */
		{ TRAMP_X86_MID_CALL, CODE("\xff\xd0\x90\x90\x90"), 0, 5, 0 },
		{ TRAMP_X86_MID_CALL, CODE("\x90\x90\xff\xd0\x90"), 2, 5, 0 },
		{ TRAMP_X86_MID_CALL, CODE("\xff\x13\x48\x8b\x05\1\2\3\4"), 0, 9, 0 },
		{ TRAMP_X86_MID_CALL, CODE("\xff\xd0\xe8\1\2\3\4"), 0, 7, 0 },
		{ TRAMP_X86_MID_CALL, CODE("\x41\xff\xd3\xc3\xcc\xcc"), 0, 5, 0 },
		/* branches of its own that lead into it */
		{ TRAMP_X86_TARGET, CODE("\xeb\x00\x90\x90\x90"), 2, 5, 0 },
		{ TRAMP_X86_TARGET, CODE("\xeb\x02\x90\x90\x90"), 4, 5, 0 },
		{ TRAMP_X86_TARGET, CODE("\x90\x75\xff\x90\x90"), 2, 5, 0 },
		{ TRAMP_X86_TARGET, CODE("\x90\x90\x90\xe2\xfd"), 2, 5, 0 },
		{ TRAMP_X86_TARGET, CODE("\x75\x03\x90\x48\xc7\xc0\1\2\3\4"), 5, 10, 0 },
		{ TRAMP_X86_TARGET, CODE("\x90\x90\x90\x90\x0f\x84\xfa\xff\xff\xff"), 4, 10, 0 },
		/* a place where indirect jumps land */
		{ TRAMP_X86_INDIRECT, CODE("\x90\xf3\x0f\x1e\xfa"), 1, 5, 0 },
		{ TRAMP_X86_INDIRECT, CODE("\xc3\xf3\x0f\x1e\xfa"), 1, 5, 0 },
	};
	struct tramp_x86_verdict v;
	u32 i;

	for (i = 0; i < NR(codes); i++) {
		const char *text = hex(&codes[i].code);
		struct world w = NOTHING;

		CHECK_EQ(check(&codes[i].code, &w, &v), codes[i].why, "%s", text);
		CHECK_EQ(v.where, IP + codes[i].where, "%s", text);
		CHECK_EQ(v.len, codes[i].len, "%s", text);
		CHECK_EQ(v.reloc, codes[i].reloc, "%s", text);
	}
}

/* Where a call's return address is none that push can make. */
static bool never(u64 addr, void *arg)
{
	(void)addr;
	(void)arg;
	return false;
}

static u32 nobody(u64 start, u64 end, u64 *where, void *arg)
{
	(void)start;
	(void)end;
	(void)where;
	(void)arg;
	return 0;
}

static void elsewhere(void)
{
	static const struct tramp_x86_world empty = { &env, never, never, nobody, never };
	static const u8 call[] = { 0xe8, 1, 2, 3, 4 };
	const u64 ip = 0xffff888000000000ULL;
	struct tramp_x86_verdict v;

	CHECK_EQ(tramp_x86_check_region(ip, call, sizeof(call), &empty, NULL, &v), TRAMP_X86_STUCK, "");
	CHECK_EQ(v.reloc, TRAMP_X86_RELOC_RETURN, "");
	CHECK_EQ(v.where, ip, "");
}

/* Where several rules object, the one that tells most is heard. */
static void order(void)
{
	/* a call in the middle, a branch into it, an int3, and a world full of reasons */
	static const struct code all = CODE("\xff\xd0\xcc\x75\xfe");
	static const struct code movable = CODE("\xff\xd0\x90\x75\xfe");
	static const struct code plain = CODE("\x90\x90\x90\x75\xfe");
	struct world w = { .target = 1, .fixup = 0, .held = 4, .indirect = true };
	static const struct code bad = CODE("\xff\xd0\x06\x90\x90"), cut = CODE("\xff\xd0\xcc\x90");
	struct tramp_x86_verdict v;

	CHECK_EQ(check(&bad, &w, &v), TRAMP_X86_UNDECODABLE, "");
	CHECK_EQ(check(&cut, &w, &v), TRAMP_X86_SHORT, "");
	CHECK_EQ(check(&all, &w, &v), TRAMP_X86_HELD, "");
	w.held = -1;
	CHECK_EQ(check(&all, &w, &v), TRAMP_X86_FIXUP, "");
	w.fixup = -1;
	CHECK_EQ(check(&all, &w, &v), TRAMP_X86_STUCK, "");
	CHECK_EQ(check(&movable, &w, &v), TRAMP_X86_MID_CALL, "");
	CHECK_EQ(check(&plain, &w, &v), TRAMP_X86_TARGET, "");
	CHECK_EQ(v.where, IP + 1, "");
	w.target = -1;
	CHECK_EQ(check(&plain, &w, &v), TRAMP_X86_TARGET, "its own branch");
	CHECK_EQ(v.where, IP + 3, "");
	CHECK_EQ(check(&safe[4].code, &w, &v), TRAMP_X86_INDIRECT, "");
}

/* No more is read than there is, and what lies behind the region does not matter. */
static void bytes_behind(void)
{
	struct tramp_x86_verdict v;
	u32 i, k;

	for (i = 0; i < NR(safe); i++) {
		const struct region *r = &safe[i];
		u8 longer[64];

		for (k = 0; k < 256; k++) {
			struct world w = NOTHING;

			memset(longer, k, sizeof(longer));
			memcpy(longer, r->code.bytes, r->code.len);
			if (r->len > r->code.len || (r->len == 5 && r->code.len == 6 &&
						     (u8)r->code.bytes[4] == 0x48))
				continue;	/* what was cut off is completed */
			tramp_x86_check_region(IP, longer, sizeof(longer), &functions, &w, &v);
			CHECK_EQ(v.why, TRAMP_X86_SAFE, "%sand then %02x", hex(&r->code), k);
			CHECK_EQ(v.len, r->len, "%sand then %02x", hex(&r->code), k);
		}
	}
}

/* Random code in a random world: what is found safe is so by the words of the rules. */
static void random_regions(void)
{
	struct rng rng = { 0xbadc0de };
	u32 n, nr_safe = 0;

	for (n = 0; n < 300000; n++) {
		static const u8 often[] = { 0x48, 0x89, 0x8b, 0xff, 0xe8, 0xe9, 0x75, 0xc3, 0x0f,
					    0x90 };
		struct world w = { .target = (s32)rng_below(&rng, 64) - 32,
				   .fixup = (s32)rng_below(&rng, 64) - 32,
				   .held = (s32)rng_below(&rng, 64) - 32,
				   .indirect = rng_chance(&rng, 20) };
		struct tramp_x86_verdict v;
		struct tramp_x86_insn insn;
		u32 len = rng_below(&rng, 24), off = 0, i, starts = 0;
		bool live = true;
		u8 b[24];

		for (i = 0; i < sizeof(b); i++)
			b[i] = rng_chance(&rng, 60) ? often[rng_below(&rng, sizeof(often))] :
						      (u8)(rng_u64(&rng) >> 32);
		tramp_x86_check_region(IP, b, len, &functions, &w, &v);
		CHECK(v.len == 0 || (v.len >= 5 && v.len <= TRAMP_X86_MAX_REGION && v.len <= len), "");
		if (v.why != TRAMP_X86_SAFE)
			continue;
		nr_safe++;
		CHECK(!(w.target > 0 && w.target < (s32)v.len), "");
		CHECK(!(w.held >= 0 && w.held < (s32)v.len), "");
		while (live && off < v.len) {
			struct tasm a = { 0 };
			enum tramp_x86_kind kind;

			REQUIRE(tramp_x86_decode(b + off, len - off, &insn), "");
			kind = tramp_x86_classify(&insn);
			CHECK(w.fixup != (s32)off, "");
			CHECK_EQ(tramp_x86_relocate(&a, &insn, IP + off, &env), TRAMP_X86_RELOC_OK,
				 "");
			starts++;
			off += insn.len;
			if (kind == TRAMP_X86_CALL || kind == TRAMP_X86_CALL_IND)
				CHECK_EQ(off, v.len, "");
			live = tramp_x86_falls_through(kind);
		}
		CHECK(!live || off == v.len, "");
		CHECK(!(w.indirect && (starts > 1 || off < v.len)), "");
		if (ktap_failures())
			return;
	}
	CHECK(nr_safe > n / 20, "%u of %u", nr_safe, n);
}

static const struct ktap_test tests[] = {
	KTAP_TEST(safe_regions),
	KTAP_TEST(each_rule),
	KTAP_TEST(bytes_alone),
	KTAP_TEST(elsewhere),
	KTAP_TEST(order),
	KTAP_TEST(bytes_behind),
	KTAP_TEST(random_regions),
};
KTAP_MAIN(tests)
