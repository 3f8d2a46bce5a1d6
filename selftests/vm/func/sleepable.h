/* SPDX-License-Identifier: GPL-2.0 */
/* What sleepable.bpf.c and its test share. */
#ifndef SLEEPABLE_H
#define SLEEPABLE_H

/* What a sleepable program read of user memory. */
struct read_user {
	__u64 runs;
	__s64 err;
	__u64 value;
};

#endif /* SLEEPABLE_H */
