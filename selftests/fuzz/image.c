// SPDX-License-Identifier: GPL-2.0
/*
 * Statements that must hold of every image, see image.h.
 */
#include "image.h"

#include "../../kernel/x86/insn.h"

enum { SMALL_CTX = 1, NO_STATS = 2, RCU_LOCKS = 4, CALL_DEPTH = 8, SMAP = 16, FAR_PERCPU = 32,
       RETURN_THUNK = 64, PREEMPT = 128, INDIRECT_THUNKS = 256 };

struct tramp_x86_env fuzz_env(u64 addr, u16 kind, bool far_helpers)
{
	u64 percpu = kind & FAR_PERCPU ? 0x123456789000ULL : 0x31000;
	u64 helpers = addr + (far_helpers ? 0x100000000ULL : 0x100000);

	struct tramp_x86_env env = {
		.preempt_count = percpu,
		.nmi_count = 0x110001,
		.current_task = percpu + 8,
		.task_bpf_ctx = 0xb38,
		.run_ctx_size = kind & SMALL_CTX ? 16 : 64,
		.run_ctx_cookie = 8,
		.run_ctx_saved = kind & SMALL_CTX ? 0 : 48,
		.trace_ctx_size = kind & SMALL_CTX ? 8 : 16,
		.trace_ctx_cookie = kind & SMALL_CTX ? 0 : 8,
		.stats_key = kind & NO_STATS ? 0 : helpers,
		.stats_enter = helpers + 0x100,
		.stats_exit = helpers + 0x200,
		.resched = kind & PREEMPT ? helpers + 0x300 : 0,
		.missed = helpers + 0x400,
		.rcu_read_lock = kind & RCU_LOCKS ? helpers + 0x500 : 0,
		.rcu_read_unlock = kind & RCU_LOCKS ? helpers + 0x600 : 0,
		.probe_enter = kind & RCU_LOCKS ? helpers + 0x800 : 0,
		.probe_exit = kind & RCU_LOCKS ? helpers + 0x900 : 0,
		.return_thunk = kind & RETURN_THUNK ? helpers + 0x700 : 0,
		.call_depth = percpu + 16,
		.has_call_depth = kind & CALL_DEPTH,
		.cs = 0x10,
		.ss = 0x18,
		.smap = kind & SMAP,
		.has_indirect_thunks = kind & INDIRECT_THUNKS,
	};
	u32 reg;

	for (reg = 0; reg < 16; reg++)	/* none for rsp, and one more missing */
		env.indirect_thunk[reg] = reg == 4 || reg == 9 ? 0 : helpers + 0x1020 + 64 * reg;
	return env;
}

struct tramp_x86_call fuzz_program(u64 addr, u32 nr, u32 flags, bool insns, bool shared)
{
	return (struct tramp_x86_call){
		.func = addr + 0x200000 + 0x1000 * nr,
		.insns = insns ? 0xffffc90000001000ULL : 0,
		.flags = flags,
		.prog = 0xffff888000000000ULL + nr,
		.missed_arg = 0xffff888000001000ULL + nr,
		.active = 0x40000 + (shared ? 0 : 8 * (nr + 1)),
		.hits = 0x50000 + 8 * nr,
		.cookie = 0x1122334455667788ULL * nr,
		.enter = addr + 0x180000,
		.exit = addr + 0x180100,
	};
}

static struct tramp_x86_insn insn_at(const struct image *img, u32 off)
{
	struct tramp_x86_insn insn;

	FUZZ_CHECK(off < img->size);
	FUZZ_CHECK(tramp_x86_decode(img->bytes + off, img->size - off, &insn));
	return insn;
}

void image_instructions(struct image *img)
{
	u32 off;

	img->starts = calloc(1, img->size);
	FUZZ_CHECK(img->starts);
	for (off = 0; off < img->size; off += insn_at(img, off).len)
		img->starts[off] = 1;
}

static bool may_be_called(const struct image *img, u64 to)
{
	const struct tramp_x86_env *e = img->env;
	u32 i;

	for (i = 0; i < img->nr; i++) {
		const struct tramp_x86_call *c = &img->calls[i];

		if (to == c->func)
			return true;
		if ((c->flags & TRAMP_X86_CALL_GUARDED) && (to == c->enter || to == c->exit))
			return true;
	}
	return to == e->missed || (e->stats_key && (to == e->stats_enter || to == e->stats_exit)) ||
	       (e->resched && to == e->resched) || (img->orig && to == img->orig) ||
	       (e->rcu_read_lock && (to == e->rcu_read_lock || to == e->rcu_read_unlock)) ||
	       (e->probe_enter && (to == e->probe_enter || to == e->probe_exit));
}

void image_branches(const struct image *img, u32 from, u32 to)
{
	struct tramp_x86_insn insn;
	u32 off;
	u64 dest;

	for (off = 0; off < img->size; off += insn.len) {
		insn = insn_at(img, off);
		if (off >= from && off < to)
			continue;
		dest = tramp_x86_branch_target(&insn, img->addr + off);
		switch (tramp_x86_classify(&insn)) {
		case TRAMP_X86_CALL:
			FUZZ_CHECK(may_be_called(img, dest));
			break;
		case TRAMP_X86_JMP:
			if (img->env->return_thunk && dest == img->env->return_thunk)
				break;
			/* fall through */
		case TRAMP_X86_JCC:
			FUZZ_CHECK(dest - img->addr < img->size && img->starts[dest - img->addr]);
			break;
		case TRAMP_X86_RET:
			FUZZ_CHECK(!img->env->return_thunk);
			break;
		case TRAMP_X86_FIXED:
			FUZZ_CHECK(insn.opcode == 0xcc);
			break;
		default:
			FUZZ_CHECK(tramp_x86_classify(&insn) == TRAMP_X86_PLAIN);
		}
	}
}

void image_calls(const struct image *img, const u32 *call_off)
{
	struct tramp_x86_insn insn;
	u32 i;

	for (i = 0; i < 2 * img->nr; i++) {
		const struct tramp_x86_call *c = &img->calls[i / 2];
		bool timed = img->env->stats_key && !(c->flags & TRAMP_X86_CALL_GUARDED);

		if (i % 2 && !timed) {
			FUZZ_CHECK(!call_off[i]);
			continue;
		}
		insn = insn_at(img, call_off[i]);
		FUZZ_CHECK(img->starts[call_off[i]]);
		FUZZ_CHECK(tramp_x86_classify(&insn) == TRAMP_X86_CALL && insn.len == 5);
		FUZZ_CHECK(tramp_x86_branch_target(&insn, img->addr + call_off[i]) == c->func);
	}
}
