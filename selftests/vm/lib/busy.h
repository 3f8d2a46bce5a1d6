/* SPDX-License-Identifier: GPL-2.0 */
/* Work on all CPUs: files, processes, memory, the network, and calls of known functions. */
#ifndef BUSY_H
#define BUSY_H

#include <stdint.h>

/* The functions tt_hot0 to tt_hot3 of the test module. */
#define BUSY_FUNCS	4

/* Files of every other CPU are in @dir from now on; those of the rest stay in memory. */
void busy_files(const char *dir);

/* From now on there is a pause behind each round, as long as so many of it. */
void busy_idle(unsigned int rounds);

/*
 * Each CPU does workload() over and over for @seconds, in a process of its own. In between it
 * calls the functions; @calls, one for each, is how often in all. Results that are not as they
 * should be fail the test.
 */
void busy(unsigned int seconds, uint64_t *calls);

#endif /* BUSY_H */
