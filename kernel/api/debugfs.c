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
 * Fields: the address (0 where kptr_restrict hides it), the kind, symbol and offset,
 * the module if it has one, how hits reach the program ([DIRECT], [OPS], [OPTIMIZED], [FTRACE],
 * [INT3: why no jump], [KPROBE: why], or [NONE] for a link that is detached or whose
 * module has gone), ids, counts, the current image if there is one.
 *
 * optimize: 0 or 1, whether probes become jumps. Writing returns when the optimiser
 * has done what there was to do.
 */
#include <linux/cred.h>
#include <linux/debugfs.h>
#include <linux/seq_file.h>
#include "debugfs.h"
#include "func/image.h"
#include "base/ksyms.h"
#include "link/link.h"
#include "base/rights.h"

static struct dentry *dir;

static void show_target(struct seq_file *seq, const struct tramp_link *link, bool addresses)
{
	static const char * const modes[] = { "NONE", "DIRECT", "OPS" };
	const struct tramp_target *target = link->target;

	seq_printf(seq, "%016lx %s %s+0x0 %s%s[%s]", target && addresses ? target->func.addr : 0,
		   tramp_kind_name(link->kind), target ? target->func.name : "-",
		   target ? target->func.module_name : "",
		   target && *target->func.module_name ? " " : "",
		   modes[tramp_link_mode(link)]);
}

static void show_probe(struct seq_file *seq, const struct tramp_link *link, bool addresses)
{
	const struct tramp_probe *probe = link->probe;
	char name[KSYM_NAME_LEN] = "-";
	unsigned long offset = 0;
	bool there = probe->mode != TRAMP_MODE_NONE;

	if (there)
		tramp_text_name(probe->addr, name, &offset);
	seq_printf(seq, "%016lx kprobe %s+%#lx ", there && addresses ? probe->addr : 0, name,
		   offset);
	if (there && probe->module)
		seq_printf(seq, "%s ", probe->module->name);
	switch (tramp_probe_mode(probe)) {
	case TRAMP_MODE_JUMP:
		seq_puts(seq, "[OPTIMIZED]");
		break;
	case TRAMP_MODE_FTRACE_OPS:
		seq_puts(seq, "[FTRACE]");
		break;
	case TRAMP_MODE_INT3:
		seq_printf(seq, "[INT3: %s]", tramp_reason_name(probe->reason));
		break;
	case TRAMP_MODE_KPROBE:
		seq_printf(seq, "[KPROBE: %s]", tramp_reason_name(probe->reason));
		break;
	default:
		seq_printf(seq, "[NONE: %s]", tramp_reason_name(probe->reason));
	}
}

static void show_link(struct seq_file *seq, const struct tramp_link *link, bool addresses)
{
	const struct tramp_exec *exec = NULL;
	u64 hits, misses;

	if (link->probe) {
		show_probe(seq, link, addresses);
		if (link->probe->image)
			exec = &link->probe->image->exec;
	} else {
		show_target(seq, link, addresses);
		if (link->target && link->target->image)
			exec = &link->target->image->exec;
	}
	tramp_link_counts(link, &hits, &misses);
	seq_printf(seq, " link %u prog %u hits %llu misses %llu", link->id,
		   link->slot->prog->aux->id, hits, misses);
	if (exec)
		seq_printf(seq, " image %s", exec->ksym.name);
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
	show_link(seq, v, tramp_may_see_addresses(seq->file->f_cred));
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

void __init tramp_debugfs_init(void)
{
	dir = debugfs_create_dir("trampoline", NULL);
	debugfs_create_file("list", 0400, dir, NULL, &list_fops);
	if (tramp_ksyms.has_probes)
		debugfs_create_file("optimize", 0600, dir, NULL, &optimize_fops);
}

void tramp_debugfs_exit(void)
{
	debugfs_remove_recursive(dir);
}
