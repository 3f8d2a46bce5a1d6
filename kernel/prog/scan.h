/* SPDX-License-Identifier: GPL-2.0 */
/* The parts of its context that a program uses: images leave out the rest. */
#ifndef TRAMP_PROG_SCAN_H
#define TRAMP_PROG_SCAN_H

#include <linux/bpf.h>
#include "base/tramp.h"

/**
 * tramp_scan_flags() - which parts a program uses, beside the arguments
 * @prog: a program that can be attached
 *
 * Return: TRAMP_X86_CALL_COOKIE, _IP and _NARGS, each unless the program provably does
 * without.
 */
u32 tramp_scan_flags(const struct bpf_prog *prog);

/**
 * tramp_scan_regs() - which members of struct pt_regs a kprobe program may read
 * @prog: the program
 *
 * True of the program as it is, with nothing in its place (tramp_prog_patched()).
 *
 * Context: may sleep.
 * Return: bit n for the u64 at 8 * n; TRAMP_X86_REGS_ALL if that cannot be told.
 */
u32 tramp_scan_regs(const struct bpf_prog *prog);

/*
 * Whether something runs in the place of a jited program: an extension (freplace) is a jump at
 * its entry, or at that of one of its global functions. Tracers do not count: they come back.
 * Any context; the caller sees to it that no extension comes or goes meanwhile.
 */
bool tramp_prog_patched(const struct bpf_prog *prog);

/*
 * The address at which a direct call enters a program. It is behind what only others need: an
 * ENDBR64, which is for indirect calls, and room for those who attach to it, if nobody can.
 */
unsigned long tramp_prog_entry(const struct bpf_prog *prog);

#endif /* TRAMP_PROG_SCAN_H */
