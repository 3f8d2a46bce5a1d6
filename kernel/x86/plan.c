// SPDX-License-Identifier: GPL-2.0
/* The plans themselves; plan.h says why the steps are in this order. */
#include "plan.h"

#define FORM(form_)	TRAMP_X86_FORM_##form_
#define CHECK(in_, part_) \
	{ .op = TRAMP_X86_CHECK, .in = FORM(in_), .form = FORM(in_), .part = TRAMP_X86_##part_ }
#define WRITE(in_, form_, part_) \
	{ .op = TRAMP_X86_WRITE, .in = FORM(in_), .form = FORM(form_), .part = TRAMP_X86_##part_ }
#define TELL(in_, form_)	{ .op = TRAMP_X86_TELL, .in = FORM(in_), .form = FORM(form_) }
#define SYNC			{ .op = TRAMP_X86_SYNC }
#define WAIT			{ .op = TRAMP_X86_WAIT }

const struct tramp_x86_plan tramp_x86_plan_arm = {
	.to = FORM(INT3),
	.claims = true,
	.nr = 5,
	.step = {
		CHECK(ORIGINAL, INSN),
		TELL(ORIGINAL, INT3),
		WRITE(INT3, INT3, FIRST),
		SYNC,
		/* Nobody executes these: they need no sync. */
		WRITE(INT3, INT3, INSN_REST),
	},
};

const struct tramp_x86_plan tramp_x86_plan_jump = {
	.to = FORM(JUMP),
	.claims = true,
	.nr = 7,
	.step = {
		WAIT,
		CHECK(INT3, SPAN),
		WRITE(INT3, JUMP, SPAN_REST),
		SYNC,
		WRITE(INT3, JUMP, FIRST),
		TELL(INT3, JUMP),
		SYNC,
	},
};

const struct tramp_x86_plan tramp_x86_plan_unjump = {
	.to = FORM(INT3),
	.nr = 6,
	.step = {
		CHECK(JUMP, SPAN),
		WRITE(JUMP, INT3, FIRST),
		SYNC,
		WRITE(JUMP, INT3, SPAN_REST),
		SYNC,
		TELL(JUMP, INT3),
	},
};

const struct tramp_x86_plan tramp_x86_plan_restore = {
	.to = FORM(ORIGINAL),
	.nr = 11,
	.step = {
		CHECK(JUMP, SPAN),
		WRITE(JUMP, INT3, FIRST),
		SYNC,
		WRITE(JUMP, INT3, SPAN_REST),
		TELL(JUMP, INT3),
		/* No more than was ours: the next instruction may be another's by now. */
		CHECK(INT3, INSN),
		WRITE(INT3, ORIGINAL, INSN_REST),
		SYNC,
		WRITE(INT3, ORIGINAL, FIRST),
		SYNC,
		TELL(INT3, ORIGINAL),
	},
};

bool tramp_x86_bytes(const struct tramp_x86_spot *spot, enum tramp_x86_form form,
		     enum tramp_x86_part part, struct tramp_x86_bytes *out)
{
	u32 end = tramp_x86_span(spot);

	out->off = part == TRAMP_X86_INSN_REST || part == TRAMP_X86_SPAN_REST;
	out->len = 0;
	if (!tramp_x86_form(spot, form, out->bytes))
		return false;
	if (part == TRAMP_X86_FIRST)
		end = 1;
	else if (part == TRAMP_X86_INSN || part == TRAMP_X86_INSN_REST)
		end = spot->insn_len;
	out->len = end - out->off;
	memmove(out->bytes, out->bytes + out->off, out->len);
	return true;
}
