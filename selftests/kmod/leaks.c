// SPDX-License-Identifier: GPL-2.0
/* Memory that is not given back, for the tests that look for such: test_memory.c. */
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "probe_abi.h"

/* In a slab, and the smallest there is; too large for one; an area; memory of each CPU. */
struct tt_leak {
	struct tt_leak *next;
	void *small, *large, *area;
	void __percpu *each;
};

static void free_one(struct tt_leak *leak)
{
	kfree(leak->small);
	kfree(leak->large);
	vfree(leak->area);
	free_percpu(leak->each);
	kfree(leak);
}

int tt_leak(struct tt_leak **leaks, u32 nr)
{
	struct tt_leak *leak;

	while (nr--) {
		leak = kzalloc(sizeof(*leak), GFP_KERNEL);
		if (!leak)
			return -ENOMEM;
		leak->small = kmalloc(8, GFP_KERNEL);
		leak->large = kmalloc(4 * PAGE_SIZE, GFP_KERNEL);
		leak->area = vmalloc(PAGE_SIZE);
		leak->each = __alloc_percpu(PAGE_SIZE, sizeof(void *));
		if (!leak->small || !leak->large || !leak->area || !leak->each) {
			free_one(leak);
			return -ENOMEM;
		}
		leak->next = *leaks;
		*leaks = leak;
	}
	return 0;
}

void tt_leaks_end(struct tt_leak **leaks)
{
	struct tt_leak *leak;

	while ((leak = *leaks)) {
		*leaks = leak->next;
		free_one(leak);
	}
}
