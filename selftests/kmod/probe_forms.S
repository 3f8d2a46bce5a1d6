/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A function for every form of instruction that a probe may be put on or jump over. The form is
 * in three places: first, second and third in the bytes that a jump at the probed address would
 * cover.
 *
 *	tt_form_NAME_P:			P is 1, 2 or 3
 *		ftrace site		as a compiled function has it
 *		mov %rsp, %rbp
 *		PRE			what the form needs, e.g. a push before a ret
 *	probed address:
 *		P - 1 fillers		with an effect on rax and rdx, but not on flags
 *		FORM
 *		lea 1(%r15), %r15	the way on: falls through
 *		jmp 9f
 *	6:	lea 4(%r15), %r15	a target that lies before (reached by a detour)
 *	7:	lea 2(%r15), %r15	the target of a taken branch
 *	9:	r14 = rsp, r13 = what rsp points to; rsp as it was; return
 *
 * So r15 tells which way it went, r14 and r13 what became of the stack. Registers on entry: rbx
 * points to 32 words of memory, of which the second holds the address of 7 and the third that
 * of tt_form_callee. In r12 is the address of 7, and in r8 a flags word for popf. The others are
 * whatever the test likes, as are the flags. No instruction around the form changes flags.
 *
 * The functions have a record each in tt_forms, see probe_forms_run.c. An instruction that
 * works only where it stands is made by TT_FIXED and never executed.
 */
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <asm/asm.h>
#include <asm/nospec-branch.h>
#include "probe_abi.h"

	.section .rodata.tt_forms, "a"
	.p2align 3
	.globl tt_forms
tt_forms:
	.section .rodata.tt_form_names, "a"
	.data
	.p2align 3
	/* Memory that rip-relative operands refer to. */
	.globl tt_form_data
tt_form_data:
	.fill TT_FORM_WORDS, 8, 0
	.text

/* For objtool: an indirect branch, or a ret, that is meant. */
.macro TT_SAFE
	ANNOTATE_RETPOLINE_SAFE
.endm

/*
 * In front of a function. A kernel with kCFI writes there, when it seals an ENDBR that nothing
 * refers to: a hash for callers to stumble over.
 */
.macro TT_ALIGN
	.p2align 4
#ifdef CONFIG_CFI_CLANG
	FUNCTION_PADDING
#endif
.endm

/* As the compiler begins a function that can be traced. */
.macro TT_SITE
#ifdef CONFIG_X86_KERNEL_IBT
	endbr64
#endif
	/* As -mfentry -mrecord-mcount makes it. clang lacks the latter: objtool does it. */
.Lsite\@:
	call	__fentry__
#ifndef CONFIG_FTRACE_MCOUNT_USE_OBJTOOL
	.pushsection __mcount_loc, "a"
	.p2align 3
	.quad .Lsite\@
	.popsection
#endif
.endm

.macro TT_RECORD name, place, first, flags, nr
	.pushsection .rodata.tt_form_names
.Lname\@:
	.asciz "tt_form_\name\()_\place"
	.popsection
	.pushsection .rodata.tt_forms
	.quad .Lname\@, tt_form_\name\()_\place
	.irp label, .Lprobe\nr, .Lform\nr, .Ltaken\nr, .Lend\nr
	.long \label - tt_form_\name\()_\place
	.endr
	.long \place, \first, \flags, 0
	.popsection
.endm

.macro TT_ONE name, place, first, flags, pre, insn
	TT_ALIGN
	.globl tt_form_\name\()_\place
	.type tt_form_\name\()_\place, @function
tt_form_\name\()_\place:
	TT_SITE
	movq	%rsp, %rbp
	\pre
	jmp	.Lprobe\@
6:	leaq	4(%r15), %r15
	jmp	7f
.Lprobe\@:
	.if \place == 2
	leal	1(%rax), %eax
	.elseif \place == 3
	movl	%edx, %eax
	cltd
	.endif
.Lform\@:
	\insn
.Lend\@:
	leaq	1(%r15), %r15
	jmp	9f
	/* Far enough for a displacement of 8 bits, not so near as to be in the region. */
	.fill 16, 1, 0x90
7:
.Ltaken\@:
	ANNOTATE_NOENDBR
	leaq	2(%r15), %r15
9:	movq	%rsp, %r14
	movq	(%rsp), %r13
	movq	%rbp, %rsp
	ANNOTATE_UNRET_SAFE
	ret
	/* A number of its own for the labels, taken along into the other macro. */
	.size tt_form_\name\()_\place, . - tt_form_\name\()_\place
	TT_RECORD \name, \place, \first, \flags, \@
	STACK_FRAME_NON_STANDARD tt_form_\name\()_\place
.endm

/*
 * name, what becomes of a probe on it when it is first (enum tt_expect), what goes
 * before, the form itself.
 */
.macro TT_FORM name, insn, pre="", first=TT_EXPECT_JUMP
	.ifeqs "\pre", ""
	TT_ONE \name, 1, \first, TT_FORM_F_BARE, "\pre", "\insn"
	.else
	TT_ONE \name, 1, \first, 0, "\pre", "\insn"
	.endif
	TT_ONE \name, 2, TT_EXPECT_JUMP, 0, "\pre", "\insn"
	TT_ONE \name, 3, TT_EXPECT_JUMP, 0, "\pre", "\insn"
.endm

/*
 * An indirect jump, by itself in the region of the first place if it is @long. It makes a label
 * of each ENDBR, or without those of every instruction of the function.
 */
.macro TT_GOTO name, insn, pre="", long=0
#ifdef CONFIG_X86_KERNEL_IBT
	TT_FORM \name, "\insn", "\pre"
#else
	.if \long
	TT_ONE \name, 1, TT_EXPECT_JUMP, 0, "\pre", "\insn"
	.else
	TT_ONE \name, 1, TT_EXPECT_INDIRECT, 0, "\pre", "\insn"
	.endif
	TT_ONE \name, 2, TT_EXPECT_INDIRECT, 0, "\pre", "\insn"
	TT_ONE \name, 3, TT_EXPECT_INDIRECT, 0, "\pre", "\insn"
#endif
.endm

/* Not executed: refused, and no jump over it either. */
.macro TT_FIXED name, insn
	TT_ONE \name, 1, TT_EXPECT_REFUSED, TT_FORM_F_DEAD, "", "\insn"
	TT_ONE \name, 2, TT_EXPECT_STUCK, TT_FORM_F_DEAD, "", "\insn"
	TT_ONE \name, 3, TT_EXPECT_STUCK, TT_FORM_F_DEAD, "", "\insn"
.endm

/* ------------------------------------------------- nothing about addresses -- */

TT_FORM nop,		"nop"
TT_FORM nop4,		"nopl 0(%rax)"
TT_FORM nop9,		"nopw 512(%rax,%rax,1)"
TT_FORM inc,		"incl %ecx"
TT_FORM add_reg,	"addq %rcx, %r9"
TT_FORM adc_imm,	"adcq $-5, %r10"
TT_FORM sbb_mem,	"sbbq 24(%rbx), %rcx"
TT_FORM add_mem,	"addq $0x1234, 32(%rbx)"
TT_FORM mov_imm64,	"movabsq $0x123456789abcdef0, %rcx"
TT_FORM mov_imm32,	"movq $-77, %rcx"
TT_FORM add_reg32,	"addl %ecx, %esi"
TT_FORM mov_store,	"movq %rcx, 40(%rbx)"
TT_FORM mov_store_imm,	"movl $0x11223344, 256-16(%rbx)"
TT_FORM movzx,		"movzbl 25(%rbx), %ecx"
TT_FORM movsx,		"movslq 28(%rbx), %r9"
TT_FORM lea,		"leaq -9(%rcx,%rdx,4), %r9"
TT_FORM neg,		"negq %rcx"
TT_FORM not,		"notq %rcx"
TT_FORM mul,		"mulq %rcx"
TT_FORM imul,		"imulq $77, %rcx, %r9"
TT_FORM shl,		"shlq $3, %rcx"
TT_FORM sar_cl,		"sarq %cl, %r9"
TT_FORM ror,		"rorl $5, %ecx"
TT_FORM rcl,		"rclq $1, %rcx"
TT_FORM shld,		"shldq $7, %rcx, %r9"
TT_FORM bswap,		"bswapq %rcx"
TT_FORM bts,		"btsq $5, 48(%rbx)"
TT_FORM bsf,		"bsfq %rsi, %rcx"
TT_FORM popcnt,		"popcntq %rcx, %r9"
TT_FORM setcc,		"setle %cl"
TT_FORM cmov,		"cmovcq %rsi, %rcx"
TT_FORM cmp,		"cmpq %rcx, 24(%rbx)"
TT_FORM test,		"testb $0x81, %cl"
TT_FORM xchg,		"xchgq %rcx, 24(%rbx)"
TT_FORM lock_xadd,	"lock xaddq %rcx, 24(%rbx)"
TT_FORM lock_cmpxchg,	"lock cmpxchgq %rcx, 24(%rbx)"
TT_FORM cmpxchg16b,	"lock cmpxchg16b 32(%rbx)"
TT_FORM lahf,		"lahf"
TT_FORM sahf,		"sahf"
TT_FORM clc,		"clc"
TT_FORM stc,		"stc"
TT_FORM cmc,		"cmc"
TT_FORM cld,		"cld"
TT_FORM std,		"std"
TT_FORM rep_movs,	"rep movsb", "leaq 64(%rbx), %rdi; leaq 128(%rbx), %rsi; movl $7, %ecx; cld"
TT_FORM rep_stos,	"rep stosq", "leaq 64(%rbx), %rdi; movl $3, %ecx; cld"
TT_FORM movs_down,	"movsq", "leaq 64(%rbx), %rdi; leaq 128(%rbx), %rsi; std"
TT_FORM repne_scas,	"repne scasb", "leaq 64(%rbx), %rdi; movl $20, %ecx; cld"
TT_FORM lods,		"lodsl", "leaq 128(%rbx), %rsi; cld"
TT_FORM xlat,		"xlat", "movzbl %al, %eax; movzbl %dl, %edx"
TT_FORM gs_abs,		"movq %gs:this_cpu_off, %rcx"
TT_FORM mov_seg,	"movl %ss, %ecx"
/* Where indirect jumps may land: must stay where it is, and is not jumped over. */
TT_ONE endbr, 1, TT_EXPECT_KPROBE, TT_FORM_F_BARE, "", "endbr64"
TT_ONE endbr, 2, TT_EXPECT_INDIRECT, 0, "", "endbr64"
TT_ONE endbr, 3, TT_EXPECT_INDIRECT, 0, "", "endbr64"
TT_FORM pause,		"pause"
TT_FORM mfence,		"mfence"

/* --------------------------------------------------------------- the stack -- */
/*
 * Memory below rsp is not read: a trap may have written there. Flags that follow from the value
 * of rsp, which differs, are set anew.
 */

TT_FORM push_reg,	"pushq %rcx"
TT_FORM push_imm8,	"pushq $-3"
TT_FORM push_imm32,	"pushq $0x12345678"
TT_FORM push_mem,	"pushq 24(%rbx)"
TT_FORM push_r13,	"pushq %r13"
TT_FORM pop_reg,	"popq %rcx", "pushq %rsi"
TT_FORM pop_mem,	"popq 56(%rbx)", "pushq %rsi"
TT_FORM push_rsp,	"pushq %rsp"
TT_FORM pop_rsp,		"popq %rsp", "pushq %rsi; pushq %rdi; leaq 8(%rsp), %r9; pushq %r9"
TT_FORM push_at_rsp,	"pushq 8(%rsp)", "pushq %rsi; pushq %rdi"
TT_FORM pop_at_rsp,	"popq 8(%rsp)", "pushq %rsi; pushq %rdi; pushq %rcx"
TT_FORM mov_from_rsp,	"movq %rsp, %rcx"
TT_FORM mov_to_rsp,	"movq %r9, %rsp", "pushq %rsi; movq %rsp, %r9; pushq %rdi; pushq %rcx"
TT_FORM load_rsp,	"movq 8(%rsp), %rcx", "pushq %rsi; pushq %rdi"
TT_FORM store_rsp,	"movq %rcx, 8(%rsp)", "pushq %rsi; pushq %rdi"
TT_FORM lea_rsp,	"leaq 8(%rsp), %rsp", "pushq %rsi; pushq %rdi"
TT_FORM add_rsp,	"addq $8, %rsp; cmpb $5, %cl", "pushq %rsi; pushq %rdi"
TT_FORM sub_rsp32,	"subq $0x100, %rsp; cmpb $5, %cl; movq %rcx, (%rsp)"
TT_FORM leave,		"leave", "movq %rbp, %r9; pushq %r9; movq %rsp, %rbp; pushq %rsi"
TT_FORM enter,		"enter $16, $0; movq %r9, %rbp; movq %rcx, (%rsp)", "movq %rbp, %r9"
TT_FORM pushf,		"pushfq"
TT_FORM popf,		"popfq", "pushq %r8"
TT_FORM sti,		"sti"
TT_FORM cli,		"cli"

/* ---------------------------------------------------- rip-relative operands -- */

TT_FORM rip_load,	"movq tt_form_data(%rip), %rcx"
TT_FORM rip_store,	"movq %rcx, tt_form_data+8(%rip)"
TT_FORM rip_store_imm,	"movl $0x55667788, tt_form_data+16(%rip)"
TT_FORM rip_store_imm8,	"movb $0x7f, tt_form_data+17(%rip)"
TT_FORM rip_lea,	"leaq tt_form_data+24(%rip), %rcx"
TT_FORM rip_cmp_imm8,	"cmpb $0x40, tt_form_data+3(%rip)"
TT_FORM rip_cmp_imm32,	"cmpl $0x10203040, tt_form_data(%rip)"
TT_FORM rip_cmpq_imm8,	"cmpq $-1, tt_form_data+8(%rip)"
TT_FORM rip_test,	"testb $1, tt_form_data(%rip)"
TT_FORM rip_inc,	"incl tt_form_data+32(%rip)"
TT_FORM rip_add,	"addq %rcx, tt_form_data+32(%rip)"
TT_FORM rip_lock_inc,	"lock incq tt_form_data+32(%rip)"
TT_FORM rip_movzx,	"movzwl tt_form_data+6(%rip), %ecx"
TT_FORM rip_imul,	"imull $1000, tt_form_data+4(%rip), %ecx"
TT_FORM rip_push,	"pushq tt_form_data+40(%rip)"
TT_FORM rip_pop,	"popq tt_form_data+40(%rip)", "pushq %rsi"
TT_FORM rip_gs,		"movq %gs:this_cpu_off(%rip), %rcx"

/* --------------------------------------------------------------- branches -- */

TT_FORM jmp8,		"jmp 7f"
TT_FORM jmp32,		"{disp32} jmp 7f"
TT_FORM jmp8_back,	"jmp 6b"
TT_FORM jmp32_back,	"{disp32} jmp 6b"
.irp cc, o, no, b, ae, e, ne, be, a, s, ns, p, np, l, ge, le, g
TT_FORM j\cc\()8,	"j\cc 7f"
TT_FORM j\cc\()32,	"{disp32} j\cc 7f"
.endr
TT_FORM jz8_back,	"jz 6b"
TT_FORM jz32_back,	"{disp32} jz 6b"
TT_FORM loop_taken,	"loop 7f"
TT_FORM loop_not,	"loop 7f", "movl $1, %ecx"
TT_FORM loop_back,	"loop 6b"
TT_FORM loope,		"loope 7f"
TT_FORM loopne,		"loopne 7f"
TT_FORM jrcxz_taken,	"jrcxz 7f", "movl $0, %ecx"
TT_FORM jrcxz_not,	"jrcxz 7f"
TT_FORM jecxz,		"jecxz 7f", "movabsq $0x100000000, %rcx"

/* -------------------------------------------------------- calls and returns -- */

TT_FORM call32,		"call tt_form_callee"
/* Two bytes or four: the way back would lead into the jump. */
TT_FORM call_rcx,	"TT_SAFE; call *%rcx", "movq 16(%rbx), %rcx", TT_EXPECT_CALL
TT_FORM call_r10,	"TT_SAFE; call *%r10", "movq 16(%rbx), %r10", TT_EXPECT_CALL
TT_FORM call_mem,	"TT_SAFE; call *16(%rbx)", "", TT_EXPECT_CALL
TT_FORM call_mem_r,	"TT_SAFE; call *16(%r9)", "movq %rbx, %r9", TT_EXPECT_CALL
TT_FORM call_mem32,	"TT_SAFE; call *0x190(%r9)", "leaq -0x180(%rbx), %r9"
TT_FORM call_sib,	"TT_SAFE; call *-8(%rbx,%rcx,8)", "movl $3, %ecx", TT_EXPECT_CALL
TT_FORM call_rip,	".pushsection .data; .p2align 3; 5: .quad tt_form_callee; .popsection; TT_SAFE; call *5b(%rip)"
TT_FORM call_sib_nobase, "TT_SAFE; call *0(,%r9,8)", "leaq 16(%rbx), %r9; shrq $3, %r9"
TT_FORM call_at_rsp,	"TT_SAFE; call *(%rsp)", "pushq 16(%rbx)", TT_EXPECT_CALL
TT_FORM call_at_rsp8,	"TT_SAFE; call *8(%rsp)", "pushq 16(%rbx); pushq %rsi", TT_EXPECT_CALL
TT_FORM call_at_rsp120,	"TT_SAFE; call *120(%rsp)", "pushq 16(%rbx); leaq -120(%rsp), %rsp; movq %rsi, (%rsp)", TT_EXPECT_CALL
TT_FORM call_at_rsp32,	"TT_SAFE; call *256(%rsp)", "pushq 16(%rbx); leaq -256(%rsp), %rsp; movq %rsi, (%rsp)"
TT_FORM call_at_rsp_ix,	"TT_SAFE; call *8(%rsp,%rcx,8)", "pushq 16(%rbx); pushq %rsi; pushq %rsi; movl $1, %ecx", TT_EXPECT_CALL
TT_GOTO jmp_r12,	"TT_SAFE; jmp *%r12"
TT_GOTO jmp_rcx,	"TT_SAFE; jmp *%rcx", "movq %r12, %rcx"
TT_GOTO jmp_mem,	"TT_SAFE; jmp *8(%rbx)"
TT_GOTO jmp_mem_sib,	"TT_SAFE; jmp *(%rbx,%rcx,8)", "movl $1, %ecx"
TT_GOTO jmp_rip,	".pushsection .data; .p2align 3; 5: .quad 7f; .popsection; TT_SAFE; jmp *5b(%rip)", "", 1
TT_GOTO jmp_at_rsp,	"TT_SAFE; jmp *8(%rsp)", "pushq %r12; pushq %rsi"
TT_FORM ret,		"TT_SAFE; ret", "pushq %r12"
TT_FORM ret_n,		"TT_SAFE; ret $16", "pushq %rsi; pushq %rdi; pushq %rcx; pushq %r12"
TT_FORM rep_ret,	"TT_SAFE; .byte 0xf3; ret", "pushq %r12"

/* ------------------------------------------------ only where they stand -- */

TT_FIXED int3,		"int3"
TT_FIXED int_n,		"int $0x80"
TT_FIXED int1,		".byte 0xf1"
TT_FIXED ud2,		"ud2"
TT_FIXED ud1,		"ud1 %eax, %ecx"
TT_FIXED iret,		"iretq"
TT_FIXED syscall,	"syscall"
TT_FIXED sysret,	"sysretq"
TT_FIXED sysenter,	"sysenter"
TT_FIXED sysexit,	"sysexitq"
TT_FIXED hlt,		"hlt"
TT_FIXED sti_hlt,	"sti; hlt"
TT_FIXED mov_ss,	"movl %ecx, %ss"
TT_FIXED xbegin,	"xbegin 7f"
TT_ONE in_front_of_xbegin, 1, TT_EXPECT_TARGET, TT_FORM_F_DEAD, "", "nopl 0(%rax); 5: nopl 0(%rax); xbegin 5b"
TT_ONE in_front_of_jmp66, 1, TT_EXPECT_TARGET, TT_FORM_F_DEAD, "", "nopl 0(%rax); 5: nopl 0(%rax); .byte 0x66; {disp32} jmp 5b"
TT_FIXED lret,		"lretq"
TT_FIXED ljmp,		"ljmp *(%rbx)"
TT_FIXED lcall,		"TT_SAFE; lcall *(%rbx)"

/* A copy of both keeps interrupts off between them, so a jump may be over it. */
/* A kernel kprobe takes it for a branch, by its opcode, and leaves it out. */
TT_ONE vmovdqa, 1, TT_EXPECT_JUMP, TT_FORM_F_DEAD, "", "vmovdqa %xmm0, 32(%rbx)"
TT_ONE sti_mwait, 1, TT_EXPECT_REFUSED, TT_FORM_F_DEAD, "", "sti; mwait"
TT_ONE sti_mwait, 2, TT_EXPECT_JUMP, TT_FORM_F_DEAD, "", "sti; mwait"
TT_ONE sti_mwait, 3, TT_EXPECT_JUMP, TT_FORM_F_DEAD, "", "sti; mwait"

	.section .rodata.tt_forms
	.globl tt_forms_end
tt_forms_end:
	.text

/* The calls call this: it notes the return address. */
	TT_ALIGN
	.globl tt_form_callee
	.type tt_form_callee, @function
tt_form_callee:
#ifdef CONFIG_X86_KERNEL_IBT
	endbr64
#endif
	leaq	16(%r15), %r15
	movq	(%rsp), %r11
	ANNOTATE_UNRET_SAFE
	ret
	.size tt_form_callee, . - tt_form_callee

/*
 * void tt_form_enter(struct tt_form_regs *regs, void *function)
 *
 * Have the registers and flags of @regs, call @function, write them back.
 * regs->gpr[4] becomes rsp as it is on entry of @function.
 */
	TT_ALIGN
	.globl tt_form_enter
	.type tt_form_enter, @function
tt_form_enter:
#ifdef CONFIG_X86_KERNEL_IBT
	endbr64
#endif
	pushq	%rbx
	pushq	%rbp
	pushq	%r12
	pushq	%r13
	pushq	%r14
	pushq	%r15
	pushfq
	pushq	%rdi
	pushq	%rsi
	leaq	-8(%rsp), %rax
	movq	%rax, 32(%rdi)
	movq	0(%rdi), %rax
	movq	8(%rdi), %rcx
	movq	16(%rdi), %rdx
	movq	24(%rdi), %rbx
	movq	40(%rdi), %rbp
	movq	48(%rdi), %rsi
	movq	64(%rdi), %r8
	movq	72(%rdi), %r9
	movq	80(%rdi), %r10
	movq	88(%rdi), %r11
	movq	96(%rdi), %r12
	movq	104(%rdi), %r13
	movq	112(%rdi), %r14
	movq	120(%rdi), %r15
	pushq	128(%rdi)
	movq	56(%rdi), %rdi
	popfq
	ANNOTATE_RETPOLINE_SAFE
	call	*(%rsp)
	pushq	%rdi
	movq	16(%rsp), %rdi
	popq	56(%rdi)
	pushfq
	popq	128(%rdi)
	movq	%rax, 0(%rdi)
	movq	%rcx, 8(%rdi)
	movq	%rdx, 16(%rdi)
	movq	%rbx, 24(%rdi)
	movq	%rbp, 40(%rdi)
	movq	%rsi, 48(%rdi)
	movq	%r8, 64(%rdi)
	movq	%r9, 72(%rdi)
	movq	%r10, 80(%rdi)
	movq	%r11, 88(%rdi)
	movq	%r12, 96(%rdi)
	movq	%r13, 104(%rdi)
	movq	%r14, 112(%rdi)
	movq	%r15, 120(%rdi)
	popq	%rsi
	popq	%rdi
	popfq
	popq	%r15
	popq	%r14
	popq	%r13
	popq	%r12
	popq	%rbp
	popq	%rbx
	ANNOTATE_UNRET_SAFE
	ret
	.size tt_form_enter, . - tt_form_enter

	.section .note.GNU-stack, "", @progbits
