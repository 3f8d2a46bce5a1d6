// SPDX-License-Identifier: GPL-2.0
/*
 * Roots and cuts of the gate, each with its reason: see test_probe_gate.c.
 */
#include "gate_graph.h"
#include "gate_tables.h"

#define KCSAN_REPORT	"KCSAN is off for the task while it reports"

/*
 * Ends that are the same everywhere: something is broken, and the kernel says so; or
 * the kernel is preemptible, which it is not there.
 */
#define EVERYWHERE						\
	{ NULL, "__schedule", "asked for by preempt_schedule_notrace(), behind preemptible()" }, \
	{ NULL, "panic", "the end" },				\
	{ NULL, "__warn_printk", "a WARN()" },			\
	{ NULL, "_printk", "on these ways only when something is broken" }, \
	{ NULL, "debug_locks_off", "a check has found something broken" }, \
	{ NULL, "check_preemption_disabled.cold", "the same" },	\
	{ "check_preemption_disabled", "__printk_ratelimit", "the same" }, \
	{ NULL, "dump_stack", "the same" },			\
	{ NULL, "add_taint", "the same" },			\
	{ NULL, "lockdep_rcu_suspicious", "the same" },	\
	{ NULL, "print_usage_bug", "the same" },		\
	{ NULL, "debug_show_held_locks", "the same" },		\
	{ NULL, "nbcon_cpu_emergency_enter", "the same" },	\
	{ NULL, "nbcon_cpu_emergency_exit", "the same" },	\
	{ NULL, "kasan_report", "the same" },			\
	{ NULL, "kcsan_report_set_info", KCSAN_REPORT },	\
	{ NULL, "kcsan_report_known_origin", KCSAN_REPORT },	\
	{ NULL, "kcsan_report_unknown_origin", KCSAN_REPORT }

static const char *const trap_roots[] = {
	"asm_exc_int3", "exc_int3", "kprobe_int3_handler", "get_kprobe", "notify_die",
	"atomic_notifier_call_chain", "notifier_call_chain", "irqentry_nmi_enter",
	"irqentry_nmi_exit",
	/* Die notifiers that may be before ours, which has the lowest of priorities. */
	"kprobe_exceptions_notify", "hw_breakpoint_exceptions_notify",
	/* A debugger's, asked before all. */
	"kgdb_ll_trap",
	/* A trace event in the chain, and who may listen to it. */
	"__traceiter_notifier_run", "trace_event_raw_event_notifier_info",
	"perf_trace_notifier_info", "__bpf_trace_notifier_info",
	/* Likewise, with lock debugging. */
	"trace_event_raw_event_lock_acquire", "perf_trace_lock_acquire", "__bpf_trace_lock_acquire",
	"trace_event_raw_event_lock", "perf_trace_lock", "__bpf_trace_lock",
	"trace_event_raw_event_preemptirq_template", "perf_trace_preemptirq_template",
	"__bpf_trace_preemptirq_template",
	/* hwlat and osnoise, called by the exception's entry. */
	"trace_hwlat_callback", "trace_osnoise_callback", "__traceiter_nmi_noise",
	"trace_event_raw_event_nmi_noise", "perf_trace_nmi_noise", "__bpf_trace_nmi_noise",
	"trace_clock_local", "trace_clock", "trace_clock_jiffies", "trace_clock_global",
	"trace_clock_counter", "ktime_get_mono_fast_ns", "ktime_get_raw_fast_ns",
	"ktime_get_boot_fast_ns", "ktime_get_tai_fast_ns", "trace_clock_x86_tsc",
	"read_tsc", "read_hpet", "acpi_pm_read", "kvm_clock_get_cycles",
	"xen_clocksource_get_cycles", "read_hv_clock_tsc_cs", "read_hv_clock_msr_cs",
	"dummy_clock_read",
	/* ftrace, and a kernel's BPF trampoline, at get_kprobe() or kprobe_int3_handler(). */
	"ftrace_caller", "ftrace_regs_caller", "ftrace_stub", "return_to_handler",
	"__bpf_prog_enter", "__bpf_prog_enter_recur", "__bpf_prog_exit", "__bpf_prog_exit_recur",
	"__bpf_tramp_enter", "__bpf_tramp_exit",
	NULL
};

/*
 * Not proven: filters, triggers, stack traces, exports, overflow handlers, BPF programs. A user
 * who sets them on an event that is written in a trap may have anything run there
 * (docs/limits.md).
 */
#define LISTENER	"what somebody has an event do besides being written: not followed"

static const struct gate_cut trap_cuts[] = {
	EVERYWHERE,
	{ "pvclock_clocksource_read", "*", "once after the host stopped us; its flag is off before" },
	{ "trace_event_buffer_commit", "*", LISTENER },
	{ "__trace_trigger_soft_disabled", "*", LISTENER },
	{ "perf_tp_event", "*", LISTENER },
	{ "perf_swevent_event", "*", LISTENER },
	{ "exc_int3", "irqentry_enter_from_user_mode", "user mode's int3" },
	{ "exc_int3", "irqentry_exit_to_user_mode", "user mode's int3" },
	{ "exc_int3", "do_trap", "user mode's int3, or nobody's" },
	{ "exc_int3", "do_int3_user", "user mode's int3" },
	{ "exc_int3", "die", "nobody's int3: behind all handlers" },
	{ "ct_nmi_enter", "__rcu_irq_enter_check_tick", "not in NMIs, and int3 counts as one" },
	{ "migrate_enable", "*", "for a task that was scheduled meanwhile: nobody is in a trap" },
	/* Weak functions of the same file, which have lost their names: clang puts them there. */
	{ "__bpf_prog_exit", "bpf_jit_alloc_exec", "arch_alloc_bpf_trampoline()" },
	{ "__bpf_prog_exit", "bpf_jit_free_exec", "arch_free_bpf_trampoline()" },
	{ "__bpf_prog_exit", "find_vm_area", "arch_protect_bpf_trampoline()" },
	{ "__bpf_prog_exit", "set_memory_rox", "arch_protect_bpf_trampoline()" },
	{ "hw_breakpoint_exceptions_notify", "*", "of DIE_DEBUG only, not of int3" },
	{ "rcu_read_unlock_special", "*", "behind its test for NMIs: int3 counts as one" },
	{ "__rcu_read_unlock", "raise_softirq_irqoff", "the same, inlined" },
	{ "__rcu_read_unlock", "irq_work_queue_on", "the same, inlined" },
	{ "__rcu_read_unlock", "rcu_preempt_deferred_qs_irqrestore", "the same, inlined" },
	{ "lock_acquire", "__lock_acquire", "lockdep is off in NMIs: int3 counts as one" },
	{ "lock_release", "__lock_release", "the same" },
	{ "lock_release", "reacquire_held_locks", "the same, inlined" },
	{ "lock_release", "print_unlock_imbalance_bug", "the same, inlined" },
	{ "lockdep_hardirqs_on_prepare", "mark_held_locks", "the same" },
	{ "ftrace_return_to_handler", "static_key_enable", "the graph tracer stops: it is broken" },
	{}
};

static const struct gate_indirect trap_indirect[] = {
	{ "kprobe_int3_handler", "the handler of a kernel kprobe: not an int3 of ours" },
	{ "setup_singlestep", "the same" },
	{ "kprobe_post_process", "the same" },
	{ "notifier_call_chain", "die notifiers: roots" },
	{ "atomic_notifier_call_chain", "the same, inlined" },
	{ "notify_die", "the same, inlined" },
	{ "__traceiter_notifier_run", "who listens: roots" },
	{ "__traceiter_nmi_noise", "who listens: roots" },
	{ "trace_event_buffer_commit", LISTENER },
	{ "__trace_trigger_soft_disabled", LISTENER },
	{ "perf_trace_run_bpf_submit", LISTENER },
	{ "trace_call_bpf", LISTENER },
	{ "__traceiter_read_msr", LISTENER },
	{ "__traceiter_lock_acquire", "who listens: roots" },
	{ "__traceiter_lock_release", "who listens: roots" },
	{ "__traceiter_irq_disable", "who listens: roots" },
	{ "__traceiter_irq_enable", "who listens: roots" },
	{ "ktime_get_mono_fast_ns", "clock sources: roots" },
	{ "ktime_get_raw_fast_ns", "clock sources: roots" },
	{ "ktime_get_boot_fast_ns", "clock sources: roots" },
	{ "ktime_get_tai_fast_ns", "clock sources: roots" },
	{ "__const_udelay", "KCSAN's delays, which have no site where there is KCSAN" },
	{ "__rb_reserve_next", "trace clocks: roots" },
	{ "ring_buffer_lock_reserve", "trace clocks: roots" },
	{ "bpf_trace_run1", LISTENER },
	{ "bpf_trace_run2", LISTENER },
	{ "bpf_trace_run3", LISTENER },
	{ "bpf_trace_run7", LISTENER },
	{ "__bpf_tramp_exit", "the end of a kernel's image: its release queues a work" },
	{ "ftrace_return_to_handler", "the graph tracer, which counts itself in first" },
	{}
};

const struct gate gate_trap = {
	.name = "trap", .roots = trap_roots, .cuts = trap_cuts, .indirect = trap_indirect,
	.kprobe_will_do = true,
};

static const char *const idle_roots[] = {
	"default_idle_call", "arch_cpu_idle", "default_idle", "cpuidle_enter_state",
	"enter_s2idle_proper", "cpuidle_enter_s2idle", "default_enter_idle", "amd_e400_idle", "mwait_idle",
	"xen_safe_halt", "native_safe_halt", "poll_idle", "cpu_idle_poll", "tdx_safe_halt",
	"intel_idle", "intel_idle_irq", "intel_idle_ibrs", "intel_idle_xstate", "intel_idle_s2idle",
	"intel_idle_hlt", "intel_idle_hlt_irq_on",
	"acpi_idle_enter", "acpi_idle_enter_bm", "acpi_idle_enter_s2idle", "acpi_idle_do_entry",
	"acpi_processor_ffh_cstate_enter",
	"ct_idle_enter", "ct_idle_exit", "ct_kernel_enter", "ct_kernel_exit",
	"arch_cpu_idle_dead", "native_play_dead", "play_dead_common", "hlt_play_dead",
	"mwait_play_dead", "cpuidle_play_dead", "acpi_idle_play_dead", "xen_pv_play_dead",
	"intel_idle_play_dead", "delay_loop", "delay_tsc", "delay_halt", "delay_halt_mwaitx",
	"delay_halt_tpause",
	NULL
};

#define WATCHING	"RCU watches: before it learns of the idle state, or behind that"

static const struct gate_cut idle_cuts[] = {
	EVERYWHERE,
	{ "default_idle_call", "tick_broadcast_oneshot_control", WATCHING },
	{ "cpuidle_enter_state", "tick_broadcast_oneshot_control", WATCHING },
	{ "cpuidle_enter_state", "sched_idle_set_state", WATCHING },
	{ "cpuidle_enter_state", "leave_mm", WATCHING },
	{ "cpuidle_enter_state", "find_deepest_state", WATCHING },
	{ "cpuidle_enter_state", "sched_clock_idle_wakeup_event", WATCHING },
	{ "enter_s2idle_proper", "tick_freeze", WATCHING },
	{ "enter_s2idle_proper", "tick_unfreeze", WATCHING },
	{ "cpuidle_enter_s2idle", "tick_freeze", WATCHING },
	{ "cpuidle_enter_s2idle", "tick_unfreeze", WATCHING },
	{ "acpi_idle_enter_bm", "_raw_spin_lock", WATCHING },
	{ "acpi_idle_enter_bm", "_raw_spin_unlock", WATCHING },
	{ "acpi_idle_enter_bm", "acpi_idle_bm_check", WATCHING },
	{ "acpi_idle_enter_bm", "acpi_read_bit_register", WATCHING },
	{ "acpi_idle_enter_bm", "acpi_write_bit_register", WATCHING },
	{ NULL, "rcu_preempt_deferred_qs", WATCHING },
	/* ct_cpuidle_enter() and ct_cpuidle_exit(), inlined: in front of the change, and behind. */
	{ NULL, "trace_hardirqs_on_prepare", WATCHING },
	{ NULL, "lockdep_hardirqs_on_prepare", WATCHING },
	{ NULL, "trace_hardirqs_off_finish", WATCHING },
	/*
	 * amd_e400_idle() (6.1) calls it where RCU does not watch, on AMD CPUs with erratum 400
	 * only. Locks and timers are everybody's: there an image is up to rcu_is_watching().
	 */
	{ "__tick_broadcast_oneshot_control", "*", "old CPUs, and general code" },
	{ "___tick_broadcast_oneshot_control", "*", "the same" },
	/* The CPU has not reported its death yet: whoever writes text or frees waits for that. */
	{ "idle_task_exit", "*", "general code (switch_mm()), covered by cpu_hotplug_lock" },
	{ "__xen_hypercall_setfunc", "*", "the very first hypercall, at boot" },
	{ "xen_pv_play_dead", "cpu_bringup", "the CPU is back, and comes up like any other" },
	{ "xen_pv_play_dead", "tick_nohz_idle_enter", "the same" },
	{ "xen_pv_play_dead", "tick_nohz_idle_stop_tick", "the same" },
	{ "xen_pv_play_dead", "cpuhp_online_idle", "the same" },
	{ NULL, "cpu_bringup_and_idle", "the same" },
	{}
};

static const struct gate_indirect idle_indirect[] = {
	{ "arch_cpu_idle", "x86_idle: roots" },
	{ "cpuidle_enter_state", "drivers' states: roots" },
	{ "enter_s2idle_proper", "drivers' states: roots" },
	{ "cpuidle_enter_s2idle", "drivers' states: roots" },
	{ "arch_cpu_idle_dead", "smp_ops: roots" },
	{ "play_dead", "smp_ops: roots" },
	{ "cpuidle_play_dead", "drivers: roots" },
	{ "__traceiter_cpu_idle", "called where RCU watches" },
	{ "__traceiter_cpu_idle_miss", "called where RCU watches" },
	{ "__traceiter_irq_enable", "called where RCU watches" },
	{ "__traceiter_irq_disable", "called where RCU watches" },
	{ "tboot_shutdown", "firmware" },
	{ "__const_udelay", "delay functions: roots" },
	{ "delay_halt", "delay functions: roots" },
	{ "secondary_startup_64_no_verify", "roots of the next walk (start_cpu0, soft_restart_cpu)" },
	{ "common_startup_64", "the same" },
	{}
};

const struct gate gate_idle = {
	.name = "idle", .roots = idle_roots, .cuts = idle_cuts, .indirect = idle_indirect,
	.kprobe_will_do = true,
};

static const char *const idt_roots[] = {
	"secondary_startup_64", "secondary_startup_64_no_verify", "common_startup_64",
	"startup_64_load_idt", "start_secondary", "early_setup_idt", "start_cpu0",
	"soft_restart_cpu",
	"do_suspend_lowlevel", "wakeup_long64", "restore_processor_state",
	"__restore_processor_state", "restore_registers", "core_restore_code",
	"restore_image", "relocate_kernel", "idt_invalidate", "native_gdt_invalidate",
	"load_current_idt",
	NULL
};

static const struct gate_cut idt_cuts[] = {
	EVERYWHERE,
	{ "do_suspend_lowlevel", "save_processor_state", "before it sleeps" },
	{ "do_suspend_lowlevel", "x86_acpi_enter_sleep_state", "before it sleeps" },
	{ "restore_processor_state", "load_mm_ldt", "the IDT is back" },
	{ "__restore_processor_state", "load_mm_ldt", "the IDT is back" },
	{ "restore_processor_state", "initialize_tlbstate_and_flush", "the same, behind no LDT" },
	{ "__restore_processor_state", "initialize_tlbstate_and_flush", "the same, behind no LDT" },
	{ "soft_restart_cpu", "start_secondary", "another root" },
	{ NULL, "trace_hardirqs_on", "interrupts were off before, and stay so" },
	{}
};

static const struct gate_until idt_until[] = {
	{ "start_secondary", "cpu_init_exception_handling", "it loads the IDT (6.12)" },
	{ "start_secondary", "cpu_init_secondary", "the same (6.1)" },
	{ "cpu_init_secondary", "cpu_init_exception_handling", "it loads the IDT (6.1)" },
	{ "restore_processor_state", "load_mm_ldt", "the IDT is back" },
	{ "__restore_processor_state", "load_mm_ldt", "the IDT is back" },
	/* Without MODIFY_LDT_SYSCALL there is no LDT to load in front of it. */
	{ "restore_processor_state", "initialize_tlbstate_and_flush", "the IDT is back" },
	{ "__restore_processor_state", "initialize_tlbstate_and_flush", "the IDT is back" },
	{}
};

static const struct gate_indirect idt_indirect[] = {
	{ "secondary_startup_64_no_verify", "initial_code: start_secondary, a root" },
	{ "common_startup_64", "the same" },
	{ "start_secondary", "platform hooks, behind the IDT" },
	{ "wakeup_long64", "back into do_suspend_lowlevel, a root" },
	{ "restore_processor_state", "platform hooks, behind the IDT" },
	{ "core_restore_code", "restore_registers, a root" },
	{ "restore_image", "the copy of core_restore_code, a root" },
	{ "__traceiter_write_msr", "who listens to msr:write_msr: not followed" },
	{ "__traceiter_irq_enable", "who listens to irq_enable: not followed" },
	{ "__traceiter_irq_disable", "who listens to irq_disable: not followed" },
	{ "__const_udelay", "KCSAN's delays, which have no site where there is KCSAN" },
	{}
};

const struct gate gate_idt = {
	.name = "idt", .roots = idt_roots, .cuts = idt_cuts, .until = idt_until,
	.indirect = idt_indirect,
};

static const char *const copying_roots[] = { "swsusp_save", NULL };

#define BEFORE	"before it marks free pages, and copies"
/* docs/limits.md names them. */
#define OPEN	"general code that is open on purpose"

static const struct gate_cut copying_cuts[] = {
	EVERYWHERE,
	{ "swsusp_save", "drain_local_pages", BEFORE },
	{ "swsusp_save", "count_data_pages", BEFORE },
	{ "swsusp_save", "first_online_pgdat", BEFORE },
	{ "swsusp_save", "alloc_pages", BEFORE },
	{ "swsusp_save", "alloc_pages_noprof", BEFORE },
	/* Without NUMA those two are part of it. */
	{ "swsusp_save", "__alloc_pages", BEFORE },
	{ "swsusp_save", "__alloc_pages_noprof", BEFORE },
	{ "swsusp_save", "alloc_image_page", BEFORE },
	{ "swsusp_save", "swsusp_free", "it has failed before" },
	{ NULL, "__dynamic_pr_debug", "for whoever has asked for that message" },
	{ "swsusp_save", "set_direct_map_default_noflush", "a page that is not mapped" },
	{ "swsusp_save", "set_direct_map_invalid_noflush", "a page that is not mapped" },
	{ "swsusp_save", "flush_tlb_kernel_range", "a page that is not mapped" },
	{ "pfn_to_online_page", "*", "a device's memory: " OPEN },
	{ NULL, "_raw_spin_lock_irqsave", OPEN },
	{ NULL, "_raw_spin_unlock_irqrestore", OPEN },
	{ NULL, "rt_spin_lock", OPEN },
	{ NULL, "rt_spin_unlock", OPEN },
	/* Each spin lock has these as well; pfn_valid() takes the lock map of RCU. */
	{ "lock_acquire", "*", "lock debugging: " OPEN },
	{ "lock_release", "*", "lock debugging: " OPEN },
	{}
};

static const struct gate_indirect copying_indirect[] = {
	{ "pfn_to_online_page", "the end of a reference to a device's memory" },
	{}
};

const struct gate gate_copying = {
	.name = "copying", .roots = copying_roots, .cuts = copying_cuts,
	.indirect = copying_indirect, .no_image = true,
};

const char *const gate_copied[] = {
	"relocate_kernel", "identity_mapped", "virtual_mapped", "swap_pages", NULL
};
