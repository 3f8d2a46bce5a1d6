/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Ends: kprobe programs at the two ends of functions. The image is the function's own, or one of
 * many functions. ends_call() executes it by a call of a function, and holds each step against
 * the rules in fentry_image.h. Programs of tracing type may be there, too. Of them only
 * order and results are looked at (scene.h has the rest).
 *
 * Set one up in this order: ends_init(), behaviour by assignment, ends_add() for each program
 * (in the order of enum ends_kind), ends_emit(), ends_call() for each function.
 */
#ifndef SELFTESTS_UNIT_ENDS_H
#define SELFTESTS_UNIT_ENDS_H

#include "../../kernel/x86/detour_image.h"
#include "hit.h"
#include "scene.h"

/* Flags of programs, for short. */
#define MULTI		TRAMP_X86_CALL_MULTI

/* One more thunk. */
#define T_MULTI_COOKIE	400

enum ends_kind { ENDS_KPROBE, ENDS_FENTRY, ENDS_FMOD_RET, ENDS_FEXIT, ENDS_KRET, ENDS_SESSION };

/* One program: what it is and how it behaves. */
struct ends_prog {
	enum ends_kind kind;
	u32 word;		/* which recursion counter */
	u32 *active;		/* tracing type: its own one */
	bool taken;		/* which is up at the call */
	u64 *hits;
	u64 result;		/* what it returns, at the entry */
	bool resched_due;	/* a reschedule becomes due while it runs */
	bool left_out;		/* its NOP is patched to a jump */
	bool muted;		/* its calls are patched to call T_NOTHING */
	u32 ran, did_nothing, missed;	/* in all calls */
};

/* The four bytes in front of a NOP5. */
enum ends_front {
	FRONT_NOTHING, FRONT_ENDBR64, FRONT_ENDBR32, FRONT_POISON, FRONT_NEARLY,
	NR_FRONTS,
};

/* One call of a function. */
struct ends_level {
	struct ends_level *outer;
	struct machine_call call;
	u64 site;
	u64 entry_ip;		/* as the kernel has it */
	u64 result;		/* the original's */
	u64 salt;		/* of the garbage that the original leaves */
	u64 bpf_ctx;		/* when the call began */
	bool body_ran;
	/* what each session's entry wrote into its cookie; 0: it did not */
	u64 data[TRAMP_X86_MAX_PROGS];
	struct ends_event *log;
	u32 nr_log, pos;
};

struct ends {
	/* what is asked for */
	const char *name;
	struct tramp_x86_env env;
	struct tramp_x86_model model;
	struct tramp_x86_fentry_req req;
	struct tramp_x86_call calls[TRAMP_X86_MAX_PROGS];
	struct ends_prog progs[TRAMP_X86_MAX_PROGS];
	u32 nr;
	u32 image_off;

	/* how things are when a function is called */
	struct rng *rng;
	u32 nr_stack;		/* stack arguments */
	bool odd_stack;
	u64 more_flags;		/* set when a function is called from outside */
	bool taken[HIT_MAX_WORDS];
	u32 stats_on;
	bool rcu_off;
	bool free_in_body;	/* what is @taken is so up to the original only */
	bool patch_in_body;	/* patch NOPs while the original runs, not before */
	void (*in_body)(struct ends *s);	/* called while the original runs */
	void (*in_prog)(struct ends *s, u32 i);	/* and while a program does */

	/* the machine's variables */
	u32 *word[HIT_MAX_WORDS];
	u64 word_off[HIT_MAX_WORDS];
	u32 *preempt_count;
	u64 *current_task;
	u64 *inflight;
	u64 *call_depth;
	u64 *thunk_count;	/* of a return thunk that counts */
	u8 *task;
	u64 outer_ctx;

	/* what came out */
	enum tramp_x86_err err;
	struct tramp_x86_fentry_out out;
	u32 skip_off[TRAMP_X86_MAX_PROGS];
	u32 skip_to[TRAMP_X86_MAX_PROGS];
	u32 call_off[2 * TRAMP_X86_MAX_PROGS];
	u8 *image;

	struct ends_level *level;	/* while it runs */
};

/* A scene without programs, all variables near; @many as the request has it. */
void ends_init(struct ends *s, const char *name, struct rng *rng, bool many);

/* Each per-CPU variable somewhere else; before the first program. */
void ends_scatter(struct ends *s);

/* Add a program. Return: it, to change how it behaves. */
struct ends_prog *ends_add(struct ends *s, enum ends_kind kind, u32 flags,
			   enum percpu_where where);
struct tramp_x86_call *ends_prog_call(struct ends *s, const struct ends_prog *p);

/* Emit into the area, and look at the image without executing it. */
bool ends_emit(struct ends *s);

/*
 * A function: its NOP5 @page_off bytes behind a page's start, @front in front of it. Return: the
 * address of the NOP5.
 */
u64 ends_site(const struct ends *s, u32 nr, u32 page_off, enum ends_front front);

/* Call it. May be called while it runs. Return: whether all was as it should be. */
bool ends_call(struct ends *s, u64 site);

/* All of it for one function. */
bool ends_run(struct ends *s);

/* Whether there are programs at the return. */
bool ends_is_exit(const struct ends *s);
/* Whether there are programs of tracing type. */
bool ends_is_tracing(const struct ends *s);

#endif /* SELFTESTS_UNIT_ENDS_H */
