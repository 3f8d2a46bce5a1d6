// SPDX-License-Identifier: GPL-2.0
/*
 * A live patch of cmdline_proc_show(), which writes /proc/cmdline. It is on from init to "0" in
 * /sys/kernel/livepatch/trampoline_patch/enabled.
 */
#include <linux/livepatch.h>
#include <linux/module.h>
#include <linux/seq_file.h>

static int trampoline_patched_show(struct seq_file *seq, void *v)
{
	seq_puts(seq, "live-patched\n");
	return 0;
}

static struct klp_func funcs[] = {
	{ .old_name = "cmdline_proc_show", .new_func = trampoline_patched_show },
	{ },
};

/* No name: of the kernel itself. */
static struct klp_object objects[] = {
	{ .funcs = funcs },
	{ },
};

static struct klp_patch patch = {
	.mod = THIS_MODULE,
	.objs = objects,
};

static int __init patch_init(void)
{
	return klp_enable_patch(&patch);
}

static void __exit patch_exit(void)
{
}

module_init(patch_init);
module_exit(patch_exit);

MODULE_DESCRIPTION("A live patch beside which programs are attached");
MODULE_LICENSE("GPL");
MODULE_INFO(livepatch, "Y");
