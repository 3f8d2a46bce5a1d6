/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One pass: call code with known registers and flags, and keep what comes back. Several
 * threads do so at the same time, so the place of the registers waits on the stack. And the way
 * from code in the text to C.
 */

/* struct native_call */
#define IN(r)		((r) * 8)
#define IN_FLAGS	(16 * 8)
#define OUT(r)		(17 * 8 + (r) * 8)
#define OUT_FLAGS	(33 * 8)
#define TARGET		(34 * 8)

#define RAX 0
#define RCX 1
#define RDX 2
#define RBX 3
#define RBP 5
#define RSI 6
#define RDI 7

	.text

/* void native_enter(struct native_call *call) */
	.globl	native_enter
	.type	native_enter, @function
native_enter:
	push	%rbx
	push	%rbp
	push	%r12
	push	%r13
	push	%r14
	push	%r15
	/* Flags of arithmetic on rsp are the same in all threads: its low byte is. */
	mov	%rsp, %rax
	and	$-256, %rsp
	push	%rax
	push	%rdi
	push	TARGET(%rdi)

	push	IN_FLAGS(%rdi)
	popfq
	mov	IN(RAX)(%rdi), %rax
	mov	IN(RCX)(%rdi), %rcx
	mov	IN(RDX)(%rdi), %rdx
	mov	IN(RBX)(%rdi), %rbx
	mov	IN(RBP)(%rdi), %rbp
	mov	IN(RSI)(%rdi), %rsi
	mov	IN(8)(%rdi), %r8
	mov	IN(9)(%rdi), %r9
	mov	IN(10)(%rdi), %r10
	mov	IN(11)(%rdi), %r11
	mov	IN(12)(%rdi), %r12
	mov	IN(13)(%rdi), %r13
	mov	IN(14)(%rdi), %r14
	mov	IN(15)(%rdi), %r15
	mov	IN(RDI)(%rdi), %rdi
	call	*(%rsp)

	/* An execution step by step ends here. */
	.globl	native_back
native_back:
	pushfq
	push	%rdi
	mov	24(%rsp), %rdi
	mov	%rax, OUT(RAX)(%rdi)
	mov	%rcx, OUT(RCX)(%rdi)
	mov	%rdx, OUT(RDX)(%rdi)
	mov	%rbx, OUT(RBX)(%rdi)
	mov	%rbp, OUT(RBP)(%rdi)
	mov	%rsi, OUT(RSI)(%rdi)
	mov	%r8, OUT(8)(%rdi)
	mov	%r9, OUT(9)(%rdi)
	mov	%r10, OUT(10)(%rdi)
	mov	%r11, OUT(11)(%rdi)
	mov	%r12, OUT(12)(%rdi)
	mov	%r13, OUT(13)(%rdi)
	mov	%r14, OUT(14)(%rdi)
	mov	%r15, OUT(15)(%rdi)
	pop	OUT(RDI)(%rdi)
	pop	OUT_FLAGS(%rdi)

	add	$16, %rsp
	pop	%rsp
	cld
	pop	%r15
	pop	%r14
	pop	%r13
	pop	%r12
	pop	%rbp
	pop	%rbx
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
