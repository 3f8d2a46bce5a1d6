/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How the bytes at probed addresses change while anybody may be executing them: which bytes,
 * in which order, and what is waited for in between.
 *
 * A plan is a list of steps for a batch of spots (form.h). Its executor takes one step after
 * the other, each for all spots that it is about, in their order:
 *
 *	for each step:
 *		for each spot with the noted form step->in:
 *			check, write, or note
 *		sync or wait, once for all
 *
 * It must see to it that nobody else changes the bytes meanwhile, from the check to the end;
 * only a wait comes before that. In the kernel probe/poke.c executes the plans.
 *
 * Execution meanwhile:
 *
 *  - original -> int3 (ARM). Tasks may be anywhere. One byte is written, the first of an
 *    instruction: a CPU executes the old instruction or traps. After the sync nobody
 *    fetches the old one any more, and the rest can be written.
 *
 *  - int3 -> jump (JUMP). The bytes behind the first instruction are about to become part
 *    of a displacement, so nobody may be at one of them. Newcomers are not: at the probe
 *    they trap, and go on in an image that executes the whole region; and nothing
 *    branches into it (safety.h). The plan waits for those that were there before. They are
 *    tasks preempted between two of the instructions, or in the older image that returns
 *    between them, or interrupts on top of either. (Nobody is, and the wait is not needed, if the
 *    region is one instruction, or if the image has executed the whole region since the
 *    last wait.) Then the displacement is written behind the int3, sync, and then the first
 *    byte: a CPU traps, or executes the whole jump.
 *
 *  - jump -> int3 (UNJUMP). The first byte, sync: nobody executes the jump any more. Then
 *    the rest, which nobody comes to as long as the image executes the whole region.
 *    Sync, so that later comers find the instructions.
 *
 *  - int3 -> original (RESTORE). The rest first, sync, then the first byte, sync. When that
 *    is over no CPU is in the int3 handler on account of this probe. A spot that is still
 *    a jump becomes an int3 first. The second sync of that is RESTORE's own: nobody comes
 *    to the bytes behind before the first byte is the original.
 *
 * Before any bytes are written they must be what the plan before has left there. A spot
 * whose bytes are somebody else's by now is left as it is, and drops out. No plan touches a
 * spot with a noted form that it does not begin from. But all spots of ARM are originals:
 * it has steps that are about int3s, and checks of the others alone.
 *
 * The form of each spot is noted (TELL). Decoders go by it, and so does a trap that asks whether
 * it is ours. INT3 is noted before the first int3 is there, and ORIGINAL after the last one has
 * gone: a decoder that reads the bytes must know what they hide.
 */
#ifndef TRAMP_X86_PLAN_H
#define TRAMP_X86_PLAN_H

#include "form.h"

enum tramp_x86_op {
	TRAMP_X86_CHECK,	/* a spot without these bytes drops out of the plan */
	TRAMP_X86_WRITE,	/* these bytes; others may execute the first of them, no other */
	TRAMP_X86_TELL,		/* note that the spot has this form */
	TRAMP_X86_SYNC,		/* no CPU executes what it fetched before */
	TRAMP_X86_WAIT,		/* nobody is between the region's instructions any more */
};

/* Which of a form's bytes. */
enum tramp_x86_part {
	TRAMP_X86_FIRST,	/* the first */
	TRAMP_X86_INSN,		/* the instruction's */
	TRAMP_X86_INSN_REST,	/* and of them all but the first; there may be none */
	TRAMP_X86_SPAN,		/* all */
	TRAMP_X86_SPAN_REST,	/* all but the first */
};

/**
 * struct tramp_x86_step - one step of a plan
 * @op: enum tramp_x86_op
 * @in: it is about the spots with this noted form (not SYNC and WAIT)
 * @form: the form that the bytes are of, or that is noted
 * @part: which bytes (CHECK, WRITE)
 */
struct tramp_x86_step {
	u8 op;
	u8 in;
	u8 form;
	u8 part;
};

#define TRAMP_X86_MAX_STEPS	12

/**
 * struct tramp_x86_plan - from one form to another
 * @to: the form that spots have in the end
 * @claims: bytes become ours that were not: those who could come to write to them stand
 *	in the way too, not only those who have
 * @nr: steps
 * @step: the steps
 */
struct tramp_x86_plan {
	u8 to;
	bool claims;
	u8 nr;
	struct tramp_x86_step step[TRAMP_X86_MAX_STEPS];
};

extern const struct tramp_x86_plan tramp_x86_plan_arm;
extern const struct tramp_x86_plan tramp_x86_plan_jump;
extern const struct tramp_x86_plan tramp_x86_plan_unjump;
extern const struct tramp_x86_plan tramp_x86_plan_restore;

/**
 * struct tramp_x86_bytes - bytes of a spot
 * @off: offset of the first from the spot's address
 * @len: how many
 * @bytes: what they are, or are to be
 */
struct tramp_x86_bytes {
	u8 off;
	u8 len;
	u8 bytes[TRAMP_X86_MAX_REGION];
};

/**
 * tramp_x86_bytes() - the bytes that a step checks or writes
 * @spot: the spot
 * @form: the step's form
 * @part: the step's part
 * @out: (out) them; @len is 0 if there is nothing to write, or if it fails
 *
 * Context: any.
 * Return: false if the spot has no such form (tramp_x86_form()).
 */
bool tramp_x86_bytes(const struct tramp_x86_spot *spot, enum tramp_x86_form form,
		     enum tramp_x86_part part, struct tramp_x86_bytes *out);

#endif /* TRAMP_X86_PLAN_H */
