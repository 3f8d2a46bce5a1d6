/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The self-tests at load: images work here, on functions of our own.
 */
#ifndef TRAMP_SELFTEST_H
#define TRAMP_SELFTEST_H

#include <linux/percpu.h>
#include "prog/set.h"

/* The recursion counter of what the self-tests attach. */
DECLARE_PER_CPU(int, tramp_selftest_active);

/*
 * For functions, before anything can be attached, and for probes, after tramp_probe_init(). Return:
 * 0, or a negative errno with lines in the kernel log.
 */
int tramp_selftest(void);
int tramp_selftest_probe(void);

/* The instructions that the latter probes. */
extern u8 tramp_selftest_probed[];

/**
 * typedef tramp_selftest_t - what one self-test does
 * @members: two, without BPF programs; the cookies of their slots are 0 and 1
 * @why: what was refused
 *
 * Context: tramp_mutex held, may sleep.
 * Return: 0 or a negative errno.
 */
typedef int tramp_selftest_t(struct tramp_member *members, struct tramp_refusal *why);

/* Run one; the members must have had @hits hits, and no misses. @name is for the log. */
int tramp_selftest_run(const char *name, tramp_selftest_t *test, u64 hits);

/* Return: 0 if @ok, or an errno, and @what is in the log. */
int tramp_selftest_check(bool ok, const char *what);

#endif /* TRAMP_SELFTEST_H */
