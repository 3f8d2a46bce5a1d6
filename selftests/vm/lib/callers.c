// SPDX-License-Identifier: GPL-2.0
/*
 * Threads that call functions of the test module while a test changes what is attached
 * to them: see vmtest.h.
 */
#include <pthread.h>
#include <unistd.h>
#include "vmtest.h"

#define MAX_CALLERS 64

static pthread_t threads[MAX_CALLERS];
static int nr_threads;
static volatile bool stop_calling;
static void (*work)(int fd, unsigned int round);

static void *caller(void *cpu)
{
	unsigned int round = 0;
	int fd = tt_open();

	pin_to_cpu((long)cpu);
	while (!stop_calling)
		work(fd, round++);
	close(fd);
	return NULL;
}

int callers_start(void (*what)(int fd, unsigned int round))
{
	long cpu;

	work = what;
	stop_calling = false;
	nr_threads = nr_cpus() < MAX_CALLERS ? nr_cpus() : MAX_CALLERS;
	for (cpu = 0; cpu < nr_threads; cpu++)
		REQUIRE(!pthread_create(&threads[cpu], NULL, caller, (void *)cpu), "thread");
	return nr_threads;
}

void callers_stop(void)
{
	int i;

	stop_calling = true;
	for (i = 0; i < nr_threads; i++)
		pthread_join(threads[i], NULL);
}
