/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One pass: call code with known registers and flags, and keep what comes back. Several
 * threads do so at the same time, so the place of the registers waits on the stack. And the way
 * from code in the text to C.
 */

#include "../lib/enter.h"

	.text

/* void native_enter(struct native_call *call) */
	.globl	native_enter
	.type	native_enter, @function
native_enter:
	push_kept
	/* Flags of arithmetic on rsp are the same in all threads: its low byte is. */
	mov	%rsp, %rax
	and	$-256, %rsp
	push	%rax
	push	%rdi
	push	TARGET(%rdi)

	push	IN_FLAGS(%rdi)
	popfq
	mov	IN(RAX)(%rdi), %rax
	load_most %rdi
	mov	IN(RDI)(%rdi), %rdi
	call	*(%rsp)

	/* An execution step by step ends here. */
	.globl	native_back
native_back:
	pushfq
	push	%rdi
	mov	24(%rsp), %rdi
	mov	%rax, OUT(RAX)(%rdi)
	store_most %rdi
	pop	OUT(RDI)(%rdi)
	pop	OUT_FLAGS(%rdi)

	add	$16, %rsp
	pop	%rsp
	cld
	pop_kept
	ret
	.size	native_enter, . - native_enter

/* The kernel's stacks are aligned to 8 bytes, and C code of a process wants 16. */
	.macro	aligned name, to
	.globl	\name
	.type	\name, @function
\name:
	push	%rbp
	mov	%rsp, %rbp
	and	$-16, %rsp
	call	\to
	leave
	ret
	.size	\name, . - \name
	.endm

	aligned	native_body, call_body
	aligned	native_resched, call_resched

	.section .note.GNU-stack, "", @progbits
