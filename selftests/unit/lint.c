// SPDX-License-Identifier: GPL-2.0
/*
 * Rules that an image keeps, checked without executing it, see lint.h.
 */
#include "lint.h"

#include <Zydis/Zydis.h>
#include <string.h>

#include "../lib/ktap.h"

/* How many bytes behind the end are looked at. */
#define TAIL	256

struct insn {
	bool start;		/* an instruction starts here */
	bool reached;
	u8 len;
	s32 jump;		/* offset of an internal target, -1 for none */
	bool ends;		/* nothing falls through */
};

static struct insn insns[TRAMP_X86_MAX_IMAGE];
static u32 nr_insns;		/* its entries for the image that was checked last */

static bool decode(const struct lint *l, u32 off, ZydisDecodedInstruction *insn,
		   ZydisDecodedOperand *ops)
{
	static ZydisDecoder decoder;
	static bool ready;

	if (!ready) {
		ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
		ready = true;
	}
	return ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, l->code + off, l->size - off,
						   insn, ops));
}

static bool in_copy(const struct lint *l, u32 off)
{
	return off >= l->copy_off && off < l->copy_off + l->copy_len;
}

static bool known_mnemonic(const struct lint *l, ZydisMnemonic m)
{
	switch (m) {
	case ZYDIS_MNEMONIC_CLAC:
		return l->copy_len && l->env->smap;
	case ZYDIS_MNEMONIC_CLD:
	case ZYDIS_MNEMONIC_CLI:
	case ZYDIS_MNEMONIC_POPFQ:
		return l->copy_len;
	case ZYDIS_MNEMONIC_PUSHFQ:
		return l->copy_len || l->kprobes;
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_CALL:
	case ZYDIS_MNEMONIC_CMP:
	case ZYDIS_MNEMONIC_DEC:
	case ZYDIS_MNEMONIC_INC:
	case ZYDIS_MNEMONIC_INT3:
	case ZYDIS_MNEMONIC_JMP:
	case ZYDIS_MNEMONIC_JNZ:
	case ZYDIS_MNEMONIC_JZ:
	case ZYDIS_MNEMONIC_LEA:
	case ZYDIS_MNEMONIC_LEAVE:
	case ZYDIS_MNEMONIC_MOV:
	case ZYDIS_MNEMONIC_NOP:
	case ZYDIS_MNEMONIC_OR:
	case ZYDIS_MNEMONIC_POP:
	case ZYDIS_MNEMONIC_PUSH:
	case ZYDIS_MNEMONIC_RET:
	case ZYDIS_MNEMONIC_SAR:
	case ZYDIS_MNEMONIC_SUB:
	case ZYDIS_MNEMONIC_TEST:
		return true;
	default:
		return false;
	}
}

/* An address outside of the image that may be called. */
static bool known_callee(const struct lint *l, u64 addr)
{
	const struct tramp_x86_env *e = l->env;
	u32 i;

	for (i = 0; i < l->nr; i++) {
		bool guarded = l->calls[i].flags & TRAMP_X86_CALL_GUARDED;

		if (addr == l->calls[i].func ||
		    (guarded && (addr == l->calls[i].enter || addr == l->calls[i].exit)))
			return true;
	}
	if (addr == e->missed || (addr == e->rcu_watching && !l->copy_len) ||
	    ((l->many || l->shared) && addr == e->multi_cookie))
		return true;
	if (l->copy_len) {
		if (e->probe_enter && (addr == e->probe_enter || addr == e->probe_exit))
			return true;
	} else if ((e->resched && addr == e->resched) ||
		   (e->rcu_read_lock && (addr == e->rcu_read_lock || addr == e->rcu_read_unlock))) {
		return true;
	}
	if (e->stats_key && (addr == e->stats_enter || addr == e->stats_exit))
		return true;
	return l->orig && addr == l->orig;
}

/* Bits of the per-CPU variable at an offset, 0 if the request has none there. */
static u32 percpu_bits(const struct lint *l, u64 off)
{
	u32 i;

	for (i = 0; i < l->nr; i++) {
		if (off == l->calls[i].active)
			return 32;
		if (off == l->calls[i].hits)
			return 64;
	}
	if (off == l->env->preempt_count)
		return 32;
	if (off == l->env->current_task || (l->counted && off == l->inflight) ||
	    (l->env->has_call_depth && off == l->env->call_depth))
		return 64;
	return 0;
}

static void lint_mem(const struct lint *l, u32 off, const ZydisDecodedOperand *op)
{
	const ZydisDecodedOperandMem *m = &op->mem;

	if (m->base == ZYDIS_REGISTER_RIP) {
		u64 addr = (u64)l->code + off + insns[off].len + (u64)m->disp.value;

		/* where a return is to come back to */
		if (op->mem.type == ZYDIS_MEMOP_TYPE_AGEN && l->many && l->env->no_indirect &&
		    addr > (u64)l->code + off && addr < (u64)l->code + l->size) {
			insns[off].jump = (s32)(addr - (u64)l->code);
			return;
		}
		CHECK(l->env->stats_key && addr == l->env->stats_key,
		      "rip-relative operand at %#x leads to %#lx", off, (long)addr);
	}
	CHECK(m->index == ZYDIS_REGISTER_NONE, "indexed operand at %#x", off);
	if (m->segment == ZYDIS_REGISTER_GS) {
		if (m->base == ZYDIS_REGISTER_NONE)
			CHECK_EQ(percpu_bits(l, (u64)m->disp.value), op->size,
				 "per-CPU operand at %#x is %#lx", off, (long)m->disp.value);
		else
			CHECK(m->base == ZYDIS_REGISTER_RAX, "per-CPU operand at %#x", off);
	} else {
		CHECK(m->base != ZYDIS_REGISTER_NONE, "absolute operand at %#x", off);
	}
}

static void lint_branch(const struct lint *l, u32 off, const ZydisDecodedInstruction *insn,
			const ZydisDecodedOperand *op)
{
	u64 target = (u64)l->code + off + insn->length + (u64)op->imm.value.s;
	bool inside = target >= (u64)l->code && target < (u64)l->code + l->size;

	if (in_copy(l, off)) {
		if (!inside)
			return;
		insns[off].jump = (s32)(target - (u64)l->code);
		CHECK(in_copy(l, insns[off].jump), "branch at %#x leads out of the copy", off);
	} else if (insn->mnemonic == ZYDIS_MNEMONIC_CALL && inside) {
		CHECK(l->shared, "call at %#x leads into the image", off);
		insns[off].jump = (s32)(target - (u64)l->code);
	} else if (insn->mnemonic == ZYDIS_MNEMONIC_CALL) {
		CHECK(known_callee(l, target), "call at %#x leads to %#lx", off,
		      (long)target);
	} else if (inside) {
		insns[off].jump = (s32)(target - (u64)l->code);
	} else {
		CHECK(insn->mnemonic == ZYDIS_MNEMONIC_JMP && l->env->return_thunk &&
		      target == l->env->return_thunk,
		      "jump at %#x leads to %#lx", off, (long)target);
	}
}

/*
 * Copied or not: where there are thunks, nothing returns or jumps through a register itself. Only
 * what was a plain return stays one where the thunk counts returns.
 */
static void lint_thunks(const struct lint *l, u32 off, const ZydisDecodedInstruction *insn,
			const ZydisDecodedOperand *op)
{
	bool branch = insn->mnemonic == ZYDIS_MNEMONIC_JMP || insn->mnemonic == ZYDIS_MNEMONIC_CALL;

	CHECK(!l->env->return_thunk || (l->env->has_call_depth && in_copy(l, off)) ||
	      insn->mnemonic != ZYDIS_MNEMONIC_RET,
	      "a plain return at %#x", off);
	if (!l->copy_len)
		CHECK((l->many && l->counted && !l->env->no_indirect &&
		       insn->mnemonic == ZYDIS_MNEMONIC_CALL) ||
		      !branch || op->type == ZYDIS_OPERAND_TYPE_IMMEDIATE,
		      "an indirect branch at %#x", off);
	CHECK(!l->env->has_indirect_thunks || !branch || op->type == ZYDIS_OPERAND_TYPE_IMMEDIATE,
	      "a plain indirect branch at %#x", off);
}

static bool lint_decode(const struct lint *l)
{
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction insn;
	u32 off, i;

	for (off = 0; off < l->size; off += insn.length) {
		if (!CHECK(decode(l, off, &insn, ops), "no instruction at %#x", off))
			return false;
		CHECK(in_copy(l, off) || known_mnemonic(l, insn.mnemonic), "%s at %#x",
		      ZydisMnemonicGetString(insn.mnemonic), off);
		lint_thunks(l, off, &insn, &ops[0]);
		insns[off] = (struct insn){ .start = true, .len = insn.length, .jump = -1 };
		insns[off].ends = insn.mnemonic == ZYDIS_MNEMONIC_JMP ||
				  insn.mnemonic == ZYDIS_MNEMONIC_RET ||
				  insn.mnemonic == ZYDIS_MNEMONIC_INT3;
		for (i = 0; i < insn.operand_count_visible; i++) {
			if (insn.mnemonic == ZYDIS_MNEMONIC_NOP)
				continue;	/* its operand is not used */
			if (ops[i].type == ZYDIS_OPERAND_TYPE_MEMORY && !in_copy(l, off))
				lint_mem(l, off, &ops[i]);
			else if (ops[i].type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
				 ops[i].imm.is_relative)
				lint_branch(l, off, &insn, &ops[i]);
		}
	}
	return true;
}

/*
 * Follow every path from the entry. Paths only grow at jumps, so repeating
 * until nothing changes takes as many rounds as there are jumps backwards.
 */
static void lint_reach(const struct lint *l)
{
	bool changed = true;
	u32 off;

	insns[0].reached = true;
	while (changed) {
		changed = false;
		for (off = 0; off < l->size; off += insns[off].len) {
			const struct insn *i = &insns[off];
			u32 next = off + i->len;

			if (!i->reached)
				continue;
			if (i->jump >= 0 && !insns[i->jump].reached) {
				insns[i->jump].reached = true;
				changed = true;
			}
			if (!i->ends && next < l->size)
				insns[next].reached = true;
		}
	}
	for (off = 0; off < l->size; off += insns[off].len) {
		const struct insn *i = &insns[off];

		CHECK(i->reached || l->code[off] == 0xcc, "the code at %#x is never reached", off);
		CHECK(i->jump < 0 || insns[i->jump].start,
		      "jump at %#x leads into the middle of an instruction", off);
		CHECK(i->ends || off + i->len < l->size, "the end falls through at %#x", off);
	}
}

/* A near call of the program stands at call_off[@at]. */
static bool is_call_of(const struct lint *l, u32 at, u64 func)
{
	u32 off = l->call_off[at], rel;

	if (off + 5 > l->size || !insns[off].start || l->code[off] != 0xe8)
		return false;
	memcpy(&rel, l->code + off + 1, 4);
	return (u64)l->code + off + 5 + (s32)rel == func;
}

static void lint_calls(const struct lint *l)
{
	u32 i;

	for (i = 0; i < l->nr; i++) {
		bool timed = l->env->stats_key && !(l->calls[i].flags & TRAMP_X86_CALL_GUARDED);

		CHECK(is_call_of(l, 2 * i, l->calls[i].func), "call_off[%u] %u", 2 * i,
		      l->call_off[2 * i]);
		if (timed)
			CHECK(is_call_of(l, 2 * i + 1, l->calls[i].func), "call_off[%u] %u",
			      2 * i + 1, l->call_off[2 * i + 1]);
		else
			CHECK_EQ(l->call_off[2 * i + 1], 0, "call_off[%u]", 2 * i + 1);
	}
}

/*
 * The programs of a probe: interrupts off behind the saved flags, an NMI counted in front of
 * the first branch or call. Behind the last one the NMI is taken away, and the flags are
 * restored.
 */
static void lint_probe(const struct lint *l)
{
	enum { SAVED = 1, OFF, COUNTED, TAKEN_AWAY, RESTORED } state = 0;
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction insn;
	u32 off;

	for (off = 0; off < l->copy_off; off += insn.length) {
		bool gs;

		if (!decode(l, off, &insn, ops))
			return;
		gs = ops[0].type == ZYDIS_OPERAND_TYPE_MEMORY &&
		     ops[0].mem.segment == ZYDIS_REGISTER_GS;
		if (insn.mnemonic == ZYDIS_MNEMONIC_PUSHFQ && state <= SAVED) {
			state = SAVED;
		} else if (insn.mnemonic == ZYDIS_MNEMONIC_CLI) {
			CHECK_EQ(state, SAVED, "cli at %#x", off);
			state = OFF;
		} else if (insn.mnemonic == ZYDIS_MNEMONIC_ADD && gs) {
			CHECK(state == OFF && ops[1].imm.value.s == l->env->nmi_count,
			      "add at %#x", off);
			state = COUNTED;
		} else if (insn.mnemonic == ZYDIS_MNEMONIC_SUB && gs) {
			CHECK(state == COUNTED && ops[1].imm.value.s == l->env->nmi_count,
			      "sub at %#x", off);
			state = TAKEN_AWAY;
		} else if (insn.mnemonic == ZYDIS_MNEMONIC_POPFQ) {
			CHECK_EQ(state, TAKEN_AWAY, "popfq at %#x", off);
			state = RESTORED;
		} else if (insn.meta.branch_type != ZYDIS_BRANCH_TYPE_NONE) {
			CHECK_EQ(state, COUNTED, "%s at %#x", ZydisMnemonicGetString(insn.mnemonic),
				 off);
		}
	}
	CHECK_EQ(state, RESTORED, "the end of the programs");
}

/* None may be among the bytes of another instruction: it is as good for a forged pointer. */
static void lint_endbr(const struct lint *l)
{
	u32 off;

	for (off = 0; off + 4 <= l->size; off++)
		CHECK(in_copy(l, off) || memcmp(l->code + off, "\xf3\x0f\x1e", 3) ||
		      (l->code[off + 3] | 1) != 0xfb, "an ENDBR at %#x", off);
}

bool lint_image(const struct lint *l)
{
	unsigned int failures = ktap_failures();
	u32 i;

	nr_insns = 0;
	if (!CHECK(l->size && l->size + TAIL <= TRAMP_X86_MAX_IMAGE, "size %u", l->size))
		return false;
	memset(insns, 0, sizeof(insns[0]) * l->size);
	nr_insns = l->size;
	if (!lint_decode(l))
		return false;
	lint_reach(l);
	lint_calls(l);
	lint_endbr(l);
	if (l->copy_len && l->nr)
		lint_probe(l);
	for (i = 0; i < TAIL; i++)
		CHECK(l->code[l->size + i] == 0xcc, "byte %u behind the end", i);
	return ktap_failures() == failures;
}

bool lint_starts(u32 off)
{
	return off < nr_insns && insns[off].start;
}

u32 lint_path(void)
{
	u32 off = 0, nr = 1;

	for (; !insns[off].ends || insns[off].jump == (s32)(off + insns[off].len); nr++)
		off += insns[off].len;
	return nr;
}

void lint_show(const struct lint *l)
{
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction insn;
	ZydisFormatter formatter;
	char text[96];
	u32 off;

	ZydisFormatterInit(&formatter, ZYDIS_FORMATTER_STYLE_ATT);
	for (off = 0; off < l->size; off += insn.length) {
		if (!decode(l, off, &insn, ops)) {
			ktap_note("%5x: (bad)", off);
			return;
		}
		ZydisFormatterFormatInstruction(&formatter, &insn, ops, insn.operand_count_visible,
						text, sizeof(text), (u64)l->code + off, NULL);
		ktap_note("%5x: %s", off, text);
	}
}
