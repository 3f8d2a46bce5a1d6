/* SPDX-License-Identifier: GPL-2.0 */
/*
 * /dev/trampoline_bench: calls functions in a loop inside the kernel, with
 * interrupts off, and says what the time stamp counter counted meanwhile. Under
 * QEMU's -icount that is the number of instructions executed.
 *
 * The same loop is measured with and without a program on the function: what
 * differs is the cost of the hits, and nothing of a system call is in it.
 */
#ifndef TRAMPOLINE_BENCH_H
#define TRAMPOLINE_BENCH_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define BENCH_DEVICE	"/dev/trampoline_bench"

/* The functions that are called. */
enum bench_target {
	BENCH_FUNCTION,		/* bench_function(u64, u64): 6 instructions */
	BENCH_SECURITY,		/* security_bench_hook(u64, u64): fmod_ret programs may be on it */
	BENCH_TRACEPOINT,	/* the tracepoint bench_event(u64, u64), and nothing else */
	BENCH_VARIADIC,		/* bench_variadic(u64, u64, ...): it can have no exit image */
	BENCH_MANY,		/* each of bench_many_000 ... once a round */
	BENCH_TARGETS
};

/* Functions of BENCH_MANY, bench_many_000 to bench_many_999. */
#define BENCH_MANY_NR	1000

/* More would keep interrupts off for too long. */
#define BENCH_MAX_CALLS	10000

/**
 * struct bench_run - BENCH_IOC_RUN: one loop
 * @target: enum bench_target
 * @calls: rounds of the loop, 1 to BENCH_MAX_CALLS; with BENCH_MANY 1 to 10
 * @ticks: (out) the time stamp counter's difference over the whole loop
 * @sum: (out) the sum of what the calls returned
 */
struct bench_run {
	__u32 target;
	__u32 calls;
	__u64 ticks;
	__u64 sum;
};
#define BENCH_IOC_RUN	_IOWR(0xBB, 0, struct bench_run)

/**
 * struct bench_place - BENCH_IOC_PLACE: where a function is
 * @target: enum bench_target, not BENCH_TRACEPOINT
 * @index: with BENCH_MANY which of them, otherwise 0
 * @func: (out) its address
 * @mid: (out) the address of an instruction in the middle of it, 5 bytes long; 0: none
 * @name: (out) its name
 *
 * Nothing branches to @mid or into the 5 bytes: everybody can put a jump there.
 */
struct bench_place {
	__u32 target;
	__u32 index;
	__u64 func;
	__u64 mid;
	char name[32];
};
#define BENCH_IOC_PLACE	_IOWR(0xBB, 1, struct bench_place)

#ifdef __KERNEL__

/* noipa: neither inlined nor cloned, and called as its prototype says. */
#define BENCH_TARGET __attribute__((__noipa__, __used__))

/*
 * The body of function @fn, which is measured: the variable @fn_mid becomes the offset
 * of its second instruction, which is 5 bytes long.
 */
#define BENCH_BODY(fn, a, b)						\
({									\
	u64 sum_;							\
									\
	asm volatile("lea 1(%[x],%[y]), %[sum]\n"			\
		     "1:\tlea 2(%[x],%[sum]), %[sum]\n\t"		\
		     "lea 3(%[y],%[sum]), %[sum]\n\t"			\
		     "lea 4(%[x],%[sum]), %[sum]\n\t"			\
		     "lea 5(%[y],%[sum]), %[sum]\n\t"			\
		     ".pushsection .data, \"aw\"\n\t"			\
		     ".balign 8\n\t"					\
		     ".globl " #fn "_mid\n"				\
		     #fn "_mid:\t.quad 1b - " #fn "\n\t"		\
		     ".popsection"					\
		     : [sum] "=&a" (sum_) : [x] "D" (a), [y] "S" (b));	\
	sum_;								\
})

/**
 * struct bench_one - one of the many functions
 * @call: it
 * @mid: where the offset of its instruction in the middle is
 * @name: its name
 */
struct bench_one {
	u64 (*call)(u64 a, u64 b);
	const unsigned long *mid;
	const char *name;
};
extern const struct bench_one bench_many[BENCH_MANY_NR];

#endif /* __KERNEL__ */
#endif /* TRAMPOLINE_BENCH_H */
