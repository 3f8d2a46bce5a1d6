// SPDX-License-Identifier: GPL-2.0
/*
 * Sites in mode FTRACE_OPS: entry programs run from an ordinary ftrace callback, since another
 * direct caller (the kernel's own BPF trampoline, say) is at the function. Slower than an
 * image, and as right: same context, same guards, same counts.
 *
 * The callback runs with preemption off (it takes ftrace's recursion lock, which turns it
 * off) and reads the set once (prog/set.c has why that is safe). The ops itself keeps
 * FTRACE_OPS_FL_DYNAMIC, so ftrace waits for its users before unregistering returns.
 *
 * Not here: sleepable programs, and anything on PREEMPT_RT, where a program may take sleeping
 * locks and preemption must be on.
 */
#include <linux/slab.h>
#include "base/compat.h"
#include "base/ksyms.h"
#include "callback.h"
#include "prog/runtime.h"

/* A site, and the facts from which the callback makes the arguments. */
struct callback_site {
	struct tramp_site site;		/* first: ftrace/site.c frees it */
	unsigned long func;
	struct tramp_x86_model model;
};

/* ctx[-2] and ctx[-1], the slots, and a return value that is always 0 here. */
struct ops_ctx {
	u64 ip;
	u64 nr_slots;
	u64 slots[TRAMP_X86_MAX_SLOTS + 1];
};

bool tramp_ops_possible(const struct tramp_slot *slot)
{
	return !(slot->call_flags & TRAMP_X86_CALL_GUARDED);
}

/*
 * The argument slots from the registers at the function's entry: register by
 * register while an argument fits, from the stack otherwise (System V AMD64 ABI,
 * 3.2.3; see struct tramp_x86_model).
 */
static notrace void fill_slots(struct ops_ctx *ctx, const struct callback_site *site,
			       struct pt_regs *regs)
{
	const struct tramp_x86_model *m = &site->model;
	const u64 reg[6] = { regs->di, regs->si, regs->dx, regs->cx, regs->r8, regs->r9 };
	const u64 *stack = (const u64 *)regs->sp + 1;	/* behind the return address */
	u32 i, n, used = 0, out = 0, on_stack = 0;
	u64 *last = NULL;

	for (i = 0; i < m->nr_args; i++) {
		n = m->arg_size[i] > 8 ? 2 : 1;
		if (used + n <= 6) {
			while (n--)
				ctx->slots[out++] = reg[used++];
		} else {
			last = &ctx->slots[out];
			while (n--)
				ctx->slots[out++] = stack[on_stack++];
		}
	}
	/* A lone small argument may leave garbage above it; images clear it, too. */
	if (on_stack == 1 && m->arg_size[m->nr_args - 1] <= 4)
		*last = (u32)*last;
	ctx->slots[out] = 0;
	ctx->nr_slots = out;
	ctx->ip = site->func;
}

static notrace void ops_hit(unsigned long ip, unsigned long parent_ip, struct ftrace_ops *ops,
			    struct ftrace_regs *fregs)
{
	struct callback_site *site = container_of(ops, struct callback_site, site.ops);
	struct pt_regs *regs = ftrace_get_regs(fregs);
	const struct tramp_set *set;
	struct ops_ctx ctx;
	int bit;

	preempt_disable_notrace();
	set = rcu_dereference_raw(site->site.set);
	bit = ftrace_test_recursion_trylock(ip, parent_ip);
	/* Idle functions: no program runs where RCU does not watch. */
	if (bit < 0 || !regs || !tramp_cpu_watched()) {
		tramp_set_miss(set);
	} else {
		fill_slots(&ctx, site, regs);
		tramp_set_run(set, ctx.slots);
	}
	if (bit >= 0)
		ftrace_test_recursion_unlock(bit);
	preempt_enable_notrace();
}

int tramp_ops_attach(const struct tramp_func_facts *func, const struct list_head *members,
		     struct tramp_site **out, struct tramp_refusal *why)
{
	struct tramp_site *site = tramp_site_alloc(func->site, sizeof(struct callback_site), why);
	struct callback_site *full = container_of(site, struct callback_site, site);
	int err;

	lockdep_assert_held(&tramp_mutex);
	if (IS_ERR(site))
		return PTR_ERR(site);
	full->func = func->addr;
	full->model = func->model;
	site->ops.func = ops_hit;
	site->ops.flags |= FTRACE_OPS_FL_SAVE_REGS | FTRACE_OPS_FL_PERMANENT;
	err = tramp_set_switch(&site->set, members, why);
	if (err) {
		tramp_site_free(site);
		return err;
	}
	err = register_ftrace_function(&site->ops);
	if (!err) {
		*out = site;
		return 0;
	}
	/*
	 * The callback may have been reachable for a moment. If ftrace has shut down meanwhile, a
	 * call of it may be there for ever.
	 */
	if (err == -ENODEV)
		__module_get(THIS_MODULE);
	else
		tramp_site_retire(site);
	return tramp_site_error(err, func->site, why);
}
