/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Every difference between kernel versions, by feature name. The version says nothing about a
 * backport: Kbuild looks for it in the kernel's headers and sets TRAMP_HAVE_*.
 */
#ifndef TRAMP_COMPAT_H
#define TRAMP_COMPAT_H

#include <linux/version.h>

/*
 * Older kernels lack what we build on, and pcpu_hot is gone in 6.15. An error alone would have the
 * compiler go on and complain about all that follows from it; the file that is missing ends it.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0) || LINUX_VERSION_CODE >= KERNEL_VERSION(6, 15, 0)
#error "trampoline is for Linux 6.1 to 6.12 (docs/limits.md); it builds on none before 6.1 or after 6.14"
#include <trampoline_is_not_for_this_kernel.h>
#endif

#include <linux/bpf.h>
#include <linux/context_tracking_state.h>
#include <linux/filter.h>
#include <linux/ftrace.h>
#include <linux/module.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/rethook.h>
#include <asm/current.h>

/* Per-CPU hot variables: loose in 6.1, members of pcpu_hot from 6.2 on. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
#define tramp_pcpu_preempt_count()	((unsigned long)&pcpu_hot.preempt_count)
#define tramp_pcpu_current_task()	((unsigned long)&pcpu_hot.current_task)
#else
#define tramp_pcpu_preempt_count()	((unsigned long)&__preempt_count)
#define tramp_pcpu_current_task()	((unsigned long)&current_task)
#endif

/* Call depth accounting (6.2 and later, only where the kernel was built with it). */
#if defined(CONFIG_CALL_DEPTH_TRACKING) || defined(CONFIG_MITIGATION_CALL_DEPTH_TRACKING)
#define tramp_has_call_depth()		cpu_feature_enabled(X86_FEATURE_CALL_DEPTH)
#define tramp_pcpu_call_depth()		((unsigned long)&pcpu_hot.call_depth)
#else
#define tramp_has_call_depth()		false
#define tramp_pcpu_call_depth()		0UL
#endif

/* Indirect branches in the lower half of a cache line go through thunks (a backport). */
#ifdef X86_FEATURE_INDIRECT_THUNK_ITS
#define tramp_has_its_thunks()		cpu_feature_enabled(X86_FEATURE_INDIRECT_THUNK_ITS)
#else
#define tramp_has_its_thunks()		false
#endif

/* Whether a program may sleep: in its aux until 6.8. */
static inline bool tramp_prog_sleepable(const struct bpf_prog *prog)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 9, 0)
	return prog->sleepable;
#else
	return prog->aux->sleepable;
#endif
}

/*
 * The ops form of ftrace's direct calls: called ..._multi until 6.3. From then
 * on unregistering can free the filter too, which we never ask for: the filter
 * goes with the ops, after the grace period.
 *
 * TRAMP_DIRECT_TABLE_READ: whether hits look the direct call up in a table (ftrace/site.c). The
 * same kernels let that table grow one entry at a time (ftrace/room.c). On later ones hits that
 * come by the callback of such an ops find it there: tramp_set_direct_call().
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 4, 0)
#define tramp_register_direct(ops, addr)	register_ftrace_direct(ops, addr)
#define tramp_modify_direct(ops, addr)		modify_ftrace_direct(ops, addr)
#define tramp_unregister_direct(ops, addr)	unregister_ftrace_direct(ops, addr, false)
#define tramp_set_direct_call(ops, addr)	WRITE_ONCE((ops)->direct_call, addr)
#define TRAMP_DIRECT_TABLE_READ			false
#else
#define tramp_register_direct(ops, addr)	register_ftrace_direct_multi(ops, addr)
#define tramp_modify_direct(ops, addr)		modify_ftrace_direct_multi(ops, addr)
#define tramp_unregister_direct(ops, addr)	unregister_ftrace_direct_multi(ops, addr)
#define tramp_set_direct_call(ops, addr)	do { } while (0)
#define TRAMP_DIRECT_TABLE_READ			true
#endif

/* From an ftrace callback with all registers: go on at @addr, as a direct call would have. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 4, 0)
#define tramp_set_direct_caller(fregs, addr)	arch_ftrace_set_direct_caller(fregs, addr)
#else
#define tramp_set_direct_caller(fregs, addr)	\
	arch_ftrace_set_direct_caller(&(fregs)->regs, addr)
#endif

/* Whether kallsyms_on_each_symbol() tells its callback the symbol's module. */
#define TRAMP_EACH_SYMBOL_HAS_MODULE	(LINUX_VERSION_CODE < KERNEL_VERSION(6, 4, 0))

/* Attach types of kprobe programs that are loaded for many functions; a kernel may lack some. */
#define TRAMP_TYPE_KPROBE_MULTI		BPF_TRACE_KPROBE_MULTI
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
#define TRAMP_TYPE_KPROBE_SESSION	BPF_TRACE_KPROBE_SESSION
#else
#define TRAMP_TYPE_KPROBE_SESSION	(~0u)
#endif

/* Whether tracing programs can be attached to tracing programs. */
#define TRAMP_PROGS_CAN_BE_TRACED	(LINUX_VERSION_CODE >= KERNEL_VERSION(6, 8, 0))

/*
 * bpf_prog_pack_free() takes the size as an argument from 6.6 on; before, it
 * reads it from a struct bpf_binary_header at the start of the allocation.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 6, 0)
#define TRAMP_PACK_HEADER	0
#else
#define TRAMP_PACK_HEADER	1
#endif

/* bpf_prog_pack_alloc() asks whether the image is a classic filter: a backport. */
#ifdef TRAMP_HAVE_PACK_WAS_CLASSIC
#define TRAMP_PACK_ALLOC_ARGS(size, fill)	(size), (fill), false
#else
#define TRAMP_PACK_ALLOC_ARGS(size, fill)	(size), (fill)
#endif

/*
 * Rethooks: since 6.7 they come with their nodes, before that nodes are added one by one. Since
 * 6.6 the handler gets the return address as well.
 */
#define TRAMP_RETHOOK_HAS_NODES	(LINUX_VERSION_CODE >= KERNEL_VERSION(6, 7, 0))

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 6, 0)
#define TRAMP_RETHOOK_HANDLER(name, data, regs)				\
	name(struct rethook_node *node, void *data, unsigned long ret, struct pt_regs *regs)
#else
#define TRAMP_RETHOOK_HANDLER(name, data, regs)				\
	name(struct rethook_node *node, void *data, struct pt_regs *regs)
#endif

/*
 * rcu_is_watching() without a call, for any context. The count is read in one instruction: a task
 * that is moved to another CPU meanwhile has read that of a CPU that it was on. The names of its
 * parts changed in 6.12.
 */
static __always_inline bool tramp_rcu_watching(void)
{
#if defined(CT_RCU_WATCHING)
	return raw_cpu_read(context_tracking.state.counter) & CT_RCU_WATCHING;
#elif defined(RCU_DYNTICKS_IDX)
	return raw_cpu_read(context_tracking.state.counter) & RCU_DYNTICKS_IDX;
#else
	return rcu_is_watching();
#endif
}

/* A module's text: of several layouts until 6.3, of memory types from then on. */
static inline void tramp_module_text(const struct module *mod, unsigned long *start,
				     unsigned long *end)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 4, 0)
	*start = (unsigned long)mod->mem[MOD_TEXT].base;
	*end = *start + mod->mem[MOD_TEXT].size;
#else
	*start = (unsigned long)mod->core_layout.base;
	*end = *start + mod->core_layout.text_size;
#endif
}

/* Bytes of its init text; 0 once that has been dropped. The loader may be dropping it now. */
static inline unsigned int tramp_module_init_size(const struct module *mod)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 4, 0)
	/* The loader writes it plainly. */
	return data_race(READ_ONCE(mod->mem[MOD_INIT_TEXT].size));
#else
	/* The loader writes it plainly. */
	return data_race(READ_ONCE(mod->init_layout.size));
#endif
}

/*
 * Since 6.6 bpf_link_info tells of kprobes that are attached as perf events, since 6.7 how
 * often they were missed, since 6.9 their cookie.
 */
#define TRAMP_LINK_INFO_KPROBE (LINUX_VERSION_CODE >= KERNEL_VERSION(6, 6, 0))

static inline void tramp_link_info_more(struct bpf_link_info *info, u64 missed, u64 cookie)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 7, 0)
	info->perf_event.kprobe.missed = missed;
#endif
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 9, 0)
	info->perf_event.kprobe.cookie = cookie;
#endif
}

/* Since 6.6 bpf_link_info tells of links to many functions, since 6.9 their cookies. */
#define TRAMP_LINK_INFO_MULTI (LINUX_VERSION_CODE >= KERNEL_VERSION(6, 6, 0))

static inline u64 tramp_link_info_cookies(const struct bpf_link_info *info)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 9, 0)
	return info->kprobe_multi.cookies;
#else
	return 0;
#endif
}

static inline void tramp_link_info_missed(struct bpf_link_info *info, u64 missed)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 7, 0)
	info->kprobe_multi.missed = missed;
#endif
}

#endif /* TRAMP_COMPAT_H */
