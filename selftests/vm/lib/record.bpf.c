// SPDX-License-Identifier: GPL-2.0
/*
 * Programs that write down all they can learn of a call. They use the generic helpers, so that
 * the same program fits every function: the tests load copies of them for one function after
 * the other.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "record.h"

char LICENSE[] SEC("license") = "GPL";

/* Zero: calls by any process. */
int only_pid;

struct call_record on_entry, on_mod, on_exit;
/* The value that record_mod returns. */
int mod_result;
/* Order in which programs ran, as their cookies. */
__u32 order_len;
__u64 order[ORDER_MAX];
/* Calls seen, without any map of its own (counts exactly from any context). */
__u64 counted[COUNTERS];

static __always_inline bool wanted(void)
{
	return !only_pid || bpf_get_current_pid_tgid() >> 32 == (__u32)only_pid;
}

static __always_inline void record_args(void *ctx, struct call_record *r)
{
	int i;

	r->nr_slots = bpf_get_func_arg_cnt(ctx);
#pragma unroll
	for (i = 0; i < RECORD_SLOTS; i++) {
		r->slot_err[i] = bpf_get_func_arg(ctx, i, &r->slot[i]);
	}
	r->ip = bpf_get_func_ip(ctx);
	r->cookie = bpf_get_attach_cookie(ctx);
}

SEC("fentry/bpf_fentry_test1")
int record_entry(void *ctx)
{
	if (!wanted())
		return 0;
	record_args(ctx, &on_entry);
	__sync_fetch_and_add(&on_entry.calls, 1);
	return 0;
}

SEC("fexit/bpf_fentry_test1")
int record_exit(void *ctx)
{
	if (!wanted())
		return 0;
	record_args(ctx, &on_exit);
	on_exit.ret_err = bpf_get_func_ret(ctx, &on_exit.ret);
	__sync_fetch_and_add(&on_exit.calls, 1);
	return 0;
}

/* On a function the verifier allows on every kernel; copies go elsewhere. */
SEC("fmod_ret/security_file_open")
int record_mod(void *ctx)
{
	if (!wanted())
		return 0;
	record_args(ctx, &on_mod);
	on_mod.ret_err = bpf_get_func_ret(ctx, &on_mod.ret);
	__sync_fetch_and_add(&on_mod.calls, 1);
	return mod_result;
}

static __always_inline void record_order(void *ctx)
{
	__u32 at;

	if (!wanted())
		return;
	at = order_len;
	if (at < ORDER_MAX)
		order[at] = bpf_get_attach_cookie(ctx);
	order_len = at + 1;
}

SEC("fentry/bpf_fentry_test1")
int order_entry(void *ctx)
{
	record_order(ctx);
	return 0;
}

SEC("fexit/bpf_fentry_test1")
int order_exit(void *ctx)
{
	record_order(ctx);
	return 0;
}

/* The cookie's upper half is the result. */
SEC("fmod_ret/security_file_open")
int order_mod(void *ctx)
{
	if (!wanted())
		return 0;
	record_order(ctx);
	return (int)(bpf_get_attach_cookie(ctx) >> 32);
}

/* Count under the cookie: one program, many attachments. */
static __always_inline void count(void *ctx)
{
	__u64 i = bpf_get_attach_cookie(ctx);

	if (i < COUNTERS)
		__sync_fetch_and_add(&counted[i], 1);
}

SEC("fentry/bpf_fentry_test1")
int count_entry(void *ctx)
{
	count(ctx);
	return 0;
}

SEC("fexit/bpf_fentry_test1")
int count_exit(void *ctx)
{
	count(ctx);
	return 0;
}

SEC("fmod_ret/security_file_open")
int count_mod(void *ctx)
{
	count(ctx);
	return 0;
}

/* Another program that can stand in for count_entry; counts elsewhere. */
SEC("fentry/bpf_fentry_test1")
int count_entry_too(void *ctx)
{
	__u64 i = bpf_get_attach_cookie(ctx) + COUNTERS / 2;

	if (i < COUNTERS)
		__sync_fetch_and_add(&counted[i], 1);
	return 0;
}
