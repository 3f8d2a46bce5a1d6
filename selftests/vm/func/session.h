/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by test_multi_session.c and its programs. */
#ifndef SESSION_H
#define SESSION_H

#define SESSION_CALLS	4096
#define SESSION_DEPTH	1024

/* A call, found by its number, which is in its session cookie. */
struct session_call {
	__u64 ip;		/* bpf_get_func_ip() at the entry */
	__u64 arg, result;
	__u64 entered, left;	/* the time, in ns */
	__u32 depth;		/* calls around it that have not returned */
	__u32 returns;
};

#endif /* SESSION_H */
