// SPDX-License-Identifier: GPL-2.0
/* Runs a command with SIGINT blocked and pending, as if Ctrl-C had come while it was at work. */
#include <signal.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	sigset_t set;

	if (argc < 2)
		return 2;
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	if (sigprocmask(SIG_BLOCK, &set, NULL) || raise(SIGINT))
		return 2;
	execvp(argv[1], argv + 1);
	return 127;
}
