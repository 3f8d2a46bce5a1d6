/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A text that is patched by a plan (kernel/x86/plan.h), as processors see it that execute it
 * meanwhile.
 *
 * The model knows what a processor may do, not what a plan should be. A byte that was
 * written is seen as it is or as it was, each byte for itself, until the next sync.
 * After every step each spot must be safe to execute:
 *
 *  - whoever fetches from its address finds an int3, all of the original instruction, or all
 *    of the jump, whatever mixture of old and new bytes it sees;
 *  - an int3 is seen only where the spot is said to have something of ours;
 *  - behind the original instruction stand the other original ones, and behind an int3
 *    as well unless the plan has waited for those who may be there;
 *  - bytes are written only after a check of them, with no wait in between; and no check
 *    has a spot drop out that was written to.
 *
 * And in the end the spot has the form that the plan promises, and nobody sees another
 * first byte, or another byte behind the first instruction, any more.
 */
#ifndef SELFTESTS_UNIT_PATCHED_H
#define SELFTESTS_UNIT_PATCHED_H

#include "../../kernel/x86/plan.h"

#define PATCHED_MAX_SPOTS	4
#define PATCHED_LOG		2000
/* Original bytes and those behind them that no plan may touch. */
#define PATCHED_BYTES		(TRAMP_X86_MAX_REGION + 4)

/* One byte of text: what it is, and what it was since the last sync. */
struct patched_byte {
	u8 now;
	u8 nr_old;
	u8 old[TRAMP_X86_MAX_STEPS];
};

/* One spot and the text there. */
struct patched_spot {
	struct tramp_x86_spot spot;
	u8 orig[TRAMP_X86_MAX_REGION];
	u8 told;		/* enum tramp_x86_form */
	bool waited;		/* nobody is between the instructions */
	bool out;		/* it has dropped out of the plan */
	u8 checked;		/* bytes that may be written */
	bool written;		/* by the plan that is executed */
	struct patched_byte byte[PATCHED_BYTES];
};

/**
 * struct patched - a batch of spots
 * @spot, @nr: the spots
 * @log: what was done, a line for each: "N+OFF: BYTES" (written at spot N), "N: FORM" (told),
 *	"N out", "sync", "wait"
 * @wrong: the first thing that was unsafe; NULL: nothing
 */
struct patched {
	struct patched_spot spot[PATCHED_MAX_SPOTS];
	u32 nr;
	char log[PATCHED_LOG];
	const char *wrong;
};

/* Forget all spots. */
void patched_begin(struct patched *p);

/* One more, with its original bytes in the text. Their values are those that no form has. */
struct patched_spot *patched_add(struct patched *p, u32 insn_len, u32 image_len);

/* A byte of the text becomes something else, and everybody sees it. */
void patched_set(struct patched_spot *s, u32 off, u8 value);

/*
 * Execute a plan, with an empty log. Return: whether all was safe; what was not: @p->wrong.
 */
bool patched_run(struct patched *p, const struct tramp_x86_plan *plan);

#endif /* SELFTESTS_UNIT_PATCHED_H */
