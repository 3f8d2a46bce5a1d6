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

#define READ(reg)	((void)*(volatile unsigned long *)&ctx->reg)

/* Reads, and does nothing else with them: what a program calculates is the same for all. */
SEC("kprobe")
int bench_regs_all(struct pt_regs *ctx)
{
	hits++;
	READ(r15); READ(r14); READ(r13); READ(r12); READ(bp); READ(bx); READ(r11);
	READ(r10); READ(r9); READ(r8); READ(ax); READ(cx); READ(dx); READ(si);
	READ(di); READ(orig_ax); READ(ip); READ(cs); READ(flags); READ(sp); READ(ss);
	return 0;
}
