// SPDX-License-Identifier: GPL-2.0
/*
 * Roots and cuts of the gate, each with its reason: see test_probe_gate.c.
 */
#include "gate_graph.h"
#include "gate_tables.h"

/*
 * Ends that are the same everywhere: something is broken, and the kernel says so; or
 * the kernel is preemptible, which it is not there.
 */
#define EVERYWHERE						\
	{ NULL, "__schedule", "asked for by preempt_schedule_notrace(), behind preemptible()" }, \
	{ NULL, "panic", "the end" },				\
	{ NULL, "__warn_printk", "a WARN()" },			\
	{ NULL, "_printk", "on these ways only when something is broken" }

static const char *const trap_roots[] = {
	"asm_exc_int3", "exc_int3", "kprobe_int3_handler", "get_kprobe", "notify_die",
	"atomic_notifier_call_chain", "notifier_call_chain", "irqentry_nmi_enter",
	"irqentry_nmi_exit",
	/* Die notifiers that may be before ours, which has the lowest of priorities. */
	"kprobe_exceptions_notify", "hw_breakpoint_exceptions_notify",
	/* A trace event in the chain, and who may listen to it. */
	"__traceiter_notifier_run", "trace_event_raw_event_notifier_run",
	"perf_trace_notifier_run", "__bpf_trace_notifier_run",
	/* hwlat and osnoise, called by the exception's entry. */
	"trace_hwlat_callback", "trace_osnoise_callback",
	/* ftrace, and a kernel's BPF trampoline, at get_kprobe() or kprobe_int3_handler(). */
	"ftrace_caller", "ftrace_regs_caller", "ftrace_stub", "return_to_handler",
	"__bpf_prog_enter", "__bpf_prog_enter_recur", "__bpf_prog_exit", "__bpf_prog_exit_recur",
	"__bpf_tramp_enter", "__bpf_tramp_exit",
	NULL
};

static const struct gate_cut trap_cuts[] = {
	EVERYWHERE,
	{ "exc_int3", "irqentry_enter_from_user_mode", "user mode's int3" },
	{ "exc_int3", "irqentry_exit_to_user_mode", "user mode's int3" },
	{ "exc_int3", "do_trap", "user mode's int3, or nobody's" },
	{ "exc_int3", "die", "nobody's int3: behind all handlers" },
	{ "ct_nmi_enter", "__rcu_irq_enter_check_tick", "not in NMIs, and int3 counts as one" },
	{ "migrate_enable", "*", "for a task that was scheduled meanwhile: nobody is in a trap" },
	{ "hw_breakpoint_exceptions_notify", "*", "of DIE_DEBUG only, not of int3" },
	{ "rcu_read_unlock_special", "*", "behind its test for NMIs: int3 counts as one" },
	{ "ftrace_return_to_handler", "static_key_enable", "the graph tracer stops: it is broken" },
	{}
};

const struct gate gate_trap = {
	.name = "trap", .roots = trap_roots, .cuts = trap_cuts, .kprobe_will_do = true,
};

static const char *const idle_roots[] = {
	"default_idle_call", "arch_cpu_idle", "default_idle", "cpuidle_enter_state",
	"enter_s2idle_proper", "default_enter_idle", "amd_e400_idle", "mwait_idle",
	"xen_safe_halt", "native_safe_halt", "poll_idle", "cpu_idle_poll", "tdx_safe_halt",
	"intel_idle", "intel_idle_irq", "intel_idle_ibrs", "intel_idle_xstate", "intel_idle_s2idle",
	"intel_idle_hlt", "intel_idle_hlt_irq_on",
	"acpi_idle_enter", "acpi_idle_enter_bm", "acpi_idle_enter_s2idle", "acpi_idle_do_entry",
	"acpi_processor_ffh_cstate_enter",
	"ct_idle_enter", "ct_idle_exit", "ct_kernel_enter", "ct_kernel_exit",
	"arch_cpu_idle_dead", "native_play_dead", "play_dead_common", "hlt_play_dead",
	"mwait_play_dead", "cpuidle_play_dead", "acpi_idle_play_dead", "xen_pv_play_dead",
	"intel_idle_play_dead",
	NULL
};

#define WATCHING	"RCU watches: before it is told of the idle state, or behind that"

static const struct gate_cut idle_cuts[] = {
	EVERYWHERE,
	{ "default_idle_call", "tick_broadcast_oneshot_control", WATCHING },
	{ "cpuidle_enter_state", "tick_broadcast_oneshot_control", WATCHING },
	{ "cpuidle_enter_state", "sched_idle_set_state", WATCHING },
	{ "cpuidle_enter_state", "leave_mm", WATCHING },
	{ "cpuidle_enter_state", "sched_clock_idle_wakeup_event", WATCHING },
	{ "enter_s2idle_proper", "tick_freeze", WATCHING },
	{ "enter_s2idle_proper", "tick_unfreeze", WATCHING },
	{ "acpi_idle_enter_bm", "_raw_spin_lock", WATCHING },
	{ "acpi_idle_enter_bm", "_raw_spin_unlock", WATCHING },
	{ "acpi_idle_enter_bm", "acpi_read_bit_register", WATCHING },
	{ "acpi_idle_enter_bm", "acpi_write_bit_register", WATCHING },
	{ NULL, "rcu_preempt_deferred_qs", WATCHING },
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

const struct gate gate_idle = {
	.name = "idle", .roots = idle_roots, .cuts = idle_cuts, .kprobe_will_do = true,
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
	{ "soft_restart_cpu", "start_secondary", "another root" },
	{}
};

static const struct gate_until idt_until[] = {
	{ "start_secondary", "cpu_init_exception_handling", "it loads the IDT (6.12)" },
	{ "start_secondary", "cpu_init_secondary", "the same (6.1)" },
	{ "cpu_init_secondary", "cpu_init_exception_handling", "it loads the IDT (6.1)" },
	{ "restore_processor_state", "load_mm_ldt", "the IDT is back" },
	{ "__restore_processor_state", "load_mm_ldt", "the IDT is back" },
	{}
};

const struct gate gate_idt = {
	.name = "idt", .roots = idt_roots, .cuts = idt_cuts, .until = idt_until,
};

const char *const gate_copied[] = {
	"relocate_kernel", "identity_mapped", "virtual_mapped", "swap_pages", NULL
};
