// SPDX-License-Identifier: GPL-2.0
/*
 * Calls that never return, because the task in them has died.
 *
 * An exit image counts the calls that are inside, and is freed when there is none. A call in
 * which the task dies is never counted out: do_exit() does not return. Any function may
 * end that way. Some do so at user space's will (__secure_computing() under strict seccomp,
 * what a kernel thread runs), others when the kernel kills a task after an oops. No list of
 * names, and no graph of calls, tells all of them. So the dead are counted instead. The calls
 * inside and alive are those counted in, less those counted out, less the dead.
 *
 * Every task that dies goes through the tracepoint sched_process_exit, in do_exit(), once.
 * There its own stack is walked, as for any stack trace. Every frame from do_exit() on belongs
 * to a call that will not return. Some frames return to an image's instruction behind the call
 * of the original. Each of those is a call that the image has counted in: its dead become one
 * more. Frames below do_exit() are alive, and may be in images as well: what walks the stack
 * can be traced. So they do not count. Where do_exit() is not found, nothing counts.
 *
 * Why never one too many, by which an image would be freed with somebody inside: the unwinder
 * goes up the stack and reports the return address of each frame once. ORC tables or frame
 * pointers lead it through the kernel's text, rbp frames through images. In code that it does
 * not know it takes rbp for a frame pointer. Whatever it finds that way is higher in a stack
 * no frame of which will return. The unwinder that guesses (UNWINDER_GUESS) reports
 * whatever looks like an address: with that the dead are not counted.
 *
 * One too few is harmless: the image stays. That is so after an oops, whose task starts its
 * exit from the top of its stack (rewind_stack_and_make_dead()).
 *
 * The probe runs in the dying task, with preemption off, and reads the table under RCU. A
 * struct enters the table before its image can be reached, and leaves it when nobody is
 * inside. Reading a sum of calls, then the dead, then comparing them is sound in whatever
 * order tasks die: each of the dead is in the sum for good (base/retire.c).
 */
#include <linux/hashtable.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/stacktrace.h>
#include <linux/tracepoint.h>
#include <trace/events/sched.h>
#include "base/ksyms.h"
#include "base/tramp.h"
#include "died.h"

/* A kernel stack has room for a good deal fewer frames with anything in them. */
#define MAX_FRAMES	256

static DEFINE_HASHTABLE(watched, 8);
static DEFINE_SPINLOCK(watched_lock);	/* for writing */
static atomic_t nr_watched = ATOMIC_INIT(0);
static struct tracepoint *exit_point;
static unsigned long do_exit_start, do_exit_size;

/* Not DEFINE_PER_CPU(): all modules together have 8 KiB for that. */
static unsigned long __percpu *frames;

static void count_frame(unsigned long ret)
{
	struct tramp_died *died;

	hash_for_each_possible_rcu(watched, died, node, ret) {
		if (died->ret == ret)
			atomic64_inc(&died->nr);
	}
}

/* The tracepoint's probe: current is dying. Preemption is off. */
static void on_exit(void *data, struct task_struct *task)
{
	unsigned long *ret = this_cpu_ptr(frames);
	unsigned int i = 0, nr;

	if (task != current || !atomic_read(&nr_watched))
		return;
	nr = stack_trace_save(ret, MAX_FRAMES, 0);
	while (i < nr && ret[i] - do_exit_start >= do_exit_size)
		i++;
	rcu_read_lock();
	for (; i < nr; i++)
		count_frame(ret[i]);
	rcu_read_unlock();
}

void tramp_died_watch(struct tramp_died *died, unsigned long ret)
{
	died->ret = ret;
	spin_lock(&watched_lock);
	hash_add_rcu(watched, &died->node, ret);
	spin_unlock(&watched_lock);
	atomic_inc(&nr_watched);
}

void tramp_died_forget(struct tramp_died *died)
{
	if (!died->ret)
		return;
	atomic_dec(&nr_watched);
	spin_lock(&watched_lock);
	hash_del_rcu(&died->node);
	spin_unlock(&watched_lock);
}

static void find_point(struct tracepoint *tp, void *arg)
{
	if (!strcmp(tp->name, "sched_process_exit"))
		exit_point = tp;
}

int __init tramp_died_init(void)
{
	unsigned long offset;
	int err;

	for_each_kernel_tracepoint(find_point, NULL);
	do_exit_start = tramp_ksym_lookup("do_exit");
	if (!exit_point || IS_ENABLED(CONFIG_UNWINDER_GUESS) || !do_exit_start ||
	    !tramp_ksyms.has_probes ||
	    !KSYM(kallsyms_lookup_size_offset)(do_exit_start, &do_exit_size, &offset)) {
		exit_point = NULL;
		pr_info("this kernel lacks sched_process_exit, do_exit() or a sure unwinder: a task that dies in a traced function keeps its image\n");
		return 0;
	}
#ifdef CONFIG_CFI_CLANG
	/* Registering takes any function, and calls check its type. */
	check_trace_callback_type_sched_process_exit(on_exit);
#endif
	frames = __alloc_percpu(MAX_FRAMES * sizeof(long), sizeof(long));
	err = frames ? tracepoint_probe_register(exit_point, on_exit, NULL) : -ENOMEM;
	if (err) {
		free_percpu(frames);
		exit_point = NULL;
	}
	return err;
}

void tramp_died_exit(void)
{
	if (!exit_point)
		return;
	tracepoint_probe_unregister(exit_point, on_exit, NULL);
	tracepoint_synchronize_unregister();
	free_percpu(frames);
}
