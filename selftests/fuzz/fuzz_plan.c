// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzz target: the bytes of probes in all their forms, and plans one after the other. Spots are
 * anywhere and have any bytes, those of int3s and jumps among them. Between plans others write
 * there as well.
 *
 * Input: how many spots there are (1 byte). For each the lengths of the instruction and of what
 * its image executes (1 each). Then where it is (9), where the image is (9, relative to
 * that), and its bytes (1 each). Then what happens: a plan (1), or another's byte: at which
 * spot, where, and which (1 each).
 */
#include "../../kernel/x86/asm.h"
#include "../../kernel/x86/plan.h"
#include "fuzz.h"

#define MAX_SPOTS	3
#define MAX_EVENTS	24
#define JUMP_SIZE	5
#define INT3		0xcc
#define JMP		0xe9

#define FORM(form)	(1u << TRAMP_X86_FORM_##form)

/* As plan.h has them: the forms each begins from, and the one it leads to. */
static const struct known_plan {
	const struct tramp_x86_plan *plan;
	u32 from;
	u32 to;
	bool claims;
} plans[] = {
	{ &tramp_x86_plan_arm, FORM(ORIGINAL), TRAMP_X86_FORM_INT3, true },
	{ &tramp_x86_plan_jump, FORM(INT3), TRAMP_X86_FORM_JUMP, true },
	{ &tramp_x86_plan_unjump, FORM(JUMP), TRAMP_X86_FORM_INT3, false },
	{ &tramp_x86_plan_restore, FORM(INT3) | FORM(JUMP), TRAMP_X86_FORM_ORIGINAL, false },
};

struct spot {
	struct tramp_x86_spot spot;
	u8 *orig, *text;	/* exactly its span */
	u8 before[TRAMP_X86_MAX_REGION];
	u32 span;
	bool can_jump;
	u8 told;
	u8 from;		/* when the plan began */
	bool out;
	bool written;		/* by the plan */
	bool alien;		/* others have written here since it was original */
	bool stale[TRAMP_X86_MAX_REGION];	/* not everybody sees the byte */
};

/* Forms ------------------------------------------------------------------- */

static void make_spot(struct spot *s, struct fuzz_input *in)
{
	u32 i;
	s64 rel;

	s->spot.insn_len = 1 + fuzz_take(in, 1) % TRAMP_X86_MAX_INSN;
	s->spot.image_len = fuzz_take(in, 1) % (TRAMP_X86_MAX_REGION + 1);
	/* a region, or one instruction */
	if (s->spot.image_len < JUMP_SIZE || s->spot.image_len < s->spot.insn_len)
		s->spot.image_len = s->spot.insn_len;
	s->span = tramp_x86_span(&s->spot);
	FUZZ_CHECK(s->span == s->spot.image_len);
	s->spot.addr = fuzz_text(in);
	s->spot.image = fuzz_near(in, s->spot.addr);
	s->text = malloc(s->span);
	FUZZ_CHECK(s->text);
	for (i = 0; i < s->span; i++)
		s->text[i] = fuzz_take(in, 1);
	s->orig = fuzz_exact(s->text, s->span);
	s->spot.orig = s->orig;
	rel = (s64)(s->spot.image - (s->spot.addr + JUMP_SIZE));
	/* at 0 no reach is checked: nothing is there */
	s->can_jump = s->span >= JUMP_SIZE && (rel == (s32)rel || !s->spot.addr);
	s->told = TRAMP_X86_FORM_ORIGINAL;
}

/* A byte of a form, as the picture in form.h has it. */
static u8 byte_of(const struct spot *s, enum tramp_x86_form form, u32 off)
{
	u64 rel = s->spot.addr ? s->spot.image - (s->spot.addr + JUMP_SIZE) : 0;

	if (form == TRAMP_X86_FORM_ORIGINAL)
		return s->orig[off];
	if (form == TRAMP_X86_FORM_INT3)
		return off < s->spot.insn_len ? INT3 : s->orig[off];
	if (!off)
		return JMP;
	return off < JUMP_SIZE ? rel >> 8 * (off - 1) & 0xff : INT3;
}

/* Each form, and each part of it. Nothing is written behind the span. */
static void check_forms(const struct spot *s)
{
	u32 form, part, i, parts[][2] = {
		[TRAMP_X86_FIRST] = { 0, 1 },
		[TRAMP_X86_INSN] = { 0, s->spot.insn_len },
		[TRAMP_X86_INSN_REST] = { 1, s->spot.insn_len },
		[TRAMP_X86_SPAN] = { 0, s->span },
		[TRAMP_X86_SPAN_REST] = { 1, s->span },
	};
	struct tramp_x86_bytes b;
	u8 *bytes = fuzz_exact(s->orig, s->span);
	bool there;

	for (form = TRAMP_X86_FORM_ORIGINAL; form <= TRAMP_X86_FORM_JUMP; form++) {
		there = form != TRAMP_X86_FORM_JUMP || s->can_jump;
		FUZZ_CHECK(tramp_x86_form(&s->spot, form, bytes) == there);
		for (i = 0; there && i < s->span; i++)
			FUZZ_CHECK(bytes[i] == byte_of(s, form, i));
		for (part = TRAMP_X86_FIRST; part <= TRAMP_X86_SPAN_REST; part++) {
			FUZZ_CHECK(tramp_x86_bytes(&s->spot, form, part, &b) == there);
			FUZZ_CHECK(b.len == (there ? parts[part][1] - parts[part][0] : 0));
			for (i = 0; i < b.len; i++)
				FUZZ_CHECK(b.bytes[i] == byte_of(s, form, parts[part][0] + i));
			FUZZ_CHECK(!b.len || b.off == parts[part][0]);
		}
	}
	fuzz_free(bytes, s->span);
}

/* Plans --------------------------------------------------------------------- */

static bool stale_from(const struct spot *s, u32 off)
{
	u32 i;

	for (i = off; i < s->span; i++)
		if (s->stale[i])
			return true;
	return false;
}

/* The bytes that were ours, or become ours: from then on they are as they should be. */
static u32 ours(const struct spot *s, const struct known_plan *plan)
{
	if (s->from == TRAMP_X86_FORM_JUMP || plan->to == TRAMP_X86_FORM_JUMP)
		return s->span;
	return s->spot.insn_len;
}

/* Nothing of others' is overwritten. */
static void check_before(const struct spot *s, const struct known_plan *plan)
{
	u32 i;

	FUZZ_CHECK(plan->from >> s->from & 1);
	for (i = 0; i < ours(s, plan); i++)
		FUZZ_CHECK(s->text[i] == byte_of(s, s->from, i));
}

/*
 * Others may execute the first byte and no other: the rest changes only behind an int3 that
 * everybody sees and that is noted. Everybody sees what the first byte leads into, and
 * nobody is at a byte between the instructions of a region when it becomes part of a jump.
 */
static void check_write(const struct spot *s, const struct known_plan *plan,
			const struct tramp_x86_bytes *b, bool waited)
{
	if (b->off) {
		FUZZ_CHECK(s->text[0] == INT3 && !s->stale[0]);
		FUZZ_CHECK(s->told != TRAMP_X86_FORM_ORIGINAL);
		if (plan->to == TRAMP_X86_FORM_JUMP && s->span > s->spot.insn_len)
			FUZZ_CHECK(waited);
		return;
	}
	FUZZ_CHECK(b->len == 1);
	if (b->bytes[0] == INT3)
		FUZZ_CHECK(s->told != TRAMP_X86_FORM_ORIGINAL);
	else
		FUZZ_CHECK(!stale_from(s, 1));
}

static void step_for(struct spot *s, const struct known_plan *plan,
		     const struct tramp_x86_step *step, bool waited)
{
	struct tramp_x86_bytes b;
	u32 i;

	if (step->op == TRAMP_X86_TELL) {
		/* from then on a trap is not ours, and decoders take what they read */
		if (step->form == TRAMP_X86_FORM_ORIGINAL)
			FUZZ_CHECK(!stale_from(s, 0));
		s->told = step->form;
		return;
	}
	FUZZ_CHECK(tramp_x86_bytes(&s->spot, step->form, step->part, &b));
	FUZZ_CHECK(b.off + b.len <= s->span || !b.len);
	if (step->op == TRAMP_X86_CHECK) {
		if (!memcmp(s->text + b.off, b.bytes, b.len))
			return;
		/* never half way: and nothing but another's bytes is a reason */
		FUZZ_CHECK(s->alien && !s->written);
		s->out = true;
		return;
	}
	FUZZ_CHECK(step->op == TRAMP_X86_WRITE);
	if (!s->written)
		check_before(s, plan);
	s->written = true;
	if (b.len)
		check_write(s, plan, &b, waited);
	for (i = 0; i < b.len; i++) {
		s->stale[b.off + i] |= s->text[b.off + i] != b.bytes[i];
		s->text[b.off + i] = b.bytes[i];
	}
}

/* The form that was promised: behind the instruction it may be another's, who came before. */
static void check_end(const struct spot *s, const struct known_plan *plan)
{
	u32 i, nr = plan->to == TRAMP_X86_FORM_JUMP ? s->span : s->spot.insn_len;
	bool jumped = s->from == TRAMP_X86_FORM_JUMP;

	if (!(plan->from >> s->from & 1) || s->out) {
		FUZZ_CHECK(s->told == s->from && !memcmp(s->text, s->before, s->span));
		return;
	}
	FUZZ_CHECK(s->told == plan->to);
	for (i = 0; i < nr; i++)
		FUZZ_CHECK(s->text[i] == byte_of(s, plan->to, i));
	for (; i < s->span; i++)
		FUZZ_CHECK(s->text[i] == (jumped ? s->orig[i] : s->before[i]));
	/* the last int3s behind the first need no sync: nobody executes them */
	if (plan->plan != &tramp_x86_plan_arm)
		FUZZ_CHECK(!stale_from(s, 0));
	FUZZ_CHECK(!s->stale[0]);
}

static void run_plan(struct spot *spots, u32 nr, const struct known_plan *known)
{
	const struct tramp_x86_plan *plan = known->plan;
	bool waited = false, checked = false;
	u32 i, k;

	FUZZ_CHECK(plan->to == known->to && plan->claims == known->claims);
	FUZZ_CHECK(plan->nr <= TRAMP_X86_MAX_STEPS);
	for (k = 0; k < nr; k++) {
		struct spot *s = &spots[k];

		s->from = s->told;
		s->written = false;
		/* whoever arms a batch has chosen those that are not */
		s->out = plan == &tramp_x86_plan_arm && s->from != TRAMP_X86_FORM_ORIGINAL;
		memcpy(s->before, s->text, s->span);
	}
	for (i = 0; i < plan->nr; i++) {
		const struct tramp_x86_step *step = &plan->step[i];

		if (step->op == TRAMP_X86_WAIT) {
			/* others may write meanwhile: what was checked would count for nothing */
			FUZZ_CHECK(!checked);
			waited = true;
			continue;
		}
		checked |= step->op != TRAMP_X86_SYNC;
		for (k = 0; k < nr; k++) {
			struct spot *s = &spots[k];

			if (step->op == TRAMP_X86_SYNC)
				memset(s->stale, 0, sizeof(s->stale));
			else if (!s->out && s->told == step->in)
				step_for(s, known, step, waited);
		}
	}
	for (k = 0; k < nr; k++)
		check_end(&spots[k], known);
}

/* A kprobe of the kernel's, say: at any byte, and whatever it writes. */
static void write_alien(struct spot *spots, u32 nr, struct fuzz_input *in)
{
	struct spot *s = &spots[fuzz_take(in, 1) % nr];
	u32 off = fuzz_take(in, 1) % s->span;

	s->text[off] = fuzz_take(in, 1);
	s->stale[off] = false;
	s->alien = true;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct fuzz_input in = { data, size };
	struct spot spots[MAX_SPOTS] = { 0 };
	u32 nr = 1 + fuzz_take(&in, 1) % MAX_SPOTS, i, what;
	bool can_jump = true;

	for (i = 0; i < nr; i++) {
		make_spot(&spots[i], &in);
		check_forms(&spots[i]);
		can_jump &= spots[i].can_jump;
	}
	for (i = 0; i < MAX_EVENTS && in.size; i++) {
		what = fuzz_take(&in, 1) % 6;
		if (what >= 4)
			write_alien(spots, nr, &in);
		/* nobody begins a jump that is none */
		else if (can_jump || plans[what].plan != &tramp_x86_plan_jump)
			run_plan(spots, nr, &plans[what]);
	}
	for (i = 0; i < nr; i++) {
		free(spots[i].text);
		fuzz_free(spots[i].orig, spots[i].span);
	}
	return 0;
}
