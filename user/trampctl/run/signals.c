// SPDX-License-Identifier: GPL-2.0
/*
 * What ends a command that runs until it is told to stop: signals, and the time.
 *
 * SIGINT counts even if it is ignored, as shells do for background jobs, so that
 * scripts can use it; an ignored SIGHUP means nohup, and is left alone.
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
