// SPDX-License-Identifier: GPL-2.0
/*
 * Functions around a program that an image calls, see native.c: two that do what
 * our inline guard does, and two that do what those of the kernel do.
 *
 * A function of its own in the kernel is one here (noinline). A static branch is nothing, and
 * the cold ends are calls that never happen.
 */
#include <stdlib.h>
#include <string.h>
#include "../lib/ktap.h"
#include "native.h"

#define noinline	__attribute__((noinline, noclone))
#define unlikely(x)	__builtin_expect(!!(x), 0)

#define PERCPU(type, off)	(*(type volatile __seg_gs *)(off))
#define PREEMPT_COUNT		PERCPU(u32, NATIVE_PREEMPT_COUNT)
#define CURRENT			PERCPU(struct native_task *, NATIVE_CURRENT)
#define ACTIVE			PERCPU(u32, NATIVE_ACTIVE)
#define NR_PINNED		PERCPU(u32, NATIVE_NR_PINNED)

/* Bit 31 of the preemption count is the inverted NEED_RESCHED. */
#define NEED_RESCHED_INVERTED	0x80000000u

static volatile int *stats_key;

void native_init(void)
{
	u64 off;
	int i;

	for (i = 0; i < NATIVE_NR_PERCPU; i++) {
		machine_percpu(PERCPU_NEAR, 8, &off);
		REQUIRE(off == (u64)NATIVE_PERCPU(i), "per-CPU variable %d is at %#lx", i, off);
	}
	memset(&native_task, 0, sizeof(native_task));
	native_task.cpus_ptr = &native_task.cpus_mask;
	PREEMPT_COUNT = NEED_RESCHED_INVERTED;
	CURRENT = &native_task;
	*machine_word(0) = 0;
	stats_key = (volatile int *)machine_word(0);
}

void native_check(void)
{
	REQUIRE(PREEMPT_COUNT == NEED_RESCHED_INVERTED && !ACTIVE && !NR_PINNED &&
		!native_task.rcu_nesting && !native_task.migration_disabled &&
		!native_task.bpf_ctx, "something is not balanced");
}

static noinline void never(void)
{
	abort();
}

static inline void preempt_off(void)
{
	asm volatile("incl %%gs:%c0" : : "i" (NATIVE_PREEMPT_COUNT) : "memory", "cc");
}

static inline void preempt_on(void)
{
	asm goto("decl %%gs:%c0; je %l[resched]" : : "i" (NATIVE_PREEMPT_COUNT)
		 : "memory", "cc" : resched);
	return;
resched:
	never();
}

/* ------------------------------------------------- what our guard does -- */

u64 same_work_enter(const void *prog, struct native_run_ctx *ctx)
{
	(void)prog;
	(void)ctx;
	preempt_off();
	if (unlikely(ACTIVE | *stats_key))
		never();
	asm volatile("incl %%gs:%c0; incq %%gs:%c1" : : "i" (NATIVE_ACTIVE), "i" (NATIVE_SAME_HITS)
		     : "memory", "cc");
	return 1;
}

void same_work_exit(const void *prog, u64 start, struct native_run_ctx *ctx)
{
	(void)prog;
	(void)start;
	(void)ctx;
	asm volatile("decl %%gs:%c0" : : "i" (NATIVE_ACTIVE) : "memory", "cc");
	preempt_on();
}

/* ------------------------------------------------ what the kernel's do -- */

/* The reader's nesting depth, kept in the task. */
static noinline void rcu_lock(void)
{
	CURRENT->rcu_nesting++;
	asm volatile("" : : : "memory");
}

static noinline void rcu_unlock(void)
{
	struct native_task *task = CURRENT;

	asm volatile("" : : : "memory");
	if (!--task->rcu_nesting && unlikely(task->rcu_special))
		never();
}

/* The task stays on its CPU, which counts how many such tasks it has. */
static noinline void migration_off(void)
{
	struct native_task *task = CURRENT;

	if (task->migration_disabled) {
		task->migration_disabled++;
		return;
	}
	preempt_off();
	NR_PINNED++;
	task->migration_disabled = 1;
	preempt_on();
}

static noinline void migration_on(void)
{
	struct native_task *task = CURRENT;

	if (task->migration_disabled > 1) {
		task->migration_disabled--;
		return;
	}
	if (unlikely(!task->migration_disabled))
		never();
	preempt_off();
	if (unlikely(task->cpus_ptr != &task->cpus_mask))
		never();
	asm volatile("" : : : "memory");
	task->migration_disabled = 0;
	NR_PINNED--;
	preempt_on();
}

u64 like_kernel_enter(const void *prog, struct native_run_ctx *ctx)
{
	struct native_task *task;
	u32 active = 1;

	(void)prog;
	rcu_lock();
	migration_off();
	task = CURRENT;
	ctx->saved = (u64)task->bpf_ctx;
	task->bpf_ctx = ctx;
	asm volatile("xaddl %0, %%gs:%c1" : "+r" (active) : "i" (NATIVE_ACTIVE) : "memory", "cc");
	if (unlikely(active))
		never();
	return 1;
}

void like_kernel_exit(const void *prog, u64 start, struct native_run_ctx *ctx)
{
	(void)prog;
	(void)start;
	CURRENT->bpf_ctx = (struct native_run_ctx *)ctx->saved;
	asm volatile("decl %%gs:%c0" : : "i" (NATIVE_ACTIVE) : "memory", "cc");
	migration_on();
	rcu_unlock();
}
