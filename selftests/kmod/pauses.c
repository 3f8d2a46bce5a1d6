// SPDX-License-Identifier: GPL-2.0
/*
 * A thread sleeps where it has let go of a lock: behind a spin_unlock_bh() that a function does, or
 * another local_bh_enable(). So others come in between, for certain, where they could before.
 *
 * __local_bh_enable_ip() is hooked as live patches hook functions. The one in its place calls it,
 * and that call is left alone, as it comes from here. Only the thread that asked may get there, and
 * it has come back when it asks for something else, or closes the file.
 */
#include <linux/bottom_half.h>
#include <linux/delay.h>
#include <linux/ftrace.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/stacktrace.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include "probe_abi.h"

/* Frames to look at: those of this file and of spin_unlock_bh() are above the function's. */
#define DEPTH	6

static DEFINE_MUTEX(lock);
static bool hooked;			/* @lock; the rest is its file's */
static struct task_struct *victim;
static struct tt_pause pause;

static bool is_called_by_function(void)
{
	unsigned long entries[DEPTH];
	unsigned int i, nr = stack_trace_save(entries, DEPTH, 0);
	size_t len = strlen(pause.func);
	char name[KSYM_SYMBOL_LEN];

	for (i = 0; i < nr; i++) {
		snprintf(name, sizeof(name), "%ps", (void *)entries[i]);
		if (!strncmp(name, pause.func, len) && (!name[len] || name[len] == ' '))
			return true;
	}
	return false;
}

static notrace noinline void enable_and_sleep(unsigned long ip, unsigned int cnt)
{
	__local_bh_enable_ip(ip, cnt);
	if (in_atomic() || irqs_disabled() || !is_called_by_function())
		return;
	if (++pause.seen == pause.nth)
		msleep(pause.ms);
}

static notrace void on_enable(unsigned long ip, unsigned long parent_ip, struct ftrace_ops *ops,
			      struct ftrace_regs *fregs)
{
	struct pt_regs *regs = ftrace_get_regs(fregs);

	if (READ_ONCE(victim) == current && in_task() && regs &&
	    !within_module(parent_ip, THIS_MODULE))
		regs->ip = (unsigned long)enable_and_sleep;
}

static struct ftrace_ops ops = {
	.func = on_enable,
	.flags = FTRACE_OPS_FL_SAVE_REGS | FTRACE_OPS_FL_IPMODIFY | FTRACE_OPS_FL_RECURSION,
};

static int hook(void)
{
	static unsigned char name[] = "__local_bh_enable_ip";
	int err = -EBUSY;

	mutex_lock(&lock);
	if (!hooked)
		err = ftrace_set_filter(&ops, name, sizeof(name) - 1, 1) ?:
		      register_ftrace_function(&ops);
	hooked |= !err;
	mutex_unlock(&lock);
	return err == -EINVAL ? -ENOENT : err;
}

void tt_pauses_end(bool *on)
{
	if (!*on)
		return;
	*on = false;
	WRITE_ONCE(victim, NULL);
	mutex_lock(&lock);
	unregister_ftrace_function(&ops);
	pause.seen = 0;
	hooked = false;
	mutex_unlock(&lock);
}

long tt_pause(bool *on, void __user *arg)
{
	struct tt_pause p;
	int err;

	if (*on)
		WRITE_ONCE(victim, NULL);
	if (copy_from_user(&p, arg, sizeof(p)))
		return -EFAULT;
	p.func[sizeof(p.func) - 1] = 0;
	err = *on ? 0 : hook();
	if (err)
		return err;
	*on = true;
	p.seen = pause.seen;
	if (copy_to_user(arg, &p, sizeof(p)))
		return -EFAULT;
	pause = p;
	pause.seen = 0;
	WRITE_ONCE(victim, current);
	return 0;
}

void tt_pauses_exit(void)
{
	ftrace_free_filter(&ops);
}
