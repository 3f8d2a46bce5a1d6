// SPDX-License-Identifier: GPL-2.0
/*
 * trampoline.ko: load and unload.
 *
 * Loading resolves symbols, collects the kernel's facts, and proves on a dummy
 * function of the module's own that images work here, before /dev/trampoline
 * appears. Whatever fails, the module does not load and says why.
 *
 * Unloading needs no care of the user: the module cannot go while a link lives or
 * the device is open (EBUSY), and waits for what is being retired.
 */
#include <linux/init.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include "base/btf_id.h"
#include "base/cache.h"
#include "api/debugfs.h"
#include "prog/died.h"
#include "ftrace/hold.h"
#include "prog/runtime.h"
#include "api/ioctl.h"
#include "base/ksyms.h"
#include "probe/probe.h"
#include "base/retire.h"
#include "selftest/selftest.h"
#include "base/tramp.h"

DEFINE_MUTEX(tramp_mutex);

static struct miscdevice tramp_misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "trampoline",
	.fops = &tramp_fops,
	.mode = 0600,
};

static int __init tramp_init(void)
{
	int err;

	err = tramp_ksyms_init();
	if (err)
		return err;
	tramp_btf_id_init();
	err = tramp_helpers_init();
	if (err)
		return err;
	err = tramp_caches_init();
	if (err)
		return err;
	err = tramp_retire_init();
	if (err)
		goto caches_exit;
	err = tramp_died_init();
	if (err)
		goto retire_exit;
	err = tramp_selftest();
	if (err) {
		pr_err("the self-test failed: not loading\n");
		goto retire_exit;
	}
	err = tramp_probe_init();
	if (err)
		goto retire_exit;
	err = tramp_selftest_probe();
	if (err) {
		pr_err("the self-test of probes failed: not loading\n");
		goto probe_exit;
	}
	err = misc_register(&tramp_misc);
	if (err)
		goto probe_exit;
	tramp_debugfs_init();
	pr_info("version %s, %u kernel symbols, %s guards\n", TRAMP_VERSION, tramp_ksyms.found,
		tramp_inline_guards() ? "inline" : "kernel");
	return 0;

probe_exit:
	tramp_probe_exit();
retire_exit:
	tramp_ftrace_on_exit();
	tramp_retire_exit();
	tramp_died_exit();
caches_exit:
	tramp_caches_exit();
	return err;
}

static void __exit tramp_exit(void)
{
	tramp_debugfs_exit();
	misc_deregister(&tramp_misc);
	tramp_probe_exit();
	tramp_ftrace_on_exit();
	tramp_retire_exit();
	tramp_died_exit();
	tramp_caches_exit();
}

module_init(tramp_init);
module_exit(tramp_exit);

MODULE_DESCRIPTION("Attach BPF programs to kernel functions through trampoline images");
MODULE_AUTHOR("The trampoline developers");
MODULE_LICENSE("GPL");
MODULE_VERSION(TRAMP_VERSION);
