// SPDX-License-Identifier: GPL-2.0
/*
 * Slots and counters (slot.h), and what a program uses of its context.
 */
#include <linux/bpf_verifier.h>
#include <linux/slab.h>
#include "base/compat.h"
#include "base/ksyms.h"
#include "base/tramp.h"
#include "runtime.h"
#include "scan.h"
#include "session.h"
#include "slot.h"
#include "x86/detour_image.h"

/* How many hooks have been entered on the CPU. */
static DEFINE_PER_CPU(int, hook_active);

struct tramp_counts *tramp_counts_alloc(void)
{
	struct tramp_counts *counts = kmalloc(sizeof(*counts), GFP_KERNEL);

	if (!counts)
		return NULL;
	counts->pcpu = alloc_percpu(struct tramp_pcpu_counts);
	if (!counts->pcpu) {
		kfree(counts);
		return NULL;
	}
	refcount_set(&counts->ref, 1);
	return counts;
}

void tramp_counts_put(struct tramp_counts *counts)
{
	if (counts && refcount_dec_and_test(&counts->ref)) {
		free_percpu(counts->pcpu);
		kfree(counts);
	}
}

void tramp_counts_add_misses(struct tramp_counts *counts, u64 misses)
{
	this_cpu_add(counts->pcpu->misses, misses);
}

void tramp_counts_sum(const struct tramp_counts *counts, u64 *hits, u64 *misses)
{
	const struct tramp_pcpu_counts *c;
	int cpu;

	*hits = 0;
	*misses = 0;
	for_each_possible_cpu(cpu) {
		c = per_cpu_ptr(counts->pcpu, cpu);
		*hits += READ_ONCE(c->hits);
		*misses += READ_ONCE(c->misses);
	}
}

static bool is_kprobe(const struct bpf_prog *prog)
{
	return prog->type == BPF_PROG_TYPE_KPROBE;
}

/*
 * Extensions (freplace) take the place of a program, or of one of its global functions,
 * without a word to us. They may use more than the program does: members of its context, the
 * cookie. A kprobe program's image leaves unused ones out, so such a program must be, and
 * stay, the code that was looked at.
 *
 * That it stays so: the kernel lets nobody extend a program that is in a prog array
 * (bpf_freplace_check_tgt_prog()), and one that is attached counts as if it were in one.
 *
 * That it is so now: aux->is_extended does not tell, since the kernel clears it when any
 * one of several extensions goes. But the code tells. An extension is a JMP in
 * place of the NOP5 at the entry of the function that it replaces. It is written and taken
 * back under the mutex of that function's trampoline (__bpf_trampoline_link_prog()). From now
 * on the kernel lets nobody write one. A task that asked before holds that mutex until its JMP
 * is written, and bpf_trampoline_get() takes the mutex. So after it no further JMP can come.
 *
 * A program that is extended, or for which this cannot be found out, gets everything and
 * may be extended further. Programs of fmod_ret kind may be extended as well and get
 * everything always; fentry and fexit programs cannot be.
 */
static bool count_as_array_member(struct bpf_prog *prog, int change)
{
#ifdef TRAMP_HAVE_PROG_ARRAY_MEMBER_CNT
	mutex_lock(&prog->aux->ext_mutex);
	prog->aux->prog_array_member_cnt += change;
	mutex_unlock(&prog->aux->ext_mutex);
	return true;
#else
	return false;
#endif
}

/*
 * Wait for whoever is attaching an extension to one of the program's functions. Returns 0,
 * -EOPNOTSUPP where the kernel has no way, -ENOMEM.
 */
static int wait_for_extensions(const struct bpf_prog *prog)
{
	/* All zero: whoever finds the trampoline later fills in what it is for. */
	struct bpf_attach_target_info info = {};
	struct bpf_trampoline *tr;
	u32 i;

	if (!tramp_ksyms.has_bpf_trampoline_get || !tramp_ksyms.has_bpf_trampoline_put)
		return -EOPNOTSUPP;
	for (i = 0; i < prog->aux->func_info_cnt; i++) {
		tr = KSYM(bpf_trampoline_get)(
			bpf_trampoline_compute_key(prog, NULL, prog->aux->func_info[i].type_id),
			&info);
		if (!tr)
			return -ENOMEM;
		KSYM(bpf_trampoline_put)(tr);
	}
	return 0;
}

/*
 * @extended: (out) it is extended now
 * @unextended: (out) it is not, and the kernel keeps it so until count_as_array_member(prog, -1);
 *	false where the kernel has no way to
 *
 * Returns 0 or -ENOMEM.
 */
static int keep_unextended(struct bpf_prog *prog, bool *unextended, bool *extended)
{
	int err;

	*extended = prog->jited && tramp_prog_patched(prog);
	if (!prog->jited || !count_as_array_member(prog, 1))
		return 0;
	err = wait_for_extensions(prog);
	*extended = tramp_prog_patched(prog);
	*unextended = !err && !*extended;
	if (!*unextended)
		count_as_array_member(prog, -1);
	return err == -ENOMEM ? err : 0;
}

/*
 * Find out how much images may leave out for a kprobe program. May sleep. Returns 0 or -ENOMEM.
 *
 * Such a program has neither slots nor an address in front of its context. It runs with
 * preemption off on every kernel. From 6.6 on bpf_get_func_ip() looks into the run context,
 * and whatever a tail call reaches may call it, or what has taken the program's place.
 */
static int look_at_kprobe(struct tramp_slot *slot, struct bpf_prog *prog)
{
	u32 keep = TRAMP_X86_CALL_COOKIE;
	bool extended;
	int err = keep_unextended(prog, &slot->unextended, &extended);

	if (err)
		return err;
	slot->regs = slot->unextended ? tramp_scan_regs(prog) : TRAMP_X86_REGS_ALL;
	slot->func_ip = (slot->call_flags & TRAMP_X86_CALL_IP) || !prog->jited || extended;
	/* An extension that comes later may look into the run context: there has to be one. */
	if (slot->func_ip || !slot->unextended)
		slot->call_flags |= TRAMP_X86_CALL_COOKIE;
	/* One that was loaded for many functions has its own run context, with both in it. */
	if (prog->expected_attach_type) {
		slot->call_flags |= TRAMP_X86_CALL_MULTI;
		keep |= TRAMP_X86_CALL_MULTI | TRAMP_X86_CALL_IP;
	}
	slot->call_flags &= keep;
	return 0;
}

int tramp_slot_refuse_func_ip(const struct tramp_slot *slot, u64 addr, struct tramp_refusal *why)
{
	const struct bpf_prog *prog = slot->prog;
	const char *how = "makes tail calls, and a program that they reach may ask";

	if (prog->call_get_func_ip)
		how = "calls bpf_get_func_ip()";
	else if (!prog->jited)
		how = "is interpreted, and not looked through";
	else if (!slot->unextended)
		how = "is extended (freplace), and the extension may ask";
	return tramp_refuse(why, TRAMP_REASON_FUNC_IP, addr, "%s %s", prog->aux->name, how);
}

struct tramp_slot *tramp_slot_alloc(struct bpf_prog *prog, struct tramp_counts *counts,
				    u64 cookie)
{
	struct tramp_slot *slot = kzalloc(sizeof(*slot), GFP_KERNEL);

	if (!slot)
		return NULL;
	refcount_set(&slot->ref, 1);
	refcount_inc(&counts->ref);
	slot->counts = counts;
	slot->cookie = cookie;
	if (prog) {
		bpf_prog_inc(prog);
		slot->prog = prog;
		slot->call_flags = tramp_scan_flags(prog);
		if (is_kprobe(prog)) {
			if (look_at_kprobe(slot, prog)) {
				tramp_slot_put(slot);
				return NULL;
			}
		} else if (!tramp_inline_guards() || tramp_prog_sleepable(prog)) {
			/* On PREEMPT_RT any program may block on a lock: count those, too. */
			slot->call_flags |= TRAMP_X86_CALL_GUARDED |
					    TRAMP_X86_CALL_SLEEPABLE;
		}
	}
	return slot;
}

struct tramp_slot *tramp_slot_alloc_hook(struct tramp_hook *hook, struct tramp_counts *counts)
{
	struct tramp_slot *slot = tramp_slot_alloc(NULL, counts, 0);

	if (!slot)
		return NULL;
	slot->hook = hook;
	refcount_set(&hook->slots, 1);
	slot->regs = hook->regs;
	return slot;
}

struct tramp_slot *tramp_slot_clone(const struct tramp_slot *slot)
{
	struct tramp_slot *clone = kmemdup(slot, sizeof(*slot), GFP_KERNEL);

	if (!clone)
		return NULL;
	refcount_set(&clone->ref, 1);
	refcount_inc(&clone->counts->ref);
	if (clone->prog)
		bpf_prog_inc(clone->prog);
	if (clone->hook)
		refcount_inc(&clone->hook->slots);
	/* It counts already, so that nobody can extend it meanwhile. */
	if (clone->unextended)
		count_as_array_member(clone->prog, 1);
	return clone;
}

notrace void tramp_slot_run_hook(struct tramp_slot *slot, struct pt_regs *regs)
{
	if (unlikely(this_cpu_inc_return(hook_active) != 1)) {
		tramp_x_missed(slot);
	} else {
		this_cpu_inc(slot->counts->pcpu->hits);
		slot->hook->func(regs, slot->hook);
	}
	this_cpu_dec(hook_active);
}

struct tramp_slot *tramp_slot_get(struct tramp_slot *slot)
{
	refcount_inc(&slot->ref);
	return slot;
}

void tramp_slot_put(struct tramp_slot *slot)
{
	if (!slot || !refcount_dec_and_test(&slot->ref))
		return;
	if (slot->unextended)
		count_as_array_member(slot->prog, -1);
	if (slot->prog)
		bpf_prog_put(slot->prog);
	tramp_counts_put(slot->counts);
	if (slot->hook && refcount_dec_and_test(&slot->hook->slots))
		slot->hook->released(slot->hook);
	if (slot->user)
		slot->user->released(slot->user);
	kfree(slot);
}

static void describe_hook(struct tramp_slot *slot, struct tramp_x86_call *call)
{
	*call = (struct tramp_x86_call) {
		.func = (unsigned long)slot->hook->func,
		.insns = (unsigned long)slot->hook,
		.missed_arg = (unsigned long)slot,
		.active = (unsigned long)&hook_active,
		.hits = (unsigned long)&slot->counts->pcpu->hits,
		.link = slot->link,
	};
}

void tramp_slot_call(struct tramp_slot *slot, struct tramp_x86_call *call)
{
	struct bpf_prog *prog = slot->prog;

	if (slot->hook) {
		describe_hook(slot, call);
		return;
	}
	*call = (struct tramp_x86_call) {
		.func = tramp_prog_entry(prog),
		.insns = prog->jited ? 0 : (unsigned long)prog->insnsi,
		.flags = slot->call_flags,
		.prog = (unsigned long)prog,
		.missed_arg = (unsigned long)slot,
		.hits = (unsigned long)&slot->counts->pcpu->hits,
		.link = slot->link,
	};
	if (slot->session) {
		call->func = (unsigned long)tramp_session_call;
		call->insns = (unsigned long)slot;
	} else {
		call->cookie = slot->cookie;
	}
	/*
	 * Of kprobe programs maps rely on it: syscalls hold it up while they have locks of theirs.
	 * A tracing program shares its own with the kernel's trampolines, which may run it, too.
	 */
	call->active = is_kprobe(prog) ? tramp_ksyms.bpf_prog_active : (unsigned long)prog->active;
	if (slot->call_flags & TRAMP_X86_CALL_GUARDED) {
		call->enter = (unsigned long)KSYM(bpf_trampoline_enter)(prog);
		call->exit = (unsigned long)KSYM(bpf_trampoline_exit)(prog);
	}
}
