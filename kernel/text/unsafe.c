// SPDX-License-Identifier: GPL-2.0
/*
 * Functions at which not even an image is safe.
 *
 * A CPU that goes offline tells RCU and the CPU that waits for it, and only then does it stop. From
 * there on no grace period waits for it, nor does cpus_read_lock() or a sync of text, while
 * rcu_is_watching() says that all is well (kernel/cpu.c: cpuhp_report_idle_dead()). An image, its
 * program and a kernel kprobe could be freed while that CPU is in them. At other functions that are
 * called there, callbacks, rethooks and the images of idle functions count a miss, because the CPU
 * is not online (prog/runtime.h). A direct image runs its program, as the kernel's own does, after
 * RCU has been told and before the waiting CPU has. Until then that CPU keeps cpu_hotplug_lock, so
 * the image is not freed; an element of a map may be.
 *
 * The kernel's guard around a program takes rcu_read_lock() and migrate_disable() before it asks
 * whether the program runs already (kernel/bpf/trampoline.c: __bpf_prog_enter_recur()), and undoes
 * them after it has forgotten. A program at one of these functions would come to itself without
 * end. 6.12's verifier has most of them in btf_id_deny, 6.1's some.
 *
 * Hibernation copies page after page of memory with one CPU and interrupts off, and calls some
 * functions in between (kernel/power/snapshot.c: copy_data_pages()). A program there may change
 * what is in two pages when one of them has been copied, as an update of a hash does. After the
 * machine has come back, the map is neither the old one nor the new one, and a lookup in it may
 * never end. Before that it marks pages that are free, and does not copy them (mark_free_pages()):
 * memory that a program takes from then on is lost. So nothing that is called from there on has a
 * program. Exceptions are spin locks, and what is called about a page that is not mapped
 * (docs/limits.md). test_probe_gate.copying computes the functions.
 */
#include <linux/kernel.h>
#include "symbol.h"
#include "unsafe.h"

static const struct tramp_name_rule leaving[] = {
	{ "play_dead", TRAMP_MATCH_PART },
	{ "arch_cpu_idle_dead", TRAMP_MATCH_EXACT },
	{ "idle_task_exit", TRAMP_MATCH_EXACT },
	{ "cpuhp_ap_report_dead", TRAMP_MATCH_EXACT },
	{ "cpu_report_death", TRAMP_MATCH_EXACT },
	{ "tboot_shutdown", TRAMP_MATCH_EXACT },
	{ "cpuidle_get_cpu_driver", TRAMP_MATCH_EXACT },
	{ "cond_wakeup_cpu0", TRAMP_MATCH_EXACT },
}, guards[] = {
	{ "migrate_disable", TRAMP_MATCH_EXACT },
	{ "migrate_enable", TRAMP_MATCH_EXACT },
	{ "rcu_read_unlock_strict", TRAMP_MATCH_EXACT },
	{ "__rcu_read_lock", TRAMP_MATCH_EXACT },
	{ "__rcu_read_unlock", TRAMP_MATCH_EXACT },
	{ "rcu_read_unlock_special", TRAMP_MATCH_EXACT },
	{ "rcu_lockdep_", TRAMP_MATCH_PREFIX },
}, copying[] = {
	{ "copy_data_page", TRAMP_MATCH_PREFIX },
	{ "do_copy_page", TRAMP_MATCH_EXACT },
	{ "kernel_page_present", TRAMP_MATCH_EXACT },
	{ "lookup_address", TRAMP_MATCH_PREFIX },
	{ "mark_free_pages", TRAMP_MATCH_EXACT },
	{ "memory_bm_", TRAMP_MATCH_PREFIX },
	{ "next_zone", TRAMP_MATCH_EXACT },
	{ "pfn_is_nosave", TRAMP_MATCH_EXACT },
	{ "pfn_to_online_page", TRAMP_MATCH_EXACT },
	{ "rtree_next_node", TRAMP_MATCH_EXACT },
	{ "safe_copy_page", TRAMP_MATCH_EXACT },
	{ "saveable_", TRAMP_MATCH_PREFIX },
	{ "swsusp_page_is_", TRAMP_MATCH_PREFIX },
	{ "swsusp_set_page_", TRAMP_MATCH_PREFIX },
	{ "swsusp_unset_page_", TRAMP_MATCH_PREFIX },
};

u8 tramp_text_unsafe(const char *name, bool in_module)
{
	if (tramp_name_find(leaving, ARRAY_SIZE(leaving), name))
		return TRAMP_REASON_RCU_IDLE;
	if (in_module)
		return 0;
	if (tramp_name_find(copying, ARRAY_SIZE(copying), name))
		return TRAMP_REASON_BLACKLISTED;
	static_assert(TRAMP_REASON_COUNT <= TRAMP_UNSAFE_GUARD);
	return tramp_name_find(guards, ARRAY_SIZE(guards), name) ?
	       TRAMP_REASON_BLACKLISTED | TRAMP_UNSAFE_GUARD : 0;
}
