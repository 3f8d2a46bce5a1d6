/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by record.bpf.c and the tests. */
#ifndef RECORD_H
#define RECORD_H

#define RECORD_SLOTS	12
#define ORDER_MAX	256
#define COUNTERS	256

/* One call, as a program saw it. */
struct call_record {
	__u64 calls;
	__s64 nr_slots;
	__u64 slot[RECORD_SLOTS];
	__s64 slot_err[RECORD_SLOTS];
	__u64 ret;
	__s64 ret_err;
	__u64 ip;
	__u64 cookie;
};

#endif /* RECORD_H */
