// SPDX-License-Identifier: GPL-2.0
/*
 * The programs of test_pokes.c, which look whether CPUs may come and go while text is changed.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include "../lib/mutex.bpf.h"

char LICENSE[] SEC("license") = "GPL";

const volatile __u32 only_pid;
const volatile __u64 ftrace_lock;
__s64 depth;			/* of cpus_read_lock() */
__u64 pokes, queued;		/* changes of one place, and those noted for later */
__u64 bare;			/* of both, without that lock */

static __always_inline bool wanted(void)
{
	return bpf_get_current_pid_tgid() >> 32 == only_pid;
}

SEC("kprobe")
int on_lock(struct pt_regs *ctx)
{
	if (wanted())
		depth++;
	return 0;
}

SEC("kprobe")
int on_unlock(struct pt_regs *ctx)
{
	if (wanted())
		depth--;
	return 0;
}

SEC("kprobe")
int on_poke(struct pt_regs *ctx)
{
	if (!wanted())
		return 0;
	pokes++;
	bare += !depth;
	return 0;
}

SEC("kprobe")
int on_queue(struct pt_regs *ctx)
{
	/* Changes of ftrace's are its own. */
	if (!wanted() || mutex_is_ours(ftrace_lock))
		return 0;
	queued++;
	bare += !depth;
	return 0;
}
