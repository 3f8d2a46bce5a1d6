/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The second subject: calls. Programs of six kinds come and go at functions, whose images are
 * replaced and retired while runners are in them and in the originals. The steps are those of
 * kernel/func/: target.c and image.c, and kernel/base/retire.c.
 *
 * Memory. Each image has a page of its own, and each program. When the model of the module frees
 * one, the page is unmapped: a runner that is in it still, or comes there, faults. A program is
 * freed with its last reference; images have one each.
 *
 * Processors. The kernel counts calls inside an image on whatever CPU the task is. So %gs of a
 * runner leads to one of several CPUs. While it sleeps in an original, and where it reschedules,
 * it may change it for another that is free.
 *
 * Counts. Each program has a promise (promise.h). A call that finds the same one before and
 * after itself has run the program exactly once, a session twice. It does not matter what else
 * came, went, or was replaced meanwhile, and on how many CPUs the call has been. An update puts a
 * program in another's place, and leaves the promise alone. A detach without memory mutes the
 * program: the image counts its hits as before, and it does not run.
 */
#ifndef SELFTESTS_NATIVE_CALL_H
#define SELFTESTS_NATIVE_CALL_H

#include "../../kernel/x86/fentry_image.h"
#include "promise.h"
#include "retire.h"
#include "runner.h"

#define FUNCS		3
#define CALL_MEMBERS	2	/* of each kind, at a function */
#define CALL_PROGS	(NR_CALL_KINDS * CALL_MEMBERS)
#define CALL_IDS	(FUNCS * CALL_PROGS)	/* numbers of counters */

/* In the order in which an image has them. */
enum call_kind {
	CALL_KPROBE, CALL_FENTRY, CALL_FMOD_RET, CALL_FEXIT, CALL_KRET, CALL_SESSION,
	NR_CALL_KINDS,
};

/* Each of these has a recursion counter of its own. */
static inline bool call_is_tracing(enum call_kind kind)
{
	return kind >= CALL_FENTRY && kind <= CALL_FEXIT;
}

struct func;
struct call_member;

/* A program in memory of its own; as struct tramp_slot. */
struct call_prog {
	u64 page;
	u32 refs;
	struct call_member *member;
};

/* An attachment. @id: number of its counters. @prog is NULL while it is detached. */
struct call_member {
	struct func *func;
	u32 kind;
	u32 id;
	struct call_prog *prog;
	promise_t promise;
};

enum call_exit { CALL_LIVE, CALL_LEFT_OUT, CALL_AGED };

/**
 * struct call_image - as struct tramp_func_image
 * @older: the next in the function's list of those that drain
 * @nr: programs in @prog, in the order of their kinds; the last @nr_exits run at the return, and
 *	of these the last @nr_twice at the entry as well
 * @prog: NULL: released already
 * @call_off: where each is called, as in struct tramp_x86_fentry_out
 * @exit_state, @skip_off, @skip_to: of each exit program
 * @inflight: number of its counter; only with @counted
 */
struct call_image {
	struct retire retire;
	struct call_image *older;
	struct func *func;
	u32 serial;
	u64 code;
	u32 nr, nr_exits, nr_twice;
	struct call_prog *prog[CALL_PROGS];
	u32 call_off[2 * (CALL_PROGS + CALL_MEMBERS)];
	u8 exit_state[CALL_PROGS];
	u32 skip_off[CALL_PROGS], skip_to[CALL_PROGS];
	u32 inflight;
	bool counted;
};

/* A function: @addr is that of its five bytes NOP. */
struct func {
	u32 nr;
	u64 addr;
	struct call_member member[NR_CALL_KINDS][CALL_MEMBERS];
	struct call_image *image;
	struct call_image *older;
};

extern struct func funcs[FUNCS];

/* call.c ------------------------------------------------------------------- */

void calls_begin(struct rng *rng);
void calls_change(struct rng *rng);
void calls_end(void);

/* call_image.c ------------------------------------------------------------- */

void call_images_begin(u64 seed);
struct call_prog *call_prog_make(struct call_member *member);
void call_prog_put(struct call_prog *prog);
/* An image with all programs that the function's members have. */
struct call_image *call_image_make(struct func *func);
/* Its calls of a program become calls of a function that does nothing: tramp_image_mute(). */
void call_image_mute(struct call_image *image, const struct call_prog *prog);
/* Its in-flight counter is 0 and can have another image. */
void call_inflight_put(u32 nr);

/* call_retire.c ------------------------------------------------------------ */

/* As tramp_func_image_retire(); @replaced: the program that was replaced, or NULL. */
void call_image_retire(struct call_image *image, const struct call_image *next,
		       const struct call_prog *replaced);
/* A member was detached: leave it out of all images that calls are still in. */
void call_leave_out(struct func *func, const struct call_member *member);

/* call_site.c -------------------------------------------------------------- */

/* Five bytes that may be executed become a call, a jump or a NOP, as text_poke_bp() does. */
enum site_insn { SITE_CALL, SITE_JUMP, SITE_NOP };

void site_poke(u64 addr, enum site_insn insn, u64 target);
trap_fn call_take;
trap_where_fn call_where;

/* call_pass.c -------------------------------------------------------------- */

/* The CPUs of all runners, and those that are free. */
#define CALL_CPUS	(NATIVE_RUNNERS + 2)

void call_cpus_begin(void);
/* Calls that are counted as in an image, on all CPUs. */
u64 call_inflight(u32 nr);
/* The function's own code. */
u64 call_body(u64 a, u64 b, u64 c, u32 nr);
void call_resched(void);
void call_some(struct runner *r);
/* Need to reschedule; see runner_tick. */
void call_tick(struct runner *r);

extern atomic_ulong call_slept, call_moved, call_rescheds;

#endif /* SELFTESTS_NATIVE_CALL_H */
