/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A CPU that the kernel takes for one that steps a kprobe, and none is there.
 */
#ifndef TRAMP_PROBE_GUARD_H
#define TRAMP_PROBE_GUARD_H

#include <linux/kprobes.h>
#include "base/ksyms.h"

struct tramp_refusal;

/*
 * Mend it on this CPU: see guard.c. Context: an int3, before the kernel's kprobes are asked;
 * interrupts off.
 */
static __always_inline void tramp_probe_mend_status(void)
{
	struct kprobe_ctlblk *kcb =
		raw_cpu_ptr((struct kprobe_ctlblk __percpu __force *)tramp_ksyms.kprobe_ctlblk);

	if (*raw_cpu_ptr((struct kprobe *__percpu __force *)tramp_ksyms.current_kprobe))
		return;
	if (kcb->kprobe_status == KPROBE_HIT_SS || kcb->kprobe_status == KPROBE_REENTER)
		kcb->kprobe_status = KPROBE_HIT_SSDONE;
}

/**
 * tramp_probe_guard_on() - have it mended at each int3 where trap.c's stub cannot be
 * @why: why that is not possible; then no int3 of ours may be written
 *
 * Nothing is done if it is on already. Context: tramp_mutex held, may sleep.
 * Return: 0 or a negative errno.
 */
int tramp_probe_guard_on(struct tramp_refusal *why);

/* Return: false: ftrace has shut down and left it in place, so the module must stay. */
bool tramp_probe_guard_off(void);
bool tramp_probe_guard_is_on(void);

/* Module exit, once nobody can be in ftrace's list function any more. */
void tramp_probe_guard_free(void);

#endif /* TRAMP_PROBE_GUARD_H */
