// SPDX-License-Identifier: GPL-2.0
/*
 * An image is emitted in two runs: the first measures, the second writes. If they disagreed, jumps
 * from hot to cold would lead into the middle of something. No request can bring that about, so
 * runs are made up here that do. They must leave nothing that could be executed: int3s, and an
 * error.
 */
#include <string.h>

#include "../../kernel/x86/guard.h"
#include "../lib/ktap.h"

#define ADDR	0xffffffffc0200000ULL
#define HOT	20
#define COLD	12
#define SIZE	(HOT + COLD)
#define NOP	0x90
#define CANARY	0x5e

/* One run of an image. */
struct plan {
	u32 hot, cold;
	bool far;		/* a call in the cold part, of its own 5 bytes, is out of reach */
	enum tramp_x86_err err;
};

static struct tramp_guard guard;
static u8 buf[64];
static struct {
	const struct plan *plan;
	u32 runs;
} img;

static enum tramp_x86_err run(void *arg)
{
	const struct plan *plan = &img.plan[img.runs++];
	u32 i;

	CHECK(arg == &img, "another image");
	for (i = 0; i < plan->hot; i++)
		tasm_byte(&guard.hot.a, NOP);
	for (i = plan->far ? TASM_CALL_SIZE : 0; i < plan->cold; i++)
		tasm_byte(&guard.cold.a, NOP);
	if (plan->far)
		tasm_branch(&guard.cold.a, TASM_CALL, ADDR + (1ULL << 32));
	return plan->err;
}

/* Emit by @first and @second into @len bytes; how it ends, and in @size the size. */
static enum tramp_x86_err emit(struct plan first, struct plan second, u32 len, u32 *size)
{
	const struct plan plans[] = { first, second };

	memset(&guard, 0, sizeof(guard));
	memset(buf, CANARY, sizeof(buf));
	img.plan = plans;
	img.runs = 0;
	return tramp_guard_emit(&guard, run, &img, buf, len, ADDR, size);
}

/* Each byte of buf from @from up to @to is @value. */
static void filled(u32 from, u32 to, u8 value, const char *what)
{
	u32 i;

	for (i = from; i < to; i++)
		CHECK_EQ(buf[i], value, "%s: byte %u", what, i);
}

static const struct plan good = { HOT, COLD, false, TRAMP_X86_OK };

static void runs_agree(void)
{
	u32 size = 0;

	CHECK_EQ(emit(good, good, SIZE + 8, &size), TRAMP_X86_OK, "");
	CHECK_EQ(img.runs, 2, "");
	CHECK_EQ(size, SIZE, "");
	filled(0, SIZE, NOP, "the image");
	filled(SIZE, SIZE + 8, 0xcc, "behind it");
	filled(SIZE + 8, sizeof(buf), CANARY, "behind the buffer");
}

/* The buffer is too short, or absent: the size is known by the first run, and nothing written. */
static void measured_only(void)
{
	u32 size = 0;

	CHECK_EQ(emit(good, good, SIZE - 1, &size), TRAMP_X86_NO_SPACE, "");
	CHECK_EQ(img.runs, 1, "");
	CHECK_EQ(size, SIZE, "");
	filled(0, sizeof(buf), CANARY, "the buffer");
}

/* The request is bad: the first run says so, and there is no second. */
static void refused(void)
{
	const struct plan bad = { HOT, COLD, false, TRAMP_X86_BAD_REQUEST };
	u32 size = 0;

	CHECK_EQ(emit(bad, good, sizeof(buf), &size), TRAMP_X86_BAD_REQUEST, "");
	CHECK_EQ(img.runs, 1, "");
	CHECK_EQ(size, 0, "");
	filled(0, sizeof(buf), CANARY, "the buffer");
}

static void out_of_reach(void)
{
	const struct plan far = { HOT, COLD, true, TRAMP_X86_OK };
	u32 size = 0;

	CHECK_EQ(emit(far, far, SIZE + 8, &size), TRAMP_X86_OUT_OF_REACH, "");
	CHECK_EQ(size, SIZE, "");
	filled(0, SIZE + 8, 0xcc, "the buffer");
	filled(SIZE + 8, sizeof(buf), CANARY, "behind the buffer");
}

static void runs_disagree(void)
{
	static const struct {
		const char *what;
		struct plan second;
	} other[] = {
		{ "hot is longer, into cold", { HOT + 1, COLD, false, TRAMP_X86_OK } },
		{ "hot is shorter", { HOT - 1, COLD, false, TRAMP_X86_OK } },
		{ "hot is longer than all", { SIZE + 1, COLD, false, TRAMP_X86_OK } },
		{ "cold is longer", { HOT, COLD + 1, false, TRAMP_X86_OK } },
		{ "cold is shorter", { HOT, COLD - 1, false, TRAMP_X86_OK } },
		{ "one byte has moved to cold", { HOT - 1, COLD + 1, false, TRAMP_X86_OK } },
		{ "one byte has moved to hot", { HOT + 1, COLD - 1, false, TRAMP_X86_OK } },
		{ "the second run refuses", { HOT, COLD, false, TRAMP_X86_BAD_REQUEST } },
		{ "the second run does nothing", { 0, 0, false, TRAMP_X86_OK } },
	};
	u32 i, size;

	for (i = 0; i < sizeof(other) / sizeof(other[0]); i++) {
		size = 0;
		CHECK_EQ(emit(good, other[i].second, SIZE + 8, &size), TRAMP_X86_NO_SPACE, "%s",
			 other[i].what);
		CHECK_EQ(img.runs, 2, "%s", other[i].what);
		CHECK_EQ(size, SIZE, "%s", other[i].what);
		filled(0, SIZE + 8, 0xcc, other[i].what);
		filled(SIZE + 8, sizeof(buf), CANARY, other[i].what);
	}
}

static const struct ktap_test tests[] = {
	KTAP_TEST(runs_agree),
	KTAP_TEST(measured_only),
	KTAP_TEST(refused),
	KTAP_TEST(out_of_reach),
	KTAP_TEST(runs_disagree),
};
KTAP_MAIN(tests)
