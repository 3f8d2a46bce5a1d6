// SPDX-License-Identifier: GPL-2.0
/* Programs for actors: they count, and look whether calls pair up. */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "GPL";

__u64 entered, returned, unpaired;

extern bool bpf_session_is_return(void) __ksym __weak;
extern __u64 *bpf_session_cookie(void) __ksym __weak;

SEC("kprobe")
int many(struct pt_regs *ctx)
{
	__sync_fetch_and_add(&entered, 1);
	return 0;
}

SEC("kprobe.session")
int session(struct pt_regs *ctx)
{
	__u64 *cookie = bpf_session_cookie(), ip = bpf_get_func_ip(ctx);

	if (!bpf_session_is_return()) {
		*cookie = ip;
		return 0;
	}
	__sync_fetch_and_add(&returned, 1);
	if (*cookie != ip)
		__sync_fetch_and_add(&unpaired, 1);
	return 0;
}

/* For the kernel's own trampoline, at a function that actors have, too. */
SEC("fentry/tt_many00")
int kernel_entry(void *ctx)
{
	__sync_fetch_and_add(&entered, 1);
	return 0;
}
