// SPDX-License-Identifier: GPL-2.0
/*
 * The loops, and the device through which they are run; trampoline_bench.h
 * describes it.
 *
 * One loop for each target, each of them calling it directly: an indirect call
 * would go through a retpoline on some processors and not on others.
 */
#include <linux/kernel.h>
#include <linux/fs.h>
#include <linux/irqflags.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <asm/msr.h>
#include "trampoline_bench.h"

#define CREATE_TRACE_POINTS
#include "bench_event.h"

u64 bench_function(u64 a, u64 b);
u64 security_bench_hook(u64 a, u64 b);
u64 bench_variadic(u64 a, u64 b, ...);

/* The offsets that BENCH_BODY() leaves behind. */
extern const unsigned long bench_function_mid, security_bench_hook_mid, bench_variadic_mid;

BENCH_TARGET u64 bench_function(u64 a, u64 b)
{
	return BENCH_BODY(bench_function, a, b);
}

/* By its name, the verifier lets fmod_ret programs be on it. */
BENCH_TARGET u64 security_bench_hook(u64 a, u64 b)
{
	return BENCH_BODY(security_bench_hook, a, b);
}

/* How much of the stack is its arguments only its callers know. */
BENCH_TARGET u64 bench_variadic(u64 a, u64 b, ...)
{
	return BENCH_BODY(bench_variadic, a, b);
}

/* Any macro with a loop over @call would do; the calls must stay direct ones. */
#define BENCH_LOOP(name, call)						\
static noinline void name(struct bench_run *r)				\
{									\
	u64 begin, sum = 0;						\
	u32 i;								\
									\
	begin = rdtsc_ordered();					\
	for (i = 0; i < r->calls; i++)					\
		sum += call;						\
	r->ticks = rdtsc_ordered() - begin;				\
	r->sum = sum;							\
}

BENCH_LOOP(loop_function, bench_function(i, 7))
BENCH_LOOP(loop_security, security_bench_hook(i, 7))
BENCH_LOOP(loop_variadic, bench_variadic(i, 7))
BENCH_LOOP(loop_tracepoint, ({ trace_bench_event(i, 7); i; }))

static u64 call_many(u64 b)
{
	u64 sum = 0;
	u32 i;

	for (i = 0; i < BENCH_MANY_NR; i++)
		sum += bench_many[i].call(i, b);
	return sum;
}

BENCH_LOOP(loop_many, call_many(i))

static void (*const loops[BENCH_TARGETS])(struct bench_run *r) = {
	[BENCH_FUNCTION] = loop_function,
	[BENCH_SECURITY] = loop_security,
	[BENCH_TRACEPOINT] = loop_tracepoint,
	[BENCH_VARIADIC] = loop_variadic,
	[BENCH_MANY] = loop_many,
};

static long bench_ioctl_run(void __user *arg)
{
	unsigned long flags;
	struct bench_run r;

	if (copy_from_user(&r, arg, sizeof(r)))
		return -EFAULT;
	if (r.target >= BENCH_TARGETS || !r.calls || r.calls > BENCH_MAX_CALLS ||
	    (r.target == BENCH_MANY && r.calls > BENCH_MAX_CALLS / BENCH_MANY_NR))
		return -EINVAL;
	local_irq_save(flags);
	loops[r.target](&r);
	local_irq_restore(flags);
	return copy_to_user(arg, &r, sizeof(r)) ? -EFAULT : 0;
}

static long bench_ioctl_place(void __user *arg)
{
	struct bench_one one = {};
	struct bench_place p;

	if (copy_from_user(&p, arg, sizeof(p)))
		return -EFAULT;
	if (p.target == BENCH_FUNCTION)
		one = (struct bench_one){ bench_function, &bench_function_mid, "bench_function" };
	else if (p.target == BENCH_SECURITY)
		one = (struct bench_one){ security_bench_hook, &security_bench_hook_mid,
					  "security_bench_hook" };
	else if (p.target == BENCH_VARIADIC)
		one = (struct bench_one){ (void *)bench_variadic, &bench_variadic_mid,
					  "bench_variadic" };
	else if (p.target == BENCH_MANY && p.index < BENCH_MANY_NR)
		one = bench_many[p.index];
	else
		return -EINVAL;
	p.func = (unsigned long)one.call;
	p.mid = p.func + *one.mid;
	strscpy(p.name, one.name, sizeof(p.name));
	return copy_to_user(arg, &p, sizeof(p)) ? -EFAULT : 0;
}

static long bench_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	switch (cmd) {
	case BENCH_IOC_RUN:
		return bench_ioctl_run((void __user *)arg);
	case BENCH_IOC_PLACE:
		return bench_ioctl_place((void __user *)arg);
	}
	return -ENOTTY;
}

static const struct file_operations bench_fops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = bench_ioctl,
};

static struct miscdevice bench_misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "trampoline_bench",
	.fops = &bench_fops,
	.mode = 0600,
};

module_misc_device(bench_misc);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Functions whose calls are counted, for the trampoline benchmark");
