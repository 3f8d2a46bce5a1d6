// SPDX-License-Identifier: GPL-2.0
/*
 * What can be said of an image without executing it, see lint.h.
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

static bool decode(const struct scene *s, u32 off, ZydisDecodedInstruction *insn,
		   ZydisDecodedOperand *ops)
{
	static ZydisDecoder decoder;
	static bool ready;

	if (!ready) {
		ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
		ready = true;
	}
	return ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, s->image + off, s->out.size - off,
						   insn, ops));
}

static bool known_mnemonic(ZydisMnemonic m)
{
	switch (m) {
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
static bool known_callee(const struct scene *s, u64 addr)
{
	const struct tramp_x86_env *e = &s->env;
	u32 i;

	for (i = 0; i < s->nr; i++) {
		bool guarded = s->calls[i].flags & TRAMP_X86_CALL_GUARDED;

		if (addr == s->calls[i].func ||
		    (guarded && (addr == s->calls[i].enter || addr == s->calls[i].exit)))
			return true;
	}
	if (addr == e->missed || (e->resched && addr == e->resched) ||
	    (e->rcu_read_lock && (addr == e->rcu_read_lock || addr == e->rcu_read_unlock)))
		return true;
	if (e->stats_key && (addr == e->stats_enter || addr == e->stats_exit))
		return true;
	return oracle_is_exit(s) && addr == s->req.orig;
}

/* Bits of the per-CPU variable at an offset, 0 if the request has none there. */
static u32 percpu_bits(const struct scene *s, u64 off)
{
	u32 i;

	for (i = 0; i < s->nr; i++) {
		if (off == s->calls[i].active)
			return 32;
		if (off == s->calls[i].hits)
			return 64;
	}
	if (off == s->env.preempt_count)
		return 32;
	if (off == s->env.current_task || (oracle_is_counted(s) && off == s->req.inflight) ||
	    (s->env.has_call_depth && off == s->env.call_depth))
		return 64;
	return 0;
}

static void lint_mem(const struct scene *s, u32 off, const ZydisDecodedOperand *op)
{
	const ZydisDecodedOperandMem *m = &op->mem;

	if (m->base == ZYDIS_REGISTER_RIP) {
		u64 addr = (u64)s->image + off + insns[off].len + (u64)m->disp.value;

		CHECK(s->env.stats_key && addr == s->env.stats_key,
		      "rip-relative operand at %#x leads to %#lx", off, (long)addr);
	}
	CHECK(m->index == ZYDIS_REGISTER_NONE, "indexed operand at %#x", off);
	if (m->segment == ZYDIS_REGISTER_GS) {
		if (m->base == ZYDIS_REGISTER_NONE)
			CHECK_EQ(percpu_bits(s, (u64)m->disp.value), op->size,
				 "per-CPU operand at %#x is %#lx", off, (long)m->disp.value);
		else
			CHECK(m->base == ZYDIS_REGISTER_RAX, "per-CPU operand at %#x", off);
	} else {
		CHECK(m->base != ZYDIS_REGISTER_NONE, "absolute operand at %#x", off);
	}
}

static void lint_branch(const struct scene *s, u32 off, const ZydisDecodedInstruction *insn,
			const ZydisDecodedOperand *op)
{
	u64 target = (u64)s->image + off + insn->length + (u64)op->imm.value.s;
	bool inside = target >= (u64)s->image && target < (u64)s->image + s->out.size;

	if (insn->mnemonic == ZYDIS_MNEMONIC_CALL) {
		CHECK(!inside && known_callee(s, target), "call at %#x leads to %#lx", off,
		      (long)target);
	} else if (inside) {
		insns[off].jump = (s32)(target - (u64)s->image);
	} else {
		CHECK(insn->mnemonic == ZYDIS_MNEMONIC_JMP && s->env.return_thunk &&
		      target == s->env.return_thunk,
		      "jump at %#x leads to %#lx", off, (long)target);
	}
}

static bool lint_decode(const struct scene *s)
{
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction insn;
	u32 off, i;

	for (off = 0; off < s->out.size; off += insn.length) {
		if (!CHECK(decode(s, off, &insn, ops), "no instruction at %#x", off))
			return false;
		CHECK(known_mnemonic(insn.mnemonic), "%s at %#x",
		      ZydisMnemonicGetString(insn.mnemonic), off);
		insns[off] = (struct insn){ .start = true, .len = insn.length, .jump = -1 };
		insns[off].ends = insn.mnemonic == ZYDIS_MNEMONIC_JMP ||
				  insn.mnemonic == ZYDIS_MNEMONIC_RET ||
				  insn.mnemonic == ZYDIS_MNEMONIC_INT3;
		for (i = 0; i < insn.operand_count_visible; i++) {
			if (insn.mnemonic == ZYDIS_MNEMONIC_NOP)
				continue;	/* its operand is not used */
			if (ops[i].type == ZYDIS_OPERAND_TYPE_MEMORY)
				lint_mem(s, off, &ops[i]);
			else if (ops[i].type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
				 ops[i].imm.is_relative)
				lint_branch(s, off, &insn, &ops[i]);
		}
	}
	return true;
}

/*
 * Follow every path from the entry. Paths only grow at jumps, so repeating
 * until nothing changes takes as many rounds as there are jumps backwards.
 */
static void lint_reach(const struct scene *s)
{
	bool changed = true;
	u32 off;

	insns[0].reached = true;
	while (changed) {
		changed = false;
		for (off = 0; off < s->out.size; off += insns[off].len) {
			const struct insn *i = &insns[off];
			u32 next = off + i->len;

			if (!i->reached)
				continue;
			if (i->jump >= 0 && !insns[i->jump].reached) {
				insns[i->jump].reached = true;
				changed = true;
			}
			if (!i->ends && next < s->out.size)
				insns[next].reached = true;
		}
	}
	for (off = 0; off < s->out.size; off += insns[off].len) {
		const struct insn *i = &insns[off];

		CHECK(i->reached || s->image[off] == 0xcc, "the code at %#x is never reached", off);
		CHECK(i->jump < 0 || insns[i->jump].start,
		      "jump at %#x leads into the middle of an instruction", off);
		CHECK(i->ends || off + i->len < s->out.size, "the end falls through at %#x", off);
	}
}

/* A near call of the program stands at call_off[@at]. */
static bool is_call_of(const struct scene *s, u32 at, u64 func)
{
	u32 off = s->call_off[at], rel;

	if (off + 5 > s->out.size || !insns[off].start || s->image[off] != 0xe8)
		return false;
	memcpy(&rel, s->image + off + 1, 4);
	return (u64)s->image + off + 5 + (s32)rel == func;
}

static void lint_out(const struct scene *s)
{
	u32 i, after = s->out.after_call;

	if (oracle_is_exit(s)) {
		u32 rel;

		REQUIRE(after >= 5 && after < s->out.size, "after_call %u", after);
		memcpy(&rel, s->image + after - 4, 4);
		CHECK(insns[after].start && insns[after - 5].start && s->image[after - 5] == 0xe8 &&
		      (u64)s->image + after + (s32)rel == s->req.orig,
		      "after_call %u is not behind the call of the original", after);
	} else {
		CHECK_EQ(after, 0, "after_call of an entry image");
	}
	for (i = 0; i < s->req.nr_fexit; i++) {
		CHECK(s->skip_off[i] < s->out.size && insns[s->skip_off[i]].start &&
		      !memcmp(s->image + s->skip_off[i], "\x0f\x1f\x44\0\0", 5),
		      "skip_off[%u] %u is not a NOP", i, s->skip_off[i]);
		CHECK(s->skip_to[i] < s->out.size && insns[s->skip_to[i]].start,
		      "skip_to[%u] %u is not an instruction", i, s->skip_to[i]);
	}
	for (i = 0; i < s->nr; i++) {
		bool timed = s->env.stats_key && !(s->calls[i].flags & TRAMP_X86_CALL_GUARDED);

		CHECK(is_call_of(s, 2 * i, s->calls[i].func), "call_off[%u] %u", 2 * i,
		      s->call_off[2 * i]);
		if (timed)
			CHECK(is_call_of(s, 2 * i + 1, s->calls[i].func), "call_off[%u] %u",
			      2 * i + 1, s->call_off[2 * i + 1]);
		else
			CHECK_EQ(s->call_off[2 * i + 1], 0, "call_off[%u]", 2 * i + 1);
	}
	for (i = 0; i < TAIL; i++)
		CHECK(s->image[s->out.size + i] == 0xcc, "byte %u behind the end", i);
}

bool lint_scene(const struct scene *s)
{
	unsigned int failures = ktap_failures();

	if (!CHECK(s->out.size && s->out.size + TAIL <= TRAMP_X86_MAX_IMAGE, "size %u",
		   s->out.size))
		return false;
	memset(insns, 0, sizeof(insns[0]) * s->out.size);
	if (!lint_decode(s))
		return false;
	lint_reach(s);
	lint_out(s);
	return ktap_failures() == failures;
}

u32 lint_hot_path(const struct scene *s)
{
	u32 off = 0, nr = 0;

	if (!lint_scene(s))
		return ~0u;
	while (!insns[off].ends) {
		off += insns[off].len;
		nr++;
	}
	return nr + 1;
}

void lint_print(const struct scene *s)
{
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction insn;
	ZydisFormatter formatter;
	char text[96];
	u32 off;

	ZydisFormatterInit(&formatter, ZYDIS_FORMATTER_STYLE_ATT);
	for (off = 0; off < s->out.size; off += insn.length) {
		if (!decode(s, off, &insn, ops)) {
			ktap_note("%5x: (bad)", off);
			return;
		}
		ZydisFormatterFormatInstruction(&formatter, &insn, ops, insn.operand_count_visible,
						text, sizeof(text), (u64)s->image + off, NULL);
		ktap_note("%5x: %s", off, text);
	}
}
