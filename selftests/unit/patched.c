// SPDX-License-Identifier: GPL-2.0
/*
 * A text that is patched while processors execute it, see patched.h.
 */
#include "patched.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../lib/ktap.h"

#define TEXT		0xffffffff81000000ULL
#define IMAGES		0xffffffffc0000000ULL
#define FILLER		0x90	/* behind the region */
#define JMP32		0xe9

static void note(struct patched *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void note(struct patched *p, const char *fmt, ...)
{
	size_t n = strlen(p->log);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(p->log + n, sizeof(p->log) - n, fmt, ap);
	va_end(ap);
	REQUIRE(strlen(p->log) < sizeof(p->log) - 1, "the log is full");
}

static void unsafe(struct patched *p, const char *why)
{
	if (!p->wrong)
		p->wrong = why;
}

void patched_begin(struct patched *p)
{
	memset(p, 0, sizeof(*p));
}

struct patched_spot *patched_add(struct patched *p, u32 insn_len, u32 image_len)
{
	struct patched_spot *s = &p->spot[p->nr];
	u32 i;

	REQUIRE(p->nr < PATCHED_MAX_SPOTS, "");
	for (i = 0; i < TRAMP_X86_MAX_REGION; i++)
		s->orig[i] = 0x11 + i;
	s->spot = (struct tramp_x86_spot){
		.addr = TEXT + 0x100 * p->nr, .image = IMAGES + 0x1000 * p->nr, .orig = s->orig,
		.insn_len = insn_len, .image_len = image_len,
	};
	for (i = 0; i < PATCHED_BYTES; i++)
		patched_set(s, i, i < tramp_x86_span(&s->spot) ? s->orig[i] : FILLER);
	p->nr++;
	return s;
}

void patched_set(struct patched_spot *s, u32 off, u8 value)
{
	s->byte[off] = (struct patched_byte){ .now = value };
}

/* What processors see ------------------------------------------------------------ */

static bool may_be(const struct patched_byte *b, u8 value)
{
	return b->now == value || memchr(b->old, value, b->nr_old);
}

static bool is_only(const struct patched_byte *b, u8 value)
{
	u32 i;

	for (i = 0; i < b->nr_old; i++)
		if (b->old[i] != value)
			return false;
	return b->now == value;
}

/* Bytes from @from to @to (exclusive) are the original ones to everybody. */
static bool original(const struct patched_spot *s, u32 from, u32 to)
{
	u32 i;

	for (i = from; i < to; i++)
		if (!is_only(&s->byte[i], s->orig[i]))
			return false;
	return true;
}

static bool leads_to_image(const struct patched_spot *s)
{
	u64 rel = s->spot.image - (s->spot.addr + 5);
	u32 i;

	for (i = 0; i < 4; i++)
		if (!is_only(&s->byte[1 + i], rel >> 8 * i & 0xff))
			return false;
	return true;
}

static bool has_only(const struct patched_spot *s, u32 off, u8 a, u8 b, u8 c)
{
	const struct patched_byte *x = &s->byte[off];
	u32 i;

	for (i = 0; i <= x->nr_old; i++) {
		u8 v = i ? x->old[i - 1] : x->now;

		if (v != a && v != b && v != c)
			return false;
	}
	return true;
}

static void look(struct patched *p, const struct patched_spot *s)
{
	u32 insn_len = s->spot.insn_len, span = tramp_x86_span(&s->spot), i;
	const struct patched_byte *first = &s->byte[0];

	if (!has_only(s, 0, s->orig[0], TRAMP_X86_INT3, JMP32))
		unsafe(p, "the first byte is no instruction of ours");
	if (may_be(first, s->orig[0]) && !original(s, 1, insn_len))
		unsafe(p, "the original instruction is torn");
	if (may_be(first, s->orig[0]) && !original(s, insn_len, span))
		unsafe(p, "what follows the original instruction is not what followed it");
	if (may_be(first, TRAMP_X86_INT3) && s->told == TRAMP_X86_FORM_ORIGINAL)
		unsafe(p, "a trap that nobody knows of");
	if (may_be(first, JMP32) && !leads_to_image(s))
		unsafe(p, "the jump is torn");
	if (!s->waited && !original(s, insn_len, span))
		unsafe(p, "somebody may be between the instructions");
	for (i = span; i < PATCHED_BYTES; i++)
		if (!is_only(&s->byte[i], FILLER))
			unsafe(p, "written behind the region");
}

static void look_at_the_end(struct patched *p, const struct patched_spot *s, u8 to)
{
	static const u8 firsts[] = { 0, TRAMP_X86_INT3, JMP32 };
	u32 i;

	if (s->told != to)
		unsafe(p, "told to have another form than it has");
	if (!is_only(&s->byte[0], to == TRAMP_X86_FORM_ORIGINAL ? s->orig[0] : firsts[to]))
		unsafe(p, "the first byte is not that of the form, or not to everybody");
	if (to != TRAMP_X86_FORM_JUMP && !original(s, s->spot.insn_len, tramp_x86_span(&s->spot)))
		unsafe(p, "the bytes behind the instruction are not back");
	for (i = 0; to == TRAMP_X86_FORM_INT3 && i < s->spot.insn_len; i++)
		if (s->byte[i].now != TRAMP_X86_INT3)
			unsafe(p, "an int3 is missing");
	for (i = 5; to == TRAMP_X86_FORM_JUMP && i < tramp_x86_span(&s->spot); i++)
		if (s->byte[i].now != TRAMP_X86_INT3)
			unsafe(p, "an int3 behind the jump is missing");
}

/* Executing a plan ------------------------------------------------------------------ */

static void write_bytes(struct patched *p, u32 nr, const struct tramp_x86_bytes *b)
{
	struct patched_spot *s = &p->spot[nr];
	u32 i;

	if (!b->len)
		return;
	note(p, "%u+%u:", nr, b->off);
	for (i = 0; i < b->len; i++) {
		struct patched_byte *x = &s->byte[b->off + i];

		note(p, " %02x", b->bytes[i]);
		x->old[x->nr_old++] = x->now;
		x->now = b->bytes[i];
	}
	note(p, "\n");
	s->written = true;
	if (b->off + b->len > s->checked)
		unsafe(p, "written without a check");
}

static void check_bytes(struct patched *p, u32 nr, const struct tramp_x86_bytes *b)
{
	struct patched_spot *s = &p->spot[nr];
	u32 i;

	s->checked = b->off + b->len;
	for (i = 0; i < b->len; i++)
		s->out |= s->byte[b->off + i].now != b->bytes[i];
	if (s->out)
		note(p, "%u out\n", nr);
	if (s->out && s->written)
		unsafe(p, "given up half way");
}

static void step_for(struct patched *p, u32 nr, const struct tramp_x86_step *step)
{
	static const char *const names[] = { "original", "int3", "jump" };
	struct patched_spot *s = &p->spot[nr];
	struct tramp_x86_bytes b;

	if (step->op == TRAMP_X86_TELL) {
		s->told = step->form;
		note(p, "%u: %s\n", nr, names[s->told]);
		return;
	}
	REQUIRE(tramp_x86_bytes(&s->spot, step->form, step->part, &b), "no such form");
	REQUIRE(b.off + b.len <= PATCHED_BYTES, "%u bytes at %u", b.len, b.off);
	if (step->op == TRAMP_X86_WRITE)
		write_bytes(p, nr, &b);
	else
		check_bytes(p, nr, &b);
}

static void sync_all(struct patched *p)
{
	u32 nr, i;

	note(p, "sync\n");
	for (nr = 0; nr < p->nr; nr++)
		for (i = 0; i < PATCHED_BYTES; i++)
			p->spot[nr].byte[i].nr_old = 0;
}

static void wait_for_all(struct patched *p)
{
	u32 nr;

	note(p, "wait\n");
	for (nr = 0; nr < p->nr; nr++) {
		p->spot[nr].waited = p->spot[nr].told != TRAMP_X86_FORM_ORIGINAL;
		p->spot[nr].checked = 0;
	}
}

bool patched_run(struct patched *p, const struct tramp_x86_plan *plan)
{
	const struct tramp_x86_step *step;
	u32 nr;

	p->log[0] = 0;
	p->wrong = NULL;
	for (nr = 0; nr < p->nr; nr++) {
		p->spot[nr].out = false;
		p->spot[nr].checked = 0;
		p->spot[nr].written = false;
	}
	for (step = plan->step; step < plan->step + plan->nr; step++) {
		if (step->op == TRAMP_X86_SYNC)
			sync_all(p);
		else if (step->op == TRAMP_X86_WAIT)
			wait_for_all(p);
		for (nr = 0; nr < p->nr; nr++) {
			if (step->op != TRAMP_X86_SYNC && step->op != TRAMP_X86_WAIT &&
			    !p->spot[nr].out && p->spot[nr].told == step->in)
				step_for(p, nr, step);
			if (!p->spot[nr].out)
				look(p, &p->spot[nr]);
		}
	}
	for (nr = 0; nr < p->nr; nr++) {
		if (!p->spot[nr].out)
			look_at_the_end(p, &p->spot[nr], plan->to);
		/* From here on there may be an image that returns behind the instruction. */
		if (p->spot[nr].told != TRAMP_X86_FORM_JUMP)
			p->spot[nr].waited = false;
	}
	return !p->wrong;
}
