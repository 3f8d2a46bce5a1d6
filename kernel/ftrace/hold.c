// SPDX-License-Identifier: GPL-2.0
/*
 * Keeping ftrace switched on while something is being registered with it, or kprobes of ours are at
 * ftrace sites: the kernel registers those, by an ops that is not permanent.
 *
 * An ops that is marked permanent makes the kernel refuse kernel.ftrace_enabled=0. But the
 * functions that register a direct call set the flags themselves. So ours are marked when
 * that is done, which before 6.4 may take a grace period. If ftrace was switched off
 * meanwhile the function was not patched, and there is no clean way back. An ops that is
 * taken off while ftrace is off leaves a flag in ftrace's record of the function. When it is
 * on again, ftrace stumbles over the flag and shuts down for good.
 *
 * So there is an ops of our own, permanent from the start. Nobody calls its function. While
 * ftrace is off it does not register the ops, and it decides that under its own lock. The
 * ops stays for a second after it was last wanted, so that a thousand attachments need it
 * once. While others of ours are registered they keep ftrace on: it may go.
 *
 * No function reaches its callback, but a CPU in ftrace's list function may have the ops in
 * hand when it is taken off. The ops lies in a module's memory, so ftrace waits for such
 * CPUs, by RCU-tasks. No lock of ours is held over that wait. ftrace's own is: an attach that has
 * to register the other ops meanwhile waits for it. Unlike update.c this does not lock its table of
 * direct calls. All who look at a site would wait for that, with tramp_mutex held. And the one
 * function of this ops has no direct call. An ops that is being taken off cannot be registered
 * again, so there are two. One work item takes off at most one of them at a time; an attach that
 * wants ftrace to stay on meanwhile gets the other.
 */
#include <linux/ftrace.h>
#include <linux/module.h>
#include "base/ksyms.h"
#include "hold.h"

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

/* One ops, under hold_mutex but while it is leaving. */
static struct hold {
	struct ftrace_ops ops;
	bool filtered;		/* once: the filter stays with the ops until exit */
	bool held;		/* on ftrace's list */
	bool leaving;		/* the work item is taking it off */
} holds[2] = {
	{ .ops = { .func = callback, .flags = FTRACE_OPS_FL_PERMANENT } },
	{ .ops = { .func = callback, .flags = FTRACE_OPS_FL_PERMANENT } },
};

static DEFINE_MUTEX(hold_mutex);	/* inside tramp_mutex; nothing waits under it */
static u32 users;			/* hold_mutex */
static bool stays;		/* hold_mutex: an ops cannot go, nor this module */

static void release_work(struct work_struct *work);
static DECLARE_DELAYED_WORK(release, release_work);

/* The one that is on ftrace's list to stay. */
static struct hold *find_held(void)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(holds); i++) {
		if (holds[i].held && !holds[i].leaving)
			return &holds[i];
	}
	return NULL;
}

static void stay(void)
{
	lockdep_assert_held(&hold_mutex);
	if (!stays)
		__module_get(THIS_MODULE);
	stays = true;
}

static int hold(struct tramp_refusal *why)
{
	struct hold *h = holds[0].held ? &holds[1] : &holds[0];
	unsigned long site = KSYM(ftrace_location)((unsigned long)anchor);
	int err = 0;

	if (!site)
		return tramp_refuse(why, TRAMP_REASON_NOT_TRACEABLE, (unsigned long)anchor,
				    "the module was built without patchable entries");
	if (!h->filtered)
		err = ftrace_set_filter_ip(&h->ops, site, 0, 1);
	if (!err) {
		h->filtered = true;
		err = register_ftrace_function(&h->ops);
	}
	/* ftrace has shut down over it, and keeps its trampoline. */
	if (err && (h->ops.flags & FTRACE_OPS_FL_ENABLED))
		stay();
	if (err == -ENOMEM)
		return tramp_refuse(why, TRAMP_REASON_NO_MEMORY, 0, NULL);
	/* EBUSY: it is off. ENODEV: it has shut down. */
	if (err)
		return tramp_refuse(why, TRAMP_REASON_FTRACE_DISABLED, 0, NULL);
	h->held = true;
	return 0;
}

void tramp_ftrace_stay(void)
{
	mutex_lock(&hold_mutex);
	stay();
	mutex_unlock(&hold_mutex);
}

int tramp_ftrace_hold(struct tramp_refusal *why)
{
	int err;

	mutex_lock(&hold_mutex);
	err = find_held() ? 0 : hold(why);
	users += !err;
	mutex_unlock(&hold_mutex);
	return err;
}

/*
 * If ftrace has shut down the ops stays, and the module with it. It is kept at once: a second
 * later, by the work item, rmmod may have begun.
 */
void tramp_ftrace_release(void)
{
	mutex_lock(&hold_mutex);
	users--;
	if (tramp_ftrace_is_dead())
		stay();
	else if (!users)
		mod_delayed_work(system_wq, &release, HOLD);
	mutex_unlock(&hold_mutex);
}

/* By the work item, or when that is gone. Return: false if ftrace has shut down. */
static bool let_go(void)
{
	struct hold *h = NULL;
	int err = 0;

	mutex_lock(&hold_mutex);
	if (!users)
		h = find_held();
	if (h)
		h->leaving = true;
	mutex_unlock(&hold_mutex);
	if (!h)
		return true;

	err = unregister_ftrace_function(&h->ops);

	mutex_lock(&hold_mutex);
	h->leaving = false;
	h->held = err;
	mutex_unlock(&hold_mutex);
	return !err;
}

static void release_work(struct work_struct *work)
{
	if (!let_go())
		tramp_ftrace_stay();
}

void tramp_stay_loaded(void)
{
	pr_err("ftrace has shut down: this module cannot be unloaded any more\n");
	for (;;) {
		/* The machine may still be suspended. */
		set_current_state(TASK_IDLE | TASK_FREEZABLE);
		schedule_timeout(HZ);
	}
}

void tramp_ftrace_on_exit(void)
{
	u32 i;

	cancel_delayed_work_sync(&release);
	if (!let_go())
		tramp_stay_loaded();
	/* ftrace shut down while one was registered: it keeps its trampoline, with the ops. */
	for (i = 0; i < ARRAY_SIZE(holds); i++) {
		if (holds[i].ops.flags & FTRACE_OPS_FL_ENABLED)
			tramp_stay_loaded();
	}
	for (i = 0; i < ARRAY_SIZE(holds); i++)
		ftrace_free_filter(&holds[i].ops);
}
