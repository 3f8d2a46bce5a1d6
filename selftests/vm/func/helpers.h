/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by helpers.bpf.c and its test. */
#ifndef HELPERS_H
#define HELPERS_H

#define STACK_MAX	64

struct stack_seen {
	__s64 bytes;
	__s64 id;
	__u64 frame[STACK_MAX];
};

struct ring_event {
	__u64 how;
	__u64 a, b, ret;
};

#endif /* HELPERS_H */
