/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the files of stress-native: the options, the way to report a failure, and the data
 * behind %gs of a thread that executes probed code.
 *
 * Threads called runners execute code in loops on real processors. One thread, the patcher,
 * changes that code by the plans of the module meanwhile. Each pass of a runner is held against
 * an oracle. There are two subjects:
 *
 *  - probes (probe.h): int3, jump and back, joins, neighbours, restore;
 *  - calls (call.h): entry and exit images that are replaced and retired under calls.
 */
#ifndef SELFTESTS_NATIVE_NATIVE_H
#define SELFTESTS_NATIVE_NATIVE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "../unit/machine.h"	/* the generator of random numbers, registers by number */

#define NATIVE_RUNNERS	16	/* at most */
#define NATIVE_PROGS	512	/* programs that have counters */
#define NATIVE_IMAGES	256	/* in-flight counters */
#define NATIVE_DATA	4	/* words that probed code may change */

#define FLAGS_KEPT	0xcd5UL	/* arithmetic flags and DF */

/**
 * struct native_options - what was asked for
 * @seconds: for both subjects together
 * @passes: ends the first subject earlier or later than @seconds; 0: not asked for
 * @seed: of the first round; each round has the next
 * @threads: runners
 * @order: how written bytes come to the processors, see text.h
 * @plant: the planted mistake; NULL: none
 */
struct native_options {
	double seconds;
	u64 passes;
	u64 seed;
	u32 threads;
	u8 order;
	const struct plant *plant;
};

extern struct native_options native;

/**
 * struct native_cpu - what is behind %gs
 * @task: a struct task_struct, of which images know bpf_ctx
 * @own_active: recursion counters of the programs that have one each
 * @ran: counted by each program itself
 * @hits: counted by the image before it calls the program
 * @ips: sum of the pt_regs.ip that the program has seen
 * @inflight: of images of calls
 */
struct native_cpu {
	u32 preempt_count;
	u32 active;
	u64 missed;
	u64 current_task;
	u64 task[2];
	u64 data[NATIVE_DATA];
	u32 own_active[NATIVE_PROGS];
	u64 ran[NATIVE_PROGS];
	u64 hits[NATIVE_PROGS];
	u64 ips[NATIVE_PROGS];
	u64 inflight[NATIVE_IMAGES];
} __attribute__((aligned(64)));

#define CPU_OFF(member)	((u64)offsetof(struct native_cpu, member))

/* preempt_count outside of images: the inverted NEED_RESCHED. */
#define PREEMPT_NONE	0x80000000u

/* Make the calling thread's %gs lead there. */
void native_set_cpu(struct native_cpu *cpu);
void native_cpu_init(struct native_cpu *cpu);

/* One pass, see enter.S. */
struct native_call {
	u64 in[NR_REGS];
	u64 in_flags;
	u64 out[NR_REGS];
	u64 out_flags;
	u64 target;
};
void native_enter(struct native_call *call);
extern u8 native_back[];

/* Code of runners calls these as images call C: with any alignment of the stack. */
void native_body(void);		/* call_body(), see call.h */
void native_resched(void);	/* call_resched() */

/* Seconds since some time. */
double native_now(void);
/* Let others run for about that long; 0: give the processor away once. */
void native_sleep_us(u32 us);

/*
 * Something is wrong: say so, together with what the patcher did last, and stop all runners. The
 * first failure counts. native_die() also ends the process, from any context.
 */
void native_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void native_die(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
bool native_failed(void);

/* The patcher is about to do this, for the message of a failure; strings that stay. */
void native_doing(const char *what, const char *step, u64 addr);

/* The seed of the round that runs. */
extern u64 native_round_seed;

#endif /* SELFTESTS_NATIVE_NATIVE_H */
