// SPDX-License-Identifier: GPL-2.0
/*
 * /sys/kernel/debug/trampoline/. Debugfs being switched off is no error.
 *
 * list: one line a link, in the manner of kprobes/list:
 *
 *   ffffffff8130b2c4 fentry do_unlinkat+0x0 [DIRECT] link 7 prog 31 hits 12 misses 0
 *	image trampoline_6442553612_2		(on the same line)
 *   ffffffffc0a01010 fexit nf_hook_slow+0x0 nf_conntrack [DIRECT] link 9 ...
 *   ffffffff8130b2d1 kprobe do_unlinkat+0xd [OPTIMIZED] link 10 ...
 *   ffffffff8130b2e7 kprobe do_unlinkat+0x23 [INT3: region-target] link 11 ...
 *
 * Fields: address (0 where kptr_restrict hides it), kind, symbol and offset, module if it has
 * one, mode, ids, counts, the current image if there is one. The mode says how hits reach the
 * program: [DIRECT], [OPS], [OPTIMIZED], [FTRACE], [INT3: why no jump], [KPROBE: why] or, at a
 * return, [RETHOOK: why not direct]. It is [NONE] when a link is detached or its module has gone.
 *
 * optimize: 0 or 1, whether probes become jumps. Writing returns when the optimiser has
 * caught up.
 */
#include <linux/cred.h>
#include <linux/debugfs.h>
#include <linux/seq_file.h>
#include "base/ksyms.h"
#include "base/rights.h"
#include "base/turn.h"
#include "debugfs.h"
#include "link/link.h"
#include "probe/probe.h"

static struct dentry *dir;

/* @seq's private member is the time since when it has had the mutex. */
static void lock_list(struct seq_file *seq)
{
	mutex_lock(&tramp_mutex);
	seq->private = (void *)jiffies;
}

static void *list_start(struct seq_file *seq, loff_t *pos)
{
	lock_list(seq);
	return *pos > UINT_MAX ? NULL : tramp_link_find(*pos, true);
}

/*
 * The position is the id of the link before. So it holds between reads, and while others have the
 * mutex now and then: a read far behind the end goes through all links.
 */
static void *list_next(struct seq_file *seq, void *v, loff_t *pos)
{
	*pos = tramp_link_id(v);
	if (time_after_eq(jiffies, (unsigned long)seq->private + TRAMP_TURN_TIME)) {
		mutex_unlock(&tramp_mutex);
		cond_resched();
		lock_list(seq);
	}
	return tramp_link_find(*pos, true);
}

static void list_stop(struct seq_file *seq, void *v)
{
	mutex_unlock(&tramp_mutex);
}

static int list_show(struct seq_file *seq, void *v)
{
	bool addresses = tramp_may_see_addresses(seq->file->f_cred);
	struct tramp_described d;

	tramp_link_describe(v, &d);
	seq_printf(seq, "%016llx %s %s+%#llx %s%s[%s%s%s]", addresses ? d.addr : 0,
		   tramp_kind_name(d.kind), *d.name ? d.name : "-", d.offset, d.module,
		   *d.module ? " " : "", d.mode_name, d.reason ? ": " : "",
		   d.reason ? tramp_reason_name(d.reason) : "");
	seq_printf(seq, " link %u prog %u hits %llu misses %llu", d.link_id, d.prog_id, d.hits,
		   d.misses);
	if (d.exec)
		seq_printf(seq, " image %s", d.exec->ksym->name);
	seq_putc(seq, '\n');
	return 0;
}

static const struct seq_operations list_sops = {
	.start = list_start,
	.next = list_next,
	.stop = list_stop,
	.show = list_show,
};
DEFINE_SEQ_ATTRIBUTE(list);

static int optimize_get(void *data, u64 *val)
{
	*val = tramp_probe_optimising();
	return 0;
}

static int optimize_set(void *data, u64 val)
{
	if (val > 1)
		return -EINVAL;
	tramp_probe_set_optimising(val);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(optimize_fops, optimize_get, optimize_set, "%llu\n");

int __init tramp_debugfs_init(void)
{
	dir = debugfs_create_dir("trampoline", NULL);
	debugfs_create_file("list", 0400, dir, NULL, &list_fops);
	if (tramp_ksyms.has_probes)
		debugfs_create_file("optimize", 0600, dir, NULL, &optimize_fops);
	return 0;
}

void tramp_debugfs_exit(void)
{
	debugfs_remove_recursive(dir);
}
