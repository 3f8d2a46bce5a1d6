/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For assembly that calls code with known registers and keeps what comes back. Both structs that
 * say so (struct machine_call, struct native_call) begin alike, with registers by their number.
 */
#ifndef SELFTESTS_LIB_ENTER_H
#define SELFTESTS_LIB_ENTER_H

#define IN(r)		((r) * 8)
#define IN_FLAGS	(16 * 8)
#define OUT(r)		(17 * 8 + (r) * 8)
#define OUT_FLAGS	(33 * 8)
#define TARGET		(34 * 8)

#define RAX 0
#define RCX 1
#define RDX 2
#define RBX 3
#define RSP 4
#define RBP 5
#define RSI 6
#define RDI 7

/* The registers that a function of the C ABI leaves as they were. */
	.macro	push_kept
	push	%rbx
	push	%rbp
	push	%r12
	push	%r13
	push	%r14
	push	%r15
	.endm

	.macro	pop_kept
	pop	%r15
	pop	%r14
	pop	%r13
	pop	%r12
	pop	%rbp
	pop	%rbx
	.endm

/* All but rax, rdi and rsp. */
	.macro	load_most call
	mov	IN(RCX)(\call), %rcx
	mov	IN(RDX)(\call), %rdx
	mov	IN(RBX)(\call), %rbx
	mov	IN(RBP)(\call), %rbp
	mov	IN(RSI)(\call), %rsi
	mov	IN(8)(\call), %r8
	mov	IN(9)(\call), %r9
	mov	IN(10)(\call), %r10
	mov	IN(11)(\call), %r11
	mov	IN(12)(\call), %r12
	mov	IN(13)(\call), %r13
	mov	IN(14)(\call), %r14
	mov	IN(15)(\call), %r15
	.endm

	.macro	store_most call
	mov	%rcx, OUT(RCX)(\call)
	mov	%rdx, OUT(RDX)(\call)
	mov	%rbx, OUT(RBX)(\call)
	mov	%rbp, OUT(RBP)(\call)
	mov	%rsi, OUT(RSI)(\call)
	mov	%r8, OUT(8)(\call)
	mov	%r9, OUT(9)(\call)
	mov	%r10, OUT(10)(\call)
	mov	%r11, OUT(11)(\call)
	mov	%r12, OUT(12)(\call)
	mov	%r13, OUT(13)(\call)
	mov	%r14, OUT(14)(\call)
	mov	%r15, OUT(15)(\call)
	.endm

#endif /* SELFTESTS_LIB_ENTER_H */
