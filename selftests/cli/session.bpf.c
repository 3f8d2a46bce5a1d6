// SPDX-License-Identifier: GPL-2.0
/*
 * A session as it is written for kernels that have sessions: what it calls must be there, or
 * libbpf does not load it. It counts and pairs calls in data of its own, in a function of its own.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

extern bool bpf_session_is_return(void) __ksym;
extern __u64 *bpf_session_cookie(void) __ksym;
/* There is none, so the object's externs are not all found. */
extern void no_such_kfunc(void) __ksym __weak;

const volatile __u64 mark = 0x5e5510;
/* Read by test_lib_multi.c. */
struct {
	__u64 entries, returns, unpaired, last_ip;
} seen;

static __noinline int at_return(void)
{
	if (*bpf_session_cookie() != mark)
		__sync_fetch_and_add(&seen.unpaired, 1);
	__sync_fetch_and_add(&seen.returns, 1);
	return 0;
}

SEC("kprobe.session/do_unlinkat")
int both(struct pt_regs *ctx)
{
	seen.last_ip = bpf_get_func_ip(ctx);
	if (no_such_kfunc)
		no_such_kfunc();
	if (bpf_session_is_return())
		return at_return();
	*bpf_session_cookie() = mark;
	__sync_fetch_and_add(&seen.entries, 1);
	return 0;
}
