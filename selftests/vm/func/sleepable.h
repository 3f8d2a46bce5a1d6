/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by sleepable.bpf.c and its test. */
#ifndef SLEEPABLE_H
#define SLEEPABLE_H

/* The user memory that a sleepable program read. */
struct read_user {
	__u64 runs;
	__s64 err;
	__u64 value;
};

#endif /* SLEEPABLE_H */
