/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Rounds of a few seconds. Each has a seed of its own, from which all comes that the threads do
 * not decide between themselves: the code, the inputs, the patcher's changes.
 */
#ifndef SELFTESTS_NATIVE_ROUNDS_H
#define SELFTESTS_NATIVE_ROUNDS_H

#define ROUND_SECONDS	3.0
#define ROUNDS_A_NOTE	100	/* so many, and a line says how far it is */

/* Rounds of probes for so long, or for native.passes; prints what they did. */
void rounds_of_probes(double seconds);

/* Rounds of calls, likewise. */
void rounds_of_calls(double seconds);

#endif /* SELFTESTS_NATIVE_ROUNDS_H */
