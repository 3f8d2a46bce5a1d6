// SPDX-License-Identifier: GPL-2.0
/*
 * Targets called in a non-maskable interrupt, which this CPU sends to itself.
 */
#include <linux/kernel.h>
#include <linux/cpumask.h>
#include <linux/mutex.h>
#include <linux/smp.h>
#include <asm/apic.h>
#include <asm/nmi.h>
#include "trampoline_test.h"

static struct tt_nmi {
	struct tt_target *target;
	const u64 *v;
	u64 n, different, result;
	int cpu;
	bool pending;
} tt_nmi;

static int tt_nmi_fn(unsigned int type, struct pt_regs *regs)
{
	struct tt_nmi *w = &tt_nmi;

	if (!smp_load_acquire(&w->pending) || w->cpu != raw_smp_processor_id())
		return NMI_DONE;
	w->result = tt_repeat(w->target, w->v, w->n, &w->different);
	smp_store_release(&w->pending, false);
	return NMI_HANDLED;
}

u64 tt_run_in_nmi(struct tt_target *t, const u64 *v, u64 n, u64 *different)
{
	static DEFINE_MUTEX(lock);
	struct tt_nmi *w = &tt_nmi;
	u64 result = 0;

	mutex_lock(&lock);
	if (register_nmi_handler(NMI_LOCAL, tt_nmi_fn, 0, "trampoline_test"))
		goto out;
	w->target = t;
	w->v = v;
	w->n = n;
	w->different = 0;
	w->cpu = get_cpu();
	smp_store_release(&w->pending, true);
	apic->send_IPI_mask(cpumask_of(w->cpu), NMI_VECTOR);
	while (smp_load_acquire(&w->pending))
		cpu_relax();
	put_cpu();
	unregister_nmi_handler(NMI_LOCAL, "trampoline_test");
	result = w->result;
	*different = w->different;
out:
	mutex_unlock(&lock);
	return result;
}
