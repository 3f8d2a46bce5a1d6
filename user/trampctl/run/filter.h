/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Whose events count: what trampctl's BPF programs and their commands agree on.
 * Included by BPF code behind vmlinux.h and by user code behind linux/types.h.
 */
#ifndef TRAMPCTL_FILTER_H
#define TRAMPCTL_FILTER_H

#define FILTER_COMM_LEN		16

/**
 * struct task_filter - whose events count
 * @tgid: only this process; 0: all
 * @not_tgid: all but this process; 0: all
 * @by_comm: only tasks of the name @comm
 * @comm: padded with zeroes
 */
struct task_filter {
	__u32 tgid;
	__u32 not_tgid;
	__u32 by_comm;
	char comm[FILTER_COMM_LEN];
};

#endif /* TRAMPCTL_FILTER_H */
