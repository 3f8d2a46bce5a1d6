// SPDX-License-Identifier: GPL-2.0
/*
 * A fault of the kernel's that an int3 of ours would run into.
 *
 * Where a kprobe's instruction cannot be emulated the kernel executes a copy of it, with an int3
 * behind, and notes in the CPU's kprobe_ctlblk that it does (KPROBE_HIT_SS). If the copy faults
 * (it reads a user's page that is not there, say) the kprobe is over, and kprobe_fault_handler()
 * resets current_kprobe. It leaves the note. Until the next kprobe is hit on that CPU,
 * kprobe_int3_handler() takes any other int3 for the one behind the copy. It looks for the copy by
 * current_kprobe, which is NULL: the kernel oopses in an exception, and panics. (6.1 and 6.12 as
 * they are; arch/x86/kernel/kprobes/core.c.) The kernel's own int3s, of text that is being changed,
 * are asked for before. So it is the int3s of others that must not be written on such a kernel.
 *
 * No list tells whether a kernel has that fault. On each kernel the note is taken away before
 * kprobe_int3_handler() looks, if no kprobe runs. The stub of trap.c does so for each int3 that it
 * does not take: it is a direct call at that function's entry. Where somebody else has a direct
 * call, the callback of a plain ftrace_ops does it, beside that. With neither no int3 is written,
 * and probes are kprobes of the kernel.
 *
 * Others that look at the note: it is the CPU's own, and is read for a kprobe that runs there, or
 * by kprobe_int3_handler(). An int3 has interrupts off. No kprobe runs on this CPU, and one that is
 * hit first writes the note. An NMI between our look and our store may have had kprobes, and they
 * are over again: they have left what we store (KPROBE_HIT_SSDONE), or the note.
 *
 * Two moments are left, and docs/limits.md has them. Where another tracer is at the function,
 * ftrace protects itself against recursion. It calls nobody for an int3 that is hit in a tracer, in
 * the context of an NMI. And an NMI behind our store may leave the note anew, if the instruction of
 * a kprobe faults in it.
 *
 * The self-test at load has an int3 before the ops could be there. It takes the note away itself
 * (selftest/probe.c).
 *
 * The ops comes and goes with the hook of kprobe_veto.c, which says who may be where.
 */
#include <linux/ftrace.h>
#include "ftrace/hold.h"
#include "guard.h"
#include "internal.h"

static notrace void on_int3_handler(unsigned long ip, unsigned long parent_ip,
				    struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	tramp_probe_mend_status();
}

/* Its callback calls nothing that could be traced, so FL_RECURSION is not for it. */
static struct ftrace_ops guard_ops = {
	.func = on_int3_handler,
	.flags = FTRACE_OPS_FL_PERMANENT,
};
/* tramp_mutex */
static struct tramp_probe_hook guard = {
	.ops = &guard_ops,
	.name = "kprobe_int3_handler",
};

int tramp_probe_guard_on(struct tramp_refusal *why)
{
	lockdep_assert_held(&tramp_mutex);
	return tramp_probe_hook_on(&guard, tramp_ksyms.kprobe_int3_handler, why);
}

bool tramp_probe_guard_off(void)
{
	lockdep_assert_held(&tramp_mutex);
	return tramp_probe_hook_off(&guard);
}

bool tramp_probe_guard_is_on(void)
{
	lockdep_assert_held(&tramp_mutex);
	return guard.on;
}

void tramp_probe_guard_free(void)
{
	if (guard.filtered)
		ftrace_free_filter(&guard_ops);
}
