// SPDX-License-Identifier: GPL-2.0
/*
 * Mistakes that a debug kernel's checkers report, one for each of them, made in a module as ours
 * is: selftests/debug/mistakes. Each is as harmless as it can be, on any other kernel as well.
 */
#include <linux/kernel.h>
#include <linux/mutex.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/vmalloc.h>
#include "trampoline_test.h"

static u8 seen;

/* KASAN. The object's memory is still there, and still of its slab. */
static void use_after_free(void)
{
	u8 *p = kmalloc(64, GFP_KERNEL);

	kfree(p);
	OPTIMIZER_HIDE_VAR(p);
	if (p)
		seen = READ_ONCE(p[8]);
}

/* KASAN of areas: the rest of the last page is there, and is nobody's. */
static void beyond_area(void)
{
	u8 *p = vmalloc(100);

	OPTIMIZER_HIDE_VAR(p);
	if (p)
		seen = READ_ONCE(p[120]);
	vfree(p);
}

/* lockdep: one after the other and the other way round. Nobody else takes them. */
static void lock_order(void)
{
	static DEFINE_MUTEX(one);
	static DEFINE_MUTEX(other);

	mutex_lock(&one);
	mutex_lock(&other);
	mutex_unlock(&other);
	mutex_unlock(&one);
	mutex_lock(&other);
	mutex_lock(&one);
	mutex_unlock(&one);
	mutex_unlock(&other);
}

/* CONFIG_DEBUG_ATOMIC_SLEEP: it might, and does not. */
static void sleep_in_atomic(void)
{
	preempt_disable();
	might_sleep();
	preempt_enable();
}

/* PROVE_RCU: a pointer is read without rcu_read_lock(). */
static void no_rcu_lock(void)
{
	static u8 __rcu *nothing;

	seen = !!rcu_dereference(nothing);
}

/* kmemleak: no pointer is left to it. */
static void leak(void)
{
	void *p = kmalloc(200, GFP_KERNEL);

	OPTIMIZER_HIDE_VAR(p);
}

static const struct {
	const char *name;
	void (*make)(void);
} mistakes[] = {
	{ "use_after_free", use_after_free },
	{ "beyond_area", beyond_area },
	{ "lock_order", lock_order },
	{ "sleep_in_atomic", sleep_in_atomic },
	{ "no_rcu_lock", no_rcu_lock },
	{ "leak", leak },
};

int tt_mistake(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(mistakes); i++) {
		if (strcmp(mistakes[i].name, name))
			continue;
		mistakes[i].make();
		return 0;
	}
	return -ENOENT;
}
