// SPDX-License-Identifier: GPL-2.0
/*
 * The n-th allocation of one thread fails. Kernels with fault injection have
 * /proc/thread-self/fail-nth for that, and Debian's have no fault injection. Here further
 * allocations may fail as well: all, so undoing what was done has no memory either, or a few, so
 * undoing has none and trying once more has.
 *
 * The functions that allocate are hooked as live patches hook functions: an ftrace_ops
 * changes the instruction pointer. The call then goes to a function of ours, which says that there
 * is no memory. A kernel lacks some of the functions that are named here.
 *
 * There are hooks while a file wants them; only one file can.
 */
#include <linux/ftrace.h>
#include <linux/gfp.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/preempt.h>
#include <linux/ptrace.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include "probe_abi.h"

/* One more argument in front of the flags. */
#ifdef CONFIG_SLAB_BUCKETS
#define AFTER_BUCKETS 1
#else
#define AFTER_BUCKETS 0
#endif

/* The thread, and how far it has come. */
static struct task_struct *victim;
static u32 nth, seen, in_a_row;
static u32 lasting;
static bool taken;
static unsigned long where;
static u32 whose;
/* The inits of modules that it loads are the victim. */
static struct task_struct *loader;
/* Only what this module asks for itself counts. NULL: all does. */
static struct module *owner;
static bool works;	/* kworkers are the victim, and @owner is held */

static notrace noinline void *no_memory(void)
{
	return NULL;
}

/**
 * struct kind - functions whose flags are in the same argument
 * @ops: hooks them
 * @flags_at: which argument has the flags of the allocation, from 0; 0: none (the first is the
 *	cache or the size)
 * @names: of the functions
 */
struct kind {
	struct ftrace_ops ops;
	u32 flags_at;
	const char *names[16];
};

static notrace void on_call(unsigned long ip, unsigned long parent_ip, struct ftrace_ops *ops,
			    struct ftrace_regs *fregs)
{
	const struct kind *kind = container_of(ops, struct kind, ops);
	struct pt_regs *regs = ftrace_get_regs(fregs);

	if (READ_ONCE(victim) != current && !(READ_ONCE(works) && current->flags & PF_WQ_WORKER))
		return;
	if (!in_task() || !regs)
		return;
	/*
	 * The reserves are there for those who may use them. A task that waits for memory, and is
	 * killed as the test takes too long, is to come to an end.
	 */
	if (fatal_signal_pending(current))
		return;
	if (current->flags & PF_MEMALLOC && lasting != TT_FAULT_RESERVES)
		return;
	if (kind->flags_at &&
	    regs_get_kernel_argument(regs, kind->flags_at) & (__force unsigned long)__GFP_NOFAIL)
		return;
	if (owner && !within_module(parent_ip, owner))
		return;
	seen++;
	if (seen < nth || (!lasting && seen - nth >= in_a_row))
		return;
	if (!taken)
		where = parent_ip;
	taken = true;
	regs->ip = (unsigned long)no_memory;
}

#define HOOK { .func = on_call, .flags = FTRACE_OPS_FL_SAVE_REGS | FTRACE_OPS_FL_IPMODIFY |	\
				       FTRACE_OPS_FL_RECURSION }

static struct kind kinds[] = {
	{ HOOK, 1, {
		/* 6.1 */
		"kmem_cache_alloc", "kmem_cache_alloc_node", "__kmalloc", "__kmalloc_node",
		"__kmalloc_node_track_caller", "kmalloc_trace", "kmalloc_node_trace",
		"kmalloc_large",
		/* 6.12 */
		"kmem_cache_alloc_noprof", "kmem_cache_alloc_node_noprof", "__kmalloc_noprof",
		"__kmalloc_cache_noprof", "__kmalloc_cache_node_noprof", "__kmalloc_large_noprof",
		"__kmalloc_large_node_noprof",
	} },
	{ HOOK, 1 + AFTER_BUCKETS, {
		"__kmalloc_node_noprof", "__kmalloc_node_track_caller_noprof",
	} },
	{ HOOK, 2, { "kmem_cache_alloc_lru", "kmem_cache_alloc_lru_noprof" } },
	{ HOOK, 3, { "pcpu_alloc", "pcpu_alloc_noprof" } },
	{ HOOK, 4, { "__vmalloc_node_range", "__vmalloc_node_range_noprof" } },
	{ HOOK, 0, { "bpf_prog_pack_alloc" } },
};

/* Those that this kernel has. Return: how many, or a negative errno. */
static int find(struct kind *kind)
{
	int found = 0, err;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(kind->names) && kind->names[i]; i++) {
		err = ftrace_set_filter(&kind->ops, (unsigned char *)kind->names[i],
					strlen(kind->names[i]), !found);
		if (err && err != -EINVAL)
			return err;
		found += !err;
	}
	return found;
}

static void unhook(size_t nr)
{
	while (nr--)
		if (kinds[nr].ops.flags & FTRACE_OPS_FL_ENABLED)
			unregister_ftrace_function(&kinds[nr].ops);
}

static int hook(void)
{
	int ret = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		ret = find(&kinds[i]);
		/* An ops without a filter would be for all functions. */
		if (ret > 0)
			ret = register_ftrace_function(&kinds[i].ops);
		else if (!ret && !i)
			ret = -ENOENT;
		if (ret < 0) {
			unhook(i);
			return ret;
		}
	}
	return 0;
}

static DEFINE_MUTEX(lock);
static bool hooked;	/* @lock */

static int begin(void)
{
	int err;

	mutex_lock(&lock);
	err = hooked ? -EBUSY : hook();
	hooked |= !err;
	mutex_unlock(&lock);
	return err;
}

/* Its work is the victim. The kernel exports no function that finds it. */
static int __nocfi begin_works(void)
{
	struct module *(*find)(const char *name) = tt_symbol("find_module");

	preempt_disable();
	owner = find ? find("trampoline") : NULL;
	if (owner && !try_module_get(owner))
		owner = NULL;
	preempt_enable();
	if (!owner)
		return -ENOENT;
	WRITE_ONCE(works, true);
	return 0;
}

/* Nothing fails any more. A kworker may be about to count one, and looks at @owner until then. */
static void stop(void)
{
	WRITE_ONCE(loader, NULL);
	WRITE_ONCE(victim, NULL);
	if (!works)
		return;
	WRITE_ONCE(works, false);
	/* Hooks run with preemption disabled, or are waited for like tasks. */
	synchronize_rcu_tasks();
	module_put(owner);
	owner = NULL;
}

void tt_faults_end(bool *on)
{
	if (!*on)
		return;
	*on = false;
	stop();
	mutex_lock(&lock);
	unhook(ARRAY_SIZE(kinds));
	hooked = false;
	taken = false;
	mutex_unlock(&lock);
}

long tt_fault(bool *on, void __user *arg)
{
	struct tt_fault f;
	int err;

	/* First of all, so that this call has nothing that fails. */
	if (*on)
		stop();
	if (copy_from_user(&f, arg, sizeof(f)))
		return -EFAULT;
	err = *on ? 0 : begin();
	if (err)
		return err;
	*on = true;
	f.taken = taken;
	f.where = where;
	if (copy_to_user(arg, &f, sizeof(f)))
		return -EFAULT;
	taken = false;
	where = 0;
	seen = 0;
	nth = f.nth;
	lasting = f.lasting;
	in_a_row = f.in_a_row ?: 1;
	whose = f.whose;
	owner = NULL;
	if (!nth)
		return 0;
	if (whose == TT_FAULT_WORK)
		return begin_works();
	WRITE_ONCE(*(whose == TT_FAULT_MINE ? &victim : &loader), current);
	return 0;
}

void tt_faults_loading(struct module *mod, unsigned long state)
{
	if (READ_ONCE(loader) != current)
		return;
	owner = whose == TT_FAULT_INIT_OWN ? mod : NULL;
	WRITE_ONCE(victim, state == MODULE_STATE_COMING ? current : NULL);
}

void tt_faults_exit(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		ftrace_free_filter(&kinds[i].ops);
}
