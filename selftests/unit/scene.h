/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A scene: a traced function, the programs on it, how all of them behave, and the state of the
 * processor when the function is called. The test itself is scene_run(): it emits the image,
 * calls the function and holds each step against what oracle.c says should happen.
 *
 * Set a scene up in this order: scene_init(), the prototype and behaviour by
 * assignment, scene_add() for each program (kprobe, then entry, then fmod_ret, then exit
 * programs), scene_run().
 */
#ifndef SELFTESTS_UNIT_SCENE_H
#define SELFTESTS_UNIT_SCENE_H

#include "../../kernel/x86/fentry_image.h"
#include "machine.h"

#define SCENE_MAX_PROGS	TRAMP_X86_MAX_PROGS

/* Numbers of thunks. */
enum {
	T_BODY,			/* the traced function behind its NOP5 */
	T_MISSED,
	T_STATS_ENTER,
	T_STATS_EXIT,
	T_RESCHED,
	T_RCU_LOCK,
	T_RCU_UNLOCK,
	T_RCU_WATCHING,
	T_PROG = 64,		/* + index of the program */
	T_ENTER = 128,
	T_EXIT = 192,
	T_NOTHING = 256,	/* what the calls of a muted program are pointed at */
};

/* Flags of programs, for short. */
#define INLINE		0
#define GUARDED		TRAMP_X86_CALL_GUARDED
#define COOKIE		TRAMP_X86_CALL_COOKIE
#define IP		TRAMP_X86_CALL_IP
#define NARGS		TRAMP_X86_CALL_NARGS
#define SLEEPABLE	(TRAMP_X86_CALL_GUARDED | TRAMP_X86_CALL_SLEEPABLE)

/* The last of them run first. */
enum scene_kind { SCENE_FENTRY, SCENE_FMOD_RET, SCENE_FEXIT, SCENE_KPROBE };

/* One program: what it is and how it behaves. */
struct scene_prog {
	enum scene_kind kind;
	u32 *active;		/* its recursion counter (inline policy) */
	u64 *hits;
	u64 result;		/* what it returns */
	u64 start;		/* what its enter() returns (kernel policy); 0: missed */
	bool taken;		/* it is running further up already (inline policy) */
	bool resched_due;	/* a reschedule becomes due while it runs */
	bool left_out;		/* exit program whose NOP is patched to a jump */
	bool muted;		/* its calls are patched to call T_NOTHING, which returns 0 */
};

struct scene {
	/* what is asked for */
	struct tramp_x86_env env;
	struct tramp_x86_model model;
	struct tramp_x86_fentry_req req;
	struct tramp_x86_call calls[SCENE_MAX_PROGS];
	struct scene_prog progs[SCENE_MAX_PROGS];
	u32 nr;

	/* how things are when the function is called */
	bool endbr;		/* the call is at func + 4 */
	bool odd_stack;		/* rsp is 8 modulo 16 at the call */
	bool return_thunk;
	u32 preempt_start;
	u32 stats_on;		/* value of the stats key's counter */
	bool rcu_off;		/* RCU does not watch */
	u32 kprobes_taken;	/* the recursion counter of kprobe programs at the call */
	u64 slot[TRAMP_X86_MAX_SLOTS];
	u64 orig_result;
	u64 regs[NR_REGS];	/* those that are not arguments */
	u64 flags;
	u64 image_off;		/* where in AREA_IMAGES */
	bool patch_in_body;	/* patch NOPs while the original runs, not before */

	/* the machine's variables */
	u32 *preempt_count;
	u64 *current_task;
	u64 *inflight;
	u64 *call_depth;
	u32 *active;		/* the recursion counter of kprobe programs, once there is one */
	u64 active_off;
	u8 *task;
	u64 outer_ctx;		/* current->bpf_ctx outside */
	u64 *thunk_count;

	/* what came out */
	enum tramp_x86_err err;
	struct tramp_x86_fentry_out out;
	u32 skip_off[SCENE_MAX_PROGS];
	u32 skip_to[SCENE_MAX_PROGS];
	u32 call_off[2 * SCENE_MAX_PROGS];
	u8 *image;
	u64 rax;		/* what the function returned */
	u32 ran[SCENE_MAX_PROGS];	/* per program, in this run */
	u32 did_nothing[SCENE_MAX_PROGS];
	u32 missed[SCENE_MAX_PROGS];
	u32 body_ran;

	/* while it runs */
	struct machine_call call;
	struct expect *log;
	u32 nr_log, pos;
	u64 run_ctx;
	const char *name;
};

/* One call of a thunk, as the oracle expects it. */
struct expect {
	u32 thunk;
	u64 a0, a1;		/* rdi and rsi, where they are plain numbers */
	u32 preempt;		/* the preemption counter */
	u64 result_slot;	/* ctx[n] of an exit image */
	bool inflight;
	bool kprobe;		/* the frame is that of kprobe programs */
	u32 depth;		/* calls accounted for */
	u64 ret;		/* what the thunk returns */
};

#define SCENE_MAX_EVENTS (SCENE_MAX_PROGS * 6 + 64)

/*
 * oracle(): what should happen, from the rules in fentry_image.h and from the
 * scene, and from nothing else. Return: the number of events; log[that] has the
 * preemption counter and, as ret, the result when all is over.
 */
u32 oracle(const struct scene *s, struct expect *log);

/* The bits of argument slot @i that programs see, and where it is passed. */
struct oracle_slot {
	bool on_stack;
	u32 index;		/* of the register in calling order, or of the stack slot */
	u64 seen;
};
u32 oracle_slots(const struct scene *s, struct oracle_slot *slots, u32 *nr_stack);
bool oracle_is_exit(const struct scene *s);
/* Kprobe programs only. */
bool oracle_is_plain(const struct scene *s);
bool oracle_is_counted(const struct scene *s);

/*
 * A scene with a function of no arguments, no programs, all variables near. Sets
 * the machine up if need be.
 */
void scene_init(struct scene *s, const char *name, struct rng *rng);
/* The same, each per-CPU variable somewhere else. */
void scene_scatter(struct scene *s, struct rng *rng);

/*
 * Add a program; @where its per-CPU variables are. Return: it, to change how
 * it behaves.
 */
struct scene_prog *scene_add(struct scene *s, enum scene_kind kind, u32 flags,
			     enum percpu_where where);
/* Add a kprobe program. All that are added have a recursion counter in common, near. */
struct scene_prog *scene_add_kprobe(struct scene *s, u32 flags, enum percpu_where where);
/* The call of a program. */
struct tramp_x86_call *scene_call(struct scene *s, const struct scene_prog *p);

/* The prototype: the arguments' sizes as text, "8 16 4". */
void scene_model(struct scene *s, const char *sizes, u32 ret_size);

/*
 * All of that for the usual case: a scene whose programs have the inline policy
 * and no flags.
 */
void scene_simple(struct scene *s, const char *name, struct rng *rng, const char *sizes,
		  u32 nr_fentry, u32 nr_fmod_ret, u32 nr_fexit);

/* Give every argument slot a value. */
void scene_fill_slots(struct scene *s, struct rng *rng);

/* Emit into the area; s->err says how it went. */
void scene_emit(struct scene *s);
/*
 * Emit, call the function once, check everything. Return: true if all was as
 * expected; otherwise the test has failed and the scene has been described.
 */
bool scene_run(struct scene *s);
/* Call the function again without emitting anew. */
bool scene_rerun(struct scene *s);

/* One line about a scene for diagnostics. */
void scene_describe(const struct scene *s);

#endif /* SELFTESTS_UNIT_SCENE_H */
