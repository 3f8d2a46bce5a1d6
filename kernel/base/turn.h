/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Turns: how long work of many steps keeps tramp_mutex before others have it.
 *
 * The time that a task waits for a CPU is not its own: it is not counted, up to a limit. Else a
 * turn did next to nothing where many tasks want the CPUs. With a twentieth of a CPU, 200 ms are
 * 10 ms of work; then come all who wait for the mutex, each as slow.
 */
#ifndef TRAMP_TURN_H
#define TRAMP_TURN_H

#include <linux/jiffies.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include "tramp.h"

/* In jiffies: a turn's own time, and with the waiting for a CPU. */
#define TRAMP_TURN_TIME		(HZ / 5 ?: 1)
#define TRAMP_TURN_LIMIT	(2 * TRAMP_TURN_TIME)

/*
 * How long it takes to take one off again, in jiffies: a kernel kprobe waits for RCU, an ftrace_ops
 * for RCU-tasks, rude and not. Some 20 and 140 to 400 ms were seen.
 */
#define TRAMP_TURN_KPROBE	(TRAMP_TURN_TIME / 10)
#define TRAMP_TURN_OPS		TRAMP_TURN_TIME

/**
 * struct tramp_turn - a turn of the current task
 * @since: when it began, in jiffies
 * @waited: how long the task had waited for a CPU until then, in nanoseconds
 */
struct tramp_turn {
	unsigned long since;
	u64 waited;
};

/* How long the current task has waited for a CPU, in nanoseconds; 0: the kernel does not count. */
static inline u64 tramp_turn_waited(void)
{
#ifdef CONFIG_SCHED_INFO
	return current->sched_info.run_delay;
#else
	return 0;
#endif
}

/* To be called once the mutex is held: waiting for it is no part of a turn. */
static inline void tramp_turn_begin(struct tramp_turn *turn)
{
	turn->since = jiffies;
	turn->waited = tramp_turn_waited();
}

/*
 * To undo the turn's work in one go would take @time more jiffies than to do it: they count as
 * well.
 */
static inline void tramp_turn_owe(struct tramp_turn *turn, unsigned long time)
{
	turn->since -= time;
}

/* Whether it is time that others have the mutex. By the task that has begun the turn. */
static inline bool tramp_turn_over(const struct tramp_turn *turn)
{
	unsigned long taken = jiffies - turn->since;

	if (taken < TRAMP_TURN_TIME)
		return false;
	return taken >= TRAMP_TURN_LIMIT ||
	       taken >= TRAMP_TURN_TIME + nsecs_to_jiffies(tramp_turn_waited() - turn->waited);
}

/*
 * Let others have tramp_mutex for a moment. It may sleep, so RCU-tasks may as well be told that it
 * could. Else everybody's grace periods, those of our retire list too, wait for all of the work.
 */
static inline void tramp_turn_breathe(void)
{
	mutex_unlock(&tramp_mutex);
	cond_resched_tasks_rcu_qs();
	mutex_lock(&tramp_mutex);
}

/* At the end of a turn: let others have tramp_mutex, and begin another. It may sleep. */
static inline void tramp_turn_pass(struct tramp_turn *turn)
{
	if (!tramp_turn_over(turn))
		return;
	tramp_turn_breathe();
	tramp_turn_begin(turn);
}

#endif /* TRAMP_TURN_H */
