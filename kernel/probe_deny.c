// SPDX-License-Identifier: GPL-2.0
/*
 * Functions by name that a probe must not be in, or only as a kernel kprobe, over and
 * above what the kernel itself forbids.
 *
 * The trap path. Our int3 handler is a die notifier. What the kernel calls before it
 * reaches a notifier must not trap again: notify_die() and the notifier chain are on the
 * kernel's blacklist, but they take rcu_read_lock(), which is a function with
 * PREEMPT_RCU; with lock debugging or KASAN a good deal more; and where there is a
 * tracepoint in the notifier chain (notifier_run, since 6.4), the way of a trace event
 * into its buffer. (That tracepoint's own user may do more; docs/limits.md.) The kernel's
 * own kprobes are asked before all that. (Most hits never get there, see probe_direct.c;
 * but all must be able to.)
 *
 * The tracers hwlat and osnoise, where they are built in, have the exception's entry itself
 * call them and read a clock (ftrace_nmi_enter()), before any handler can tell a recursion:
 * a kernel kprobe would be no better.
 *
 * The way back. An image that has turned preemption on again calls
 * preempt_schedule_notrace(), outside of any recursion guard. The return thunks end
 * every function, ours and the kprobes' included: nobody may trap there.
 *
 * Without an IDT. A CPU on its way up has none of the kernel's until it comes to
 * load_current_idt(), one that wakes up from suspend until its registers are restored, and
 * one that goes into another kernel by kexec has dropped it: an int3 there resets the
 * machine, whoever's it is. (The entry of such a function is ftrace's, without an int3.)
 *
 * Without RCU. In the idle functions, and on a CPU on its way out, RCU does not watch;
 * an int3's exception entry wakes it up as long as the handler runs, an image would run
 * without.
 *
 * Patched. A static call's trampoline is checked for its instruction when the kernel
 * changes it, and a BUG() follows if it is another; it cannot bear kprobes either. The
 * padding in front of functions (__pfx_, __cfi_) is the kernel's for thunks and hashes.
 * ftrace's entry code is copied, call and all, for each user that is alone at a function;
 * and where another user is beside us at kprobe_int3_handler() (probe_direct.c), int3s go
 * through it.
 */
#include <linux/string.h>
#include "ksyms.h"
#include "probe.h"

enum match {
	EXACT,		/* but for what the compiler appends: .part.0, .cold, ... */
	PREFIX,
	PART,
};

static const struct deny {
	const char *name;
	enum match match;
	bool refuse;		/* a kernel kprobe would be no better */
	enum tramp_reason reason;
} denied[] = {
	{ "__SCT__", PREFIX, true, TRAMP_REASON_RESERVED },
	{ "__pfx_", PREFIX, true, TRAMP_REASON_RESERVED },
	{ "__cfi_", PREFIX, true, TRAMP_REASON_RESERVED },
	{ "__x86_return_", PREFIX, true, TRAMP_REASON_RESERVED },
	{ "__x86_indirect_", PREFIX, true, TRAMP_REASON_RESERVED },
	{ "retbleed_", PREFIX, true, TRAMP_REASON_RESERVED },
	{ "srso_", PREFIX, true, TRAMP_REASON_RESERVED },
	{ "its_return_thunk", PREFIX, true, TRAMP_REASON_RESERVED },
	{ "call_depth_return_thunk", PREFIX, true, TRAMP_REASON_RESERVED },
	{ "ftrace_caller", PREFIX, true, TRAMP_REASON_RESERVED },
	{ "ftrace_regs_caller", PREFIX, true, TRAMP_REASON_RESERVED },
	{ "ftrace_call", EXACT, true, TRAMP_REASON_RESERVED },
	{ "ftrace_regs_call", EXACT, true, TRAMP_REASON_RESERVED },
	{ "ftrace_stub", PREFIX, true, TRAMP_REASON_RESERVED },
	{ "__fentry__", EXACT, true, TRAMP_REASON_RESERVED },

	{ "secondary_startup_64", PREFIX, true, TRAMP_REASON_BLACKLISTED },
	{ "common_startup_64", EXACT, true, TRAMP_REASON_BLACKLISTED },
	{ "verify_cpu", EXACT, true, TRAMP_REASON_BLACKLISTED },
	{ "sev_verify_cbit", EXACT, true, TRAMP_REASON_BLACKLISTED },
	{ "vc_boot_ghcb", EXACT, true, TRAMP_REASON_BLACKLISTED },
	{ "do_vc_no_ghcb", EXACT, true, TRAMP_REASON_BLACKLISTED },
	{ "cc_platform_has", EXACT, true, TRAMP_REASON_BLACKLISTED },
	{ "set_bringup_idt_handler", EXACT, true, TRAMP_REASON_BLACKLISTED },
	{ "memset", EXACT, true, TRAMP_REASON_BLACKLISTED },
	{ "__memset", EXACT, true, TRAMP_REASON_BLACKLISTED },
	{ "memset_erms", EXACT, true, TRAMP_REASON_BLACKLISTED },
	{ "memset_orig", EXACT, true, TRAMP_REASON_BLACKLISTED },
	{ "start_cpu0", EXACT, true, TRAMP_REASON_BLACKLISTED },
	{ "soft_restart_cpu", EXACT, true, TRAMP_REASON_BLACKLISTED },
	{ "asm_cpu_bringup_and_idle", EXACT, true, TRAMP_REASON_BLACKLISTED },
	{ "xen_cpu_bringup_again", EXACT, true, TRAMP_REASON_BLACKLISTED },
	{ "early_setup_idt", EXACT, true, TRAMP_REASON_BLACKLISTED },
	{ "startup_64_", PREFIX, true, TRAMP_REASON_BLACKLISTED },
	{ "setup_ghcb", EXACT, true, TRAMP_REASON_BLACKLISTED },
	{ "start_secondary", EXACT, true, TRAMP_REASON_BLACKLISTED },
	{ "cr4_init", EXACT, true, TRAMP_REASON_BLACKLISTED },
	{ "cr4_set_bits", EXACT, true, TRAMP_REASON_BLACKLISTED },
	{ "cr4_update_irqsoff", EXACT, true, TRAMP_REASON_BLACKLISTED },
	{ "cpu_init_secondary", EXACT, true, TRAMP_REASON_BLACKLISTED },
	{ "cpu_init_exception_handling", EXACT, true, TRAMP_REASON_BLACKLISTED },
	{ "cpu_init_fred_", PREFIX, true, TRAMP_REASON_BLACKLISTED },
	{ "load_current_idt", EXACT, true, TRAMP_REASON_BLACKLISTED },
	{ "native_load_gdt", EXACT, true, TRAMP_REASON_BLACKLISTED },
	{ "native_load_idt", EXACT, true, TRAMP_REASON_BLACKLISTED },
	{ "native_load_tr_desc", EXACT, true, TRAMP_REASON_BLACKLISTED },
	{ "native_write_gdt_entry", EXACT, true, TRAMP_REASON_BLACKLISTED },
	{ "native_write_msr", EXACT, true, TRAMP_REASON_BLACKLISTED },
	{ "native_read_cr", PART, true, TRAMP_REASON_BLACKLISTED },
	{ "native_write_cr", PART, true, TRAMP_REASON_BLACKLISTED },
	{ "restore_processor_state", PART, true, TRAMP_REASON_BLACKLISTED },
	{ "do_suspend_lowlevel", EXACT, true, TRAMP_REASON_BLACKLISTED },
	{ "wakeup_long64", EXACT, true, TRAMP_REASON_BLACKLISTED },
	{ "restore_registers", EXACT, true, TRAMP_REASON_BLACKLISTED },
	{ "machine_kexec", EXACT, true, TRAMP_REASON_BLACKLISTED },
	{ "idt_invalidate", EXACT, true, TRAMP_REASON_BLACKLISTED },
	{ "native_gdt_invalidate", EXACT, true, TRAMP_REASON_BLACKLISTED },
	{ "relocate_kernel", EXACT, true, TRAMP_REASON_BLACKLISTED },

#if defined(CONFIG_HWLAT_TRACER) || defined(CONFIG_OSNOISE_TRACER)
	{ "trace_hwlat_callback", EXACT, true, TRAMP_REASON_BLACKLISTED },
	{ "trace_osnoise_callback", EXACT, true, TRAMP_REASON_BLACKLISTED },
	{ "trace_clock_local", EXACT, true, TRAMP_REASON_BLACKLISTED },
	{ "sched_clock", EXACT, true, TRAMP_REASON_BLACKLISTED },
	{ "native_sched_clock", EXACT, true, TRAMP_REASON_BLACKLISTED },
#endif
	{ "__rcu_read_lock", EXACT, false, TRAMP_REASON_BLACKLISTED },
	{ "__rcu_read_unlock", EXACT, false, TRAMP_REASON_BLACKLISTED },
	{ "rcu_read_unlock_special", EXACT, false, TRAMP_REASON_BLACKLISTED },
	{ "preempt_schedule_notrace", PART, false, TRAMP_REASON_BLACKLISTED },

	/* Not in .cpuidle.text before 6.3, and what idle loops call from there. */
	{ "cpuidle_enter_state", EXACT, false, TRAMP_REASON_RCU_IDLE },
	{ "enter_s2idle_proper", EXACT, false, TRAMP_REASON_RCU_IDLE },
	{ "default_enter_idle", EXACT, false, TRAMP_REASON_RCU_IDLE },
	{ "arch_cpu_idle", EXACT, false, TRAMP_REASON_RCU_IDLE },
	{ "amd_e400_idle", EXACT, false, TRAMP_REASON_RCU_IDLE },
	{ "cpuidle_poll_time", EXACT, false, TRAMP_REASON_RCU_IDLE },
	{ "local_clock", PREFIX, false, TRAMP_REASON_RCU_IDLE },
	{ "sched_clock", PREFIX, false, TRAMP_REASON_RCU_IDLE },
	{ "native_sched_clock", EXACT, false, TRAMP_REASON_RCU_IDLE },
	{ "play_dead", PART, false, TRAMP_REASON_RCU_IDLE },
#if defined(CONFIG_DEBUG_LOCK_ALLOC) || defined(CONFIG_KASAN)
	{ "lock_", PREFIX, false, TRAMP_REASON_BLACKLISTED },
	{ "__lock_", PREFIX, false, TRAMP_REASON_BLACKLISTED },
	{ "lockdep", PART, false, TRAMP_REASON_BLACKLISTED },
	{ "rcu_is_watching", EXACT, false, TRAMP_REASON_BLACKLISTED },
	{ "rcu_lockdep_", PREFIX, false, TRAMP_REASON_BLACKLISTED },
	{ "__asan_", PREFIX, false, TRAMP_REASON_BLACKLISTED },
	{ "asan", PART, false, TRAMP_REASON_BLACKLISTED },
#endif
}, trace_path[] = {
	{ "trace_event_", PREFIX, false, TRAMP_REASON_BLACKLISTED },
	{ "trace_buffer_", PREFIX, false, TRAMP_REASON_BLACKLISTED },
	{ "__trace_event_", PREFIX, false, TRAMP_REASON_BLACKLISTED },
	{ "tracing_gen_ctx", PREFIX, false, TRAMP_REASON_BLACKLISTED },
	{ "ring_buffer_", PREFIX, false, TRAMP_REASON_BLACKLISTED },
	{ "rb_", PREFIX, false, TRAMP_REASON_BLACKLISTED },
	{ "__rb_", PREFIX, false, TRAMP_REASON_BLACKLISTED },
	{ "trace_clock", PREFIX, false, TRAMP_REASON_BLACKLISTED },
	{ "perf_trace_", PREFIX, false, TRAMP_REASON_BLACKLISTED },
	{ "perf_tp_event", PREFIX, false, TRAMP_REASON_BLACKLISTED },
	{ "perf_swevent_", PREFIX, false, TRAMP_REASON_BLACKLISTED },
	{ "__traceiter_", PREFIX, false, TRAMP_REASON_BLACKLISTED },
	{ "__bpf_trace_", PREFIX, false, TRAMP_REASON_BLACKLISTED },
	{ "bpf_trace_run", PREFIX, false, TRAMP_REASON_BLACKLISTED },
};

static bool matches(const struct deny *d, const char *name)
{
	switch (d->match) {
	case EXACT:
		return strstarts(name, d->name) && strchr(".", name[strlen(d->name)]);
	case PREFIX:
		return strstarts(name, d->name);
	default:
		return strstr(name, d->name);
	}
}

static const struct deny *search(const struct deny *d, u32 nr, const char *name)
{
	for (; nr--; d++) {
		if (matches(d, name))
			return d;
	}
	return NULL;
}

u32 tramp_probe_denied(const struct tramp_symbol *sym, bool *refuse)
{
	const struct deny *d = NULL;
	char name[KSYM_NAME_LEN];
	unsigned long offset;

	*refuse = false;
	if (sym->start >= tramp_ksyms.__cpuidle_text_start &&
	    sym->start < tramp_ksyms.__cpuidle_text_end)
		return TRAMP_REASON_RCU_IDLE;
	if (!tramp_text_name(sym->start, name, &offset))
		return 0;
	d = search(denied, ARRAY_SIZE(denied), name);
	if (!d && tramp_ksyms.__tracepoint_notifier_run)
		d = search(trace_path, ARRAY_SIZE(trace_path), name);
	if (!d)
		return 0;
	*refuse = d->refuse;
	return d->reason;
}
