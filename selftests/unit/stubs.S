/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The two ends of an executed image: the call that leads into the area
 * (machine_enter) and what thunks in the area jump to (machine_stub).
 */

#include "../lib/enter.h"

/* Behind it in struct machine_call */
#define NR_STACK	(35 * 8)
#define STACK		(36 * 8)
#define ODD		(52 * 8)
#define SAVED_RSP	(53 * 8)

	.text

/*
 * void machine_enter(void): one call as machine_current says. Everything is
 * loaded from there and stored to there; only rsp has to come back right, and
 * saved_rsp makes up for it if it does not.
 */
	.globl	machine_enter
	.type	machine_enter, @function
machine_enter:
	push_kept
	pushfq
	mov	machine_current(%rip), %rax
	mov	%rsp, SAVED_RSP(%rax)

	/* stack arguments, the first at the lowest address */
	and	$-16, %rsp
	mov	NR_STACK(%rax), %rcx
	mov	%rcx, %rdx
	xor	ODD(%rax), %rdx
	and	$1, %edx
	shl	$3, %edx
	sub	%rdx, %rsp
1:	test	%rcx, %rcx
	jz	2f
	push	STACK-8(%rax,%rcx,8)
	dec	%rcx
	jmp	1b
2:	mov	%rsp, IN(RSP)(%rax)

	push	IN_FLAGS(%rax)
	popfq
	load_most %rax
	mov	IN(RDI)(%rax), %rdi
	push	TARGET(%rax)
	mov	IN(RAX)(%rax), %rax
	lea	8(%rsp), %rsp
	call	*-8(%rsp)

	.globl	machine_back
machine_back:
	pushfq
	push	%rax
	mov	machine_current(%rip), %rax
	pop	OUT(RAX)(%rax)
	pop	OUT_FLAGS(%rax)
	store_most %rax
	mov	%rsp, OUT(RSP)(%rax)
	mov	%rdi, OUT(RDI)(%rax)

	mov	SAVED_RSP(%rax), %rsp
	popfq
	pop_kept
	ret
	.size	machine_enter, . - machine_enter

/* struct thunk_frame */
#define FRAME_FLAGS	(16 * 8)
#define FRAME_SIZE	(17 * 8)

/*
 * A thunk was called; its number is in r11. DF stays as it was, everything
 * else that a callee may change is changed.
 */
	.globl	machine_stub
	.type	machine_stub, @function
machine_stub:
	pushfq
	push	%r15
	push	%r14
	push	%r13
	push	%r12
	push	%r11
	push	%r10
	push	%r9
	push	%r8
	push	%rdi
	push	%rsi
	push	%rbp
	lea	FRAME_SIZE-5*8+8(%rsp), %rbp	/* rsp before the call */
	push	%rbp
	push	%rbx
	push	%rdx
	push	%rcx
	push	%rax

	cld
	mov	%r11d, %edi
	mov	%rsp, %rsi
	mov	%rsp, %rbp
	and	$-16, %rsp
	call	machine_stub_c
	mov	%rbp, %rsp
	mov	RBP*8(%rsp), %rbp

	movabs	$0xbad1bad1bad1bad1, %rcx
	movabs	$0xbad2bad2bad2bad2, %rdx
	movabs	$0xbad6bad6bad6bad6, %rsi
	movabs	$0xbad7bad7bad7bad7, %rdi
	movabs	$0xbad8bad8bad8bad8, %r8
	movabs	$0xbad9bad9bad9bad9, %r9
	movabs	$0xbadabadabadabada, %r10
	movabs	$0xbadbbadbbadbbadb, %r11
	.irp	reg, rcx, rdx, rsi, rdi, r8, r9, r10, r11
	add	machine_salt(%rip), %\reg
	.endr

	/* the arithmetic flags the other way round */
	xorq	$0x8d5, FRAME_FLAGS(%rsp)
	push	FRAME_FLAGS(%rsp)
	popfq
	lea	FRAME_SIZE(%rsp), %rsp
	ret
	.size	machine_stub, . - machine_stub

	.section .note.GNU-stack, "", @progbits
