// SPDX-License-Identifier: GPL-2.0
/*
 * The programs of test_share.c. Each notes in one list that it ran, and looks whether it finds
 * what it should: those of many functions by their cookie, which is an index into @funcs.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "share.h"

char LICENSE[] SEC("license") = "GPL";

__u64 counted[SHARE_TAGS];
__u32 order_len, order[SHARE_ORDER];
/* Addresses, and what calls pass. Results are that plus the index plus 1. */
__u64 funcs[SHARE_FUNCS], arg;
__u64 wrong;

static void note(__u32 tag)
{
	__u32 at = __sync_fetch_and_add(&order_len, 1);

	__sync_fetch_and_add(&counted[tag % SHARE_TAGS], 1);
	if (at < SHARE_ORDER)
		order[at] = tag;
}

static void check(bool ok)
{
	if (!ok)
		__sync_fetch_and_add(&wrong, 1);
}

static void many(struct pt_regs *ctx, __u32 tag, __u64 ip, bool at_return)
{
	__u64 cookie = bpf_get_attach_cookie(ctx);

	note(tag);
	check(cookie < SHARE_FUNCS && funcs[cookie % SHARE_FUNCS] == ip);
	if (at_return)
		check(PT_REGS_RC(ctx) == arg + cookie + 1);
	else
		check(PT_REGS_PARM1(ctx) == arg);
}

/* Each as programs that are loaded for many, and for one where the kernel has no such. */
#define MANY(name, tag, at_return)						\
	SEC("?kprobe.multi")							\
	int multi_##name(struct pt_regs *ctx)					\
	{									\
		many(ctx, tag, bpf_get_func_ip(ctx), at_return);		\
		return 0;							\
	}									\
	SEC("?kprobe")								\
	int plain_##name(struct pt_regs *ctx)					\
	{									\
		many(ctx, tag, ctx->orig_ax, at_return);			\
		return 0;							\
	}

MANY(entry1, SHARE_ENTRY1, false)
MANY(entry2, SHARE_ENTRY2, false)
MANY(return1, SHARE_RETURN1, true)
MANY(return2, SHARE_RETURN2, true)

extern bool bpf_session_is_return(void) __ksym __weak;
extern __u64 *bpf_session_cookie(void) __ksym __weak;

static void session(struct pt_regs *ctx, __u32 tag)
{
	__u64 *cookie = bpf_session_cookie();

	if (bpf_session_is_return()) {
		many(ctx, tag + 1, bpf_get_func_ip(ctx), true);
		check(*cookie == tag + arg);
	} else {
		many(ctx, tag, bpf_get_func_ip(ctx), false);
		check(!*cookie);
		*cookie = tag + arg;
	}
}

/* The first skips its return where the argument says so. */
SEC("?kprobe.session")
int session1(struct pt_regs *ctx)
{
	session(ctx, SHARE_SESSION1);
	/* At the return it may be anything, which means nothing. */
	return (PT_REGS_PARM1(ctx) == SHARE_SKIP) & 1;
}

SEC("?kprobe.session")
int session2(struct pt_regs *ctx)
{
	session(ctx, SHARE_SESSION2);
	return 0;
}

/* Those of one function, whose cookie is their tag. */
SEC("fentry/bpf_fentry_test1")
int one_fentry(__u64 *ctx)
{
	note(bpf_get_attach_cookie(ctx));
	check(ctx[0] == arg);
	return 0;
}

SEC("fexit/bpf_fentry_test1")
int one_fexit(__u64 *ctx)
{
	note(bpf_get_attach_cookie(ctx));
	check(ctx[0] == arg && ctx[1] > arg);
	return 0;
}

SEC("kprobe")
int one_kprobe(struct pt_regs *ctx)
{
	note(bpf_get_attach_cookie(ctx));
	check(PT_REGS_PARM1(ctx) == arg);
	return 0;
}

SEC("kprobe")
int one_kretprobe(struct pt_regs *ctx)
{
	note(bpf_get_attach_cookie(ctx));
	check(PT_REGS_RC(ctx) > arg);
	return 0;
}
