/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The ioctls of /dev/trampoline_test: what the tests of probes need and text
 * commands (trampoline_test.h) would be too slow or too clumsy for. Shared by the
 * module's C, its assembly, and the tests.
 *
 *  - The forms of instructions in probe_forms.S: which there are, and running one
 *    with given registers.
 *  - A second opinion about addresses: what the kernel's own kprobes say of them.
 *  - The kernel's text as it is in memory.
 *  - Things that patch text next to probes: a static key, a static call.
 *  - Allocations that fail.
 */
#ifndef TRAMPOLINE_TEST_PROBE_ABI_H
#define TRAMPOLINE_TEST_PROBE_ABI_H

/* The findings of a form's test about the probe at its region's start. */
#define TT_EXPECT_JUMP		0	/* can become a jump */
#define TT_EXPECT_CALL		1	/* stays an int3: a call returns into the region */
#define TT_EXPECT_STUCK		2	/* stays an int3: cannot be relocated */
#define TT_EXPECT_REFUSED	3	/* cannot even be an int3 */
#define TT_EXPECT_INDIRECT	4	/* stays an int3: something may jump into the region */
#define TT_EXPECT_KPROBE	5	/* left to a kprobe of the kernel */
#define TT_EXPECT_TARGET	6	/* stays an int3: something branches into the region */

#define TT_FORM_F_BARE		1	/* between inputs and probe there is only rbp = rsp */
#define TT_FORM_F_DEAD		2	/* must not be run */

/* 8-byte words of memory that forms refer to: through rbx, and relative to rip. */
#define TT_FORM_WORDS		64

#ifndef __ASSEMBLY__

#include <linux/ioctl.h>
#include <linux/types.h>

/**
 * struct tt_form_info - FORM_INFO: one form at one place
 * @index: in: from 0; ENOENT if there are no more
 * @place: 1, 2, 3: where the form is among the region's instructions
 * @expect: TT_EXPECT_*
 * @flags: TT_FORM_F_*
 * @func: the function
 * @probe: where the region begins: the address to probe
 * @form: the form; the same as @probe if @place is 1
 * @taken: where a taken branch goes
 * @end: behind the form
 * @name: of the function
 */
struct tt_form_info {
	__u32 index;
	__u32 place;
	__u32 expect;
	__u32 flags;
	__u64 func;
	__u64 probe;
	__u64 form;
	__u64 taken;
	__u64 end;
	char name[64];
};

/* gpr[] is in hardware order: rax rcx rdx rbx rsp rbp rsi rdi r8 ... r15. */
struct tt_form_regs {
	__u64 gpr[16];
	__u64 flags;
};

/**
 * struct tt_form_run - FORM_RUN: run a form
 * @index: as in struct tt_form_info
 * @times: how often, at least once; inputs are the same each time
 * @regs: in: registers; rbx, r12, rsp and rbp are set by the module, r8 is made
 *	a flags word. Out: after the last time. A value that points into the current
 *	stack is given as TT_STACK + its distance from @entry_sp
 * @memory: in and out: the words that rbx points to
 * @data: in and out: the words at tt_form_data
 * @entry_sp: out: rsp on entry of the function, the last time
 * @different: out: runs that did not come out like the first one
 */
struct tt_form_run {
	__u32 index;
	__u32 times;
	struct tt_form_regs regs;
	__u64 memory[TT_FORM_WORDS];
	__u64 data[TT_FORM_WORDS];
	__u64 entry_sp;
	__u64 different;
};
#define TT_STACK		0x5354414b00000000ULL

/* The questions of struct tt_addrs about each address; the answer is 0 or an errno. */
#define TT_JUDGE_REGISTER	0	/* register_kprobe(), not armed */
#define TT_JUDGE_OPTIMISE	1	/* arch_prepare_optimized_kprobe() */
#define TT_JUDGE_BLACKLIST	2	/* within the kprobe blacklist: EINVAL, otherwise 0 */
#define TT_JUDGE_FIXUP		3	/* not an errno: EX_TYPE_* of the exception table, or 0 */

/**
 * struct tt_addrs - JUDGE, KPROBES_ON, KPROBES_OFF: many addresses
 * @what: JUDGE: TT_JUDGE_*; KPROBES_ON: TT_KPROBE_*
 * @nr: how many, at most TT_MAX_ADDRS
 * @addrs: user pointer to their __u64s
 * @results: user pointer to __s32s: 0 or an errno, one for each
 * @hits: KPROBES_OFF: user pointer to __u64s: how often each was hit
 * @missed: KPROBES_OFF: user pointer to __u64s: how often each was missed
 * @regs: KPROBES_OFF: user pointer to 21 __u64s for each: struct pt_regs as its handler
 *	saw it last; 0 for none
 *
 * KPROBES_ON puts a kprobe of the kernel on each address, one that counts; what
 * cannot be had gets its errno. KPROBES_OFF takes them away and must be given as
 * many. They belong to the open file and go with it.
 */
struct tt_addrs {
	__u32 what;
	__u32 nr;
	__u64 addrs;
	__u64 results;
	__u64 hits;
	__u64 missed;
	__u64 regs;
};
#define TT_MAX_ADDRS		65536

#define TT_KPROBE_COUNT		0	/* only count */
#define TT_KPROBE_CALL		1	/* call tt_hot3() from the handler, as in an NMI */
#define TT_KPROBE_NO_JUMP	2	/* have a post handler, so that it is not optimised */
#define TT_KPROBE_KILL		3	/* shut ftrace down, for good */
#define TT_KPROBE_KILL_SKIP	4	/* the same, at an entry, and leave the function out */
#define TT_KPROBE_SLOW		5	/* take 5 ms, without giving the CPU away */

/**
 * struct tt_text - TEXT: kernel memory as it is
 * @addr: address
 * @len: bytes, at most TT_MAX_TEXT
 * @buf: user pointer
 * EFAULT if it cannot be read.
 */
struct tt_text {
	__u64 addr;
	__u64 len;
	__u64 buf;
};
#define TT_MAX_TEXT		(1 << 20)

/**
 * struct tt_toggle - TOGGLE: patch next to probes
 * @times: how often the static key and the static call of tt_patched() change;
 *	both are as at the beginning afterwards if it is even
 */
struct tt_toggle {
	__u64 times;
};

/**
 * struct tt_fault - FAULT: an allocation of this thread fails
 * @nth: which one, from the end of this call on; 0: no more
 * @lasting: 1: and each allocation after it; TT_FAULT_RESERVES: those from the reserves, too
 * @in_a_row: that many fail, if not all; 0: one
 * @taken: out: whether one has failed since the last such call of this file
 * @where: out: where it was asked for; 0 if there is no such one
 * @whose: TT_FAULT_MINE: this thread's next ones.
 *	TT_FAULT_INIT: those of the init of each module that it loads.
 *	TT_FAULT_INIT_OWN: of them, what the module asks for itself.
 *	TT_FAULT_WORK: what trampoline.ko asks for itself in kworkers
 * @pad: 0
 *
 * ENOENT if this kernel allocates by functions that are not known here, or the module is not there,
 * EBUSY if another file has made such a call.
 */
struct tt_fault {
	__u32 nth;
	__u32 lasting;
#define TT_FAULT_RESERVES	2
	__u32 taken;
	__u32 in_a_row;
	__u64 where;
	__u32 whose;
#define TT_FAULT_MINE		0
#define TT_FAULT_INIT		1
#define TT_FAULT_INIT_OWN	2
#define TT_FAULT_WORK		3
	__u32 pad;
};

/**
 * struct tt_pause - PAUSE: this thread sleeps where a function has let go of a lock
 * @func: behind a spin_unlock_bh() that it does
 * @nth: which one since this call, from 1
 * @ms: for so long
 * @seen: out: how many it has done since the last such call of this file
 *
 * ENOENT if this kernel's local_bh_enable() cannot be hooked, EBUSY if another file has made such a
 * call, or a live patch has it.
 */
struct tt_pause {
	char func[48];
	__u32 nth;
	__u32 ms;
	__u32 seen;
	__u32 pad;
};

#define TT_IOC			0xBB
#define TT_IOC_FORM_INFO	_IOWR(TT_IOC, 0, struct tt_form_info)
#define TT_IOC_FORM_RUN		_IOWR(TT_IOC, 1, struct tt_form_run)
#define TT_IOC_JUDGE		_IOWR(TT_IOC, 2, struct tt_addrs)
#define TT_IOC_KPROBES_ON	_IOWR(TT_IOC, 3, struct tt_addrs)
#define TT_IOC_KPROBES_OFF	_IOWR(TT_IOC, 4, struct tt_addrs)
#define TT_IOC_TEXT		_IOWR(TT_IOC, 5, struct tt_text)
#define TT_IOC_TOGGLE		_IOWR(TT_IOC, 6, struct tt_toggle)
#define TT_IOC_FAULT		_IOWR(TT_IOC, 7, struct tt_fault)
#define TT_IOC_PAUSE		_IOWR(TT_IOC, 8, struct tt_pause)

/*
 * The page that mmap() of a file gives: while its first four bytes are 0, kprobes of that file
 * that would only count do not. 1 at first. So nothing of the kernel runs to open or shut it.
 */

#ifdef __KERNEL__
struct file;

/* probe_forms_run.c */
long tt_form_info(void __user *arg);
long tt_form_run(void __user *arg);

/* probe_judge.c */
struct tt_kprobes;
long tt_judge(void __user *arg);
/* @gate: while it is 0, kprobes that would only count do not. */
long tt_kprobes_on(struct tt_kprobes **on, void __user *arg, const u32 *gate);
long tt_kprobes_off(struct tt_kprobes **on, void __user *arg);
void tt_kprobes_drop(struct tt_kprobes **on);
long tt_text(void __user *arg);
/* ftrace shuts down; 0 or a negative errno. */
int tt_ftrace_kill(void);
/* The address of a symbol of the kernel's, NULL: there is none. */
void *tt_symbol(const char *name);
/* Text of an image becomes @bytes; 0, -ENOENT, or -EFAULT if they cannot be written there. */
int tt_overwrite(void *addr, const u8 *bytes, size_t len);
/* How many images of trampoline.ko the kernel has symbols of, or -ENOENT. */
int tt_images(void);

/* ftrace.c */
/* See ftrace_watch in trampoline_test.h. Return: 1, 0, or -ENOENT without a symbol of ftrace. */
int tt_ftrace_watch(unsigned int ms);

/* leaks.c: @leaks belong to the file. 0 or -ENOMEM; what is there stays until tt_leaks_end(). */
struct tt_leak;
int tt_leak(struct tt_leak **leaks, u32 nr);
void tt_leaks_end(struct tt_leak **leaks);

/* probe_targets.c */
long tt_toggle(void __user *arg);

/* faults.c: @on belongs to the file. */
long tt_fault(bool *on, void __user *arg);
void tt_faults_end(bool *on);
struct module;
/* A module that this thread loads comes to this state. */
void tt_faults_loading(struct module *mod, unsigned long state);
void tt_faults_exit(void);

/* pauses.c: likewise. */
long tt_pause(bool *on, void __user *arg);
void tt_pauses_end(bool *on);
void tt_pauses_exit(void);
#endif

#endif /* __ASSEMBLY__ */
#endif /* TRAMPOLINE_TEST_PROBE_ABI_H */
