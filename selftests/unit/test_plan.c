// SPDX-License-Identifier: GPL-2.0
/*
 * The plans by which the bytes of probes change: held against the order as it is written down
 * here, byte by byte, and against what processors may do meanwhile (patched.h). A plan
 * with a step less, or with two steps exchanged, has to be found unsafe.
 */
#include <string.h>

#include "../lib/ktap.h"
#include "patched.h"

#define ARM	(&tramp_x86_plan_arm)
#define JUMP	(&tramp_x86_plan_jump)
#define UNJUMP	(&tramp_x86_plan_unjump)
#define RESTORE	(&tramp_x86_plan_restore)

static struct patched p;

/* Run a plan; all must be safe, and what is done is @log. */
static void expect(const char *what, const struct tramp_x86_plan *plan, const char *log)
{
	CHECK(patched_run(&p, plan), "%s: %s", what, p.wrong);
	CHECK(!strcmp(p.log, log), "%s:\n%s\nand not:\n%s", what, p.log, log);
}

/* Run plans to get somewhere. */
static void get(const struct tramp_x86_plan *plan)
{
	CHECK(patched_run(&p, plan), "%s", p.wrong);
}

/*
 * The order ------------------------------------------------------------------
 *
 * Spot 0 is an instruction of 3 bytes in a region of 8. Spot 1 is one of 1 byte in a region of
 * 5, spot 2 one of 6 bytes that is a region. The jumps go from 0xffffffff81000000 and every
 * 0x100 behind to 0xffffffffc0000000 and every 0x1000 behind.
 */
static void three_spots(void)
{
	patched_begin(&p);
	patched_add(&p, 3, 8);
	patched_add(&p, 1, 5);
	patched_add(&p, 6, 6);
}

static void order_of_arm(void)
{
	three_spots();
	expect("arm", ARM, "0: int3\n1: int3\n2: int3\n"
			   "0+0: cc\n1+0: cc\n2+0: cc\n"
			   "sync\n"
			   "0+1: cc cc\n2+1: cc cc cc cc cc\n");
}

static void order_of_jump(void)
{
	three_spots();
	get(ARM);
	expect("jump", JUMP, "wait\n"
			     "0+1: fb ff ff 3e cc cc cc\n"
			     "1+1: fb 0e 00 3f\n"
			     "2+1: fb 1d 00 3f cc\n"
			     "sync\n"
			     "0+0: e9\n1+0: e9\n2+0: e9\n"
			     "0: jump\n1: jump\n2: jump\n"
			     "sync\n");
}

static void order_of_unjump(void)
{
	three_spots();
	get(ARM);
	get(JUMP);
	expect("unjump", UNJUMP, "0+0: cc\n1+0: cc\n2+0: cc\n"
				 "sync\n"
				 "0+1: cc cc 14 15 16 17 18\n"
				 "1+1: 12 13 14 15\n"
				 "2+1: cc cc cc cc cc\n"
				 "sync\n"
				 "0: int3\n1: int3\n2: int3\n");
}

static void order_of_restore(void)
{
	three_spots();
	get(ARM);
	/* no sync is saved: what nobody needs costs one in a batch */
	expect("restore int3s", RESTORE, "sync\n"
					 "0+1: 12 13\n2+1: 12 13 14 15 16\n"
					 "sync\n"
					 "0+0: 11\n1+0: 11\n2+0: 11\n"
					 "sync\n"
					 "0: original\n1: original\n2: original\n");
	get(ARM);
	get(JUMP);
	expect("restore jumps", RESTORE, "0+0: cc\n1+0: cc\n2+0: cc\n"
					 "sync\n"
					 "0+1: cc cc 14 15 16 17 18\n"
					 "1+1: 12 13 14 15\n"
					 "2+1: cc cc cc cc cc\n"
					 "0: int3\n1: int3\n2: int3\n"
					 "0+1: 12 13\n2+1: 12 13 14 15 16\n"
					 "sync\n"
					 "0+0: 11\n1+0: 11\n2+0: 11\n"
					 "sync\n"
					 "0: original\n1: original\n2: original\n");
}

/* A batch to be restored has some of each form, and some of which nothing is there. */
static void order_of_mixed_restore(void)
{
	patched_begin(&p);
	patched_add(&p, 2, 5);
	get(ARM);
	get(JUMP);
	patched_add(&p, 2, 5);
	patched_add(&p, 2, 5)->told = TRAMP_X86_FORM_INT3;
	patched_set(&p.spot[2], 0, 0xcc);
	patched_set(&p.spot[2], 1, 0xcc);
	expect("restore", RESTORE, "0+0: cc\n"
				   "sync\n"
				   "0+1: cc 13 14 15\n"
				   "0: int3\n"
				   "0+1: 12\n2+1: 12\n"
				   "sync\n"
				   "0+0: 11\n2+0: 11\n"
				   "sync\n"
				   "0: original\n2: original\n");
}

/* The checks ----------------------------------------------------------------- */

/* Get to where @plan begins, spot 0 of the given lengths and another. */
static void before(const struct tramp_x86_plan *plan, bool jumped, u32 insn_len, u32 image_len)
{
	patched_begin(&p);
	patched_add(&p, insn_len, image_len);
	patched_add(&p, 4, 7);
	if (plan != ARM)
		get(ARM);
	if (jumped)
		get(JUMP);
}

static const struct {
	const char *name;
	const struct tramp_x86_plan *plan;
	bool jumped, region;	/* it begins as a jump; it looks at all of the region */
} plans[] = {
	{ "arm", ARM, false, false },
	{ "jump", JUMP, false, true },
	{ "unjump", UNJUMP, true, true },
	{ "restore an int3", RESTORE, false, false },
	{ "restore a jump", RESTORE, true, true },
};

#define NR_PLANS	(sizeof(plans) / sizeof(plans[0]))

/* Somebody else has changed a byte, any of them: nothing is written there. */
static void foreign_bytes(void)
{
	u32 i, off;

	for (i = 0; i < NR_PLANS; i++) {
		for (off = 0; off < 8; off++) {
			bool out = off < (plans[i].region ? 8 : 3);
			u8 told;

			before(plans[i].plan, plans[i].jumped, 3, 8);
			patched_set(&p.spot[0], off, 0xab);
			told = p.spot[0].told;
			patched_run(&p, plans[i].plan);
			CHECK_EQ(p.spot[0].out, out, "%s: byte %u", plans[i].name, off);
			CHECK(!p.spot[1].out, "%s: the other one", plans[i].name);
			CHECK_EQ(p.spot[1].told, plans[i].plan->to, "%s", plans[i].name);
			if (!out)
				continue;
			CHECK(!strstr(p.log, "0+"), "%s: byte %u is another's:\n%s", plans[i].name,
			      off, p.log);
			CHECK_EQ(p.spot[0].told, told, "%s", plans[i].name);
		}
	}
}

/* A jump that has no room, or whose image is out of reach, has no bytes: no step writes any. */
static void no_such_bytes(void)
{
	static const u8 orig[] = { 0x11, 0x12, 0x13, 0x14, 0x15 };
	static const enum tramp_x86_part parts[] = {
		TRAMP_X86_FIRST, TRAMP_X86_INSN, TRAMP_X86_INSN_REST, TRAMP_X86_SPAN,
		TRAMP_X86_SPAN_REST,
	};
	const struct tramp_x86_spot good = {
		.addr = 0xffffffff81000000, .image = 0xffffffffc0000000, .orig = orig,
		.insn_len = 3, .image_len = sizeof(orig),
	};
	struct tramp_x86_spot narrow = good, far = good;
	struct tramp_x86_bytes b;
	u32 i;

	narrow.image_len = 4;
	far.image = far.addr + (1ULL << 32);
	for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		CHECK(tramp_x86_bytes(&good, TRAMP_X86_FORM_JUMP, parts[i], &b), "part %u", i);
		CHECK(b.len, "part %u", i);
		CHECK(!tramp_x86_bytes(&narrow, TRAMP_X86_FORM_JUMP, parts[i], &b), "part %u", i);
		CHECK_EQ(b.len, 0, "no room, part %u", i);
		CHECK(!tramp_x86_bytes(&far, TRAMP_X86_FORM_JUMP, parts[i], &b), "part %u", i);
		CHECK_EQ(b.len, 0, "out of reach, part %u", i);
		CHECK(tramp_x86_bytes(&far, TRAMP_X86_FORM_INT3, parts[i], &b), "part %u", i);
	}
}

/* The safety ----------------------------------------------------------------- */

/* Each plan, one after the other, for all lengths. */
static void every_length(void)
{
	static const struct tramp_x86_plan *const all[] = {
		ARM, RESTORE, ARM, JUMP, UNJUMP, JUMP, RESTORE, ARM, JUMP, RESTORE,
	};
	u32 insn_len, image_len, i;

	for (insn_len = 1; insn_len <= TRAMP_X86_MAX_INSN; insn_len++) {
		for (image_len = insn_len; image_len <= TRAMP_X86_MAX_REGION; image_len++) {
			if (image_len < TRAMP_X86_JUMP_SIZE)
				continue;
			patched_begin(&p);
			patched_add(&p, insn_len, image_len);
			for (i = 0; i < sizeof(all) / sizeof(all[0]); i++)
				if (!CHECK(patched_run(&p, all[i]), "%u bytes in %u, plan %u: %s",
					   insn_len, image_len, i, p.wrong))
					return;
		}
	}
}

/*
 * The fault of @plan in the place of another one, wherever that may begin; NULL if there is
 * none for any length.
 */
static const char *wrong_with(const struct tramp_x86_plan *plan,
			      const struct tramp_x86_plan *place)
{
	u32 i, insn_len, image_len;

	for (i = 0; i < NR_PLANS; i++) {
		for (insn_len = 1; plans[i].plan == place && insn_len <= 8; insn_len++) {
			for (image_len = insn_len < 5 ? 5 : insn_len; image_len <= 9; image_len++) {
				before(place, plans[i].jumped, insn_len, image_len);
				if (!patched_run(&p, plan))
					return p.wrong;
			}
		}
	}
	return NULL;
}

/*
 * Whether step @n, from 0, may as well come after the next one. Only its own trap sees the form
 * that a probe has on its way, and it gets to the image with either. And a check of bytes that
 * were just written says nothing new.
 */
static bool exchangeable(const struct tramp_x86_plan *plan, u32 n)
{
	if (plan == JUMP)
		return n == 5;
	return plan != ARM && n == 4;
}

static void without_a_step(void)
{
	struct tramp_x86_plan other;
	u32 i, n, k;

	for (i = 0; i < NR_PLANS; i++) {
		const struct tramp_x86_plan *plan = plans[i].plan;

		CHECK(!wrong_with(plan, plan), "%s", plans[i].name);
		for (n = 0; n < plan->nr; n++) {
			other = *plan;
			for (k = n; k + 1 < plan->nr; k++)
				other.step[k] = plan->step[k + 1];
			other.nr--;
			CHECK(wrong_with(&other, plan), "%s: step %u is not missed",
			      plans[i].name, n);
		}
	}
}

static void wrong_order(void)
{
	struct tramp_x86_plan other;
	u32 i, n;

	for (i = 0; i < NR_PLANS; i++) {
		const struct tramp_x86_plan *plan = plans[i].plan;

		for (n = 0; n + 1 < plan->nr; n++) {
			const char *wrong;

			other = *plan;
			other.step[n] = plan->step[n + 1];
			other.step[n + 1] = plan->step[n];
			wrong = wrong_with(&other, plan);
			CHECK_EQ(!wrong, exchangeable(plan, n), "%s: steps %u and %u exchanged: %s",
				 plans[i].name, n, n + 1, wrong ?: "safe");
		}
	}
}

static const struct ktap_test tests[] = {
	KTAP_TEST(order_of_arm),
	KTAP_TEST(order_of_jump),
	KTAP_TEST(order_of_unjump),
	KTAP_TEST(order_of_restore),
	KTAP_TEST(order_of_mixed_restore),
	KTAP_TEST(foreign_bytes),
	KTAP_TEST(no_such_bytes),
	KTAP_TEST(every_length),
	KTAP_TEST(without_a_step),
	KTAP_TEST(wrong_order),
};
KTAP_MAIN(tests)
