// SPDX-License-Identifier: GPL-2.0
/*
 * thread-exec: a thread says its number, waits for a line of standard input, and becomes another
 * program. It is not the first of its process, so execve() gives it the number of the process.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static void *become_another(void *arg)
{
	char line[32];

	printf("%d\n", gettid());
	fflush(stdout);
	if (fgets(line, sizeof(line), stdin))
		execl("/bin/true", "true", NULL);
	return arg;
}

int main(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, become_another, NULL))
		return 1;
	pthread_join(thread, NULL);
	/* It should not have come back. */
	return 1;
}
