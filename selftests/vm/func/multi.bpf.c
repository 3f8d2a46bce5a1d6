// SPDX-License-Identifier: GPL-2.0
/*
 * The programs of test_multi.c and its like: one for many functions. The cookie is an index into
 * @seen.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "multi.h"

char LICENSE[] SEC("license") = "GPL";

struct multi_seen seen[MULTI_MAX];
__u64 hits, strangers, unpaired;

/* By on_count, for each cookie below MULTI_COUNTS; the other programs do not write here. */
__u64 counts[MULTI_COUNTS];

/* While it is not 0, on_count does not count. */
int count_shut;

/* Hits of this process only, where it is not 0. */
__u32 only_pid;

/* The kernel's checkers ask at each look into a hash whether RCU lets one look. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, __u64);
} hash SEC(".maps");

static struct multi_seen *find(struct pt_regs *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx), key = 0;

	if (only_pid && bpf_get_current_pid_tgid() >> 32 != only_pid)
		return NULL;
	__sync_fetch_and_add(&hits, 1);
	if (bpf_map_lookup_elem(&hash, &key))
		__sync_fetch_and_add(&strangers, 1);
	if (cookie >= MULTI_MAX) {
		__sync_fetch_and_add(&strangers, 1);
		return NULL;
	}
	return &seen[cookie];
}

static void at_entry(struct pt_regs *ctx, struct multi_seen *s)
{
	__sync_fetch_and_add(&s->entries, 1);
	s->first = PT_REGS_PARM1(ctx);
	s->second = PT_REGS_PARM2(ctx);
	bpf_probe_read_kernel(&s->caller, sizeof(s->caller), (void *)PT_REGS_SP(ctx));
}

static void at_return(struct pt_regs *ctx, struct multi_seen *s)
{
	__sync_fetch_and_add(&s->returns, 1);
	s->result = PT_REGS_RC(ctx);
	s->returned_to = PT_REGS_IP(ctx);
}

SEC("kprobe.multi")
int on_entry(struct pt_regs *ctx)
{
	struct multi_seen *s = find(ctx);

	if (s) {
		at_entry(ctx, s);
		s->ip = bpf_get_func_ip(ctx);
	}
	return 0;
}

SEC("kretprobe.multi")
int on_return(struct pt_regs *ctx)
{
	struct multi_seen *s = find(ctx);

	if (s) {
		at_return(ctx, s);
		s->ip = bpf_get_func_ip(ctx);
	}
	return 0;
}

/* Loaded for one place, as kernels without kprobe.multi need it. */
SEC("kprobe")
int on_plain_entry(struct pt_regs *ctx)
{
	struct multi_seen *s = find(ctx);

	if (s) {
		at_entry(ctx, s);
		s->ip = ctx->orig_ax;
	}
	return 0;
}

SEC("kprobe")
int on_plain_return(struct pt_regs *ctx)
{
	struct multi_seen *s = find(ctx);

	if (s) {
		at_return(ctx, s);
		s->ip = ctx->orig_ax;
	}
	return 0;
}

/* Such programs without a cookie have no run context. */
SEC("kprobe")
int on_plain_address(struct pt_regs *ctx)
{
	seen[0].ip = ctx->orig_ax;
	__sync_fetch_and_add(&hits, 1);
	return 0;
}

extern bool bpf_session_is_return(void) __ksym __weak;
extern __u64 *bpf_session_cookie(void) __ksym __weak;

/* Not loaded where there are no sessions. */
SEC("?kprobe.session")
int on_session(struct pt_regs *ctx)
{
	struct multi_seen *s = find(ctx);
	__u64 *cookie = bpf_session_cookie();

	if (!s)
		return 0;
	s->ip = bpf_get_func_ip(ctx);
	if (bpf_session_is_return()) {
		at_return(ctx, s);
		if (*cookie != s->entries)
			unpaired++;
		return 0;
	}
	if (*cookie)
		unpaired++;
	at_entry(ctx, s);
	*cookie = s->entries;
	return s->entries % 3 == 1;
}

/* Reads nothing: what a hit costs at least. */
SEC("kprobe")
int on_hit(struct pt_regs *ctx)
{
	__sync_fetch_and_add(&hits, 1);
	return 0;
}

/* By on_ip: where each cookie has been read, and how often that was not where it was first. */
__u64 ips[MULTI_COUNTS];
__u64 moved;

SEC("kprobe")
int on_ip(struct pt_regs *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx), ip = PT_REGS_IP(ctx);

	__sync_fetch_and_add(&hits, 1);
	if (cookie >= MULTI_COUNTS) {
		__sync_fetch_and_add(&strangers, 1);
		return 0;
	}
	if (ips[cookie] && ips[cookie] != ip)
		__sync_fetch_and_add(&moved, 1);
	ips[cookie] = ip;
	return 0;
}

/* Counts all hits, and those of each cookie. */
SEC("kprobe")
int on_count(struct pt_regs *ctx)
{
	__u64 cookie;

	if (count_shut)
		return 0;
	cookie = bpf_get_attach_cookie(ctx);
	__sync_fetch_and_add(&hits, 1);
	if (cookie < MULTI_COUNTS)
		__sync_fetch_and_add(&counts[cookie], 1);
	return 0;
}
