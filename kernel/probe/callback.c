// SPDX-License-Identifier: GPL-2.0
/*
 * Probes that are reached through a callback: at a function's entry, where the 5 bytes are
 * ftrace's, and where only a kernel kprobe can go.
 *
 * The programs run where the kernel's kprobes run: in its int3 (mode kprobe), or in ftrace's
 * callback. As from an image there is the kernel's own recursion word for programs of this
 * type, the same counts, ip one byte behind the address.
 *
 * Execution. A callback runs with preemption off and reads the set once. A set that was replaced
 * is retired (base/retire.c). One ftrace_ops serves all entries, by its filter: its callback looks
 * the probe up in the table under RCU, and ignores what is not there.
 *
 * unregister_kprobes() waits for handlers, by synchronize_rcu(). Before 6.3 that is not all of
 * them: a kprobe at an idle function's entry is called by ftrace where RCU does not watch. So a
 * kprobe is retired as well, like the set that it runs.
 *
 * At an entry that function may fail: it needs memory to change ftrace's filter, or ftrace has shut
 * down (before 6.12). It does not say so, but leaves the kprobe in the kernel's table, with an
 * address of NULL. Such a kprobe is never freed, and runs nothing any more. As part of an aggregate
 * it may still be called, so this module stays.
 *
 * At an entry a kprobe is called by ftrace. While ftrace is switched off it would never be, and if
 * it went then ftrace would shut down later. So ftrace is kept on as long as it is there
 * (ftrace/hold.c).
 */
#include <linux/ftrace.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/slab.h>
#include "base/compat.h"
#include "base/ksyms.h"
#include "internal.h"
#include "ftrace/hold.h"
#include "ftrace/site.h"
#include "ftrace/update.h"
#include "prog/runtime.h"
#include "trap.h"

struct tramp_probe_kp {
	struct kprobe kp;
	struct tramp_probe *probe;	/* NULL: it could not be unregistered */
	bool by_ftrace;			/* it is at an ftrace site */
	struct tramp_retire retire;
};

/*
 * Preemption is off. No program runs where RCU does not watch: in idle functions (before 6.3) that
 * ftrace or a kprobe's jump comes from, without an exception; or on a CPU that dies.
 */
static notrace void run_probe(struct tramp_probe *probe, struct pt_regs *regs)
{
	struct tramp_set *set = rcu_dereference_raw(probe->set);

	if (tramp_cpu_watched())
		tramp_set_run(set, regs);
	else
		tramp_set_miss(set);
}

/* Through a kprobe ----------------------------------------------------------- */

static int on_kprobe(struct kprobe *kp, struct pt_regs *regs)
{
	struct tramp_probe *probe = READ_ONCE(container_of(kp, struct tramp_probe_kp, kp)->probe);

	if (probe)
		run_probe(probe, regs);
	return 0;
}

/* A kprobe that has one is never made a jump. */
static void after_kprobe(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
}

/* Return: 0 or a negative errno. */
static int register_kp(struct tramp_probe_kp *kp, const struct tramp_probe *probe,
		       struct tramp_refusal *why)
{
	int err = kp->by_ftrace ? tramp_ftrace_hold(why) : 0;

	if (err)
		return err;
	err = register_kprobe(&kp->kp);
	if (!err)
		return 0;
	if (kp->by_ftrace)
		tramp_ftrace_release();
	if (err == -ENOMEM)
		return tramp_refuse(why, TRAMP_REASON_NO_MEMORY, 0, NULL);
	/* The reason why it had to be a kprobe says more than the refusal. */
	return tramp_refuse(why, probe->reason ?: TRAMP_REASON_KPROBE_REFUSED, probe->addr,
			    "register_kprobe: error %d", err);
}

static int attach_kprobe(struct tramp_probe *probe, struct tramp_refusal *why)
{
	struct tramp_probe_kp *kp;
	struct tramp_x86_insn insn;
	int err;

	/* The image could not be had in the last moment: tramp_place_check() has not asked. */
	if (tramp_x86_decode(probe->orig, probe->insn_len, &insn) &&
	    tramp_place_kprobe_wrong(&insn, probe->addr))
		return tramp_refuse(why, probe->reason ?: TRAMP_REASON_INSN_FIXED, probe->addr,
				    "%s", tramp_place_kprobe_wrong(&insn, probe->addr));
	kp = kzalloc(sizeof(*kp), GFP_KERNEL);
	if (!kp)
		return tramp_refuse(why, TRAMP_REASON_NO_MEMORY, 0, NULL);
	kp->probe = probe;
	kp->kp.addr = (void *)probe->addr;
	kp->kp.pre_handler = on_kprobe;
	kp->by_ftrace = tramp_place_is_site(probe->addr);
	/* Only the exception wakes RCU up, and keeps the trap path out: never a jump. */
	if (probe->reason == TRAMP_REASON_RCU_IDLE || probe->reason == TRAMP_REASON_BLACKLISTED)
		kp->kp.post_handler = after_kprobe;
	err = register_kp(kp, probe, why);
	/* If it was in the kernel's table, the kernel has waited for readers. */
	if (err)
		kfree(kp);
	else
		probe->kp = kp;
	return err;
}

u64 tramp_probe_callback_missed(const struct tramp_probe *probe)
{
	lockdep_assert_held(&tramp_mutex);
	/* data_race(): the kernel counts by a plain ++, on any CPU. */
	return probe->kp ? data_race(READ_ONCE(probe->kp->kp.nmissed)) : 0;
}

static void kp_retired(struct tramp_retire *r)
{
	kfree(container_of(r, struct tramp_probe_kp, retire));
}

/* It is unregistered. Return: its misses, those while it was unregistered among them. */
static u64 forget_kprobe(struct tramp_probe *probe)
{
	static const struct tramp_retire_ops ops = { .free = kp_retired };
	u64 missed = tramp_probe_callback_missed(probe);
	struct tramp_probe_kp *kp = probe->kp;

	probe->kp = NULL;
	if (kp->kp.addr) {
		if (kp->by_ftrace)
			tramp_ftrace_release();
		tramp_retire_add(&kp->retire, &ops);
	} else {
		pr_err("the kernel keeps a kprobe: this module cannot be unloaded any more\n");
		WRITE_ONCE(kp->probe, NULL);
		__module_get(THIS_MODULE);
	}
	return missed;
}

/* ftrace has shut down in the middle of it, and register_kprobe() does not say so. */
static int attach_kprobe_alive(struct tramp_probe *probe, struct tramp_refusal *why)
{
	int err = attach_kprobe(probe, why);

	if (err || !probe->kp->by_ftrace || !tramp_ftrace_is_dead())
		return err;
	unregister_kprobe(&probe->kp->kp);
	forget_kprobe(probe);
	return tramp_site_error(-ENODEV, probe->addr, why);
}

void tramp_probe_kprobes_detach(struct tramp_probe **probes, u32 nr, u64 *missed)
{
	static struct kprobe *kps[TRAMP_PROBE_KPROBES_MANY];
	u32 i;

	lockdep_assert_held(&tramp_mutex);
	for (i = 0; i < nr; i++)
		kps[i] = &probes[i]->kp->kp;
	unregister_kprobes(kps, nr);
	for (i = 0; i < nr; i++)
		missed[i] = forget_kprobe(probes[i]);
}

/* Through ftrace ------------------------------------------------------------- */

static notrace void on_ftrace(unsigned long ip, unsigned long parent_ip, struct ftrace_ops *ops,
			      struct ftrace_regs *fregs)
{
	struct pt_regs *regs = ftrace_get_regs(fregs);
	struct tramp_probe *probe;
	unsigned long saved;
	int bit;

	preempt_disable_notrace();
	probe = tramp_probe_lookup(ip);
	/* The filter keeps an entry that was to go when there was no memory to change it. */
	if (!probe || READ_ONCE(probe->mode) != TRAMP_MODE_FTRACE_OPS)
		goto out;
	bit = ftrace_test_recursion_trylock(ip, parent_ip);
	if (bit < 0 || !regs) {
		tramp_set_miss(rcu_dereference_raw(probe->set));
	} else {
		saved = regs->ip;
		regs->ip = ip + 1;
		run_probe(probe, regs);
		regs->ip = saved;
	}
	if (bit >= 0)
		ftrace_test_recursion_unlock(bit);
out:
	preempt_enable_notrace();
}

static struct ftrace_ops entry_ops = {
	.func = on_ftrace,
	.flags = FTRACE_OPS_FL_SAVE_REGS | FTRACE_OPS_FL_PERMANENT,
};
static u32 nr_entries;			/* tramp_mutex */

static int attach_ftrace(struct tramp_probe *probe, struct tramp_refusal *why)
{
	int err;

	/* The first resets the filter: there may have been no memory to take the last one out. */
	if (nr_entries)
		err = tramp_ftrace_filter(&entry_ops, &probe->addr, 1, false);
	else
		err = ftrace_set_filter_ip(&entry_ops, probe->addr, 0, 1);
	if (!err && !nr_entries) {
		err = register_ftrace_function(&entry_ops);
		/* Shut down in the middle of it: it may have put a call there, and leaves it. */
		if (err == -ENODEV)
			__module_get(THIS_MODULE);
		else if (err)
			tramp_ftrace_filter(&entry_ops, &probe->addr, 1, true);
	}
	/* A change of the filter does not say so. The callback ignores what is not in the table. */
	if (!err && tramp_ftrace_is_dead())
		err = -ENODEV;
	if (err)
		return tramp_site_error(err, probe->addr, why);
	nr_entries++;
	return 0;
}

/* An ops without a filter would mean every function, so it goes before its last one. */
static void detach_ftrace(struct tramp_probe *probe)
{
	if (!--nr_entries && tramp_ftrace_unregister(&entry_ops)) {
		/*
		 * ftrace has shut itself down, and calls us for ever: this module must
		 * stay. The callback ignores what is not in the table.
		 */
		__module_get(THIS_MODULE);
		nr_entries++;
		return;
	}
	tramp_ftrace_filter(&entry_ops, &probe->addr, 1, true);
}

int tramp_probe_callback_attach(struct tramp_probe *probe, struct tramp_refusal *why)
{
	int err = 0;

	lockdep_assert_held(&tramp_mutex);
	if (tramp_place_is_site(probe->addr))
		err = tramp_site_check_bytes(probe->addr, why);
	if (err)
		return err;
	if (probe->mode == TRAMP_MODE_FTRACE_OPS)
		return attach_ftrace(probe, why);
	return attach_kprobe_alive(probe, why);
}

u64 tramp_probe_callback_detach(struct tramp_probe *probe)
{
	u64 missed = 0;

	lockdep_assert_held(&tramp_mutex);
	if (probe->mode == TRAMP_MODE_FTRACE_OPS)
		detach_ftrace(probe);
	else
		tramp_probe_kprobes_detach(&probe, 1, &missed);
	return missed;
}

void tramp_probe_callback_exit(void)
{
	/* Otherwise ftrace has it for ever, and this module does not go. */
	if (!nr_entries)
		ftrace_free_filter(&entry_ops);
}
