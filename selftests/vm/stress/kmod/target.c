// SPDX-License-Identifier: GPL-2.0
/*
 * Functions of a module that nothing holds: it can be unloaded at any time. Its init calls each
 * of them, and writing N to its parameter `call` does so N times. EIO: one has not returned what
 * it should. Reading it gives their addresses.
 */
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/moduleparam.h>

u64 target_add(u64 a, u64 b);
u64 target_fold(u64 a, u64 b);
u64 target_min(u64 a, u64 b);

noinline u64 target_add(u64 a, u64 b)
{
	return a + b;
}

/* A few instructions more, and a loop: places for probes. */
noinline u64 target_fold(u64 a, u64 b)
{
	while (b) {
		a = rol64(a, 7) ^ (b & 0xff);
		b >>= 8;
	}
	return a;
}

noinline u64 target_min(u64 a, u64 b)
{
	return target_add(a < b ? a : b, 0);
}

static int call(unsigned int i)
{
	if (target_add(i, 3) != i + 3 || target_min(i, 5) != min(i, 5U) ||
	    target_fold(i, 0x0201) != (rol64(rol64(i, 7) ^ 1, 7) ^ 2))
		return -EIO;
	return 0;
}

static int call_set(const char *val, const struct kernel_param *kp)
{
	unsigned int n, i;
	int err = kstrtouint(val, 0, &n);

	for (i = 0; !err && i < n; i++)
		err = call(i);
	return err;
}

static int call_get(char *buf, const struct kernel_param *kp)
{
	return sysfs_emit(buf, "%px %px %px\n", target_add, target_fold, target_min);
}

static const struct kernel_param_ops call_ops = {
	.set = call_set,
	.get = call_get,
};
module_param_cb(call, &call_ops, NULL, 0600);
MODULE_PARM_DESC(call, "write: how often to call each function; read: their addresses");

/* Text of its own that is dropped when it has run. */
static int __init target_init(void)
{
	return call(7);
}

static void __exit target_exit(void)
{
}

module_init(target_init);
module_exit(target_exit);

MODULE_DESCRIPTION("Functions for programs of tests, in a module that comes and goes");
MODULE_LICENSE("GPL");
