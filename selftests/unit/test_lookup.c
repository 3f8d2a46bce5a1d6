// SPDX-License-Identifier: GPL-2.0
/*
 * Lookups: functions call one, each gets to its own target, and nothing but flags has changed.
 * Its jumps are patched, as func/gate.c does. Bad requests are refused.
 */
#include <string.h>

#include "../../kernel/x86/lookup.h"
#include "../lib/ktap.h"
#include "machine.h"

#define MAX_PAIRS	1024
/* Thunks: below MAX_PAIRS those that pairs lead to. */
#define T_OTHER		1100
#define T_BODY		1101
#define T_NEW		1102
/* Functions: one before and one behind each that has a pair. */
#define NR_SITES	(2 * MAX_PAIRS + 1)
#define NOTHING		(-1)
#define ARITHMETIC	0x8d5UL

static struct tramp_x86_env env;
static struct tramp_x86_lookup_pair pairs[MAX_PAIRS];
static struct tramp_x86_lookup lookup;
static u8 buf[MAX_PAIRS * TRAMP_X86_LOOKUP_PAIR + TRAMP_X86_LOOKUP_REST + 16];
static struct rng rng = { 0x1009 };
static u8 *image;

/* One call. */
static struct machine_call call;
static u64 *call_depth, *thunk_count;
static u64 after;
static s32 reached;
static bool body_ran;

static void begin(u32 nr, bool other)
{
	u32 i;

	machine_init();
	machine_percpu_reset();
	memset(&env, 0, sizeof(env));
	image = machine_area + AREA_IMAGES;
	thunk_count = machine_word(0);
	call_depth = machine_percpu(PERCPU_NEAR, 8, &env.call_depth);
	for (i = 0; i < nr; i++) {
		pairs[i].ret = machine_site_after(2 * i + 1, false);
		pairs[i].target = machine_thunk(i);
	}
	lookup = (struct tramp_x86_lookup){
		.env = &env, .pairs = pairs, .nr = nr,
		.other = other ? machine_thunk(T_OTHER) : 0,
	};
}

static void make(void)
{
	REQUIRE(tramp_x86_emit_lookup(&lookup, image, sizeof(buf), (u64)image) == TRAMP_X86_OK,
		"emitting %u pairs", lookup.nr);
	CHECK(lookup.size <= lookup.nr * TRAMP_X86_LOOKUP_PAIR + TRAMP_X86_LOOKUP_REST,
	      "%u pairs need %u bytes", lookup.nr, lookup.size);
}

static u64 hook(u32 thunk, struct thunk_frame *f)
{
	u32 i;

	if (thunk == T_BODY) {
		body_ran = true;
		return 0;
	}
	CHECK_EQ(reached, NOTHING, "a second target");
	reached = (s32)thunk;
	CHECK_EQ(f->ret, after, "return address");
	for (i = 0; i < NR_REGS; i++)
		/* r11 tells thunks apart */
		if (i != RSP && i != R11)
			CHECK_EQ(f->regs[i], call.in[i], "register %u", i);
	CHECK_EQ(f->regs[RSP], call.in[RSP] - 8, "rsp");
	CHECK_EQ((f->flags ^ call.in_flags) & ~ARITHMETIC, 0, "flags");
	/* the target counts the call, and takes it back */
	CHECK_EQ(*call_depth, 1UL << 63, "call depth");
	return 0;
}

/* Call function @nr. Return: the thunk that it came by, or NOTHING. */
static s32 run(u32 nr)
{
	u32 i;

	machine_hook = hook;
	memset(&call, 0, sizeof(call));
	for (i = 0; i < NR_REGS; i++)
		call.in[i] = rng_u64(&rng);
	call.in_flags = (rng_u64(&rng) & (ARITHMETIC | FLAG_ID)) | FLAG_IF | 2;
	call.target = machine_site(nr, false, (u64)image, T_BODY);
	after = machine_site_after(nr, false);
	*call_depth = 1UL << 63;
	*thunk_count = 0;
	reached = NOTHING;
	body_ran = false;
	machine_run(&call);
	CHECK(body_ran, "the function has not run");
	if (reached == NOTHING)
		for (i = 0; i < NR_REGS; i++)
			/* the body's thunk changes others */
			if (i == RBX || i == RBP || i >= R12)
				CHECK_EQ(call.out[i], call.in[i], "register %u afterwards", i);
	return reached;
}

/* All functions with pairs, and those between them. */
static void run_all(bool other)
{
	u32 i;

	for (i = 0; i <= 2 * lookup.nr; i++)
		CHECK_EQ(run(i), i % 2 ? (s32)i / 2 : other ? T_OTHER : NOTHING,
			 "function %u of %u", i, lookup.nr);
}

static void sizes(void)
{
	u32 nr;

	for (nr = 1; nr <= 33; nr++) {
		begin(nr, nr % 2);
		make();
		run_all(nr % 2);
	}
	for (nr = 63; nr <= 65; nr++) {
		begin(nr, true);
		make();
		run_all(true);
	}
	begin(MAX_PAIRS, false);
	make();
	run_all(false);
}

/* Pairs and tail are patched to lead elsewhere, and back. */
static void patched(void)
{
	static const u8 nop5[] = { 0x0f, 0x1f, 0x44, 0, 0 };
	u32 i;

	begin(9, true);
	make();
	for (i = 0; i < lookup.nr; i++) {
		CHECK_EQ(image[pairs[i].jump], 0xe9, "the jump of pair %u", i);
		machine_poke_jmp(image + pairs[i].jump, image + lookup.tail);
		CHECK_EQ(run(2 * i + 1), T_OTHER, "pair %u to the tail", i);
		machine_poke_jmp(image + pairs[i].jump, (u8 *)machine_thunk(T_NEW));
		CHECK_EQ(run(2 * i + 1), T_NEW, "pair %u", i);
		machine_poke_jmp(image + pairs[i].jump, (u8 *)pairs[i].target);
	}
	run_all(true);
	CHECK_EQ(image[lookup.tail], 0xe9, "the tail");
	memcpy(image + lookup.tail, nop5, 5);
	run_all(false);
	machine_poke_jmp(image + pairs[4].jump, image + lookup.tail);
	CHECK_EQ(run(9), NOTHING, "a pair to a tail that leads nowhere");

	begin(9, false);
	make();
	CHECK(!memcmp(image + lookup.tail, nop5, 5), "a tail that leads nowhere is a NOP");
	machine_poke_jmp(image + lookup.tail, (u8 *)machine_thunk(T_OTHER));
	run_all(true);
}

/* Kernels whose returns go through a thunk, and those that count calls. */
static void returns(void)
{
	u32 i;

	for (i = 0; i < 4; i++) {
		begin(3, false);
		env.return_thunk = i & 1 ? machine_return_thunk(thunk_count) : 0;
		env.has_call_depth = i & 2;
		make();
		CHECK_EQ(run(0), NOTHING, "");
		CHECK_EQ(*thunk_count, i & 1, "returns through the thunk");
		/* that is, the return takes it back where it does go through the kernel's */
		CHECK_EQ(*call_depth, (u64)((s64)(1UL << 63) >> (i & 2 ? 5 : 0)), "calls counted");
		CHECK_EQ(run(1), 0, "");
		CHECK_EQ(*thunk_count, 0, "returns through the thunk");
	}
}

/* Int3 is behind the code, or everywhere if a target is too far away. Else nothing is written. */
static enum tramp_x86_err emit(size_t len, u64 addr)
{
	enum tramp_x86_err err;
	u32 i;

	memset(buf, 0xa5, sizeof(buf));
	err = tramp_x86_emit_lookup(&lookup, buf, len, addr);
	for (i = err ? 0 : lookup.size; i < sizeof(buf); i++) {
		bool written = i < len && (!err || err == TRAMP_X86_OUT_OF_REACH);

		if (!CHECK_EQ(buf[i], written ? 0xcc : 0xa5, "byte %u", i))
			break;
	}
	return err;
}

#define EXPECT(error, addr, what)						\
	CHECK_EQ(emit(sizeof(buf), addr), TRAMP_X86_##error, "%s", what)

#define KERNEL	0xffffffff81000000UL

static void refused(void)
{
	u32 size, len;

	begin(4, true);
	EXPECT(OK, (u64)image, "nothing is wrong");
	size = lookup.size;
	CHECK_EQ(tramp_x86_emit_lookup(&lookup, NULL, 0, 0), TRAMP_X86_NO_SPACE, "no buffer");
	CHECK_EQ(lookup.size, size, "the size");
	EXPECT(OK, 0, "no address yet");
	CHECK_EQ(lookup.size, size, "the size does not depend on it");
	for (len = 0; len < size; len++) {
		CHECK_EQ(emit(len, (u64)image), TRAMP_X86_NO_SPACE, "%u bytes", len);
		CHECK_EQ(lookup.size, size, "what it would take");
	}
	lookup.nr = 0;
	EXPECT(BAD_REQUEST, (u64)image, "no pair");
	lookup.nr = ~0u;
	EXPECT(BAD_REQUEST, (u64)image, "too many");
	begin(4, true);
	pairs[2].ret = pairs[1].ret;
	EXPECT(BAD_REQUEST, (u64)image, "one twice");
	pairs[2].ret = pairs[1].ret - 1;
	EXPECT(BAD_REQUEST, (u64)image, "out of order");
	begin(4, true);
	pairs[3].ret = 0x80000000UL;
	EXPECT(OUT_OF_REACH, (u64)image, "an address that no compare has");
	begin(4, true);
	pairs[2].target = KERNEL;
	EXPECT(OUT_OF_REACH, (u64)image, "a target far away");
	begin(4, true);
	lookup.other = KERNEL;
	EXPECT(OUT_OF_REACH, (u64)image, "the others' far away");
}

static const struct ktap_test tests[] = {
	KTAP_TEST(sizes),
	KTAP_TEST(patched),
	KTAP_TEST(returns),
	KTAP_TEST(refused),
};
KTAP_MAIN(tests)
