/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel's types that our BPF programs need, in the place of a whole vmlinux.h. So
 * building them takes no kernel. Those of bpf(2) come from <linux/bpf.h>.
 */
#ifndef TRAMPCTL_KERNEL_BPF_H
#define TRAMPCTL_KERNEL_BPF_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/bpf.h>

/* <bpf/bpf_tracing.h> asks for this to call members as the kernel does. */
#define __VMLINUX_H__

/* The kernel's names; the layout has been the same since x86-64 began. */
struct pt_regs {
	unsigned long r15;
	unsigned long r14;
	unsigned long r13;
	unsigned long r12;
	unsigned long bp;
	unsigned long bx;
	unsigned long r11;
	unsigned long r10;
	unsigned long r9;
	unsigned long r8;
	unsigned long ax;
	unsigned long cx;
	unsigned long dx;
	unsigned long si;
	unsigned long di;
	unsigned long orig_ax;
	unsigned long ip;
	unsigned long cs;
	unsigned long flags;
	unsigned long sp;
	unsigned long ss;
};

#endif /* TRAMPCTL_KERNEL_BPF_H */
