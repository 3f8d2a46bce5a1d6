// SPDX-License-Identifier: GPL-2.0
/*
 * Holds the load of a module at a moment when it is there for some and not yet for others. One
 * moment is when it is said to be coming: its init has not run. The other is when it is said to
 * be live: its init text is still there. Ours is the last notifier to be called.
 *
 * And what may mislead trampoline.ko when it is loaded: the symbol of a module, by the name of one
 * that it asks the kernel for, and that this kernel lacks.
 */
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/string.h>
#include <linux/version.h>
#include <linux/wait.h>
#include "probe_abi.h"
#include "trampoline_test.h"

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 4, 0)
static int __tracepoint_notifier_run __used;
#endif

static DEFINE_MUTEX(lock);
static DECLARE_WAIT_QUEUE_HEAD(queue);
static char name[MODULE_NAME_LEN];	/* empty: nobody is held */
static unsigned long state;
static bool held;

static bool is_meant(const struct module *mod, unsigned long action)
{
	bool is;

	mutex_lock(&lock);
	is = action == state && !strcmp(mod->name, name);
	held |= is;
	mutex_unlock(&lock);
	return is;
}

static int on_module(struct notifier_block *nb, unsigned long action, void *data)
{
	if (is_meant(data, action))
		/* A process that dies is to close the file that says let_go. */
		wait_event_killable(queue, !READ_ONCE(name[0]));
	tt_faults_loading(data, action);
	return NOTIFY_DONE;
}

static struct notifier_block notifier = { .notifier_call = on_module, .priority = INT_MIN };

int tt_hold(const char *module, const char *when)
{
	int err = 0;

	if (!module || !*module || !when || (strcmp(when, "coming") && strcmp(when, "live")))
		return -EINVAL;
	mutex_lock(&lock);
	if (*name) {
		err = -EBUSY;
	} else {
		held = false;
		state = *when == 'c' ? MODULE_STATE_COMING : MODULE_STATE_LIVE;
		err = strscpy(name, module, sizeof(name)) < 0 ? -E2BIG : 0;
	}
	mutex_unlock(&lock);
	return err;
}

bool tt_held(void)
{
	return READ_ONCE(held);
}

void tt_let_go(void)
{
	mutex_lock(&lock);
	WRITE_ONCE(name[0], '\0');
	mutex_unlock(&lock);
	wake_up_all(&queue);
}

int __init tt_loading_init(void)
{
	return register_module_notifier(&notifier);
}

void tt_loading_exit(void)
{
	unregister_module_notifier(&notifier);
}
