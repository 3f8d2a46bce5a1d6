// SPDX-License-Identifier: GPL-2.0
/*
 * Walks the page tables at each step of whoever changes them. Ftrace calls us wherever a function
 * of trampoline.ko is called, or one of the kernel's that write text, map memory, or change what
 * may be done with it.
 *
 * A step is what lies between two such calls. A page that is writable and executable for a while is
 * so at a call, unless it comes and goes between two: then the kernel's own function does both.
 *
 * The walk takes no lock (pages.c), so it may happen anywhere but in an NMI. It looks at entries by
 * themselves: the same memory in the direct mapping is compared by walks of their own, which may
 * wait.
 */
#include <linux/atomic.h>
#include <linux/ftrace.h>
#include <linux/kernel.h>
#include <linux/mutex.h>
#include <linux/preempt.h>
#include <linux/string.h>
#include "trampoline_test.h"

static DEFINE_MUTEX(lock);
static bool hooked;			/* @lock */
static atomic_long_t walks, both;
static unsigned long found_at, found_in;

static notrace void on_step(unsigned long ip, unsigned long parent_ip, struct ftrace_ops *ops,
			    struct ftrace_regs *fregs)
{
	struct tt_pages p;

	if (in_nmi())
		return;
	tt_count_pages(&p);
	atomic_long_inc(&walks);
	if (!p.both || atomic_long_add_return(p.both, &both) != p.both)
		return;
	WRITE_ONCE(found_at, p.at);
	WRITE_ONCE(found_in, ip);
}

static struct ftrace_ops ops = {
	.func = on_step,
	.flags = FTRACE_OPS_FL_RECURSION,
};

/* Those that a kernel has not match nothing. */
static char *const steps[] = {
	"tramp_*", "text_poke*", "set_memory_*", "change_page_attr_set_clr", "__change_page_attr*",
	"cpa_flush", "vmap", "vunmap", "vfree", "__vmalloc_node_range*", "vmap_pages_range*",
	"__vunmap_range*", "module_alloc", "module_memfree", "execmem_*", "bpf_prog_pack_*",
	"bpf_jit_alloc_exec", "bpf_jit_free_exec", "bpf_arch_text_*",
};

/* They read what they are given, and are called for each instruction of the kernel. */
static char not_steps[] = "tramp_x86_*";

static int hook(void)
{
	char glob[64];
	size_t i;
	int err;

	ftrace_free_filter(&ops);
	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		strscpy(glob, steps[i], sizeof(glob));
		err = ftrace_set_filter(&ops, glob, strlen(glob), 0);
		/* EINVAL: this kernel lacks it. */
		if (err && err != -EINVAL)
			return err;
	}
	return ftrace_set_notrace(&ops, not_steps, strlen(not_steps), 0) ?:
	       register_ftrace_function(&ops);
}

int tt_page_watch(bool *on)
{
	int err = 0;

	mutex_lock(&lock);
	if (!*on)
		err = hooked ? -EBUSY : hook();
	if (!err)
		hooked = *on = true;
	mutex_unlock(&lock);
	return err;
}

void tt_page_watch_take(struct tt_page_watch *w)
{
	w->walks = atomic_long_xchg(&walks, 0);
	w->at = READ_ONCE(found_at);
	w->in = READ_ONCE(found_in);
	w->both = atomic_long_xchg(&both, 0);
}

void tt_page_watch_end(bool *on)
{
	struct tt_page_watch w;

	if (!*on)
		return;
	*on = false;
	mutex_lock(&lock);
	unregister_ftrace_function(&ops);
	tt_page_watch_take(&w);
	hooked = false;
	mutex_unlock(&lock);
}

void tt_page_watch_exit(void)
{
	ftrace_free_filter(&ops);
}
