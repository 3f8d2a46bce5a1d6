/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Scenes: functions made of a few instructions, any of which can be probed, and what the
 * processor says of them when nobody does.
 *
 * Each begins with one of the forms of a table, so that all forms and all lengths come up in
 * each round; what follows is random. The oracle is the processor itself: at the start of a
 * round each scene is executed with each of its inputs, once step by step.
 */
#ifndef SELFTESTS_NATIVE_SCENE_H
#define SELFTESTS_NATIVE_SCENE_H

#include "../../kernel/x86/insn.h"
#include "native.h"

#define SCENES		24
#define SCENE_INSNS	8
#define SCENE_BYTES	(SCENE_INSNS * TRAMP_X86_MAX_INSN)
#define SCENE_INPUTS	8
/* Their distance in the text. */
#define SCENE_STEP	0x2000UL

struct scene_input {
	struct native_call call;	/* also what comes out */
	u64 data[NATIVE_DATA];		/* before */
	u64 data_out[NATIVE_DATA];
	u8 times[SCENE_INSNS];		/* how often each instruction is executed */
};

struct scene_insn {
	u8 off;
	u8 len;
	u8 form;		/* number in the table; scene_form_name() */
};

struct scene {
	u32 nr;
	u64 addr;
	u32 len;
	u32 nr_insns;
	struct scene_insn insn[SCENE_INSNS];
	u8 code[SCENE_BYTES];
	bool target[SCENE_BYTES + 1];	/* a branch leads there */
	bool indirect;			/* it has an indirect jump */
	struct scene_input input[SCENE_INPUTS];
};

extern struct scene scenes[SCENES];

/* Make all of them and ask the oracle; they are in the text then. The patcher calls. */
void scenes_make(struct rng *rng, struct native_cpu *cpu);

/* The scene that holds an address; NULL: none. */
struct scene *scene_at(u64 addr);

u32 scene_nr_forms(void);
const char *scene_form_name(u32 form);
/* Whether it ends scenes: it may be too short for a jump, with nothing behind it. */
bool scene_form_is_last(u32 form);

#endif /* SELFTESTS_NATIVE_SCENE_H */
