// SPDX-License-Identifier: GPL-2.0
/*
 * Returns of many functions by the kernel's rethook.
 *
 * An image that runs a program at a return calls the function from its own frame. So it must know
 * that no argument is on the stack (proto.c). Where it does not, a hook (struct tramp_hook) is
 * attached to the function's entry, as a program of many is. One image has the hook of all of
 * them. The hook takes a node and leaves the function's address there. Then the kernel puts
 * arch_rethook_trampoline in the place of the return address. ret/rethook.c says how that goes
 * on, and why a hook is entered with a true sp. Unlike there one rethook serves all of these
 * functions, with nodes for calls of any of them.
 *
 * A session's program runs from the hook as well: at the entry first. Its result decides whether
 * a node is taken at all, and the node has its session cookie.
 *
 * Run contexts. Images make them in their frames. Here a buffer on the stack does, with the same
 * members at the same places (layout.c). A program that was loaded for kprobe.multi finds its
 * struct bpf_kprobe_multi_link in @link, another one the function's address in orig_ax.
 *
 * When the program is detached, this is who may execute what:
 *
 * - Hooks may be running, and images that call them may be in use. Each holds a reference to the
 *   hook's slot. When the last one has gone, no hook runs and none can come. Then the rethook is
 *   freed, as in ret/rethook.c.
 * - Calls that are inside return by way of the kernel's trampoline. Handlers find no set any
 *   more, or no rethook.
 * - Handlers and hooks that have read the set before run with preemption off, and may still look
 *   up a cookie. The set goes behind a grace period (prog/set.c), and this struct, which holds the
 *   functions' list, behind a later one: hook_released() comes when that of the images is over.
 */
#include <linux/rethook.h>
#include <linux/slab.h>
#include "base/compat.h"
#include "base/ksyms.h"
#include "base/rethook.h"
#include "hooked.h"
#include "layout.h"
#include "multi.h"
#include "prog/runtime.h"

/**
 * struct tramp_hooked - a program at the returns of such functions
 * @entry: the hook, attached to their entries
 * @hook: what runs there
 * @members: the program: @member
 * @member: the same program with a slot of its own
 * @set: the same; NULL once detached
 * @session: it runs at the entry, too
 * @rethook: the kernel's object, with its nodes
 * @multi: where the hook is attached; a reference, since it has the functions
 * @link: see struct tramp_multi
 * @retire: how the struct goes
 */
struct tramp_hooked {
	struct tramp_member entry;
	struct tramp_hook hook;
	struct list_head members;
	struct tramp_member member;
	struct tramp_set __rcu *set;
	bool session;
	struct rethook *rethook;
	struct tramp_multi *multi;
	void *link;
	struct tramp_retire retire;
};

/* A call that is to be seen at its return. */
struct hooked_call {
	struct rethook_node node;
	unsigned long func;
	u64 cookie;		/* the session's */
};

/* For so many functions, but for no more calls at a time than this. */
#define NODES_PER_FUNC	max_t(u32, 10, 2 * num_possible_cpus())
#define MAX_NODES	32768

/* Run the program. Return: what it returned; 0 if it has been missed. */
static notrace u64 run(struct tramp_slot *slot, struct pt_regs *regs, unsigned long func,
		       bool at_return, u64 *cookie)
{
	u64 run_ctx[TRAMP_X86_MAX_RUN_CTX / sizeof(u64)] = {};
	const struct tramp_x86_env *env = &tramp_env;
	unsigned long orig_ax = regs->orig_ax;
	void *ctx = run_ctx;
	u64 ret;

	if (slot->call_flags & TRAMP_X86_CALL_MULTI) {
		*(unsigned long *)(ctx + env->multi_ctx_link) = slot->link;
		*(unsigned long *)(ctx + env->multi_ctx_ip) = func;
		if (env->has_session) {
			*(bool *)(ctx + env->multi_ctx_is_return) = at_return;
			*(u64 **)(ctx + env->multi_ctx_data) = cookie;
		}
	} else {
		((struct bpf_trace_run_ctx *)ctx)->bpf_cookie =
			tramp_funcs_cookie((void *)slot->link, func);
		regs->orig_ax = func;
	}
	ret = tramp_slot_run_in(slot, regs, ctx);
	regs->orig_ax = orig_ax;
	return ret;
}

/* Preemption is off. */
static notrace u64 on_entry(struct pt_regs *regs, struct tramp_hook *hook)
{
	struct tramp_hooked *h = container_of(hook, struct tramp_hooked, hook);
	const struct tramp_set *set = rcu_dereference_raw(h->set);
	unsigned long func = regs->orig_ax;
	struct rethook_node *node;
	u64 cookie = 0;

	if (!set)
		return 0;
	/* As in ret/rethook.c. */
	if (!tramp_cpu_watched()) {
		tramp_set_miss(set);
		return 0;
	}
	if (h->session) {
		regs->orig_ax = 0;	/* as in an image */
		if (run(set->slots[0], regs, func, false, &cookie))
			return 0;
	}
	node = KSYM(rethook_try_get)(h->rethook);
	if (node) {
		container_of(node, struct hooked_call, node)->func = func;
		container_of(node, struct hooked_call, node)->cookie = cookie;
		KSYM(rethook_hook)(node, regs, true);
	} else {
		tramp_set_miss(set);
	}
	return 0;
}

/* Preemption is off. */
static notrace void TRAMP_RETHOOK_HANDLER(on_return, data, regs)
{
	struct hooked_call *call = container_of(node, struct hooked_call, node);
	struct tramp_hooked *h = data;
	const struct tramp_set *set = rcu_dereference_raw(h->set);

	if (!set)
		return;
	if (tramp_cpu_watched())
		run(set->slots[0], regs, call->func, true, &call->cookie);
	else
		tramp_set_miss(set);
}

static void free_struct(struct tramp_retire *r)
{
	struct tramp_hooked *h = container_of(r, struct tramp_hooked, retire);

	if (h->multi)
		tramp_multi_put(h->multi);
	kfree(h->link);
	kfree(h);
}

/* No hook runs, and none can come. */
static void hook_released(struct tramp_hook *hook)
{
	static const struct tramp_retire_ops ops = { .free = free_struct };
	struct tramp_hooked *h = container_of(hook, struct tramp_hooked, hook);

	if (h->rethook)
		KSYM(rethook_free)(h->rethook);
	tramp_retire_add(&h->retire, &ops);
}

/* With its slot, whose last reference frees it. */
static struct tramp_hooked *new_hooked(const struct tramp_member *member, u32 nr)
{
	struct tramp_hooked *h = kzalloc(sizeof(*h), GFP_KERNEL);

	if (!h)
		return NULL;
	INIT_LIST_HEAD(&h->members);
	h->session = member->kind == TRAMP_KIND_KPROBE_SESSION;
	h->hook.func = on_entry;
	h->hook.regs = BIT(offsetof(struct pt_regs, sp) / sizeof(long)) |
		       BIT(offsetof(struct pt_regs, orig_ax) / sizeof(long)) |
		       (h->session ? member->slot->regs : 0);
	h->hook.released = hook_released;
	h->entry.kind = TRAMP_KIND_KPROBE_MULTI;
	h->entry.link_id = member->link_id;
	h->entry.counts = tramp_counts_alloc();
	if (h->entry.counts)
		h->entry.slot = tramp_slot_alloc_hook(&h->hook, h->entry.counts);
	if (!h->entry.slot) {
		tramp_counts_put(h->entry.counts);
		kfree(h);
		return NULL;
	}
	h->rethook = tramp_rethook_alloc(h, on_return, sizeof(struct hooked_call),
					 min_t(u64, (u64)nr * NODES_PER_FUNC, MAX_NODES));
	return h;
}

/* The hook is at no entry any more; @h may be gone after that. */
static void put_hooked(struct tramp_hooked *h)
{
	struct tramp_counts *counts = h->entry.counts;

	tramp_slot_put(h->member.slot);
	tramp_slot_put(h->entry.slot);
	tramp_counts_put(counts);
}

/* The program, as returns run it. */
static int make_set(struct tramp_hooked *h, const struct tramp_member *member,
		    struct tramp_refusal *why)
{
	struct tramp_slot *slot = tramp_slot_clone(member->slot);
	int err;

	if (!slot)
		return tramp_refuse(why, TRAMP_REASON_NO_MEMORY, 0, NULL);
	h->member.slot = slot;
	err = tramp_multi_set_link(slot, &h->multi->funcs, &h->link, why);
	if (err)
		return err;
	list_add(&h->member.node, &h->members);
	return tramp_set_switch(&h->set, &h->members, why);
}

struct tramp_hooked *tramp_hooked_attach(const struct tramp_member *member,
					 struct tramp_funcs *funcs, unsigned long *blamed,
					 struct tramp_refusal *why)
{
	struct tramp_multi_req req = {};
	struct tramp_hooked *h;
	int err = 0;

	lockdep_assert_held(&tramp_mutex);
	h = new_hooked(member, funcs->nr);
	if (!h || !h->rethook)
		err = tramp_refuse(why, TRAMP_REASON_NO_MEMORY, 0, NULL);
	if (!err) {
		swap(req.funcs, *funcs);
		err = tramp_multi_attach(&h->entry, &req.attach, why);
		*blamed = req.blamed;
		tramp_funcs_free(&req.funcs);
	}
	if (!err) {
		/* Hooks that run already find no set, as if they had come before. */
		h->multi = tramp_multi_get(tramp_multi_of(&h->entry));
		err = make_set(h, member, why);
		if (err)
			tramp_multi_detach(&h->entry);
	}
	if (!err)
		return h;
	if (h)
		put_hooked(h);
	return ERR_PTR(err);
}

const struct tramp_funcs *tramp_hooked_funcs(const struct tramp_hooked *hooked)
{
	return &hooked->multi->funcs;
}

u64 tramp_hooked_misses(const struct tramp_hooked *hooked)
{
	u64 hits, misses;

	tramp_counts_sum(hooked->entry.counts, &hits, &misses);
	return misses;
}

void tramp_hooked_detach(struct tramp_hooked *h)
{
	u64 before = tramp_hooked_misses(h);

	lockdep_assert_held(&tramp_mutex);
	tramp_set_clear(&h->set);
	/* First: whoever asks while that drops the mutex finds them in the hook no more. */
	tramp_counts_add_misses(h->member.slot->counts, before);
	tramp_multi_detach(&h->entry);
	tramp_counts_add_misses(h->member.slot->counts, tramp_hooked_misses(h) - before);
	put_hooked(h);
}
