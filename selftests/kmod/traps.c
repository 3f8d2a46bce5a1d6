// SPDX-License-Identifier: GPL-2.0
/*
 * An int3 that is no probe's: the last to be asked, a die notifier, knows it.
 */
#include <linux/kdebug.h>
#include <linux/kernel.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/objtool.h>
#include <linux/ptrace.h>
#include "trampoline_test.h"

/* Behind the int3. */
extern const u8 tt_behind_trap[];

static u32 traps;

static int tt_on_die(struct notifier_block *nb, unsigned long event, void *data)
{
	struct die_args *args = data;

	if (event != DIE_INT3 || args->regs->ip != (unsigned long)tt_behind_trap)
		return NOTIFY_DONE;
	traps++;
	return NOTIFY_STOP;
}

/* Without a site there are no probes in it. */
static noinline __noclone notrace void trap_here(void)
{
	asm volatile("int3\n\t"
		     ".globl tt_behind_trap\n"
		     "tt_behind_trap:\n\t"
		     ANNOTATE_NOENDBR
		     "nop");
}

int tt_trap(void)
{
	static struct notifier_block block = { .notifier_call = tt_on_die };
	static DEFINE_MUTEX(lock);
	int err;

	mutex_lock(&lock);
	traps = 0;
	err = register_die_notifier(&block);
	if (!err) {
		trap_here();
		unregister_die_notifier(&block);
		err = traps == 1 ? 0 : -EIO;
	}
	mutex_unlock(&lock);
	return err;
}
