// SPDX-License-Identifier: GPL-2.0
/*
 * Where the instructions of a hit go.
 *
 * The image and the programs are read as they are in memory and walked along the path of an
 * ordinary hit. Conditional jumps are not taken: they lead to cold code (misses, statistics,
 * rescheduling). Calls of programs are entered, other calls are stepped over. Each instruction
 * An image of many functions may call the original by a return, and takes two branches of its
 * own (note_many()). Each instruction on that path is executed once a hit, so its count can be
 * held against the measured figure. The rest was spent in functions outside. For images of ours
 * with nothing to call there must be no rest.
 *
 * The parts:
 *   program	the programs' own instructions
 *   guard	in our images: from the increment of the preemption count to its decrement and
 *		the jump behind it. Of probes: from the addition of an NMI to its subtraction.
 *		The programs are not in it; recursion counters, hit counters, statistics and the
 *		calls are
 *   image	all others of the image: saving, restoring, calling the original
 *   elsewhere	what was measured less these: enter and exit functions of the kernel,
 *		helpers, trap handling, ftrace
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <Zydis/Zydis.h>
#include "bench.h"

/* No path is longer; more means that the walk went astray. */
#define MAX_STEPS	20000
#define CHUNK		4096

struct code {
	uint64_t addr;
	size_t len;
	uint8_t bytes[CHUNK * 4];
};

struct walk {
	struct bench_parts *parts;
	const struct bench_att *a;
	unsigned int nr;
	ZydisDecoder decoder;
	unsigned int steps;
	int depth;		/* preemption count, as the image changes it */
	bool closing;		/* it has just become 0 */
	uint64_t back;		/* in r10: where the next return leads to, 0: out */
	bool asked;		/* the last instruction compared memory outside of the guard */
};

static bool decode(struct walk *w, const struct code *c, uint64_t pc, ZydisDecodedInstruction *insn,
		   ZydisDecodedOperand *ops)
{
	if (pc < c->addr || pc >= c->addr + c->len || ++w->steps > MAX_STEPS)
		return false;
	return ZYAN_SUCCESS(ZydisDecoderDecodeFull(&w->decoder, c->bytes + (pc - c->addr),
						   c->len - (pc - c->addr), insn, ops));
}

static bool branch_target(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *ops,
			  uint64_t pc, uint64_t *to)
{
	return ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(insn, &ops[0], pc, to));
}

/* A program's code, whose bounds its info tells. */
static void program_code(int fd, struct code *c)
{
	__u64 addr = 0;
	__u32 func_len = 0;
	struct bpf_prog_info info = {
		.nr_jited_ksyms = 1, .jited_ksyms = (uintptr_t)&addr,
		.nr_jited_func_lens = 1, .jited_func_lens = (uintptr_t)&func_len,
	};
	uint32_t len = sizeof(info);

	REQUIRE(!bpf_obj_get_info_by_fd(fd, &info, &len), "info of a program");
	REQUIRE(addr && func_len && func_len <= sizeof(c->bytes), "a program of %u bytes at %#llx",
		func_len, addr);
	c->addr = addr;
	c->len = func_len;
	kcore_read(addr, c->bytes, func_len);
}

/* The programs have no branches; a helper they call is elsewhere. */
static bool walk_program(struct walk *w, const struct code *c, uint64_t pc)
{
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction insn;

	while (decode(w, c, pc, &insn, ops)) {
		w->parts->program++;
		if (insn.meta.category == ZYDIS_CATEGORY_RET ||
		    insn.mnemonic == ZYDIS_MNEMONIC_JMP)
			return true;
		if (insn.meta.category == ZYDIS_CATEGORY_COND_BR)
			return false;
		pc += insn.length;
	}
	return false;
}

/* Is @to the start of a program? Then walk it. -1: no, 0: went astray, 1: walked. */
static int enter_program(struct walk *w, uint64_t to)
{
	struct code c;
	unsigned int i;

	for (i = 0; i < w->nr; i++) {
		program_code(w->a[i].prog_fd, &c);
		if (to >= c.addr && to < c.addr + c.len)
			return walk_program(w, &c, to);
	}
	return -1;
}

static bool gs_operand(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *ops)
{
	return insn->operand_count_visible && ops[0].type == ZYDIS_OPERAND_TYPE_MEMORY &&
	       ops[0].mem.segment == ZYDIS_REGISTER_GS;
}

/* Is this instruction of an image part of the guard? Follows the preemption count. */
static bool in_guard(struct walk *w, const ZydisDecodedInstruction *insn,
		     const ZydisDecodedOperand *ops)
{
	bool was_open = w->depth > 0;

	if (w->closing && insn->meta.category == ZYDIS_CATEGORY_COND_BR) {
		w->closing = false;
		return true;
	}
	w->closing = false;
	if (gs_operand(insn, ops) && ops[0].size == 32) {
		if (insn->mnemonic == ZYDIS_MNEMONIC_INC || insn->mnemonic == ZYDIS_MNEMONIC_ADD)
			w->depth++;
		if (insn->mnemonic == ZYDIS_MNEMONIC_SUB)
			w->depth--;
		if (insn->mnemonic == ZYDIS_MNEMONIC_DEC && !--w->depth)
			w->closing = true;
	}
	return was_open || w->depth > 0;
}

/*
 * Of an image of many functions: where r10 leads to, and the branches that it takes in its hot
 * part. They are for a function with an ENDBR, and for a session whose entry returned 0.
 */
static void note_many(struct walk *w, const ZydisDecodedInstruction *insn,
		      const ZydisDecodedOperand *ops, uint64_t pc)
{
	uint64_t to;

	if (insn->mnemonic == ZYDIS_MNEMONIC_LEA && ops[0].reg.value == ZYDIS_REGISTER_R10 &&
	    ops[1].mem.base == ZYDIS_REGISTER_RIP &&
	    ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(insn, &ops[1], pc, &to)))
		w->back = to;
	w->asked = !w->depth && insn->mnemonic == ZYDIS_MNEMONIC_CMP &&
		   ops[0].type == ZYDIS_OPERAND_TYPE_MEMORY && !gs_operand(insn, ops);
}

/* Out of the image: into the original that comes back to @pc, or the end of the path. */
static bool comes_back(struct walk *w, uint64_t *pc)
{
	*pc = w->back;
	w->back = 0;
	return *pc;
}

static bool walk_image(struct walk *w, const struct code *c)
{
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction insn;
	uint64_t pc = c->addr, to;
	bool ours = w->a[0].link_id;

	while (decode(w, c, pc, &insn, ops)) {
		if (ours && in_guard(w, &insn, ops))
			w->parts->guard++;
		else
			w->parts->image++;
		if (insn.meta.category == ZYDIS_CATEGORY_RET) {
			if (!comes_back(w, &pc))
				return true;
			continue;
		}
		if (w->asked && insn.mnemonic == ZYDIS_MNEMONIC_JZ &&
		    branch_target(&insn, ops, pc, &to)) {
			w->asked = false;
			pc = to;
			continue;
		}
		if (ours)
			note_many(w, &insn, ops, pc);
		if (insn.mnemonic == ZYDIS_MNEMONIC_CALL && branch_target(&insn, ops, pc, &to) &&
		    !enter_program(w, to))
			return false;
		if (insn.mnemonic == ZYDIS_MNEMONIC_JMP) {
			/* out of the image: a return thunk, or back to the function */
			if (branch_target(&insn, ops, pc, &to) && to >= c->addr &&
			    to < c->addr + c->len)
				pc = to;
			else if (!comes_back(w, &pc))
				return true;
			continue;
		}
		pc += insn.length;
	}
	return false;
}

static bool our_image(uint32_t link_id, struct code *c)
{
	struct tramp_query q = {
		.size = sizeof(q), .link_id = link_id,
		.image = (uintptr_t)c->bytes, .image_len = sizeof(c->bytes),
	};

	REQUIRE(!ioctl(tramp_device(), TRAMP_IOC_QUERY, &q), "the image of link %u: %s", link_id,
		strerror(errno));
	c->addr = q.image_addr;
	c->len = q.image_len;
	return c->addr && c->len;
}

/* The trampoline of the kernel's that the function's entry calls, behind an ENDBR perhaps. */
static bool kernel_image(uint64_t func, struct code *c)
{
	uint8_t site[9], *call = site;
	int32_t rel;

	kcore_read(func, site, sizeof(site));
	if (!memcmp(site, "\xf3\x0f\x1e\xfa", 4))
		call += 4;
	if (*call != 0xe8)
		return false;
	memcpy(&rel, call + 1, 4);
	c->addr = func + (call - site) + 5 + rel;
	c->len = 2 * CHUNK;
	kcore_read(c->addr, c->bytes, c->len);
	return true;
}

bool bench_walk(const struct bench_mech *m, const struct bench_att *a, unsigned int nr,
		int64_t measured, struct bench_parts *parts)
{
	struct walk w = { .parts = parts, .a = a, .nr = nr };
	static struct code image;
	bool has_image;

	*parts = (struct bench_parts){};
	ZydisDecoderInit(&w.decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	has_image = a[0].link_id ? our_image(a[0].link_id, &image) :
				   m->image && kernel_image(a[0].addr, &image);
	if (has_image) {
		if (!walk_image(&w, &image))
			return false;
	} else {
		unsigned int i;

		for (i = 0; i < nr; i++) {
			program_code(a[i].prog_fd, &image);
			if (!walk_program(&w, &image, image.addr))
				return false;
		}
	}
	if (m->mid && m->side == BENCH_OURS)
		/*
		 * The relocated instruction is executed instead of the original, which
		 * the bare call has, too; so the jump back is one more, and a jump that
		 * leads there another.
		 */
		parts->image += (m->jumps ? 1 : 0) - 1;
	parts->elsewhere = measured - (parts->program + parts->guard + parts->image);
	return true;
}
