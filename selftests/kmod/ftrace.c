// SPDX-License-Identifier: GPL-2.0
/* The callback that ftrace calls by itself while others wait for its lock. */
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include "probe_abi.h"
#include "trampoline_test.h"

/*
 * ftrace's entry code calls a stub, a list function that looks who is meant, or, with one user
 * alone, the callback of that one. It is nobody's fault if that is the kernel's own tracer.
 */
int tt_ftrace_watch(unsigned int ms)
{
	void *harmless[] = {
		tt_symbol("ftrace_stub"),
		tt_symbol("arch_ftrace_ops_list_func"),
		tt_symbol("function_trace_call"),
	};
	void **called = tt_symbol("ftrace_trace_function"), *now;
	struct mutex *lock = tt_symbol("ftrace_lock");
	unsigned long end;

	if (!called || !lock || !harmless[0] || !harmless[1])
		return -ENOENT;
	mutex_lock(lock);
	msleep(ms);
	mutex_unlock(lock);
	end = jiffies + msecs_to_jiffies(ms);
	while (time_before(jiffies, end)) {
		now = READ_ONCE(*called);
		if (now != harmless[0] && now != harmless[1] && now != harmless[2])
			return 1;
		cond_resched();
	}
	return 0;
}
