/* SPDX-License-Identifier: GPL-2.0 */
/* Work on all CPUs: files, processes, memory, the network, and calls of known functions. */
#ifndef BUSY_H
#define BUSY_H

#include <stdint.h>

/* The functions tt_hot0 to tt_hot3 of the test module. */
#define BUSY_FUNCS	4

/*
 * Each CPU does workload() over and over for @seconds, in a process of its own, and calls the
 * functions in between. @calls, one for each function, is how often they were called in all.
 * Results that are not as they should be fail the test.
 */
void busy(unsigned int seconds, uint64_t *calls);

#endif /* BUSY_H */
