/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Calls without memory. The linker sends allocations of the library to starve.c, and not those of
 * libc and libbpf (build.mk).
 */
#ifndef SELFTESTS_LIBTRAMPOLINE_STARVE_H
#define SELFTESTS_LIBTRAMPOLINE_STARVE_H

#include <stdbool.h>

/**
 * starve() - make a call again and again, with its first, second, ... allocation failing
 * @what: how it is called in a failure
 * @call: makes it, frees all that came of it, and says whether it succeeded
 *
 * It ends when no allocation fails any more, and the call has succeeded. Before, it fails with
 * ENOMEM and no-memory, or does without what it wanted the memory for. It leaves nothing
 * allocated, and no descriptor open.
 */
void starve(const char *what, bool (*call)(void));

/*
 * Is this the allocation that fails? Then errno says so. For what a test stands in for itself, as
 * a system call that the kernel needs memory for.
 */
bool starve_fails(void);

#endif /* SELFTESTS_LIBTRAMPOLINE_STARVE_H */
