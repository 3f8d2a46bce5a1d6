// SPDX-License-Identifier: GPL-2.0
/*
 * Signals: SIGTRAP stands for the int3 handler of the kernel, and a fault is a failure.
 *
 * The difference from the kernel: there the handler runs with interrupts off from the trap on, so
 * a sync of all processors waits for it. A thread may be preempted between its trap and the
 * first instruction of this handler, and no sync waits for that. So it may come here when the
 * int3, and with it the probe, has gone. As the kernel does in that case, it executes what
 * is there by then.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include "runner.h"
#include "text.h"

void (*trap_note)(u64 ip);

static trap_fn *take;
static trap_where_fn *where;

void trap_step(mcontext_t *m)
{
	m->gregs[REG_EFL] |= FLAG_TF;
}

/* One instruction was executed, the next is at rip. */
static void on_step(struct runner *r, mcontext_t *m)
{
	u64 ip = (u64)m->gregs[REG_RIP];

	if (!r) {
		if (trap_note && ip != (u64)native_back) {
			trap_note(ip);
			return;
		}
	} else if (r->stepping && --r->stepping) {
		r->counts.steps++;
		if (text_has(ip) && rng_chance(&r->sig_rng, 5))
			runner_preempt(r, true);
		return;
	}
	m->gregs[REG_EFL] &= ~(long long)FLAG_TF;
}

static void describe(u64 addr, char *text, size_t len)
{
	snprintf(text, len, "%#lx", addr);
	if (where && text_has(addr))
		where(addr, text + strlen(text), len - strlen(text));
}

static void on_trap(int sig, siginfo_t *info, void *context)
{
	mcontext_t *m = &((ucontext_t *)context)->uc_mcontext;
	u64 ip = (u64)m->gregs[REG_RIP] - 1;
	struct runner *r = runner_self();
	int err = errno;
	char text[160];

	(void)sig;
	if (info->si_code != SI_KERNEL) {
		on_step(r, m);
	} else if (!r || !text_has(ip) || !take(r, ip, m)) {
		describe(ip, text, sizeof(text));
		native_die("an int3 that nobody knows of at %s", text);
	}
	errno = err;
}

/* Wherever the stack pointer leads. */
void trap_thread(void)
{
	static __thread u8 stack[16384];
	const stack_t alt = { .ss_sp = stack, .ss_size = sizeof(stack) };

	if (sigaltstack(&alt, NULL))
		native_die("sigaltstack: %m");
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
	const mcontext_t *m = &((ucontext_t *)context)->uc_mcontext;
	char at[160], of[160];

	describe((u64)m->gregs[REG_RIP], at, sizeof(at));
	describe((u64)info->si_addr, of, sizeof(of));
	native_die("%s at %s, about %s", strsignal(sig), at, of);
}

void trap_init(trap_fn *take_, trap_where_fn *where_)
{
	static const int faults[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE };
	struct sigaction sa = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_NODEFER };
	u32 i;

	take = take_;
	where = where_;
	if (sigaction(SIGTRAP, &sa, NULL))
		native_die("sigaction: %m");
	sa.sa_sigaction = on_fault;
	sa.sa_flags |= SA_ONSTACK;
	for (i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		if (sigaction(faults[i], &sa, NULL))
			native_die("sigaction: %m");
}
