/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Call stacks of an event: what trampctl's BPF programs and their commands agree on. Included by
 * BPF code behind kernel.bpf.h and by user code behind linux/types.h.
 *
 * Maps and records have room for the frames that were asked for, and no more: user space sets
 * their sizes before the programs are loaded.
 */
#ifndef TRAMPCTL_STACKS_H
#define TRAMPCTL_STACKS_H

#define STACKS_MAX_DEPTH	127	/* frames of one, PERF_MAX_STACK_DEPTH */

/**
 * struct stacks_config - which stacks; constant once the programs are loaded
 * @kernel: bytes of the kernel's; 0: it is not wanted
 * @user: the same of the process's
 */
struct stacks_config {
	__u32 kernel;
	__u32 user;
};

/**
 * struct stacks - those of one event
 * @kernel_len: bytes of the kernel's, or a negative errno
 * @user_len: the same of the process's
 * @frames: return addresses, innermost first; the process's behind stacks_config::kernel bytes
 */
struct stacks {
	__s32 kernel_len;
	__s32 user_len;
	__u64 frames[2 * STACKS_MAX_DEPTH];
};

#endif /* TRAMPCTL_STACKS_H */
