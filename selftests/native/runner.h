/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Runners: threads that execute the code under patch, and how the patcher knows what they have
 * left behind.
 *
 * Preemption. A timer of its own interrupts each runner at random times, between any two
 * instructions. The signal handler lets it go on at once, or holds it there for a while, or has
 * it execute the next instructions one by one, held now and then. A runner that is held in the
 * text stays until the patcher has taken some steps, if it can: that is what finds a wait
 * that is missing.
 *
 * The grace period is a model of RCU-tasks. The end of each pass stands for a voluntary switch of
 * context. A grace period is over when each runner has come to the end of a pass since it began.
 * A signal handler, however long it holds the runner, is preemption and no such end.
 */
#ifndef SELFTESTS_NATIVE_RUNNER_H
#define SELFTESTS_NATIVE_RUNNER_H

#include <pthread.h>
#include <signal.h>
#include <time.h>

#include "native.h"

/**
 * struct runner_counts - what runners have done
 * @passes: all; @overlapped: of them during a change of any program that they could hit
 * @exact, @loose: counts of one program in one pass: without a change of that program, when the
 *	count has to be exact, and with one
 * @runs: of programs; @traps: of them by an int3; @late: an int3 that had gone when looked at
 * @pauses: by the timer; @inside: of them in the text; @holds: for longer; @steps: single steps
 */
struct runner_counts {
	u64 passes;
	u64 overlapped;
	u64 exact, loose;
	u64 runs, traps, late;
	u64 pauses, inside, holds, steps;
};

/**
 * struct runner - one thread
 * @cpu: what its %gs leads to
 * @ends: ends of passes; RUNNER_GONE when there will be no more
 * @asleep: it sleeps where tasks may sleep, which is as good as an end
 * @stepping: instructions to be executed one by one
 * @rng: for what it executes; @sig_rng: for what its signal handlers do
 * @arg: the subject's
 */
struct runner {
	u32 nr;
	struct native_cpu *cpu;
	atomic_ulong ends;
	atomic_bool asleep;
	u32 stepping;
	struct rng rng, sig_rng;
	struct runner_counts counts;
	pthread_t thread;
	timer_t timer;
	void *arg;
} __attribute__((aligned(128)));

#define RUNNER_GONE	(~0UL)

extern struct runner runners[NATIVE_RUNNERS];
extern atomic_bool runners_stop;

/* Called at each interrupt of a runner, from the signal handler; NULL: nothing is. */
extern void (*runner_tick)(struct runner *r);

/* The runner that calls, also from a signal handler; NULL: the patcher. */
struct runner *runner_self(void);

/*
 * Start all: each calls @body until runners_stop is set. @body ends each pass with
 * runner_end_pass().
 */
void runners_start(void (*body)(struct runner *r), u64 seed);
/* Wait until all have ended, and add up what they have done. */
void runners_join(struct runner_counts *sum);

static inline void runner_end_pass(struct runner *r)
{
	/* A full barrier: nothing of the next pass comes before it. */
	atomic_fetch_add(&r->ends, 1);
}

/* A grace period: begun, and whether it is over. */
struct grace {
	u64 seen[NATIVE_RUNNERS];
};

void grace_begin(struct grace *g);
bool grace_over(const struct grace *g);

/*
 * Hold the calling runner as a preemption would, from a signal handler; @much: it is where that
 * matters most.
 */
void runner_preempt(struct runner *r, bool much);

/*
 * A subject's answer to an int3 at @ip: sets the registers in @m and returns true. False: the
 * int3 is not its own.
 */
typedef bool trap_fn(struct runner *r, u64 ip, mcontext_t *m);
/* An address in words, for the message of a failure. */
typedef void trap_where_fn(u64 addr, char *text, size_t len);

/* Set the signal handlers up. */
void trap_init(trap_fn *take, trap_where_fn *where);
/* Faults of the calling thread are reported from a stack of their own. */
void trap_thread(void);
/* Have the calling thread step: @note is called with the address of each instruction. */
extern void (*trap_note)(u64 ip);
/* Begin to step when the handler returns. */
void trap_step(mcontext_t *m);

#endif /* SELFTESTS_NATIVE_RUNNER_H */
