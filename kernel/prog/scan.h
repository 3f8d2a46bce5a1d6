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

/**
 * tramp_prog_patched() - whether something runs in a program's place
 * @prog: the program, jited
 *
 * An extension (freplace) is a jump at the entry of the program, or of one of its global
 * functions. Tracers of the program do not count: they come back to it.
 *
 * Context: any; the caller sees to it that no extension comes or goes meanwhile.
 * Return: true if so.
 */
bool tramp_prog_patched(const struct bpf_prog *prog);

/**
 * tramp_prog_entry() - where a direct call enters a program
 * @prog: the program
 *
 * Instructions that only others need are left out: an ENDBR64, which is for indirect
 * calls, and what is kept free for those who attach to the program, if nobody can.
 *
 * Return: an address in the program.
 */
unsigned long tramp_prog_entry(const struct bpf_prog *prog);

#endif /* TRAMP_PROG_SCAN_H */
