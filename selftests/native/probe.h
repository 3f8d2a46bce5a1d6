/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The first subject: probes. Programs come and go at the instructions of scenes, and the probes
 * become jumps and int3s. The files are those of kernel/probe/: probe.c has its steps for
 * attaching and detaching, optimiser.c those for jumps, poke.c executes the plans.
 *
 * Counts. Each program has a promise, a word that the patcher changes around each change:
 * the program runs at every hit, or at no hit, or may run. A pass that finds the same promise
 * before and after itself has to keep it exactly. During a change it may run once or not at all
 * for each time that the instruction is executed. The probe has a second promise, for all its
 * programs together: when one takes another's place, each hit runs one of the two.
 */
#ifndef SELFTESTS_NATIVE_PROBE_H
#define SELFTESTS_NATIVE_PROBE_H

#include "../../kernel/x86/detour_image.h"
#include "../../kernel/x86/form.h"
#include "promise.h"
#include "retire.h"
#include "runner.h"
#include "scene.h"

#define PROBE_PROGS	2	/* at one instruction, at most */

struct probe_image {
	struct retire retire;
	u64 code;
	u32 len;		/* original bytes that it executes */
	u32 copy_off;
	struct probe *probe;
	u32 serial;
};

/**
 * struct probe - as struct tramp_probe; each instruction has one all the time
 * @told: version << 2 | enum tramp_x86_form: a trap reads it together with the byte
 * @sum: what all its programs together have promised
 * @prog: their promises; bit n of @progs: program n is attached
 * @lingers: without programs it is still a jump to an image that runs the last one
 * @armed, @jumped: how often it became an int3 and a jump
 * @counter: number of the first program's counters
 */
struct probe {
	struct scene *scene;
	u32 insn;
	u64 addr;
	u32 insn_len;
	const u8 *orig;
	struct probe_image *image;
	atomic_bool in_table;
	atomic_uint told;
	atomic_ulong go;
	bool quiesced, waiting, no_jump, queued, lingers;
	u32 progs;
	u32 armed, jumped;
	u32 counter;
	promise_t sum;
	promise_t prog[PROBE_PROGS];
};

extern struct probe probes[SCENES][SCENE_INSNS];

/*
 * How often it happened in all rounds.
 * @joined, @left, @replaced: programs at a probe that stayed
 * @cleared: regions that a neighbour came into; @unjumped: jumps among them
 * @grown: regions that got longer again
 * @lingered: jumps whose last program went, and whose text was restored at once later
 * @gone: probes
 */
extern struct probe_changes {
	u64 joined, left, replaced, cleared, unjumped, grown, lingered, gone;
} probe_changes;

static inline enum tramp_x86_form probe_text(const struct probe *p)
{
	return (enum tramp_x86_form)(atomic_load(&p->told) & 3);
}

/* The probe at an address that is in the table; NULL: none. */
struct probe *probe_lookup(u64 addr);

/* probe.c ------------------------------------------------------------------ */

/* All probes of the scenes, without programs. */
void probes_begin(struct rng *rng);

/* One change, at a random place in scene @nr or one of its neighbours. */
void probes_change(struct rng *rng, u32 nr);

/* Detach what has to stay an int3 in scene @nr: runners are fast without traps. */
void probes_settle(u32 nr);

/* Everything is detached; the runners have ended. Checks that nothing is left. */
void probes_end(void);

/* As tramp_probe_new_image(), tramp_probe_remove(), and tramp_probe_evaluate(). */
void probe_new_image(struct probe *p, u32 len);
void probe_remove(struct probe *p);
u32 probe_region(const struct probe *p);

/* image.c ------------------------------------------------------------------ */

extern struct tramp_x86_env probe_env;

void probe_images_begin(u64 seed);

/* An image for the probe's programs that executes @len original bytes. */
struct probe_image *probe_image_make(struct probe *p, u32 len);
void probe_image_retire(struct probe_image *image);

/* optimiser.c -------------------------------------------------------------- */

void optimiser_queue(struct probe *p);
void optimiser_queue_around(const struct probe *p);
/* Go on as far as it goes without waiting. */
void optimiser_poll(struct rng *rng);
/* Whether there is something to be done yet. */
bool optimiser_busy(void);

/* poke.c ------------------------------------------------------------------- */

/* How often each plan was executed for a probe. */
extern struct poke_counts {
	u64 arm, jump, unjump, restore;
} poke_counts;

void poke_arm(struct probe **list, u32 nr);
void poke_jump(struct probe **list, u32 nr);
void poke_unjump(struct probe **list, u32 nr);
void poke_restore(struct probe **list, u32 nr);

/* pass.c ------------------------------------------------------------------- */

extern atomic_uint pass_focus;	/* the scene that runners execute most */

/* The body of a runner; one call is some passes through one scene. */
void pass_some(struct runner *r);

/* Passes by scene since the round began. */
void pass_counts(u64 *scene_passes);

/* A runner has hit an int3; see trap_fn. */
trap_fn pass_take;
trap_where_fn pass_where;

#endif /* SELFTESTS_NATIVE_PROBE_H */
