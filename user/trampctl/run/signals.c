// SPDX-License-Identifier: GPL-2.0
/*
 * Waiting for the end of a command that runs until a signal or its time ends it.
 *
 * SIGINT counts even if it is ignored, so that scripts can use it: shells ignore it
 * for background jobs. An ignored SIGHUP means nohup, and stays ignored.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "signals.h"

static bool hangup_ignored(void)
{
	struct sigaction sa;

	return !sigaction(SIGHUP, NULL, &sa) && sa.sa_handler == SIG_IGN;
}

/* Goes on while the process is stopped. */
uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

/* SIGINT, SIGTERM, and SIGHUP if it may end us. */
void end_signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
	if (!hangup_ignored())
		sigaddset(set, SIGHUP);
}

/* From here on they do this, ignored or not. */
void end_signals_handle(void (*handler)(int sig))
{
	struct sigaction sa = { .sa_handler = handler };
	sigset_t set;
	int sig;

	end_signals(&set);
	for (sig = 1; sig < NSIG; sig++)
		if (sigismember(&set, sig) == 1)
			sigaction(sig, &sa, NULL);
}

/* Has one of them come while all are blocked? */
bool end_is_pending(void)
{
	sigset_t pending, ends;
	int sig;

	end_signals(&ends);
	sigpending(&pending);
	for (sig = 1; sig < NSIG; sig++)
		if (sigismember(&ends, sig) == 1 && sigismember(&pending, sig) == 1)
			return true;
	return false;
}
