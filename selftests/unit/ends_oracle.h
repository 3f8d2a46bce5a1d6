/* SPDX-License-Identifier: GPL-2.0 */
/* Ends: the steps of a call of a function, as they should be; see ends.h. */
#ifndef SELFTESTS_UNIT_ENDS_ORACLE_H
#define SELFTESTS_UNIT_ENDS_ORACLE_H

#include "ends.h"

/* A call of a thunk. */
struct ends_event {
	u32 thunk;
	u64 a0, a1;		/* rdi and rsi, where they are plain numbers */
	u32 preempt;
	u64 inflight;
	bool at_return;		/* of a program that runs when all else is over */
	bool later;		/* at the entry, another program's frame has been there */
	bool within;		/* what it runs in has been called by a session's layer */
	u32 depth;		/* calls that are counted, but for those that only the kernel's
				 * return thunks take back */
	u32 taken_back;		/* how many of them when it is over */
	u64 ret;
};

#define ENDS_MAX_EVENTS	(TRAMP_X86_MAX_PROGS * 12 + 16)

/*
 * Fill in the log of a level that begins now. log[nr_log] has the preemption counter, the depth
 * and, as ret, the result when all is over.
 */
void ends_oracle(const struct ends *s, struct ends_level *l);

/* The cookie of a function for a plain kprobe program. */
u64 ends_cookie(u64 link, u64 entry_ip);

/* Whether a program finds a bpf_kprobe_multi_run_ctx, a bpf_trace_run_ctx. */
bool ends_has_multi_ctx(const struct ends *s, u32 i);
bool ends_has_trace_ctx(const struct ends *s, u32 i);

#endif /* SELFTESTS_UNIT_ENDS_ORACLE_H */
