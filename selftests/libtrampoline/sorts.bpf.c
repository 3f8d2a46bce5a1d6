// SPDX-License-Identifier: GPL-2.0
/*
 * Programs in sections of every sort, the wrong ones included. Opened by the unit tests without
 * being loaded, some of them as if they were.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

/* libbpf knows neither of these. */
SEC("?fentri/do_unlinkat")
int on_typo(u64 *ctx)
{
	return 0;
}

SEC("?nothing_like_it")
int on_nonsense(u64 *ctx)
{
	return 0;
}

/* bpf_program__set_attach_target() gives it a function. */
SEC("?fentry")
int on_given(u64 *ctx)
{
	return 0;
}

SEC("?fentry/do_*")
int on_pattern(u64 *ctx)
{
	return 0;
}

SEC("?socket")
int on_socket(struct __sk_buff *ctx)
{
	return 0;
}

SEC("?kprobe/do_unlinkat+0x8")
int on_offset(struct pt_regs *ctx)
{
	return 0;
}

SEC("?kretprobe/do_unlinkat")
int on_return(struct pt_regs *ctx)
{
	return 0;
}

SEC("?kprobe.multi/do_*")
int on_many(struct pt_regs *ctx)
{
	return bpf_get_func_ip(ctx) == 1;
}

SEC("?kretprobe.multi/do_*")
int on_returns(struct pt_regs *ctx)
{
	return 0;
}

SEC("?kprobe.multi")
int on_list(struct pt_regs *ctx)
{
	return 0;
}

SEC("?kprobe.session/do_*")
int on_both(struct pt_regs *ctx)
{
	return bpf_get_func_ip(ctx) == 1;
}
