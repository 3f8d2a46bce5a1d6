// SPDX-License-Identifier: GPL-2.0
/*
 * trampoline.ko: load and unload.
 *
 * Loading resolves symbols and collects the kernel's facts. Before /dev/trampoline appears
 * it proves, on a dummy function of the module's own, that images work here. If anything
 * fails, the module does not load and says why.
 *
 * Unloading needs no care of the user: the module cannot go while a link lives or the device
 * is open (EBUSY), and exit waits for the retire list.
 */
#include <linux/init.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include "api/debugfs.h"
#include "api/ioctl.h"
#include "base/btf_id.h"
#include "base/ksyms.h"
#include "base/retire.h"
#include "base/tramp.h"
#include "ftrace/hold.h"
#include "ftrace/room.h"
#include "ftrace/site.h"
#include "func/gate.h"
#include "func/image.h"
#include "func/target.h"
#include "link/link.h"
#include "multi/layout.h"
#include "probe/image.h"
#include "probe/probe.h"
#include "prog/died.h"
#include "prog/image_name.h"
#include "prog/runtime.h"
#include "selftest/selftest.h"

DEFINE_MUTEX(tramp_mutex);

static struct miscdevice tramp_misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "trampoline",
	.fops = &tramp_fops,
	.mode = 0600,
};

static int __init device_init(void)
{
	return misc_register(&tramp_misc);
}

static void device_exit(void)
{
	misc_deregister(&tramp_misc);
}

/*
 * The parts in the order they start; they stop in reverse. Each needs those above it. So on
 * exit the retire list empties before the caches go, probes stop before link/, which tells
 * them when modules go, and the device goes before everything it leads to.
 */
#define PARTS(X) \
	X(tramp_ksyms_init, NULL) \
	X(tramp_btf_id_init, NULL) \
	X(tramp_ftrace_room_init, NULL) \
	X(tramp_helpers_init, NULL) \
	X(tramp_multi_layout_init, NULL) \
	X(tramp_image_name_init, tramp_image_name_exit) \
	X(NULL, tramp_image_exit) \
	X(tramp_site_init, tramp_site_exit) \
	X(tramp_target_init, tramp_target_exit) \
	X(tramp_func_image_init, tramp_func_image_exit) \
	X(tramp_gate_init, tramp_gate_exit) \
	X(tramp_probe_image_init, tramp_probe_image_exit) \
	X(tramp_probe_cache_init, tramp_probe_cache_exit) \
	X(NULL, tramp_probe_hook_free) \
	X(tramp_link_cache_init, tramp_link_cache_exit) \
	X(tramp_died_init, tramp_died_exit) \
	X(tramp_retire_init, tramp_retire_exit) \
	X(NULL, tramp_ftrace_on_exit) \
	X(tramp_selftest, NULL) \
	X(tramp_link_init, tramp_link_exit) \
	X(tramp_probe_init, tramp_probe_exit) \
	X(tramp_selftest_probe, NULL) \
	X(device_init, device_exit) \
	X(tramp_debugfs_init, tramp_debugfs_exit)

#define INIT(init, exit) init,
#define EXIT(init, exit) exit,

static int (* const inits[])(void) __initconst = { PARTS(INIT) };
static void (* const exits[])(void) = { PARTS(EXIT) };

/* Stop the first @nr parts, the last of them first. */
static void stop(u32 nr)
{
	while (nr--) {
		if (exits[nr])
			exits[nr]();
	}
}

static int __init tramp_init(void)
{
	int err;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(inits); i++) {
		err = inits[i] ? inits[i]() : 0;
		if (err) {
			stop(i);
			return err;
		}
	}
	pr_info("version %s, %u kernel symbols, %s guards\n", TRAMP_VERSION, tramp_ksyms.found,
		tramp_inline_guards() ? "inline" : "kernel");
	return 0;
}

static void __exit tramp_exit(void)
{
	stop(ARRAY_SIZE(exits));
}

module_init(tramp_init);
module_exit(tramp_exit);

MODULE_DESCRIPTION("Attach BPF programs to kernel functions through trampoline images");
MODULE_AUTHOR("The trampoline developers");
MODULE_LICENSE("GPL");
MODULE_VERSION(TRAMP_VERSION);
