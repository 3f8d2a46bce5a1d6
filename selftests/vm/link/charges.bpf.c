// SPDX-License-Identifier: GPL-2.0
/*
 * The program of test_accounting.c, which looks at charges to a control group.
 */
#include "vmlinux.h"
#include "../lib/mutex.bpf.h"

char LICENSE[] SEC("license") = "GPL";

const volatile __u64 tramp_mutex;
const volatile __u32 only_pid;
__u64 charges, with_mutex;

SEC("kprobe")
int on_charge(struct pt_regs *ctx)
{
	if (bpf_get_current_pid_tgid() >> 32 != only_pid)
		return 0;
	__sync_fetch_and_add(&charges, 1);
	if (mutex_is_ours(tramp_mutex))
		__sync_fetch_and_add(&with_mutex, 1);
	return 0;
}
