// SPDX-License-Identifier: GPL-2.0
/*
 * Keeping ftrace switched on while something is being registered with it.
 *
 * An ops that is marked permanent makes the kernel refuse kernel.ftrace_enabled=0. But
 * the functions that register a direct call set the flags themselves, so ours are marked
 * when that is done, which before 6.4 may take a grace period. If ftrace was switched off
 * meanwhile the function was not patched, and there is no clean way back: an ops that is
 * taken off while ftrace is off leaves a flag in ftrace's record of the function, over
 * which ftrace stumbles, and shuts down for good, when it is on again.
 *
 * So there is an ops of our own, permanent from the start, on a function that nobody
 * calls. ftrace does not register it while it is off, and decides that under its own lock.
 * It stays for a second after it was last wanted, so that a thousand attachments need it
 * once. While others of ours are registered they keep ftrace on, and it does no harm when
 * it goes.
 *
 * Who may be executing what: its callback is not reached by a function, but a CPU in
 * ftrace's list function may have the ops in hand when it is taken off. ftrace waits for
 * such CPUs, by RCU-tasks, since it lies in a module's memory. That takes a while, so there
 * is a mutex for this alone, and detaching does not wait for it.
 */
#include <linux/ftrace.h>
#include <linux/module.h>
#include "ftrace_on.h"
#include "ksyms.h"

#define HOLD	HZ

/* Its entry is what the ops is for. */
static noinline __noclone void anchor(void)
{
	barrier();
}

static notrace void callback(unsigned long ip, unsigned long parent_ip, struct ftrace_ops *ops,
			     struct ftrace_regs *fregs)
{
}

static struct ftrace_ops hold_ops = {
	.func = callback,
	.flags = FTRACE_OPS_FL_PERMANENT,
};

static DEFINE_MUTEX(hold_mutex);	/* inside tramp_mutex */
static bool held;			/* hold_mutex, as the next two */
static bool filtered;
static u32 users;

static void release_work(struct work_struct *work);
static DECLARE_DELAYED_WORK(release, release_work);

static int hold(struct tramp_refusal *why)
{
	unsigned long site = KSYM(ftrace_location)((unsigned long)anchor);
	int err = 0;

	if (!site)
		return tramp_refuse(why, TRAMP_REASON_NOT_TRACEABLE, (unsigned long)anchor,
				    "the module was built without patchable entries");
	/* Once: the filter stays with the ops until exit, which frees it. */
	if (!filtered)
		err = ftrace_set_filter_ip(&hold_ops, site, 0, 1);
	if (!err) {
		filtered = true;
		err = register_ftrace_function(&hold_ops);
	}
	if (err == -ENOMEM)
		return tramp_refuse(why, TRAMP_REASON_NO_MEMORY, 0, NULL);
	/* EBUSY: it is off. ENODEV: it has shut down. */
	if (err)
		return tramp_refuse(why, TRAMP_REASON_FTRACE_DISABLED, 0, NULL);
	held = true;
	return 0;
}

int tramp_ftrace_hold(struct tramp_refusal *why)
{
	int err;

	mutex_lock(&hold_mutex);
	err = held ? 0 : hold(why);
	users += !err;
	mutex_unlock(&hold_mutex);
	return err;
}

void tramp_ftrace_release(void)
{
	mutex_lock(&hold_mutex);
	if (!--users)
		mod_delayed_work(system_wq, &release, HOLD);
	mutex_unlock(&hold_mutex);
}

/* Return: whether it is off ftrace's list. */
static bool let_go(void)
{
	bool gone;

	mutex_lock(&hold_mutex);
	if (held && !users)
		held = unregister_ftrace_function(&hold_ops);
	gone = users || !held;
	mutex_unlock(&hold_mutex);
	return gone;
}

static void release_work(struct work_struct *work)
{
	if (!let_go())
		__module_get(THIS_MODULE);
}

void tramp_stay_loaded(void)
{
	pr_err("ftrace has shut down: this module cannot be unloaded any more\n");
	for (;;)
		schedule_timeout_idle(HZ);
}

void tramp_ftrace_on_exit(void)
{
	cancel_delayed_work_sync(&release);
	if (!let_go())
		tramp_stay_loaded();
	ftrace_free_filter(&hold_ops);
}
