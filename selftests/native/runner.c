// SPDX-License-Identifier: GPL-2.0
/*
 * Threads that execute the code under patch, see runner.h.
 */
#define _GNU_SOURCE
#include "runner.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "../lib/ktap.h"
#include "text.h"

/* Time between two interrupts of a runner. */
#define TICK_MIN_US	20
#define TICK_MAX_US	400
/* Instructions that are executed one by one, at most. */
#define MAX_STEPS	50
/* A hold ends after so many steps of the patcher, or so long. */
#define HOLD_EVENTS	40
#define HOLD_US		3000

struct runner runners[NATIVE_RUNNERS];
atomic_bool runners_stop;
void (*runner_tick)(struct runner *r);

static __thread struct runner *self;
static void (*runner_body)(struct runner *r);

struct runner *runner_self(void)
{
	return self;
}

static void set_timer(struct runner *r)
{
	struct itimerspec when = { 0 };

	when.it_value.tv_nsec = (TICK_MIN_US + rng_below(&r->sig_rng, TICK_MAX_US)) * 1000L;
	timer_settime(r->timer, 0, &when, NULL);
}

/* Until the patcher has taken a few steps. */
static void hold(struct runner *r)
{
	u64 until = atomic_load(&text_events) + 1 + rng_below(&r->sig_rng, HOLD_EVENTS);
	u32 us = rng_below(&r->sig_rng, HOLD_US);

	r->counts.holds++;
	for (; us > 100 && !atomic_load(&runners_stop); us -= 100) {
		if (atomic_load(&text_events) >= until)
			break;
		native_sleep_us(40);
	}
}

void runner_preempt(struct runner *r, bool much)
{
	u32 how = rng_below(&r->sig_rng, 16);

	if (much ? how < 6 : how < 1)
		hold(r);
	else if (how < 8)
		native_sleep_us(how);
}

static void on_tick(int sig, siginfo_t *info, void *context)
{
	mcontext_t *m = &((ucontext_t *)context)->uc_mcontext;
	bool inside = text_has((u64)m->gregs[REG_RIP]);
	struct runner *r = self;
	int err = errno;

	(void)sig;
	(void)info;
	if (!r)
		return;
	r->counts.pauses++;
	r->counts.inside += inside;
	if (runner_tick)
		runner_tick(r);
	if (inside && !r->stepping && rng_chance(&r->sig_rng, 30)) {
		r->stepping = 1 + rng_below(&r->sig_rng, MAX_STEPS);
		trap_step(m);
	} else {
		runner_preempt(r, inside);
	}
	if (!atomic_load(&runners_stop))
		set_timer(r);
	errno = err;
}

static void make_timer(struct runner *r)
{
	struct sigevent ev = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1 };

	ev._sigev_un._tid = (pid_t)syscall(SYS_gettid);
	if (timer_create(CLOCK_MONOTONIC, &ev, &r->timer))
		native_die("timer_create: %m");
	set_timer(r);
}

static void *run(void *arg)
{
	struct runner *r = arg;
	sigset_t tick;

	self = r;
	native_set_cpu(r->cpu);
	trap_thread();
	sigemptyset(&tick);
	sigaddset(&tick, SIGUSR1);
	make_timer(r);
	pthread_sigmask(SIG_UNBLOCK, &tick, NULL);
	while (!atomic_load(&runners_stop))
		runner_body(r);
	pthread_sigmask(SIG_BLOCK, &tick, NULL);
	timer_delete(r->timer);
	atomic_store(&r->ends, RUNNER_GONE);
	return NULL;
}

void runners_start(void (*body)(struct runner *r), u64 seed)
{
	struct sigaction sa = { .sa_sigaction = on_tick, .sa_flags = SA_SIGINFO | SA_RESTART };
	sigset_t tick;
	u32 i;

	/* Threads are born with it blocked, and no other thread has any use for it. */
	sigemptyset(&tick);
	sigaddset(&tick, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &tick, NULL);
	if (sigaction(SIGUSR1, &sa, NULL))
		native_die("sigaction: %m");
	runner_body = body;
	atomic_store(&runners_stop, false);
	for (i = 0; i < native.threads; i++) {
		struct runner *r = &runners[i];
		void *arg = r->arg;
		struct native_cpu *cpu = r->cpu;

		memset(r, 0, sizeof(*r));
		r->nr = i;
		r->arg = arg;
		r->cpu = cpu;
		if (!r->cpu)
			r->cpu = aligned_alloc(64, sizeof(*r->cpu));
		if (!r->cpu)
			native_die("no memory");
		native_cpu_init(r->cpu);
		r->rng.state = (seed ^ (i + 1) * 0x9e3779b97f4a7c15ULL) | 1;
		r->sig_rng.state = ~r->rng.state | 1;
		errno = pthread_create(&r->thread, NULL, run, r);
		if (errno)
			native_die("pthread_create: %m");
	}
}

void runners_join(struct runner_counts *sum)
{
	u32 i, j;

	for (i = 0; i < native.threads; i++) {
		const u64 *of = (const u64 *)&runners[i].counts;
		u64 *to = (u64 *)sum;

		pthread_join(runners[i].thread, NULL);
		for (j = 0; j < sizeof(*sum) / sizeof(u64); j++)
			to[j] += of[j];
	}
}

void grace_begin(struct grace *g)
{
	u32 i;

	for (i = 0; i < native.threads; i++)
		g->seen[i] = atomic_load(&runners[i].ends);
}

bool grace_over(const struct grace *g)
{
	u32 i;

	for (i = 0; i < native.threads; i++) {
		u64 ends = atomic_load(&runners[i].ends);

		if (ends == g->seen[i] && ends != RUNNER_GONE &&
		    !atomic_load(&runners[i].asleep))
			return false;
	}
	return true;
}
