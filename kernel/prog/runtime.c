// SPDX-License-Identifier: GPL-2.0
/*
 * Helpers that images call, and the kernel's facts for the emitter.
 *
 * Every function here is notrace: an image that called a traced helper would call itself.
 * Functions that these call may be traced. Then the program's recursion counter ends the
 * recursion after one step: it is up around the timed path, and was found up in the missed one.
 * At what guards call before they ask for that counter there are no programs (text/unsafe.c).
 */
#include <linux/ftrace.h>
#include <linux/irqflags.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/u64_stats_sync.h>
#include <asm/cpufeature.h>
#include <asm/ibt.h>
#include <asm/segment.h>
#include "base/compat.h"
#include "base/ksyms.h"
#include "base/tramp.h"
#include "runtime.h"
#include "slot.h"

struct tramp_x86_env tramp_env __ro_after_init;

/* The context of probes' programs that read nothing of it. */
static const struct pt_regs no_regs;

/* Any value but 0 that a clock does not return: "statistics were off at the start". */
#define NO_START 1

/*
 * Preemption is off or the task pinned. Calls nothing: a function that it called might be
 * probed, and be missed in turn, without end.
 */
noinline notrace void tramp_x_missed(struct tramp_slot *slot)
{
	struct bpf_prog_stats *stats;
	unsigned long flags;

	this_cpu_inc(slot->counts->pcpu->misses);
	/* The kernel policy's enter function has counted the program's miss itself. */
	if (!slot->prog || (slot->call_flags & TRAMP_X86_CALL_GUARDED))
		return;
	stats = this_cpu_ptr(slot->prog->stats);
	flags = u64_stats_update_begin_irqsave(&stats->syncp);
	u64_stats_inc(&stats->misses);
	u64_stats_update_end_irqrestore(&stats->syncp, flags);
}

/* The start of a timed run: the time in ns, never 0. */
static noinline notrace u64 tramp_x_stats_enter(void)
{
	u64 start = local_clock();

	return start > NO_START ? start : NO_START;
}

/*
 * The same per-CPU sums, guarded in the same way, as the kernel's own trampoline keeps
 * (kernel/bpf/trampoline.c), since bpftool reads them together.
 */
static noinline notrace void tramp_x_stats_exit(struct bpf_prog *prog, u64 start)
{
	struct bpf_prog_stats *stats;
	unsigned long flags;
	u64 duration;

	if (start <= NO_START || !prog)
		return;
	duration = local_clock() - start;
	stats = this_cpu_ptr(prog->stats);
	flags = u64_stats_update_begin_irqsave(&stats->syncp);
	u64_stats_inc(&stats->cnt);
	u64_stats_add(&stats->nsecs, duration);
	u64_stats_update_end_irqrestore(&stats->syncp, flags);
}

noinline notrace u64 tramp_x_nothing(void)
{
	return 0;
}

/*
 * The image has counted preemption down to 0 with a reschedule due. Doing it
 * once more in C calls whatever this kernel calls then (preempt=full), or
 * nothing (preempt=none, voluntary), the patched static call included.
 */
static noinline notrace void tramp_x_resched(void)
{
	preempt_disable_notrace();
	preempt_enable_notrace();
}

static noinline notrace u64 tramp_x_rcu_watching(void)
{
	return tramp_cpu_watched();
}

#ifdef CONFIG_DEBUG_LOCK_ALLOC
/* Where RCU does not watch no program runs, and nobody may ask for it either. */
static noinline notrace void tramp_x_rcu_read_lock(void)
{
	if (rcu_is_watching())
		rcu_read_lock();
}

static noinline notrace void tramp_x_rcu_read_unlock(void)
{
	if (rcu_is_watching())
		rcu_read_unlock();
}

/*
 * Around programs of probes, for checkers that know of locks, of RCU, and of what the
 * kernel's macros did to interrupts: an image turns them off by a bare cli. Interrupts are
 * off and an NMI is counted, so the checkers' belief is put back as the kernel's int3 does
 * it. As there (__nmi_enter()), lockdep does not relate a program's locks to those of the
 * probed code.
 *
 * One word for each CPU is enough. The recursion counter of the programs is up from before
 * the first function to behind the second. It keeps an NMI, and whatever these call, from
 * coming here.
 */
static DEFINE_PER_CPU(int, probe_hardirqs);

static noinline notrace void tramp_x_probe_enter(void)
{
	this_cpu_write(probe_hardirqs, lockdep_hardirqs_enabled());
	lockdep_hardirqs_off(CALLER_ADDR0);
	lockdep_off();
	rcu_read_lock();
}

static noinline notrace void tramp_x_probe_exit(void)
{
	rcu_read_unlock();
	lockdep_on();
	if (this_cpu_read(probe_hardirqs)) {
		lockdep_hardirqs_on_prepare();
		lockdep_hardirqs_on(CALLER_ADDR0);
	}
}
#endif

/*
 * An image returns through the thunk that the kernel chose for this CPU, read from the
 * variable its own JIT reads. Jumping to __x86_return_thunk itself is wrong on kernels that
 * patch every return (it warns, once, and is slow).
 */
static int find_return_thunk(void)
{
	if (!cpu_feature_enabled(X86_FEATURE_RETHUNK))
		return 0;
	if (tramp_ksyms.x86_return_thunk)
		tramp_env.return_thunk = *(unsigned long *)tramp_ksyms.x86_return_thunk;
	else
		tramp_env.return_thunk = tramp_ksym_lookup("__x86_return_thunk");
	if (!tramp_env.return_thunk) {
		pr_err("this CPU needs return thunks, and those of the kernel cannot be found\n");
		return -EOPNOTSUPP;
	}
	return 0;
}

/*
 * The thunk of a copied indirect branch, on CPUs on which a branch in the lower half of a
 * cache line is not safe. The kernel's JIT uses the same static thunks. There is one for each
 * register, 64 bytes apart, in the order of their numbers. It is looked at before it is used:
 * it must have a `jmp *reg` in the upper half of its line, or else the branch is refused.
 */
static unsigned long its_thunk(u32 reg)
{
	const u8 jmp[] = { 0x41, 0xff, 0xe0 | (reg & 7) };
	unsigned long addr = tramp_ksyms.__x86_indirect_its_thunk_array + 64 * reg;
	u32 skip = reg < 8, last = sizeof(jmp) - 1 - skip;

	if (!tramp_ksyms.__x86_indirect_its_thunk_array || !((addr + last) & 0x20) ||
	    memcmp((const void *)addr, jmp + skip, sizeof(jmp) - skip))
		return 0;
	return addr;
}

static void find_indirect_thunks(void)
{
	u32 reg;

	tramp_env.has_indirect_thunks = tramp_has_its_thunks();
	if (!tramp_env.has_indirect_thunks)
		return;
	for (reg = 0; reg < ARRAY_SIZE(tramp_env.indirect_thunk); reg++)
		tramp_env.indirect_thunk[reg] = its_thunk(reg);
	if (!tramp_env.indirect_thunk[0])
		pr_info("this CPU needs thunks for indirect branches, and those of the kernel cannot be found: a probe at such a branch becomes a kprobe\n");
}

int __init tramp_helpers_init(void)
{
	BUILD_BUG_ON(sizeof(struct bpf_tramp_run_ctx) > 64);
	BUILD_BUG_ON(sizeof(struct bpf_tramp_run_ctx) % 8);
	BUILD_BUG_ON(sizeof(struct bpf_trace_run_ctx) > 64);
	BUILD_BUG_ON(sizeof(struct bpf_trace_run_ctx) % 8);
	BUILD_BUG_ON(sizeof(bpf_stats_enabled_key.key.enabled.counter) != 4);

	tramp_env.preempt_count = tramp_pcpu_preempt_count();
	tramp_env.nmi_count = NMI_OFFSET + HARDIRQ_OFFSET + PREEMPT_OFFSET;
	tramp_env.current_task = tramp_pcpu_current_task();
	tramp_env.task_bpf_ctx = offsetof(struct task_struct, bpf_ctx);
	tramp_env.run_ctx_size = sizeof(struct bpf_tramp_run_ctx);
	tramp_env.run_ctx_cookie = offsetof(struct bpf_tramp_run_ctx, bpf_cookie);
	tramp_env.run_ctx_saved = offsetof(struct bpf_tramp_run_ctx, saved_run_ctx);
	tramp_env.trace_ctx_size = sizeof(struct bpf_trace_run_ctx);
	tramp_env.trace_ctx_cookie = offsetof(struct bpf_trace_run_ctx, bpf_cookie);
	tramp_env.stats_key = (unsigned long)&bpf_stats_enabled_key.key.enabled.counter;
	tramp_env.stats_enter = (unsigned long)tramp_x_stats_enter;
	tramp_env.stats_exit = (unsigned long)tramp_x_stats_exit;
	if (IS_ENABLED(CONFIG_PREEMPTION))
		tramp_env.resched = (unsigned long)tramp_x_resched;
	tramp_env.missed = (unsigned long)tramp_x_missed;
	tramp_env.rcu_watching = (unsigned long)tramp_x_rcu_watching;
#ifdef CONFIG_DEBUG_LOCK_ALLOC
	tramp_env.rcu_read_lock = (unsigned long)tramp_x_rcu_read_lock;
	tramp_env.rcu_read_unlock = (unsigned long)tramp_x_rcu_read_unlock;
	tramp_env.probe_enter = (unsigned long)tramp_x_probe_enter;
	tramp_env.probe_exit = (unsigned long)tramp_x_probe_exit;
#endif
	tramp_env.has_call_depth = tramp_has_call_depth();
	tramp_env.call_depth = tramp_pcpu_call_depth();
	tramp_env.no_regs = (unsigned long)&no_regs;
	tramp_env.cs = __KERNEL_CS;
	tramp_env.ss = __KERNEL_DS;
	tramp_env.smap = cpu_feature_enabled(X86_FEATURE_SMAP);
	find_indirect_thunks();
#ifdef CONFIG_X86_KERNEL_IBT
	tramp_env.endbr = gen_endbr();
	tramp_env.endbr_poison = gen_endbr_poison();
#endif
	tramp_env.no_indirect = tramp_env.has_indirect_thunks ||
				cpu_feature_enabled(X86_FEATURE_RETPOLINE) ||
				cpu_feature_enabled(X86_FEATURE_RETPOLINE_LFENCE) ||
				cpu_feature_enabled(X86_FEATURE_IBT);
	return find_return_thunk();
}
