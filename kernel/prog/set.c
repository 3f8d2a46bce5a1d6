// SPDX-License-Identifier: GPL-2.0
/*
 * Lists of members, and the sets that are made of them (set.h).
 *
 * The set of an image goes with the image. A callback that runs with preemption off reads a
 * set once. When that is replaced, the old one goes on the retire list, whose grace period
 * waits for every such callback. Its place on the list lies in front of it: the many sets of
 * images do without.
 */
#include <linux/filter.h>
#include <linux/slab.h>
#include "base/ksyms.h"
#include "runtime.h"
#include "session.h"
#include "set.h"

/* Bytes in front of a set. */
static size_t head_size(bool retires)
{
	return retires ? sizeof(struct tramp_retire) : 0;
}

static struct tramp_set *collect(const struct list_head *members, bool retires)
{
	size_t head = head_size(retires);
	struct tramp_member *member;
	struct tramp_set *set;
	u32 nr = 0;
	void *mem;

	lockdep_assert_held(&tramp_mutex);
	list_for_each_entry(member, members, node)
		nr++;
	mem = kzalloc(head + struct_size(set, slots, nr), GFP_KERNEL);
	if (!mem)
		return NULL;
	set = mem + head;
	set->retires = retires;
	list_for_each_entry(member, members, node)
		set->slots[set->nr++] = tramp_slot_get(member->slot);
	return set;
}

struct tramp_set *tramp_set_collect(const struct list_head *members)
{
	return collect(members, false);
}

u32 tramp_set_regs(const struct tramp_set *set, u32 first, u32 nr)
{
	u32 regs = 0;

	while (nr--)
		regs |= set->slots[first + nr]->regs;
	return regs;
}

void tramp_set_put_slots(struct tramp_set *set)
{
	u32 i;

	for (i = 0; i < set->nr; i++) {
		tramp_slot_put(set->slots[i]);
		set->slots[i] = NULL;
	}
}

void tramp_set_free(struct tramp_set *set)
{
	if (!set)
		return;
	tramp_set_put_slots(set);
	kfree((void *)set - head_size(set->retires));
}

bool tramp_set_has(const struct tramp_set *set, const struct tramp_slot *slot)
{
	u32 i;

	for (i = 0; i < set->nr; i++) {
		if (set->slots[i] == slot)
			return true;
	}
	return false;
}

static void set_let_go(struct tramp_retire *r)
{
	tramp_set_put_slots((struct tramp_set *)(r + 1));
}

static void set_retired(struct tramp_retire *r)
{
	tramp_set_free((struct tramp_set *)(r + 1));
}

static void replace(struct tramp_set __rcu **where, struct tramp_set *set)
{
	static const struct tramp_retire_ops ops = { .let_go = set_let_go, .free = set_retired };
	struct tramp_set *old;

	old = rcu_replace_pointer(*where, set, lockdep_is_held(&tramp_mutex));
	if (old)
		tramp_retire_add((struct tramp_retire *)old - 1, &ops);
}

int tramp_set_switch(struct tramp_set __rcu **where, const struct list_head *members,
		     struct tramp_refusal *why)
{
	struct tramp_set *set = collect(members, true);

	if (!set)
		return tramp_refuse(why, TRAMP_REASON_NO_MEMORY, 0, NULL);
	replace(where, set);
	return 0;
}

void tramp_set_clear(struct tramp_set __rcu **where)
{
	lockdep_assert_held(&tramp_mutex);
	replace(where, NULL);
}

static __always_inline u64 run_prog(struct tramp_slot *slot, void *ctx, int __percpu *active,
				    struct bpf_run_ctx *run_ctx)
{
	struct bpf_run_ctx *old;
	u64 ret = 0;

	if (unlikely(this_cpu_inc_return(*active) != 1)) {
		tramp_x_missed(slot);
	} else {
		this_cpu_inc(slot->counts->pcpu->hits);
		/* An interrupt's programs put back what they find. */
		old = data_race(bpf_set_run_ctx(run_ctx));
		ret = slot->session ? tramp_session_run(ctx, slot) :
				      bpf_prog_run(slot->prog, ctx);
		/* As above. */
		data_race(({ bpf_reset_run_ctx(old); 0; }));
	}
	this_cpu_dec(*active);
	return ret;
}

/* Kprobe programs have one recursion word on each CPU, as from the kernel's own kprobes. */
static notrace void run_kprobe(struct tramp_slot *slot, void *ctx)
{
	struct bpf_trace_run_ctx run_ctx = { .bpf_cookie = slot->cookie };

	run_prog(slot, ctx, (int __percpu *)tramp_ksyms.bpf_prog_active, &run_ctx.run_ctx);
}

/* With preemption off it is for the checkers alone, which maps of programs have. */
static __always_inline void lock_for_checkers(void)
{
	if (IS_ENABLED(CONFIG_DEBUG_LOCK_ALLOC))
		rcu_read_lock();
}

static __always_inline void unlock_for_checkers(void)
{
	if (IS_ENABLED(CONFIG_DEBUG_LOCK_ALLOC))
		rcu_read_unlock();
}

notrace u64 tramp_slot_run_in(struct tramp_slot *slot, void *ctx, struct bpf_run_ctx *run_ctx)
{
	u64 ret;

	if (unlikely(READ_ONCE(slot->muted)))
		return 0;
	lock_for_checkers();
	ret = run_prog(slot, ctx, (int __percpu *)tramp_ksyms.bpf_prog_active, run_ctx);
	unlock_for_checkers();
	return ret;
}

static notrace void run_tracing(struct tramp_slot *slot, void *ctx)
{
	struct bpf_tramp_run_ctx run_ctx = { .bpf_cookie = slot->cookie };

	run_prog(slot, ctx, slot->prog->active, &run_ctx.run_ctx);
}

static notrace void run_slot(struct tramp_slot *slot, void *ctx)
{
	if (unlikely(READ_ONCE(slot->muted)))
		return;
	if (slot->hook)
		tramp_slot_run_hook(slot, ctx);
	else if (slot->prog->type == BPF_PROG_TYPE_KPROBE)
		run_kprobe(slot, ctx);
	else
		run_tracing(slot, ctx);
}

notrace void tramp_set_run(const struct tramp_set *set, void *ctx)
{
	u32 i;

	lock_for_checkers();
	for (i = 0; set && i < set->nr; i++)
		run_slot(set->slots[i], ctx);
	unlock_for_checkers();
}

notrace void tramp_set_miss(const struct tramp_set *set)
{
	u32 i;

	for (i = 0; set && i < set->nr; i++)
		tramp_x_missed(set->slots[i]);
}

int tramp_members_check(const struct list_head *members, const struct bpf_prog *prog, u32 kind,
			u64 addr, struct tramp_refusal *why)
{
	const struct tramp_member *member;

	lockdep_assert_held(&tramp_mutex);
	list_for_each_entry(member, members, node) {
		if (prog && member->slot->prog == prog && member->kind == kind)
			return tramp_refuse(why, TRAMP_REASON_ALREADY_ATTACHED, addr, "link %u",
					    member->link_id);
	}
	return 0;
}

u32 tramp_members_before(const struct list_head *members, const struct tramp_member *member)
{
	const struct tramp_member *pos;
	u32 n = 0;

	lockdep_assert_held(&tramp_mutex);
	list_for_each_entry(pos, members, node) {
		if (pos == member)
			break;
		n += pos->kind == member->kind && !pos->slot->hook;
	}
	return n;
}
