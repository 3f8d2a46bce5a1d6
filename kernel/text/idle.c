// SPDX-License-Identifier: GPL-2.0
/*
 * Functions that may run while RCU does not watch: the idle functions, a new task's first one,
 * and those of a CPU on its way out (unsafe.c). Before 6.3 some of them are ordinary functions
 * outside of .cpuidle.text, so they are found by name; selftests/vm/probe/test_probe_gate.c
 * computes what must be among the names.
 */
#include <linux/kallsyms.h>
#include <linux/kernel.h>
#include "base/ksyms.h"
#include "idle.h"
#include "unsafe.h"

static const struct tramp_name_rule idle[] = {
	/* Not in .cpuidle.text before 6.3, and what idle loops call from there. */
	{ "cpuidle_enter_state", TRAMP_MATCH_EXACT },
	{ "enter_s2idle_proper", TRAMP_MATCH_EXACT },
	{ "default_enter_idle", TRAMP_MATCH_EXACT },
	{ "arch_cpu_idle", TRAMP_MATCH_EXACT },
	{ "amd_e400_idle", TRAMP_MATCH_EXACT },
	{ "cpuidle_poll_time", TRAMP_MATCH_EXACT },
	{ "tick_check_broadcast_expired", TRAMP_MATCH_EXACT },
	/* enter_s2idle_proper() is inlined there. */
	{ "cpuidle_enter_s2idle", TRAMP_MATCH_EXACT },
	{ "local_clock", TRAMP_MATCH_EXACT },
	{ "native_io_delay", TRAMP_MATCH_EXACT },
	{ "__const_udelay", TRAMP_MATCH_EXACT },
	{ "delay_loop", TRAMP_MATCH_EXACT },
	{ "delay_tsc", TRAMP_MATCH_EXACT },
	{ "delay_halt", TRAMP_MATCH_PREFIX },
	{ "tick_broadcast_oneshot_control", TRAMP_MATCH_PART },
	/* In .cpuidle.text of processor.ko, if that is a module. */
	{ "acpi_idle_", TRAMP_MATCH_PREFIX },
	{ "acpi_safe_halt", TRAMP_MATCH_EXACT },
	/* acpi_idle_do_entry() calls it by a static call that some AMD CPUs set. */
	{ "perf_amd_brs_lopwr_cb", TRAMP_MATCH_EXACT },
	/* Its end, on a CPU without ticks, is on the user's side (syscall_exit_to_user_mode()). */
	{ "ret_from_fork", TRAMP_MATCH_EXACT },
};

bool tramp_text_idle(unsigned long start, const char *name)
{
	return tramp_ksym_between(start, tramp_ksyms.__cpuidle_text_start,
				  tramp_ksyms.__cpuidle_text_end) ||
	       tramp_name_find(idle, ARRAY_SIZE(idle), name) ||
	       tramp_text_unsafe(name, false) == TRAMP_REASON_RCU_IDLE;
}
