/* SPDX-License-Identifier: GPL-2.0 */
/*
 * C helpers that images call, and the facts about the running kernel that the emitter
 * needs (struct tramp_x86_env).
 */
#ifndef TRAMP_HELPERS_H
#define TRAMP_HELPERS_H

#include <linux/cpumask.h>
#include <linux/rcupdate.h>
#include <linux/smp.h>
#include "base/compat.h"
#include "x86/fentry_image.h"

struct bpf_prog;
struct tramp_slot;

/* Filled in once by tramp_helpers_init(), constant afterwards. */
extern struct tramp_x86_env tramp_env;

/* Module init, after tramp_ksyms_init(). Return: 0 or -EOPNOTSUPP with a line in the log. */
int tramp_helpers_init(void);

/*
 * Whether programs of tracing type get inline guards: not on PREEMPT_RT, where such a program may
 * take sleeping locks and must not run with preemption off.
 */
static inline bool tramp_inline_guards(void)
{
	return !IS_ENABLED(CONFIG_PREEMPT_RT);
}

/*
 * Whether grace periods wait for this CPU, so that a program may run. RCU says that it watches
 * one that has reported its own death (text/unsafe.c). Any context. Where preemption is on, the
 * task may come to another CPU in between: then a program may be missed while that one goes.
 */
static __always_inline bool tramp_cpu_watched(void)
{
	return tramp_rcu_watching() && cpu_online(raw_smp_processor_id());
}

/*
 * A program was skipped, since it runs on this CPU already: count it, for the slot and for the
 * program. Any context.
 */
void tramp_x_missed(struct tramp_slot *slot);

/* In the place of a program that is left out of an image (tramp_image_mute()). */
u64 tramp_x_nothing(void);

#endif /* TRAMP_HELPERS_H */
