/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TRAMP_SELFTEST_H
#define TRAMP_SELFTEST_H

/**
 * tramp_selftest() - prove on a function of our own that images work here
 *
 * Context: module init, before anything can be attached; may sleep.
 * Return: 0, or a negative errno with lines in the kernel log.
 */
int tramp_selftest(void);

/* The same for probes, after tramp_probe_init(). */
int tramp_selftest_probe(void);

/* The instructions that it probes. */
extern u8 tramp_selftest_probed[];

#endif
