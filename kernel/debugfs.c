// SPDX-License-Identifier: GPL-2.0
/*
 * /sys/kernel/debug/trampoline/list: one line a link, in the manner of
 * kprobes/list:
 *
 *   ffffffff8130b2c4 fentry do_unlinkat+0x0 [DIRECT] link 7 prog 31 hits 12 misses 0
 *	image trampoline_6442553612_2		(on the same line)
 *   ffffffffc0a01010 fexit nf_hook_slow+0x0 nf_conntrack [DIRECT] link 9 ...
 *
 * Fields: the function's address (0 where kptr_restrict hides it), the kind, the
 * symbol, its module if it has one, how hits reach the program ([DIRECT], [OPS], or
 * [NONE] for a link that is detached), ids, counts, the current image if there is
 * one. Debugfs being switched off is no error.
 */
#include <linux/cred.h>
#include <linux/debugfs.h>
#include <linux/seq_file.h>
#include "debugfs.h"
#include "image.h"
#include "ksyms.h"
#include "link.h"

static struct dentry *dir;

static void show_link(struct seq_file *seq, struct tramp_link *link, bool addresses)
{
	static const char * const modes[] = { "NONE", "DIRECT", "OPS" };
	const struct tramp_target *target = link->target;
	u64 hits, misses;

	tramp_counts_sum(link->counts, &hits, &misses);
	seq_printf(seq, "%016lx %s %s+0x0 %s%s[%s] link %u prog %u hits %llu misses %llu",
		   target && addresses ? target->func.addr : 0,
		   tramp_kind_name(tramp_link_kind(link)), target ? target->func.name : "-",
		   target ? target->func.module_name : "",
		   target && *target->func.module_name ? " " : "",
		   modes[tramp_link_mode(link)], link->id, link->slot->prog->aux->id, hits,
		   misses);
	if (target && target->image)
		seq_printf(seq, " image %s", target->image->exec.ksym.name);
	seq_putc(seq, '\n');
}

static void *list_start(struct seq_file *seq, loff_t *pos)
{
	mutex_lock(&tramp_mutex);
	return *pos > UINT_MAX ? NULL : tramp_link_find(*pos, true);
}

/* The position is the id of the link before, so that it holds between reads. */
static void *list_next(struct seq_file *seq, void *v, loff_t *pos)
{
	*pos = ((struct tramp_link *)v)->id;
	return tramp_link_find(*pos, true);
}

static void list_stop(struct seq_file *seq, void *v)
{
	mutex_unlock(&tramp_mutex);
}

static int list_show(struct seq_file *seq, void *v)
{
	show_link(seq, v, KSYM(kallsyms_show_value)(seq->file->f_cred));
	return 0;
}

static const struct seq_operations list_sops = {
	.start = list_start,
	.next = list_next,
	.stop = list_stop,
	.show = list_show,
};
DEFINE_SEQ_ATTRIBUTE(list);

void __init tramp_debugfs_init(void)
{
	dir = debugfs_create_dir("trampoline", NULL);
	debugfs_create_file("list", 0400, dir, NULL, &list_fops);
}

void tramp_debugfs_exit(void)
{
	debugfs_remove_recursive(dir);
}
