/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The module's code that a process runs in the kernel, by kcov. Where the kernel has
 * CONFIG_KCOV, kbuild puts a call into each basic block of the module (kernel/Kbuild). See
 * Documentation/dev-tools/kcov.rst in the kernel.
 *
 * Only system calls of the process are seen: no traps, no work that others do later.
 */
#ifndef FUZZ_COVERAGE_H
#define FUZZ_COVERAGE_H

#include <stdbool.h>
#include <stdint.h>

/* Bytes of the module's text that can be told apart, from its first one. */
#define COVERAGE_TEXT (1U << 19)

/* Blocks of the module: a byte for each address, set where one was run. */
struct coverage {
	uint8_t run[COVERAGE_TEXT];
};

/* Have the calling process watched; once for a process. Return: false if the kernel cannot. */
bool coverage_open(void);
/* Begin anew. */
void coverage_start(void);
/* Add what was run since then to @c. Return: how many blocks of it are new there. */
unsigned int coverage_stop(struct coverage *c);
/* Say how many of the module's blocks were run, and which functions not at all. */
void coverage_report(const struct coverage *c);

#endif /* FUZZ_COVERAGE_H */
