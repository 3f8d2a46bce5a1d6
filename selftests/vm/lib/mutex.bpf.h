/* SPDX-License-Identifier: GPL-2.0 */
/* Mutexes of the kernel, for BPF programs: whether the task that runs has one. */
#ifndef MUTEX_BPF_H
#define MUTEX_BPF_H

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

/* A mutex of PREEMPT_RT. */
struct rt_mutex_base___rt {
	struct task_struct *owner;
} __attribute__((preserve_access_index));

struct mutex___rt {
	struct rt_mutex_base___rt rtmutex;
} __attribute__((preserve_access_index));

/* Whether this task has the one at @addr. The lowest bits of the owner's address are flags. */
static __always_inline bool mutex_is_ours(__u64 addr)
{
	struct mutex___rt *rt = (void *)addr;
	struct mutex *m = (void *)addr;
	__u64 owner;

	if (bpf_core_field_exists(rt->rtmutex))
		owner = (__u64)BPF_CORE_READ(rt, rtmutex.owner);
	else
		owner = BPF_CORE_READ(m, owner.counter);
	return (owner & ~7ULL) == bpf_get_current_task();
}

#endif /* MUTEX_BPF_H */
