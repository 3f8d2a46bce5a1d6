/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by test_multi.c and its programs. */
#ifndef MULTI_H
#define MULTI_H

#define MULTI_MAX	8192
/* Counters of the program that only counts. */
#define MULTI_COUNTS	65536

/* One function, found by its cookie. */
struct multi_seen {
	__u64 entries, returns;	/* hits */
	__u64 ip;		/* the last bpf_get_func_ip() */
	__u64 first, second;	/* the first two arguments */
	__u64 result;
	__u64 caller;		/* the return address, at the entry and at the return */
	__u64 returned_to;
};

#endif /* MULTI_H */
