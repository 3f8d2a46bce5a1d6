// SPDX-License-Identifier: GPL-2.0
/*
 * Programs for the fuzzer: one of each kind that can be attached. They do next to nothing, as
 * they come to run anywhere.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "GPL";

__u64 ran;

static __always_inline int count(void)
{
	__sync_fetch_and_add(&ran, 1);
	return 0;
}

SEC("fentry/bpf_fentry_test1") int at_entry(void *ctx) { return count(); }
SEC("fexit/bpf_fentry_test1") int at_exit(void *ctx) { return count(); }
SEC("fmod_ret/security_file_open") int modifies(void *ctx) { return count(); }
SEC("fentry.s/tt_sleepable") int sleeps(void *ctx) { return count(); }
SEC("kprobe") int probe(void *ctx) { return count(); }
SEC("kprobe.multi") int many(void *ctx) { return count(); }
SEC("kprobe.session") int session(void *ctx) { return count() & 1; }
SEC("kprobe") int asks(void *ctx) { return (bpf_get_attach_cookie(ctx) + count()) & 0; }
