/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the tracing programs (calltrace.bpf.c) and `trampctl trace`: the
 * configuration of one traced function and the record of one call.
 *
 * BPF code includes it after vmlinux.h, user code after linux/types.h;
 * it defines its own sizes and nothing else.
 */
#ifndef TRAMPCTL_CALLTRACE_H
#define TRAMPCTL_CALLTRACE_H

#include "filter.h"
#include "stacks.h"

#define TRACE_MAX_SLOTS		12	/* register-sized argument slots */
#define TRACE_MAX_STRS		5	/* strings of a call, the result's included */
#define TRACE_STR_LEN		128	/* bytes of a string, with its zero */
#define TRACE_MAX_INFLIGHT	8192	/* calls that have entered and not returned */

/* How the string behind a pointer is reached. */
enum trace_str_kind {
	TRACE_STR_NONE = 0,
	TRACE_STR_CHARS,	/* the pointer itself points to characters */
	TRACE_STR_FILENAME,	/* struct filename: name */
	TRACE_STR_QSTR,		/* struct qstr: name */
	TRACE_STR_DENTRY,	/* struct dentry: the last component of its path */
	TRACE_STR_FILE,		/* struct file: that of its dentry */
};

/* trace_config::flags */
#define TRACE_F_ENTRY_ONLY	(1U << 0)	/* no exit program: report at entry */
#define TRACE_F_RESULT		(1U << 1)	/* the function returns something */

/**
 * struct trace_config - one traced function, constant once the program is loaded
 * @func: number of the function, copied to each record
 * @flags: TRACE_F_*
 * @nr_slots: argument slots to record, at most TRACE_MAX_SLOTS
 * @filter: whose calls count
 * @stacks: which stacks are taken, at entry
 * @str_kind: per slot: enum trace_str_kind
 * @ret_kind: the same for the result
 * @nr_strs: strings that are taken in all, at most TRACE_MAX_STRS
 */
struct trace_config {
	__u32 func;
	__u32 flags;
	__u32 nr_slots;
	struct task_filter filter;
	struct stacks_config stacks;
	__u8 str_kind[TRACE_MAX_SLOTS];
	__u8 ret_kind;
	__u8 nr_strs;
	__u8 __pad[2];
};

/**
 * struct traced_call - one call
 * @start, @end: CLOCK_MONOTONIC, ns; @end is 0 if only the entry was seen
 * @slots: argument slots as they were at entry
 * @ret: the result
 * @func: trace_config::func
 * @cpu: where the call entered
 * @tgid, @tid: process and thread
 * @str_len: per string, in the order of the slots and the result last: its
 *	length with the zero, or a negative errno if it could not be read
 * @comm: the task's name
 * @str: the strings
 * @stacks: as it entered
 *
 * A record is cut behind the last string in use, or behind its stacks if it has any.
 */
struct traced_call {
	__u64 start;
	__u64 end;
	__u64 slots[TRACE_MAX_SLOTS];
	__u64 ret;
	__u32 func;
	__u32 cpu;
	__u32 tgid;
	__u32 tid;
	__s32 str_len[TRACE_MAX_STRS];
	char comm[FILTER_COMM_LEN];
	char str[TRACE_MAX_STRS][TRACE_STR_LEN];
	struct stacks stacks;
};

/**
 * struct trace_counts - what one function's programs did
 * @entered: calls that matched the filter and were noted at entry
 * @reported: records handed to user space
 * @lost_inflight: calls not noted: more than TRACE_MAX_INFLIGHT were under way,
 *	or the table was in use by the code that this call interrupted
 * @lost_ring: records dropped: user space did not read fast enough
 */
struct trace_counts {
	__u64 entered;
	__u64 reported;
	__u64 lost_inflight;
	__u64 lost_ring;
};

#endif /* TRAMPCTL_CALLTRACE_H */
