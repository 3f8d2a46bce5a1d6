/* SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause */
/*
 * For BPF programs that the module attaches to many functions (ATTACH_MULTI). Their context is a
 * struct pt_regs. From it come typed arguments and results, the function's address, and what
 * pairs a return with its entry.
 *
 *	#include "vmlinux.h"
 *	#include <bpf/bpf_helpers.h>
 *	#include <trampoline/trampoline_helpers.bpf.h>
 *
 *	SEC("kprobe.multi/vfs_*")
 *	int on_entry(struct pt_regs *ctx)
 *	{
 *		struct file *file = tramp_arg(ctx, 0, struct file *);
 *		...
 *	}
 *
 * libbpf's BPF_KPROBE() and BPF_KRETPROBE() work there as well. This header has what they have
 * not. Include it behind vmlinux.h and bpf_helpers.h.
 */
#ifndef TRAMPOLINE_HELPERS_BPF_H
#define TRAMPOLINE_HELPERS_BPF_H

#include <bpf/bpf_tracing.h>

/**
 * tramp_arg() - an argument at a function's entry
 * @ctx: the program's struct pt_regs
 * @n: which, 0 to 5, a constant: those that come in registers, in the order of the System V AMD64
 *	ABI (section 3.2.3). Further ones are on the stack; a struct of more than 8 bytes takes two
 *	registers, or none
 * @type: its type: an integer or a pointer
 *
 * At a return the registers hold whatever the function left there.
 */
#define tramp_arg(ctx, n, type)	((type)___tramp_arg##n(ctx))
#define ___tramp_arg0(ctx)	PT_REGS_PARM1(ctx)
#define ___tramp_arg1(ctx)	PT_REGS_PARM2(ctx)
#define ___tramp_arg2(ctx)	PT_REGS_PARM3(ctx)
#define ___tramp_arg3(ctx)	PT_REGS_PARM4(ctx)
#define ___tramp_arg4(ctx)	PT_REGS_PARM5(ctx)
#define ___tramp_arg5(ctx)	((ctx)->r9)

/**
 * tramp_ret() - the result at a function's return
 * @ctx: the program's struct pt_regs
 * @type: its type. An int is the low half: the other one may hold anything, so let it be int
 */
#define tramp_ret(ctx, type)	((type)PT_REGS_RC(ctx))

/**
 * tramp_func_ip() - the address of the function, in a program of a plain SEC("kprobe")
 * @ctx: the program's struct pt_regs
 *
 * Attached by ATTACH_MULTI only. A program in SEC("kprobe.multi"), SEC("kretprobe.multi") or
 * SEC("kprobe.session") calls bpf_get_func_ip(); see tramp_object__open_file() for kernels
 * that have no such helper.
 */
#define tramp_func_ip(ctx)	((ctx)->orig_ax)

/**
 * tramp_call_at_entry(), tramp_call_at_return() - one number for a call at both of its ends
 * @ctx: the program's struct pt_regs
 *
 * The address of the call's return address on its task's stack. With the task it is unique as
 * long as the call lasts, also among nested and recursive ones. So it is a key for a map, which an
 * entry program fills and a return program empties.
 */
#define tramp_call_at_entry(ctx)	PT_REGS_SP(ctx)
#define tramp_call_at_return(ctx)	(PT_REGS_SP(ctx) - 8)

#endif /* TRAMPOLINE_HELPERS_BPF_H */
