/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tasks whose events count: what trampctl's BPF programs and their commands agree on.
 * Included by BPF code behind vmlinux.h and by user code behind linux/types.h.
 */
#ifndef TRAMPCTL_FILTER_H
#define TRAMPCTL_FILTER_H

#define FILTER_COMM_LEN		16
#define FILTER_MAX_CPUS		1024
#define FILTER_MAX_CHILDREN	16384	/* processes that are followed at one time */

/* task_filter::by */
#define FILTER_BY_COMM		(1U << 0)	/* only tasks of the name @comm */
#define FILTER_BY_UID		(1U << 1)	/* only tasks of the user @uid */
#define FILTER_BY_CPU		(1U << 2)	/* only on CPUs of the set @cpus */
#define FILTER_BY_CGROUP	(1U << 3)	/* only tasks below the control group in the map */
#define FILTER_CHILDREN		(1U << 4)	/* besides @tgid what it has started */

/**
 * struct task_filter - whose events count
 * @by: FILTER_*
 * @tgid: only this process; 0: all
 * @not_tgid: all but this process; 0: all
 * @tid: only this thread; 0: all
 * @uid: the real user id, in the initial user namespace
 * @comm: padded with zeroes
 * @cpus: a bit for each
 */
struct task_filter {
	__u32 by;
	__u32 tgid;
	__u32 not_tgid;
	__u32 tid;
	__u32 uid;
	char comm[FILTER_COMM_LEN];
	__u32 __pad;
	__u64 cpus[FILTER_MAX_CPUS / 64];
};

#endif /* TRAMPCTL_FILTER_H */
