// SPDX-License-Identifier: GPL-2.0
/*
 * Slots and counters (slot.h), and what a program uses of its context.
 */
#include <linux/slab.h>
#include "compat.h"
#include "helpers.h"
#include "ksyms.h"
#include "slot.h"
#include "tramp.h"

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

#define NEEDS_ALL (TRAMP_X86_CALL_COOKIE | TRAMP_X86_CALL_IP | TRAMP_X86_CALL_NARGS)

static bool is_kprobe(const struct bpf_prog *prog)
{
	return prog->type == BPF_PROG_TYPE_KPROBE;
}

/*
 * One function of a program. bpf_get_func_arg*() and bpf_get_func_ret() are
 * inlined by the verifier as loads from ctx-8 (do_misc_fixups()), so a load at
 * offset -8 from anything but the frame pointer may be one. A cookie is read by
 * a call of one helper.
 */
static u32 scan_insns(const struct bpf_insn *insn, u32 len, unsigned long cookie_helper)
{
	u32 i, needs = 0;

	for (i = 0; i < len; i++, insn++) {
		u8 class = BPF_CLASS(insn->code);

		if (class == BPF_LDX && insn->off == -8 && insn->src_reg != BPF_REG_10)
			needs |= TRAMP_X86_CALL_NARGS;
		if (class != BPF_JMP && class != BPF_JMP32)
			continue;
		/* What a tail call reaches is chosen at run time: it may use anything. */
		if (insn->code == (BPF_JMP | BPF_TAIL_CALL))
			return NEEDS_ALL;
		if (insn->code == (BPF_JMP | BPF_CALL) && insn->src_reg == 0 &&
		    (!cookie_helper ||
		     (unsigned long)__bpf_call_base + insn->imm == cookie_helper))
			needs |= TRAMP_X86_CALL_COOKIE;
	}
	return needs;
}

/*
 * What may be left out of the image, since the program provably does not look at
 * it. The interpreter's program and freplace's victims are not looked through:
 * an extension that comes later may use what the original does not.
 */
static u32 scan_prog(const struct bpf_prog *prog)
{
	unsigned long helper = tramp_ksyms.bpf_get_attach_cookie_tracing;
	u32 i, needs = 0;

	if (is_kprobe(prog))
		helper = tramp_ksyms.bpf_get_attach_cookie_trace;

	if (!prog->jited || prog->expected_attach_type == BPF_MODIFY_RETURN)
		return NEEDS_ALL;
	if (prog->call_get_func_ip)
		needs |= TRAMP_X86_CALL_IP;
	needs |= scan_insns(prog->insnsi, prog->len, helper);
	for (i = 0; i < prog->aux->func_cnt && prog->aux->func; i++)
		needs |= scan_insns(prog->aux->func[i]->insnsi, prog->aux->func[i]->len, helper);
	return needs;
}

/*
 * A kprobe program has neither slots nor an address in front of its context, and runs
 * with preemption off on every kernel. bpf_get_func_ip() looks into the run context
 * (from 6.6 on), and whatever a tail call reaches may call it.
 */
static void set_kprobe_flags(struct tramp_slot *slot)
{
	slot->func_ip = slot->call_flags & TRAMP_X86_CALL_IP;
	if (slot->func_ip)
		slot->call_flags |= TRAMP_X86_CALL_COOKIE;
	slot->call_flags &= TRAMP_X86_CALL_COOKIE;
}

struct tramp_slot *tramp_slot_alloc(struct bpf_prog *prog, struct tramp_counts *counts,
				    u64 cookie)
{
	struct tramp_slot *slot = kzalloc(sizeof(*slot), GFP_KERNEL);

	if (!slot)
		return NULL;
	refcount_set(&slot->ref, 1);
	slot->cookie = cookie;
	if (prog) {
		bpf_prog_inc(prog);
		slot->prog = prog;
		slot->call_flags = scan_prog(prog);
		if (is_kprobe(prog)) {
			set_kprobe_flags(slot);
		} else if (!tramp_inline_guards() || tramp_prog_sleepable(prog)) {
			/* On PREEMPT_RT any program may block on a lock: count those, too. */
			slot->call_flags |= TRAMP_X86_CALL_GUARDED |
					    TRAMP_X86_CALL_SLEEPABLE;
		}
	}
	refcount_inc(&counts->ref);
	slot->counts = counts;
	return slot;
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
	if (slot->prog)
		bpf_prog_put(slot->prog);
	tramp_counts_put(slot->counts);
	kfree(slot);
}

void tramp_slot_call(struct tramp_slot *slot, struct tramp_x86_call *call)
{
	struct bpf_prog *prog = slot->prog;

	*call = (struct tramp_x86_call) {
		.func = (unsigned long)prog->bpf_func,
		.insns = prog->jited ? 0 : (unsigned long)prog->insnsi,
		.flags = slot->call_flags,
		.prog = (unsigned long)prog,
		.missed_arg = (unsigned long)slot,
		.active = (unsigned long)prog->active,
		.hits = (unsigned long)&slot->counts->pcpu->hits,
		.cookie = slot->cookie,
	};
	/* Maps rely on it: syscalls hold it up while they have locks of theirs. */
	if (is_kprobe(prog))
		call->active = tramp_ksyms.bpf_prog_active;
	if (slot->call_flags & TRAMP_X86_CALL_GUARDED) {
		call->enter = (unsigned long)KSYM(bpf_trampoline_enter)(prog);
		call->exit = (unsigned long)KSYM(bpf_trampoline_exit)(prog);
	}
}
