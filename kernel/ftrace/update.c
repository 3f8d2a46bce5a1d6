// SPDX-License-Identifier: GPL-2.0
/*
 * Updates of ftrace for an ops that is on its list: functions come to it or leave it, or it goes.
 *
 * ftrace changes the bytes of these functions. If one has a direct call, ours or the kernel's,
 * its table of direct calls tells what the bytes call now, and what they are to call. It holds
 * ftrace_lock, and the table's lock is another one: direct_mutex. Registering an ops takes that,
 * too. To unregister one and to change a filter do not, so we take it. So does the kernel where
 * it detaches direct calls of its own (kernel/trace/ftrace.c: unregister_ftrace_direct()).
 * Without it these may do harm, while they attach or detach for the kernel:
 *
 *  - Before 6.4 ftrace_add_rec_direct() moves all entries, ours among them, to a larger table
 *    before that takes the other's place. An update that looks for one meanwhile finds none. It
 *    takes our call for somebody's who has written over the function, and ftrace shuts down until
 *    the machine is booted again.
 *  - remove_direct_functions_hash() frees entries at once. An update may stand on one, on its way
 *    to another function's.
 *  - A live patch looks whether a function has a direct call, in the filters of all such ops, and
 *    is registered under the same hold of the mutex. A function that joins an ops between the two
 *    would have both, and an exit image would call the code that was to be replaced.
 *
 * Order. direct_mutex, the ops's regex_lock, ftrace_lock: as in 6.1's register_ftrace_direct().
 * An ops that lies in dynamic memory has ftrace wait for grace periods with these locks held, as
 * for an ops of the kernel's BPF trampolines. That cannot be a deadlock: they do not wait for tasks
 * that sleep, as one does that waits for a mutex.
 */
#include "update.h"

int tramp_ftrace_unregister(struct ftrace_ops *ops)
{
	int err;

	tramp_direct_lock();
	err = unregister_ftrace_function(ops);
	tramp_direct_unlock();
	return err;
}

int tramp_ftrace_filter(struct ftrace_ops *ops, const unsigned long *ips, u32 nr, bool remove)
{
	int err;

	tramp_direct_lock();
	err = ftrace_set_filter_ips(ops, (unsigned long *)ips, nr, remove, 0);
	tramp_direct_unlock();
	return err;
}
