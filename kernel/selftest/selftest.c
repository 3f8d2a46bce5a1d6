// SPDX-License-Identifier: GPL-2.0
/*
 * The frame of the self-tests: members to attach, their counts, and words in the log.
 */
#include <linux/module.h>
#include "selftest.h"

DEFINE_PER_CPU(int, tramp_selftest_active);

int tramp_selftest_check(bool ok, const char *what)
{
	if (ok)
		return 0;
	pr_err("self-test: %s\n", what);
	return -EIO;
}

int __init tramp_selftest_run(const char *name, tramp_selftest_t *test, u64 hits)
{
	struct tramp_counts *counts = tramp_counts_alloc();
	struct tramp_member members[2] = {};
	struct tramp_refusal why = {};
	u64 seen, missed;
	int err = -ENOMEM;
	u32 i;

	for (i = 0; counts && i < ARRAY_SIZE(members); i++)
		members[i].slot = tramp_slot_alloc(NULL, counts, i);
	if (members[0].slot && members[1].slot) {
		mutex_lock(&tramp_mutex);
		err = test(members, &why);
		mutex_unlock(&tramp_mutex);
		tramp_counts_sum(counts, &seen, &missed);
		if (!err)
			err = tramp_selftest_check(seen == hits && !missed, "hits were not counted");
	}
	if (why.reason)
		pr_err("self-test: %s: %s\n", tramp_reason_name(why.reason), why.detail);
	if (err)
		pr_err("%s failed: not loading\n", name);
	for (i = 0; i < ARRAY_SIZE(members); i++)
		tramp_slot_put(members[i].slot);
	tramp_counts_put(counts);
	return err;
}
