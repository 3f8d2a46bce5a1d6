// SPDX-License-Identifier: GPL-2.0
/*
 * Contexts that targets are called from (a task, a softirq, a hard interrupt), and the targets
 * that depend on it. One sleeps until it is woken, one has a result that programs may modify,
 * one may run sleepable programs.
 */
#include <linux/kernel.h>
#include <linux/atomic.h>
#include <linux/btf.h>
#include <linux/btf_ids.h>
#include <linux/completion.h>
#include <linux/interrupt.h>
#include <linux/irq_work.h>
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/version.h>
#include <linux/wait.h>
#include "trampoline_test.h"
#include "targets.h"

static DECLARE_WAIT_QUEUE_HEAD(tt_sleep_queue);
static atomic_t tt_asleep = ATOMIC_INIT(0);
static atomic64_t tt_wakeups = ATOMIC64_INIT(0);

/* Asleep until the next "wake"; a fatal signal ends it with -EINTR. */
TT_TARGET u64 tt_sleep(u64 token)
{
	s64 seen = atomic64_read(&tt_wakeups);
	int err;

	atomic_inc(&tt_asleep);
	err = wait_event_killable(tt_sleep_queue, atomic64_read(&tt_wakeups) != seen);
	atomic_dec(&tt_asleep);
	return err ? (u64)-EINTR : TT_SLEEP_RESULT(token);
}

/* With arguments on the stack, the last two of them the same. */
TT_TARGET u64 tt_sleep8(u64 token, u64 b, u64 c, u64 d, u64 e, u64 f, u64 g, u64 h)
{
	u64 result = tt_sleep(token);

	return result + g - h;
}

void tt_wake_all(void)
{
	atomic64_inc(&tt_wakeups);
	wake_up_all(&tt_sleep_queue);
}

int tt_sleepers(void)
{
	return atomic_read(&tt_asleep);
}

/*
 * The verifier lets fmod_ret programs change what functions called security_*
 * return, on every kernel and without an error injection list.
 */
TT_TARGET int security_tt_check(int a, u64 b)
{
	atomic64_inc(&tt_ran);
	return (int)TT_MIX(TT_MIX(0ULL, a), b);
}

/* Sleepable programs: in the fmod_ret set below, on kernels that have such sets. */
TT_TARGET int tt_sleepable(int a, u64 addr)
{
	atomic64_inc(&tt_ran);
	return (int)TT_MIX(TT_MIX(0ULL, a), addr);
}

TT_CALLER(tt_sleep, tt_sleep(v[0]))
TT_CALLER(tt_sleep8, tt_sleep8(v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7]))
TT_CALLER(security_tt_check, security_tt_check(v[0], v[1]))
TT_CALLER(tt_sleepable, tt_sleepable(v[0], v[1]))

struct tt_target tt_context_targets[] = {
	TT_ROW_SLEEPS(tt_sleep, "!u8 u8"),
	TT_ROW_SLEEPS(tt_sleep8, "!u8 u8 u8 u8 u8 u8 u8 u8 u8"),
	TT_ROW(security_tt_check, "s4 s4 u8"),
	TT_ROW_SLEEPS(tt_sleepable, "s4 s4 u8"),
	{}
};

u64 tt_repeat(struct tt_target *t, const u64 *v, u64 n, u64 *different)
{
	u64 first = 0, result = 0, i;

	for (i = 0; i < n; i++) {
		atomic64_inc(&t->calls);
		result = t->call(v);
		if (!i)
			first = result;
		else if (result != first)
			++*different;
		if (!in_task())
			continue;
		if (fatal_signal_pending(current))
			break;
		if (!(i & 255))
			cond_resched();
	}
	return result;
}

struct tt_work {
	struct irq_work irq;
	struct tasklet_struct tasklet;
	struct completion done;
	struct tt_target *target;
	const u64 *v;
	u64 n, different, result;
};

static void tt_irq_fn(struct irq_work *irq)
{
	struct tt_work *w = container_of(irq, struct tt_work, irq);

	w->result = tt_repeat(w->target, w->v, w->n, &w->different);
}

u64 tt_run_in_irq(struct tt_target *t, const u64 *v, u64 n, u64 *different)
{
	struct tt_work w = { .irq = IRQ_WORK_INIT_HARD(tt_irq_fn), .target = t, .v = v, .n = n };

	irq_work_queue(&w.irq);
	irq_work_sync(&w.irq);
	*different = w.different;
	return w.result;
}

static void tt_tasklet_fn(struct tasklet_struct *tasklet)
{
	struct tt_work *w = container_of(tasklet, struct tt_work, tasklet);

	w->result = tt_repeat(w->target, w->v, w->n, &w->different);
	complete(&w->done);
}

u64 tt_run_in_softirq(struct tt_target *t, const u64 *v, u64 n, u64 *different)
{
	struct tt_work w = { .target = t, .v = v, .n = n };

	init_completion(&w.done);
	tasklet_setup(&w.tasklet, tt_tasklet_fn);
	tasklet_schedule(&w.tasklet);
	wait_for_completion(&w.done);
	tasklet_kill(&w.tasklet);
	*different = w.different;
	return w.result;
}

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 9, 0)
BTF_KFUNCS_START(tt_fmod_ret_ids)
BTF_ID_FLAGS(func, tt_sleepable, KF_SLEEPABLE)
BTF_KFUNCS_END(tt_fmod_ret_ids)

static const struct btf_kfunc_id_set tt_fmod_ret_set = {
	.owner = THIS_MODULE,
	.set = &tt_fmod_ret_ids,
};

int tt_context_init(void)
{
	return register_btf_fmodret_id_set(&tt_fmod_ret_set);
}
#else
int tt_context_init(void)
{
	return 0;
}
#endif

/* The device is gone, so nobody can be asleep or inside any more. */
void tt_context_exit(void)
{
	WARN_ON(tt_sleepers());
}
