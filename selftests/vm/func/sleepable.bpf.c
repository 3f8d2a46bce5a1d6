// SPDX-License-Identifier: GPL-2.0
/*
 * Sleepable programs: they read user memory that may have to be paged in first.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "sleepable.h"

char LICENSE[] SEC("license") = "GPL";

struct read_user on_entry, on_mod, on_exit;
__u64 exit_ret;
int mod_result;

static __always_inline void read_user(struct read_user *r, __u64 addr)
{
	r->err = bpf_copy_from_user(&r->value, sizeof(r->value), (void *)addr);
	__sync_fetch_and_add(&r->runs, 1);
}

SEC("fentry.s/tt_sleepable")
int BPF_PROG(sleep_entry, int a, __u64 addr)
{
	read_user(&on_entry, addr);
	return 0;
}

SEC("fmod_ret.s/tt_sleepable")
int BPF_PROG(sleep_mod, int a, __u64 addr, int ret)
{
	read_user(&on_mod, addr);
	return mod_result;
}

SEC("fexit.s/tt_sleepable")
int BPF_PROG(sleep_exit, int a, __u64 addr, int ret)
{
	read_user(&on_exit, addr);
	exit_ret = ret;
	return 0;
}

__u64 plain_runs;

/* One that may not sleep, beside them. */
SEC("fentry/tt_sleepable")
int BPF_PROG(plain_entry, int a, __u64 addr)
{
	__sync_fetch_and_add(&plain_runs, 1);
	return 0;
}
