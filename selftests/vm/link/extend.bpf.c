// SPDX-License-Identifier: GPL-2.0
/*
 * A kprobe program that does next to nothing, and one whose use of the context is hidden. A
 * third program takes the first one's place: it uses all that a kprobe program may.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "GPL";

__u64 plain_runs, extension_runs, extension_di, extension_ip, extension_cookie, hidden_di;
__u64 asks_runs, asks_func;

SEC("?kprobe")
int plain(struct pt_regs *ctx)
{
	__sync_fetch_and_add(&plain_runs, 1);
	return 0;
}

SEC("?freplace")
int extension(struct pt_regs *ctx)
{
	__sync_fetch_and_add(&extension_runs, 1);
	extension_di = ctx->di;
	extension_ip = ctx->ip;
	extension_cookie = bpf_get_attach_cookie(ctx);
	return 0;
}

SEC("?freplace")
int asks(struct pt_regs *ctx)
{
	__sync_fetch_and_add(&asks_runs, 1);
	asks_func = bpf_get_func_ip(ctx);
	return 0;
}

/* r2 = xchg_64(r10 - 8, r2), for which clang 14 has no word. */
#define EXCHANGE ".8byte 0x000000e1fff82adb\n"

/*
 * The context goes to the stack, and comes back by an exchange. Half a register is read: what
 * is loaded whole counts as a context itself, and storing it as one that is lost.
 */
SEC("?kprobe")
int hidden(struct pt_regs *ctx)
{
	__u64 di = 0;

	asm volatile("*(u64 *)(r10 - 8) = %[ctx]\n"
		     "r2 = 0\n"
		     EXCHANGE
		     "%[di] = *(u32 *)(r2 + 112)\n"
		     : [di] "=r"(di)
		     : [ctx] "r"(ctx)
		     : "r2", "memory");
	hidden_di = di;
	return 0;
}

/* A program with a global function, and what takes the place of each. */
__u64 calls_runs, sub_runs, sub_extension_runs;

__noinline int sub(int x)
{
	__sync_fetch_and_add(&sub_runs, 1);
	return x + 1;
}

SEC("?kprobe")
int calls(struct pt_regs *ctx)
{
	__sync_fetch_and_add(&calls_runs, 1);
	return sub(1);
}

SEC("?freplace")
int sub_extension(int x)
{
	__sync_fetch_and_add(&sub_extension_runs, 1);
	return x;
}

/*
 * A program of fmod_ret kind that does not look at its context, and what takes its place. The
 * kernel lets one be extended if its context is a pointer to a struct without a name.
 */
__u64 modify_runs, modify_extension_runs, modify_extension_first;

typedef struct {
	__u64 first;
} unnamed;

SEC("?fmod_ret/security_inode_unlink")
int modify(unnamed *ctx)
{
	__sync_fetch_and_add(&modify_runs, 1);
	return 0;
}

SEC("?freplace")
int modify_extension(unnamed *ctx)
{
	__sync_fetch_and_add(&modify_extension_runs, 1);
	modify_extension_first = ctx->first;
	return 0;
}

SEC("?fentry/security_inode_unlink")
int enters(unnamed *ctx)
{
	return 0;
}

SEC("?fexit/security_inode_unlink")
int leaves(unnamed *ctx)
{
	return 0;
}
