// SPDX-License-Identifier: GPL-2.0
/*
 * The programs that are attached everywhere. Their instructions are loaded anew
 * for each attachment, as whatever type that one takes; so, but for those that
 * read registers, they do not look at their context.
 *
 * Counting needs no atomics: hits come one at a time, with interrupts off.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

/* Two array maps. */
__u64 hits;
__u64 other SEC(".data.other");

SEC("kprobe")
int bench_empty(void *ctx)
{
	return 0;
}

/* The program that the design's first figures were taken with. */
SEC("kprobe")
int bench_maps(void *ctx)
{
	hits++;
	other++;
	return 0;
}

SEC("kprobe")
int bench_cookie(void *ctx)
{
	hits++;
	other += bpf_get_attach_cookie(ctx);
	return 0;
}

SEC("kprobe")
int bench_regs2(struct pt_regs *ctx)
{
	hits++;
	other += ctx->di + ctx->si;
	return 0;
}

SEC("kprobe")
int bench_regs_all(struct pt_regs *ctx)
{
	hits++;
	other += ctx->r15 + ctx->r14 + ctx->r13 + ctx->r12 + ctx->bp + ctx->bx + ctx->r11 +
		 ctx->r10 + ctx->r9 + ctx->r8 + ctx->ax + ctx->cx + ctx->dx + ctx->si + ctx->di +
		 ctx->orig_ax + ctx->ip + ctx->cs + ctx->flags + ctx->sp + ctx->ss;
	return 0;
}
