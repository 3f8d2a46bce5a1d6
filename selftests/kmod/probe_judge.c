// SPDX-License-Identifier: GPL-2.0
/*
 * The verdicts of the kernel's own kprobes on addresses, and its text as it is; images among its
 * symbols; and the end of ftrace.
 *
 * The judges ask thousands of addresses at a time: kprobes are registered disabled,
 * which makes every check and patches nothing, and unregistered together, at
 * the price of one grace period.
 *
 * Functions that are looked up by name are called __nocfi. Nobody takes the address of most of
 * them, so a kernel with kCFI has wiped the hash of their type. A checked call would kill it.
 * kallsyms_lookup_name() is called behind its ENDBR, where no hash is in front.
 */
#include <linux/kernel.h>
#include <linux/cpu.h>
#include <linux/ctype.h>
#include <linux/delay.h>
#include <linux/extable.h>
#include <linux/jump_label.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include "probe_abi.h"
#include "targets.h"

/* Kprobes that are registered before they are unregistered together. */
#define TT_BATCH 1000

void *__nocfi tt_symbol(const char *name)
{
	struct kprobe kp = { .symbol_name = name };
	void *addr;

	/* Through the address of kallsyms_lookup_name(), which every symbol has. */
	static unsigned long (*lookup)(const char *name);

	if (!lookup) {
		kp.symbol_name = "kallsyms_lookup_name";
		if (register_kprobe(&kp))
			return NULL;
		lookup = (void *)kp.addr;
		unregister_kprobe(&kp);
	}
	addr = (void *)lookup(name);
	return addr;
}

static void (*ftrace_kill_found)(void);

static bool find_ftrace_kill(void)
{
	ftrace_kill_found = tt_symbol("ftrace_kill");
	return ftrace_kill_found;
}

int __nocfi tt_ftrace_kill(void)
{
	if (!find_ftrace_kill())
		return -ENOENT;
	ftrace_kill_found();
	return 0;
}

int __nocfi tt_overwrite(void *addr, const u8 *bytes, size_t len)
{
	void *(*copy)(void *to, const void *from, size_t len) = tt_symbol("text_poke_copy");

	if (!copy)
		return -ENOENT;
	return copy(addr, bytes, len) ? 0 : -EFAULT;
}

/* By what /proc/kallsyms asks for the symbols of BPF. To read all of that takes 0.2 s. */
int __nocfi tt_images(void)
{
	static int (*get)(unsigned int nr, unsigned long *value, char *type, char *name);
	static const char prefix[] = "trampoline_";
	static DEFINE_MUTEX(lock);
	static char name[KSYM_NAME_LEN];
	unsigned long value;
	unsigned int i;
	int count = 0;
	char type;

	mutex_lock(&lock);
	if (!get)
		get = tt_symbol("bpf_get_kallsym");
	for (i = 0; get && !get(i, &value, &type, name); i++)
		count += !strncmp(name, prefix, sizeof(prefix) - 1) &&
			 isdigit(name[sizeof(prefix) - 1]);
	mutex_unlock(&lock);
	return get ? count : -ENOENT;
}

static int tt_judge_register(const u64 *addrs, s32 *results, u32 nr)
{
	struct kprobe *kps = kvcalloc(TT_BATCH, sizeof(*kps), GFP_KERNEL);
	struct kprobe **done = kvcalloc(TT_BATCH, sizeof(*done), GFP_KERNEL);
	u32 i, from, nr_done;
	int err = 0;

	if (!kps || !done) {
		err = -ENOMEM;
		goto out;
	}
	for (from = 0; from < nr; from += TT_BATCH) {
		nr_done = 0;
		memset(kps, 0, TT_BATCH * sizeof(*kps));
		for (i = 0; i < TT_BATCH && from + i < nr; i++) {
			kps[i].addr = (void *)(unsigned long)addrs[from + i];
			kps[i].flags = KPROBE_FLAG_DISABLED;
			results[from + i] = -register_kprobe(&kps[i]);
			if (!results[from + i])
				done[nr_done++] = &kps[i];
		}
		unregister_kprobes(done, nr_done);
		cond_resched();
		if (fatal_signal_pending(current)) {
			err = -EINTR;
			break;
		}
	}
out:
	kvfree(kps);
	kvfree(done);
	return err;
}

#ifdef CONFIG_OPTPROBES
static int __nocfi tt_judge_optimise(const u64 *addrs, s32 *results, u32 nr)
{
	int (*prepare)(struct optimized_kprobe *op, struct kprobe *orig) =
		tt_symbol("arch_prepare_optimized_kprobe");
	/* Given back as unused: a used one would cost a grace period for each page of them. */
	void (*give_back)(struct kprobe_insn_cache *c, kprobe_opcode_t *slot, int dirty) =
		tt_symbol("__free_insn_slot");
	struct kprobe_insn_cache *cache = tt_symbol("kprobe_optinsn_slots");
	struct mutex *text = tt_symbol("text_mutex");
	struct optimized_kprobe *op;
	u32 i;

	if (!prepare || !give_back || !cache || !text)
		return -EOPNOTSUPP;
	op = kmalloc(sizeof(*op), GFP_KERNEL);
	if (!op)
		return -ENOMEM;
	for (i = 0; i < nr; i++) {
		memset(op, 0, sizeof(*op));
		INIT_LIST_HEAD(&op->list);
		op->kp.addr = (void *)(unsigned long)addrs[i];
		mutex_lock(text);
		results[i] = -prepare(op, NULL);
		mutex_unlock(text);
		if (op->optinsn.insn)
			give_back(cache, op->optinsn.insn, 0);
		if (!(i & 63))
			cond_resched();
		if (fatal_signal_pending(current))
			break;
	}
	kfree(op);
	return i < nr ? -EINTR : 0;
}
#else
static int tt_judge_optimise(const u64 *addrs, s32 *results, u32 nr)
{
	return -EOPNOTSUPP;
}
#endif

static int __nocfi tt_judge_blacklist(const u64 *addrs, s32 *results, u32 nr)
{
	bool (*within)(unsigned long addr) = tt_symbol("within_kprobe_blacklist");
	u32 i;

	if (!within)
		return -EOPNOTSUPP;
	for (i = 0; i < nr; i++)
		results[i] = within(addrs[i]) ? EINVAL : 0;
	return 0;
}

/* The addresses of a request, copied in; *results is as long. */
static long tt_take_addrs(struct tt_addrs *a, void __user *arg, u64 **addrs, s32 **results)
{
	if (copy_from_user(a, arg, sizeof(*a)))
		return -EFAULT;
	if (!a->nr || a->nr > TT_MAX_ADDRS)
		return -EINVAL;
	*addrs = kvmalloc_array(a->nr, sizeof(**addrs), GFP_KERNEL);
	*results = kvcalloc(a->nr, sizeof(**results), GFP_KERNEL);
	if (!*addrs || !*results)
		return -ENOMEM;
	if (copy_from_user(*addrs, u64_to_user_ptr(a->addrs), a->nr * sizeof(**addrs)))
		return -EFAULT;
	return 0;
}

static int __nocfi tt_judge_fixup(const u64 *addrs, s32 *results, u32 nr)
{
	const struct exception_table_entry *(*search)(unsigned long addr) =
		tt_symbol("search_exception_tables");
	const struct exception_table_entry *entry;
	u32 i;

	if (!search)
		return -ENOENT;
	for (i = 0; i < nr; i++) {
		/* A module's table goes with it. */
		preempt_disable();
		entry = search(addrs[i]);
		results[i] = entry ? entry->data & EX_DATA_TYPE_MASK : 0;
		preempt_enable();
	}
	return 0;
}

long tt_judge(void __user *arg)
{
	static DEFINE_MUTEX(lock);
	u64 *addrs = NULL;
	s32 *results = NULL;
	struct tt_addrs a;
	long err;

	err = tt_take_addrs(&a, arg, &addrs, &results);
	if (err)
		goto out;
	mutex_lock(&lock);
	switch (a.what) {
	case TT_JUDGE_REGISTER:
		err = tt_judge_register(addrs, results, a.nr);
		break;
	case TT_JUDGE_OPTIMISE:
		err = tt_judge_optimise(addrs, results, a.nr);
		break;
	case TT_JUDGE_BLACKLIST:
		err = tt_judge_blacklist(addrs, results, a.nr);
		break;
	case TT_JUDGE_FIXUP:
		err = tt_judge_fixup(addrs, results, a.nr);
		break;
	default:
		err = -EINVAL;
	}
	mutex_unlock(&lock);
	if (!err && copy_to_user(u64_to_user_ptr(a.results), results, a.nr * sizeof(*results)))
		err = -EFAULT;
out:
	kvfree(addrs);
	kvfree(results);
	return err;
}

/* ------------------------------------------------------- kprobes that count -- */

struct tt_kprobe {
	struct kprobe kp;
	atomic64_t hits;
	struct pt_regs regs;
	const u32 *gate;
};

struct tt_kprobes {
	u32 nr, nr_on;
	struct tt_kprobe *kps;
	struct kprobe **on;
	s32 *results;
};

static int tt_count_hit(struct kprobe *kp, struct pt_regs *regs)
{
	struct tt_kprobe *k = container_of(kp, struct tt_kprobe, kp);

	if (!READ_ONCE(*k->gate))
		return 0;
	atomic64_inc(&k->hits);
	k->regs = *regs;
	return 0;
}
NOKPROBE_SYMBOL(tt_count_hit);

/* Not in the blacklist of kprobes what it calls: that is the point. */
static int tt_call_hit(struct kprobe *kp, struct pt_regs *regs)
{
	struct tt_kprobe *k = container_of(kp, struct tt_kprobe, kp);

	atomic64_inc(&k->hits);
	tt_hot3(1);
	return 0;
}

static int __nocfi tt_kill_hit(struct kprobe *kp, struct pt_regs *regs)
{
	struct tt_kprobe *k = container_of(kp, struct tt_kprobe, kp);

	atomic64_inc(&k->hits);
	ftrace_kill_found();
	return 0;
}

static int __nocfi tt_kill_skip_hit(struct kprobe *kp, struct pt_regs *regs)
{
	tt_kill_hit(kp, regs);
	regs->ip = *(unsigned long *)regs->sp;
	regs->sp += sizeof(unsigned long);
	return 1;
}

static int tt_slow_hit(struct kprobe *kp, struct pt_regs *regs)
{
	tt_count_hit(kp, regs);
	mdelay(5);
	return 0;
}

static void tt_after_hit(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
}

void tt_kprobes_drop(struct tt_kprobes **on)
{
	struct tt_kprobes *k = *on;

	if (!k)
		return;
	if (k->nr_on)
		unregister_kprobes(k->on, k->nr_on);
	kvfree(k->kps);
	kvfree(k->on);
	kvfree(k->results);
	kfree(k);
	*on = NULL;
}

long tt_kprobes_on(struct tt_kprobes **on, void __user *arg, const u32 *gate)
{
	static const kprobe_pre_handler_t handlers[] = {
		[TT_KPROBE_COUNT] = tt_count_hit,
		[TT_KPROBE_CALL] = tt_call_hit,
		[TT_KPROBE_NO_JUMP] = tt_count_hit,
		[TT_KPROBE_KILL] = tt_kill_hit,
		[TT_KPROBE_KILL_SKIP] = tt_kill_skip_hit,
		[TT_KPROBE_SLOW] = tt_slow_hit,
	};
	struct tt_kprobes *k = NULL;
	u64 *addrs = NULL;
	s32 *results = NULL;
	struct tt_addrs a;
	long err;
	u32 i;

	if (*on)
		return -EBUSY;
	if (!find_ftrace_kill())
		return -ENOENT;
	err = tt_take_addrs(&a, arg, &addrs, &results);
	if (err)
		goto out;
	err = -EINVAL;
	if (a.what >= ARRAY_SIZE(handlers))
		goto out;
	err = -ENOMEM;
	k = kzalloc(sizeof(*k), GFP_KERNEL);
	if (!k)
		goto out;
	k->nr = a.nr;
	k->kps = kvcalloc(a.nr, sizeof(*k->kps), GFP_KERNEL);
	k->on = kvcalloc(a.nr, sizeof(*k->on), GFP_KERNEL);
	if (!k->kps || !k->on)
		goto out;
	for (i = 0; i < a.nr; i++) {
		struct kprobe *kp = &k->kps[i].kp;

		k->kps[i].gate = gate;
		kp->addr = (void *)(unsigned long)addrs[i];
		kp->pre_handler = handlers[a.what];
		if (a.what == TT_KPROBE_NO_JUMP || a.what == TT_KPROBE_KILL_SKIP)
			kp->post_handler = tt_after_hit;
		results[i] = -register_kprobe(kp);
		if (!results[i])
			k->on[k->nr_on++] = kp;
		cond_resched();
	}
	err = -EFAULT;
	if (copy_to_user(u64_to_user_ptr(a.results), results, a.nr * sizeof(*results)))
		goto out;
	k->results = results;
	*on = k;
	kvfree(addrs);
	return 0;
out:
	kvfree(addrs);
	kvfree(results);
	tt_kprobes_drop(&k);
	return err;
}

long tt_kprobes_off(struct tt_kprobes **on, void __user *arg)
{
	struct tt_kprobes *k = *on;
	struct tt_addrs a;
	long err = 0;
	u32 i;

	if (!k)
		return -ENOENT;
	if (copy_from_user(&a, arg, sizeof(a)))
		return -EFAULT;
	if (a.nr != k->nr)
		return -EINVAL;
	/* Afterwards no handler runs, so the counts are final. */
	if (k->nr_on)
		unregister_kprobes(k->on, k->nr_on);
	k->nr_on = 0;
	for (i = 0; i < k->nr && !err; i++) {
		u64 hits = atomic64_read(&k->kps[i].hits);
		u64 missed = k->kps[i].kp.nmissed;

		if (put_user(hits, (u64 __user *)u64_to_user_ptr(a.hits) + i) ||
		    put_user(missed, (u64 __user *)u64_to_user_ptr(a.missed) + i) ||
		    (a.regs && copy_to_user((struct pt_regs __user *)u64_to_user_ptr(a.regs) + i,
					    &k->kps[i].regs, sizeof(k->kps[i].regs))))
			err = -EFAULT;
	}
	tt_kprobes_drop(on);
	return err;
}

/* ------------------------------------------------------------------- text -- */

long tt_text(void __user *arg)
{
	struct tt_text t;
	long err = 0;
	void *buf;

	if (copy_from_user(&t, arg, sizeof(t)))
		return -EFAULT;
	if (!t.len || t.len > TT_MAX_TEXT)
		return -EINVAL;
	buf = kvmalloc(t.len, GFP_KERNEL);
	if (!buf)
		return -ENOMEM;
	if (copy_from_kernel_nofault(buf, (void *)(unsigned long)t.addr, t.len) ||
	    copy_to_user(u64_to_user_ptr(t.buf), buf, t.len))
		err = -EFAULT;
	kvfree(buf);
	return err;
}
