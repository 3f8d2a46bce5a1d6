/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by bench-native's images and the functions that stand around programs when an image
 * calls them instead of having a guard of its own.
 */
#ifndef SELFTESTS_BENCH_NATIVE_H
#define SELFTESTS_BENCH_NATIVE_H

#include "../unit/machine.h"

/*
 * Per-CPU variables, as offsets from the gs base. They are constants, as in a kernel's
 * text: native_init() sees to it that the machine has them there.
 */
#define NATIVE_PERCPU(n)	(8L * (n) - (long)(PERCPU_SIZE / 2))
#define NATIVE_PREEMPT_COUNT	NATIVE_PERCPU(0)
#define NATIVE_CURRENT		NATIVE_PERCPU(1)
#define NATIVE_ACTIVE		NATIVE_PERCPU(2)
#define NATIVE_HITS		NATIVE_PERCPU(3)
#define NATIVE_NR_PINNED	NATIVE_PERCPU(4)
#define NATIVE_SAME_HITS	NATIVE_PERCPU(5)
#define NATIVE_NR_PERCPU	6

struct native_run_ctx {
	u64 ctx;
	u64 cookie;
	u64 saved;
};

/* Of a task: what entering and leaving a program touches. */
struct native_task {
	struct native_run_ctx *bpf_ctx;
	int rcu_nesting;
	int rcu_special;
	unsigned short migration_disabled;
	const void *cpus_ptr;
	u64 cpus_mask;
};
extern struct native_task native_task;

void native_init(void);
/* Everything is balanced after any number of calls; ends the program if not. */
void native_check(void);

u64 same_work_enter(const void *prog, struct native_run_ctx *ctx);
void same_work_exit(const void *prog, u64 start, struct native_run_ctx *ctx);
u64 like_kernel_enter(const void *prog, struct native_run_ctx *ctx);
void like_kernel_exit(const void *prog, u64 start, struct native_run_ctx *ctx);

#endif /* SELFTESTS_BENCH_NATIVE_H */
