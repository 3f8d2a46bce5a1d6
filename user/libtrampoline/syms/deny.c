// SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause
/*
 * Functions that must not be traced wholesale.
 *
 * The kernel module refuses what would harm, and a program that runs already is not run again.
 * So this list is about what such a trace is worth, with two exceptions (the last). A function
 * is on it for one of these reasons:
 *
 * - The way to a program leads through it, before anything can tell that a program runs.
 *   The kernel's verifier allows no program of its own there (btf_id_deny).
 * - Programs call it in each hit, directly or by a helper. Each hit of any function would
 *   become several, and all but the first be missed. Those misses would hide real ones.
 * - It brings an event to its reader. The event of that would have to be brought as well, and
 *   the trace would go on without anybody else doing anything.
 * - It may run while RCU does not watch the CPU. A map that the program uses may be freed
 *   meanwhile. The names are those of kernel/text/idle.c and unsafe.c, and what was in
 *   .cpuidle.text when that could be traced (before 6.3).
 * - Hibernation calls it between two pages that it copies. The module refuses it.
 *
 * No entry is here for being called often: how much is too much, the user knows. Nor is what
 * ftrace leaves alone on its own: kernel/trace, irq_work, the entry code, the idle loop from 6.3
 * on. A name is written in full where a glob would take more than it should. The list
 * is for Debian's kernels; an entry for which there is no function does nothing.
 */
#include <trampoline/trampoline.h>

#include "../core/sized.h"

#define GUARD	"BPF programs are entered with it, before a recursion can be told"
#define SPECIAL	"it ends RCU readers, those around each program included"
#define LOCK	"maps and ring buffers take spin locks in each hit"
#define HELPER	"programs call it in each hit"
#define MAP	"programs use maps by it in each hit"
#define OUTPUT	"programs write events by it in each hit"
#define STACK	"programs take call stacks by it in each hit"
#define MEMORY	"programs read memory by it in each hit"
#define CLOCK	"programs read the clock by it, where the CPU's own is not to be trusted"
#define WAKEUP	"it wakes the reader of an event; the event of that would wake him again"
#define PROBE	"it runs in each hit of a probe, before the program"
#define IDLE	"RCU may not watch the CPU while it runs"
#define COPYING	"hibernation calls it while it copies memory, also that of maps"
#define DEAD	"a CPU on its way out runs it, which RCU does not watch any more"

static const struct tramp_deny list[] = {
	{ "migrate_disable", GUARD },
	{ "migrate_enable", GUARD },
	{ "__rcu_read_lock", GUARD },
	{ "__rcu_read_unlock", GUARD },
	/* With CONFIG_DEBUG_PREEMPT. */
	{ "preempt_count_*", GUARD },
	{ "rcu_read_unlock_*", SPECIAL },
	/* With CONFIG_DEBUG_LOCK_ALLOC. */
	{ "rcu_lockdep_*", GUARD },

	{ "_raw_spin_*", LOCK },
	{ "*_queued_spin_lock_slowpath", LOCK },
	{ "bpf_get_current_*", HELPER },
	{ "bpf_get_smp_processor_id", HELPER },
	{ "bpf_get_attach_cookie", HELPER },
	{ "bpf_ktime_get_*", HELPER },
	{ "bpf_map_*_elem", MAP },
	{ "*htab_*elem*", MAP },
	{ "*array_map_*_elem", MAP },
	{ "stack_map_*_elem", MAP },
	{ "lookup_nulls_elem_raw", MAP },
	{ "*pcpu_freelist_p*", MAP },
	{ "*bpf_lru_*", MAP },
	{ "bpf_task_storage_*", MAP },
	{ "*bpf_ringbuf_*", OUTPUT },
	{ "perf_event_output*", OUTPUT },
	{ "perf_output_*", OUTPUT },
	{ "perf_prepare_*", OUTPUT },
	{ "perf_swevent_*_recursion_context", OUTPUT },
	{ "bpf_get_*stack*", STACK },
	{ "*callchain*", STACK },
	{ "__unwind_start", STACK },
	{ "unwind_*", STACK },
	{ "*orc_find*", STACK },
	{ "*_nofault*", MEMORY },
	{ "read_hpet", CLOCK },
	{ "acpi_pm_read*", CLOCK },

	{ "arch_irq_work_raise", WAKEUP },
	{ "*sysvec_irq_work", WAKEUP },
	{ "perf_event_wakeup", WAKEUP },
	{ "perf_pending_irq", WAKEUP },

	{ "get_kprobe", PROBE },
	{ "k*probe_*_handler", PROBE },
	{ "aggr_*_handler", PROBE },

	{ "ct_irq_*", IDLE },
	{ "ct_user_*", IDLE },
	{ "cpu_idle_poll.*", IDLE },
	{ "default_*idle*", IDLE },
	{ "arch_cpu_idle", IDLE },
	{ "amd_e400_idle", IDLE },
	{ "mwait_idle", IDLE },
	{ "poll_idle", IDLE },
	{ "intel_idle", IDLE },
	{ "intel_idle_[isx]*", IDLE },
	{ "acpi_idle_*", IDLE },
	{ "acpi_processor_ffh_*_enter", IDLE },
	{ "cpuidle_enter_state", IDLE },
	{ "cpuidle_enter_s2idle", IDLE },
	{ "cpuidle_poll_time", IDLE },
	{ "tick_check_broadcast_expired", IDLE },
	{ "local_clock", IDLE },
	{ "*tick_broadcast_oneshot_control", IDLE },
	{ "native_io_delay", IDLE },
	{ "__const_udelay", IDLE },
	{ "delay_[hlt]*", IDLE },
	{ "cpuidle_get_cpu_driver", IDLE },
	{ "ret_from_fork", IDLE },
	{ "copy_data_page*", COPYING },
	{ "do_copy_page", COPYING },
	{ "kernel_page_present", COPYING },
	{ "lookup_address*", COPYING },
	{ "mark_free_pages*", COPYING },
	{ "memory_bm_*", COPYING },
	{ "next_zone", COPYING },
	{ "pfn_is_nosave", COPYING },
	{ "pfn_to_online_page", COPYING },
	{ "rtree_next_node", COPYING },
	{ "safe_copy_page", COPYING },
	{ "saveable_*", COPYING },
	{ "swsusp_page_is_*", COPYING },
	{ "swsusp_*set_page_*", COPYING },
	{ "*_play_dead*", DEAD },
	{ "play_dead_common", DEAD },
	{ "arch_cpu_idle_dead", DEAD },
	{ "idle_task_exit", DEAD },
	{ "cpuhp_ap_report_dead", DEAD },
	{ "cpu_report_death", DEAD },
	{ "cond_wakeup_cpu0", DEAD },
	{ "tboot_shutdown", DEAD },
};

const struct tramp_deny *tramp_deny_list(size_t i)
{
	return i < ARRAY_SIZE(list) ? &list[i] : NULL;
}
