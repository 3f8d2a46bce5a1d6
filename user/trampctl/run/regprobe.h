/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the program regprobe.bpf.c and `trampctl probe`. BPF code includes it
 * after vmlinux.h, user code after linux/types.h.
 */
#ifndef TRAMPCTL_REGPROBE_H
#define TRAMPCTL_REGPROBE_H

#include "filter.h"
#include "stacks.h"

/* The registers of x86-64's struct pt_regs, in its order, which is the same in all kernels. */
enum probe_reg {
	PROBE_R15, PROBE_R14, PROBE_R13, PROBE_R12, PROBE_BP, PROBE_BX, PROBE_R11, PROBE_R10,
	PROBE_R9, PROBE_R8, PROBE_AX, PROBE_CX, PROBE_DX, PROBE_SI, PROBE_DI, PROBE_ORIG_AX,
	PROBE_IP, PROBE_CS, PROBE_FLAGS, PROBE_SP, PROBE_SS,
	PROBE_NR_REGS
};

/**
 * struct probe_hit - one hit
 * @time: CLOCK_MONOTONIC, ns
 * @regs: as the program found them, by enum probe_reg
 * @cpu, @tgid, @tid: where, process and thread
 * @comm: the task's name
 * @stacks: as far as they are wanted; a record ends behind them
 */
struct probe_hit {
	__u64 time;
	__u64 regs[PROBE_NR_REGS];
	__u32 cpu;
	__u32 tgid;
	__u32 tid;
	char comm[FILTER_COMM_LEN];
	struct stacks stacks;
};

/**
 * struct probe_counts - what the program did
 * @reported: hits handed to user space
 * @lost_ring: hits dropped: user space did not read fast enough
 */
struct probe_counts {
	__u64 reported;
	__u64 lost_ring;
};

#endif /* TRAMPCTL_REGPROBE_H */
