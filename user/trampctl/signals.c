// SPDX-License-Identifier: GPL-2.0
/*
 * The signals that end a command which runs until it is told to stop.
 *
 * SIGINT counts even if it is ignored, as shells do for background jobs, so that
 * scripts can use it; an ignored SIGHUP means nohup, and is left alone.
 */
#include <signal.h>

#include "trampctl.h"

static bool hangup_ignored(void)
{
	struct sigaction sa;

	return !sigaction(SIGHUP, NULL, &sa) && sa.sa_handler == SIG_IGN;
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
