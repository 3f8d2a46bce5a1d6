// SPDX-License-Identifier: GPL-2.0
/*
 * A kernel that lacks symbols: some of the names that a thread asks kallsyms_lookup_name() for have
 * no address. They are chosen by their number: so a test can hide each name that trampoline.ko asks
 * for when it is loaded, and needs no list of them. Or by themselves.
 *
 * The function is hooked as live patches hook functions: an ftrace_ops changes the instruction
 * pointer. The hook is there while a file hides names; only one file can.
 */
#include <linux/bitmap.h>
#include <linux/ftrace.h>
#include <linux/kernel.h>
#include <linux/mutex.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/string.h>
#include "trampoline_test.h"

static struct task_struct *asker;
static DECLARE_BITMAP(numbers, TT_HIDDEN_MAX);
static char names[1024];	/* a space before and behind each */
static struct tt_hidden so_far;

static notrace noinline unsigned long no_symbol(void)
{
	return 0;
}

static notrace bool is_named(const char *name)
{
	size_t len = strlen(name);
	const char *at = names;

	while ((at = strstr(at, name))) {
		if (at > names && at[-1] == ' ' && at[len] == ' ')
			return true;
		at++;
	}
	return false;
}

static notrace void on_call(unsigned long ip, unsigned long parent_ip, struct ftrace_ops *ops,
			    struct ftrace_regs *fregs)
{
	struct pt_regs *regs = ftrace_get_regs(fregs);
	const char *name;

	if (READ_ONCE(asker) != current || !in_task() || !regs)
		return;
	so_far.asked++;
	name = (const char *)regs_get_kernel_argument(regs, 0);
	if ((so_far.asked < TT_HIDDEN_MAX && test_bit(so_far.asked, numbers)) || is_named(name)) {
		strscpy(so_far.name, name, sizeof(so_far.name));
		regs->ip = (unsigned long)no_symbol;
	}
}

static struct ftrace_ops ops = {
	.func = on_call,
	.flags = FTRACE_OPS_FL_SAVE_REGS | FTRACE_OPS_FL_IPMODIFY | FTRACE_OPS_FL_RECURSION,
};

static DEFINE_MUTEX(lock);
static bool hooked;	/* @lock */

static int hook(void)
{
	static char name[] = "kallsyms_lookup_name";

	return ftrace_set_filter(&ops, name, strlen(name), 1) ?: register_ftrace_function(&ops);
}

int tt_hide(bool *on, const unsigned long *which, const char *named, struct tt_hidden *was)
{
	int err = 0;

	mutex_lock(&lock);
	if (!*on)
		err = hooked ? -EBUSY : hook();
	if (!err) {
		hooked = *on = true;
		WRITE_ONCE(asker, NULL);
		*was = so_far;
		memset(&so_far, 0, sizeof(so_far));
		bitmap_copy(numbers, which, TT_HIDDEN_MAX);
		strscpy(names, named, sizeof(names));
		if (*names || !bitmap_empty(numbers, TT_HIDDEN_MAX))
			WRITE_ONCE(asker, current);
	}
	mutex_unlock(&lock);
	return err;
}

void tt_hide_end(bool *on)
{
	if (!*on)
		return;
	*on = false;
	mutex_lock(&lock);
	WRITE_ONCE(asker, NULL);
	unregister_ftrace_function(&ops);
	hooked = false;
	mutex_unlock(&lock);
}

void tt_hide_exit(void)
{
	ftrace_free_filter(&ops);
}
