/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the programs that go on many functions (many.bpf.c) and the commands count,
 * hist, stack and trace. It has the configuration of a run, what is known of each
 * function, and what comes out.
 *
 * BPF code includes it after vmlinux.h, user code after linux/types.h.
 */
#ifndef TRAMPCTL_MANY_H
#define TRAMPCTL_MANY_H

#include "calltrace.h"

#define MANY_MAX_TERMS		8	/* comparisons of a run, of arguments and of the result */
#define MANY_TEXT_LEN		64	/* bytes of a text that is compared, with its zero */
#define MANY_MAX_PRINTS		8	/* members that a trace shows of a call */
#define MANY_MAX_DEREFS		8	/* pointers that are read in memory on the way to one */
#define MANY_MAX_DEPTH		64	/* calls inside of each other that one task is noted in */
#define MANY_MAX_TASKS		4096	/* tasks that are inside at one time */
#define MANY_MAX_STACKS		16384	/* different call stacks */
#define MANY_BUCKETS		48	/* durations of a histogram: 2^47 ns are 39 hours */
#define MANY_REGS		6	/* arguments in registers */

enum many_mode {
	MANY_COUNT,
	MANY_HIST,
	MANY_STACK,
	MANY_TRACE,
};

/* many_config::flags */
#define MANY_F_EXIT		(1U << 0)	/* exits follow entries */
#define MANY_F_TOGETHER		(1U << 1)	/* one histogram for all functions */
#define MANY_F_USTACK		(1U << 2)	/* stacks count by the process's, too */
#define MANY_F_TERMS		(1U << 3)	/* functions have conditions */
#define MANY_F_FUNCS		(1U << 4)	/* functions are described */
#define MANY_F_EXIT_ONLY	(1U << 5)	/* no entries: calls count as they return */
#define MANY_F_PRINTS		(1U << 6)	/* members are shown */

/* enum many_op: how a condition compares */
enum many_op {
	MANY_EQ, MANY_NE, MANY_LT, MANY_LE, MANY_GT, MANY_GE, MANY_AND,
};

/* many_term::where: an argument register by its number, the result, ... */
#define MANY_RESULT		0xff
/* ... or nowhere that a program sees, as a register of SSE; many_slot() reads 0 ... */
#define MANY_NOWHERE		7
/* ... or an argument on the stack: this plus the number of its slot there */
#define MANY_ON_STACK		0x40

/**
 * struct many_term - a comparison, as it is for one function
 * @value: to compare with; as wide as the argument if that is unsigned
 * @where: where the argument is
 * @op: enum many_op
 * @bits: of the number: 1 to 64
 * @is_signed: it has a sign
 * @shift: bits below it, in the argument or the member
 * @by_path: what is compared is where the path of the same number leads
 */
struct many_term {
	__u64 value;
	__u8 where;
	__u8 op;
	__u8 bits;
	__u8 is_signed;
	__u8 shift;
	__u8 by_path;
	__u8 __pad[2];
};

/* many_path::kind */
enum many_path_kind {
	MANY_PATH_SLOT,		/* in the argument itself */
	MANY_PATH_NUMBER,	/* a number in memory */
	MANY_PATH_TEXT,		/* characters in memory */
};

/**
 * struct many_path - from an argument or a result to a member, for one function
 * @off: where each pointer is, from where the one before leads; the first from the argument
 * @last: where the member is, from there
 * @text_len: bytes of an array of characters; 0: a text ends with a zero, or where it is cut
 * @nr: pointers to read
 * @kind: enum many_path_kind
 * @size: bytes of a number in memory
 * @where: where the argument is, as many_term::where
 * @str: which of the call's strings it becomes
 *
 * A run has many_config::nr_paths of them for each function: those of terms by their numbers,
 * then those of what is shown.
 */
struct many_path {
	__u32 off[MANY_MAX_DEREFS];
	__u32 last;
	__u16 text_len;
	__u8 nr;
	__u8 kind;
	__u8 size;
	__u8 where;
	__u8 str;
	__u8 __pad;
};

/**
 * struct many_print - what a path led to
 * @value: the number that was read; or the address that could not be
 * @status: more than 0: there is a value, or a text of this length with its zero; otherwise a
 *	negative errno, or 0 if nothing was tried
 */
struct many_print {
	__u64 value;
	__s32 status;
	__u32 __pad;
};

/**
 * struct many_func - one function; its number is the cookie of its programs
 * @terms: what is compared, of the arguments and of the result alike
 * @nr_terms: how many
 * @nr_slots: of its arguments, for events: at most TRACE_MAX_SLOTS
 * @slot_where: where each slot is, as many_term::where
 * @str_kind: which of them lead to a string: enum trace_str_kind
 * @nr_strs: strings in all, that of the result and those of members included
 * @ret_kind: the result's
 * @ret_str: which of the strings is the result
 */
struct many_func {
	struct many_term terms[MANY_MAX_TERMS];
	__u8 nr_terms;
	__u8 nr_slots;
	__u8 nr_strs;
	__u8 ret_kind;
	__u8 slot_where[TRACE_MAX_SLOTS];
	__u8 str_kind[TRACE_MAX_SLOTS];
	__u8 ret_str;
	__u8 __pad[3];
};

/* Of all outcomes of the comparisons, as bits of a number, those in a set. */
#define MANY_OUTCOMES	(1 << MANY_MAX_TERMS)
struct many_outcomes {
	__u64 bits[MANY_OUTCOMES / 64];
};

/**
 * struct many_config - a run; constant once the programs are loaded
 * @mode: enum many_mode
 * @flags: MANY_F_*
 * @nr_funcs: functions in all
 * @min_ns: only calls that take as long
 * @filter: whose calls count
 * @stacks: which stacks the events of a trace have
 * @nr_paths: paths of each function
 * @nr_terms: comparisons; the paths behind theirs are shown
 * @holds: outcomes of which the conditions hold
 * @may_hold: the same while those of the result are not known, and count as 0
 * @text: of comparisons with a text
 */
struct many_config {
	__u32 mode;
	__u32 flags;
	__u32 nr_funcs;
	__u64 min_ns;
	struct task_filter filter;
	struct stacks_config stacks;
	__u32 nr_paths;
	__u32 nr_terms;
	struct many_outcomes holds;
	struct many_outcomes may_hold;
	char text[MANY_MAX_TERMS][MANY_TEXT_LEN];
};

/**
 * struct many_counts - what the programs did not or could not do
 * @entered: calls of a trace that were noted at entry
 * @returned: those of them that have returned
 * @lost_tasks: calls not noted: more than MANY_MAX_TASKS were inside, or the table was in use
 *	by the code that this call interrupted
 * @lost_depth: calls not noted: too many inside of each other
 * @lost_exit: calls whose exit was not seen
 * @lost_inflight: calls of a trace that there was no place for
 * @lost_ring: events that user space did not read fast enough
 * @lost_stacks: calls whose stack could not be taken
 */
struct many_counts {
	__u64 entered;
	__u64 returned;
	__u64 lost_tasks;
	__u64 lost_depth;
	__u64 lost_exit;
	__u64 lost_inflight;
	__u64 lost_ring;
	__u64 lost_stacks;
};

/**
 * struct many_hist - durations of calls
 * @bucket: @bucket[i]: calls that took from 2^i to 2^(i+1) - 1 ns; 0 ns are in the first
 * @sum: of all durations, ns
 */
struct many_hist {
	__u64 bucket[MANY_BUCKETS];
	__u64 sum;
};

/**
 * struct many_stack - a call stack of a function, the key of its count
 * @func: number of the function
 * @stack: id in the map of stacks
 * @user: the same of the process's stack, or a negative errno, or MANY_KERNEL_THREAD
 * @tgid: the process
 * @comm: its task's name
 *
 * The last three are 0 if stacks in processes were not asked for.
 */
struct many_stack {
	__u32 func;
	__s32 stack;
	__s32 user;
	__u32 tgid;
	char comm[FILTER_COMM_LEN];
};

/* many_stack::user: there is none */
#define MANY_KERNEL_THREAD	(-4096)

/**
 * struct many_event - one call of a trace, and where it stands among others
 * @top: start of the outermost call that its task was in, which may be itself: names the tree
 * @task: whose, by its address
 * @last: nothing more comes of this tree. A record that ends here says only that.
 * @print: members to show
 * @call: the call
 */
struct many_event {
	__u64 top;
	__u64 task;
	__u64 last;
	struct many_print print[MANY_MAX_PRINTS];
	struct traced_call call;
};

/**
 * struct many_frame - a call that has entered and not returned
 * @start: CLOCK_MONOTONIC, ns
 * @sp: where its return address is, which tells it from other calls of the function
 * @func: number of the function
 * @wanted: all that could be asked at entry holds
 * @terms: the comparisons that did, as bits
 */
struct many_frame {
	__u64 start;
	__u64 sp;
	__u32 func;
	__u16 wanted;
	__u16 terms;
};

/**
 * struct many_task - calls that a task is in
 * @depth: frames in use
 * @over: calls that found no place, all of them inside of the last frame
 * @reported: an event was sent of the tree that the first frame is the root of
 * @frames: the calls, the outermost first
 */
struct many_task {
	__u32 depth;
	__u32 over;
	__u32 reported;
	__u32 __pad;
	struct many_frame frames[MANY_MAX_DEPTH];
};

#endif /* TRAMPCTL_MANY_H */
