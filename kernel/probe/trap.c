// SPDX-License-Identifier: GPL-2.0
/*
 * The int3 handler: from a trap to the probe's image.
 *
 * All it does is look the address up and have the exception return to the image,
 * which builds the registers, runs the programs and goes on behind the instruction.
 * So nothing is left over when the handler returns, and a trap within a trap is
 * nothing special.
 *
 * There are two ways to it: a short one (trap_fast.c), and the chain of die
 * notifiers, which is always there.
 *
 * Execution. An int3 is entered with interrupts off and keeps them off, so a CPU that is in the
 * handler answers no IPI. To take a probe away we write the original byte, sync all CPUs (by IPI),
 * and then take the probe from the table. So once it cannot be found, no CPU that trapped on its
 * int3 is left. A CPU that traps while the byte is being changed finds the probe. (On kernels
 * whose kprobe handler looks at the byte before us it may execute what is there by then.) The image
 * that the handler read out of the probe is retired behind RCU-tasks: the task has not passed a
 * voluntary switch since.
 *
 * Code that a handler runs before it is back in the image must not be probed: it would trap again
 * without end. All of it is in this module, which refuses probes in itself, on the kernel's
 * blacklist, or in deny.c. For the same reason this file is built without instrumentation (Kbuild).
 */
#include <linux/hashtable.h>
#include <linux/kdebug.h>
#include <linux/kprobes.h>
#include <linux/ptrace.h>
#include "image.h"
#include "text/text.h"
#include "trap.h"

#define PROBE_HASH_BITS 12

static struct hlist_head probes[1 << PROBE_HASH_BITS];	/* written under tramp_mutex */

static __always_inline struct hlist_head *bucket(unsigned long addr)
{
	return &probes[hash_64(addr, PROBE_HASH_BITS)];
}

notrace struct tramp_probe *tramp_probe_lookup(unsigned long addr)
{
	struct tramp_probe *probe;

	hlist_for_each_entry_rcu_notrace(probe, bucket(addr), hash) {
		if (probe->addr == addr)
			return probe;
	}
	return NULL;
}
NOKPROBE_SYMBOL(tramp_probe_lookup);

void tramp_probe_hash_add(struct tramp_probe *probe)
{
	lockdep_assert_held(&tramp_mutex);
	hlist_add_head_rcu(&probe->hash, bucket(probe->addr));
}

void tramp_probe_hash_del(struct tramp_probe *probe)
{
	lockdep_assert_held(&tramp_mutex);
	hlist_del_rcu(&probe->hash);
}

void tramp_probe_for_each(tramp_probe_visit_t *fn, void *arg)
{
	struct tramp_probe *probe;
	struct hlist_node *tmp;
	u32 i;

	lockdep_assert_held(&tramp_mutex);
	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		hlist_for_each_entry_safe(probe, tmp, &probes[i], hash)
			fn(probe, arg);
	}
}

/* tramp_cover_t */
static u32 hidden(unsigned long addr, u8 *cover)
{
	const struct tramp_probe *probe = tramp_probe_lookup(addr);
	u32 len;

	lockdep_assert_held(&tramp_mutex);
	if (!probe || probe->text == TRAMP_TEXT_ORIGINAL)
		return 0;
	len = probe->image ? probe->image->len : probe->insn_len;
	len = max_t(u32, len, probe->insn_len);
	memcpy(cover, probe->orig, len);
	return len;
}

void tramp_probe_visit_rcu(tramp_probe_visit_t *fn, void *arg)
{
	struct tramp_probe *probe;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		hlist_for_each_entry_rcu_notrace(probe, &probes[i], hash)
			fn(probe, arg);
	}
}

/* @first: before the kernel's kprobes, one of which may stand on a jump of ours. */
static __always_inline bool take(struct pt_regs *regs, bool first)
{
	struct tramp_probe *probe;
	unsigned long go;

	if (user_mode(regs))
		return false;
	probe = tramp_probe_lookup(regs->ip - 1);
	if (!probe || (first && READ_ONCE(probe->text) != TRAMP_TEXT_INT3))
		return false;
	go = READ_ONCE(probe->go);
	if (!go)
		return false;
	regs->ip = go;
	return true;
}

notrace bool tramp_probe_take_first(struct pt_regs *regs)
{
	return take(regs, true);
}
NOKPROBE_SYMBOL(tramp_probe_take_first);

static notrace int on_die(struct notifier_block *nb, unsigned long event, void *data)
{
	struct die_args *args = data;

	return event == DIE_INT3 && take(args->regs, false) ? NOTIFY_STOP : NOTIFY_DONE;
}
NOKPROBE_SYMBOL(on_die);

static struct notifier_block die_block = {
	.notifier_call = on_die,
	.priority = INT_MAX,
};

int __init tramp_probe_trap_init(void)
{
	int err = register_die_notifier(&die_block);

	if (!err)
		tramp_text_set_cover(hidden);
	return err;
}

void tramp_probe_trap_exit(void)
{
	tramp_text_set_cover(NULL);
	unregister_die_notifier(&die_block);
}
