/* SPDX-License-Identifier: GPL-2.0 */
/* The BPF side of filter.h: constant for the verifier, it costs nothing if unused. */
#ifndef TRAMPCTL_FILTER_BPF_H
#define TRAMPCTL_FILTER_BPF_H

#include "filter.h"

static __always_inline bool task_wanted(const volatile struct task_filter *f, __u32 tgid,
					 const char *comm)
{
	int i;

	if (f->tgid && f->tgid != tgid)
		return false;
	if (f->not_tgid && f->not_tgid == tgid)
		return false;
	if (!f->by_comm)
		return true;
	for (i = 0; i < FILTER_COMM_LEN; i++) {
		if (comm[i] != f->comm[i])
			return false;
		if (!comm[i])
			break;
	}
	return true;
}

#endif /* TRAMPCTL_FILTER_BPF_H */
