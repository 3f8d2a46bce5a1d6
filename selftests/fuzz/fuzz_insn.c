// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzz target: any bytes, decoded, classified, and relocated from any address to any
 * other.
 *
 * Input: mode and address of the original (9 bytes), mode and address of the copy (9), a length
 * for a buffer that is too short (1), then the instruction. The upper three bits of the length
 * say whether there are thunks for returns and for indirect branches, and whether calls are
 * counted.
 */
#include "../../kernel/x86/fentry_image.h"
#include "../../kernel/x86/relocate.h"
#include "fuzz.h"
#include "opinion.h"

struct job {
	struct tramp_x86_insn insn;
	enum tramp_x86_kind kind;
	u64 ip, addr;
	struct tramp_x86_env env;
	enum tramp_x86_reloc err;	/* measured */
	u32 size;
	u8 *copy;			/* at @addr */
};

/* The parts of the instruction fit together, and follow from its bytes alone. */
static void check_decoded(const u8 *code, u32 avail, const struct tramp_x86_insn *insn)
{
	struct tramp_x86_insn again;
	u8 *alone;
	u32 start;

	FUZZ_CHECK(insn->len >= 1 && insn->len <= avail && insn->len <= TRAMP_X86_MAX_INSN);
	FUZZ_CHECK(!memcmp(insn->bytes, code, insn->len));
	FUZZ_CHECK(insn->opcode_off < insn->len);
	FUZZ_CHECK(insn->opcode == code[insn->opcode_off]);
	FUZZ_CHECK(insn->imm_off + insn->imm_size == insn->len);
	FUZZ_CHECK(insn->disp_off + insn->disp_size <= insn->len);
	if (insn->modrm_off) {
		FUZZ_CHECK(insn->modrm_off == insn->opcode_off + 1);
		FUZZ_CHECK(insn->disp_off > insn->modrm_off);
	} else {
		FUZZ_CHECK(insn->disp_size == 0);
	}
	if (insn->rex) {
		start = insn->opcode_off - (insn->map < 2 ? insn->map : 2);
		FUZZ_CHECK(start && code[start - 1] == insn->rex && !insn->vex);
	}

	alone = fuzz_exact(code, insn->len);
	FUZZ_CHECK(tramp_x86_decode(alone, insn->len, &again));
	FUZZ_CHECK(!memcmp(&again, insn, sizeof(again)));
	fuzz_free(alone, insn->len);
	alone = fuzz_exact(code, insn->len - 1);
	FUZZ_CHECK(!tramp_x86_decode(alone, insn->len - 1, &again));
	fuzz_free(alone, insn->len - 1);
}

/* In reach of the copy; none for rsp. */
static void set_thunks(struct job *j, u32 which)
{
	u32 reg;

	for (reg = 0; reg < 16; reg++)
		j->env.indirect_thunk[reg] = reg == 4 ? 0 : j->addr + 0x10020 + 64 * reg;
	j->env.has_indirect_thunks = which & 1;
	j->env.return_thunk = which & 2 ? j->addr + 0x20020 : 0;
}

/* The number of the register that an indirect branch goes through, or 4. */
static u32 through(const struct job *j)
{
	u8 modrm = j->insn.bytes[j->insn.modrm_off];

	return modrm >> 6 == 3 ? (modrm & 7) + 8 * (j->insn.rex & 1) : 4;
}

/* The thunk that its copy has to go to: 0 if none, 1 if there is none that would do. */
static u64 thunk_for(const struct job *j)
{
	if (j->kind == TRAMP_X86_RET && j->env.return_thunk && !j->env.has_call_depth)
		return j->insn.opcode == 0xc3 ? j->env.return_thunk : 1;
	if ((j->kind == TRAMP_X86_JMP_IND || j->kind == TRAMP_X86_CALL_IND) &&
	    j->env.has_indirect_thunks)
		return through(j) == 4 ? 1 : j->env.indirect_thunk[through(j)];
	return 0;
}

/* The only address in the instruction that depends on where it stands. */
static bool refers_to(const struct job *j, u64 *target)
{
	switch (j->kind) {
	case TRAMP_X86_JMP:
	case TRAMP_X86_JCC:
	case TRAMP_X86_LOOP:
	case TRAMP_X86_CALL:
		*target = tramp_x86_branch_target(&j->insn, j->ip);
		return true;
	default:
		*target = thunk_for(j);
		if (*target)
			return true;
		*target = j->ip + j->insn.len + (u64)(s64)tramp_x86_disp(&j->insn);
		return tramp_x86_rip_relative(&j->insn) && !(j->insn.prefixes & TRAMP_X86_PFX_67);
	}
}

static bool is_call(const struct job *j)
{
	return j->kind == TRAMP_X86_CALL || j->kind == TRAMP_X86_CALL_IND;
}

/* Bytes of the jump through memory that a call becomes whose operand is a slot further up. */
static u32 moved_up_len(const struct job *j)
{
	s64 disp = (s64)tramp_x86_disp(&j->insn) + 8;
	bool is_short = j->insn.disp_size < 4 && disp == (s8)disp;

	return j->insn.len - j->insn.disp_size + (is_short ? 1 : 4);
}

/*
 * A call through rsp, or through memory just below it, where the call's own push goes. (With an
 * index nobody can tell where.) Or its operand cannot be told a slot further up.
 */
static bool needs_rsp(const struct job *j)
{
	const u8 *p = j->insn.bytes + j->insn.modrm_off;
	s32 disp = tramp_x86_disp(&j->insn);

	if (j->kind != TRAMP_X86_CALL_IND || j->insn.rex & 1 || (p[0] & 7) != 4)
		return false;
	if (p[0] >> 6 == 3)
		return true;
	if (j->env.has_indirect_thunks || (p[1] & 7) != 4)
		return false;
	if ((p[1] >> 3 & 7) == 4 && !(j->insn.rex & 2) && disp > -16 && disp < 0)
		return true;
	return disp > 0x7fffffff - 8 || moved_up_len(j) > TRAMP_X86_MAX_INSN;
}

/* By relocate.h; without a look at reach. */
static enum tramp_x86_reloc expected(const struct job *j)
{
	if (j->kind == TRAMP_X86_FIXED)
		return TRAMP_X86_RELOC_FIXED;
	if (is_call(j) && !tasm_fits_s32((s64)(j->ip + j->insn.len)))
		return TRAMP_X86_RELOC_RETURN;
	if (needs_rsp(j))
		return TRAMP_X86_RELOC_RSP;
	return thunk_for(j) == 1 ? TRAMP_X86_RELOC_FIXED : TRAMP_X86_RELOC_OK;
}

static void measure(struct job *j)
{
	struct tasm a = { 0 };

	j->err = tramp_x86_relocate(&a, &j->insn, j->ip, &j->env);
	j->size = a.off;
	FUZZ_CHECK(!a.overflow && !a.out_of_reach);
	FUZZ_CHECK(j->err == expected(j));
	FUZZ_CHECK(j->size <= TRAMP_X86_MAX_RELOCATED);
	FUZZ_CHECK(!j->size == (j->err != TRAMP_X86_RELOC_OK));
}

/* Into a buffer of exactly that length. */
static bool emit(struct job *j, u32 len)
{
	u8 *buf = malloc(len ? len : 1);
	struct tasm a = { .buf = buf, .len = len, .addr = j->addr };
	enum tramp_x86_reloc err;
	u64 target;
	bool far;

	FUZZ_CHECK(buf);
	err = tramp_x86_relocate(&a, &j->insn, j->ip, &j->env);
	FUZZ_CHECK(a.off == j->size);
	FUZZ_CHECK(a.overflow == (len < j->size));
	far = j->err == TRAMP_X86_RELOC_OK && j->addr && refers_to(j, &target) &&
	      !tasm_fits_s32((s64)(target - (j->addr + j->size)));
	FUZZ_CHECK(a.out_of_reach == far);
	FUZZ_CHECK(err == (far ? TRAMP_X86_RELOC_REACH : j->err));
	j->copy = buf;
	return err == TRAMP_X86_RELOC_OK;
}

/* The next instruction of the copy. */
static struct tramp_x86_insn next(const struct job *j, u32 *off)
{
	struct tramp_x86_insn insn;

	FUZZ_CHECK(tramp_x86_decode(j->copy + *off, j->size - *off, &insn));
	opinion_check(&insn, j->addr + *off);
	*off += insn.len;
	return insn;
}

/* A jmp rel32 that leads to where the original does. */
static void check_jmp(const struct job *j, u32 *off)
{
	u64 at = j->addr + *off;
	struct tramp_x86_insn jmp = next(j, off);

	FUZZ_CHECK(tramp_x86_classify(&jmp) == TRAMP_X86_JMP && jmp.imm_size == 4);
	FUZZ_CHECK(tramp_x86_branch_target(&jmp, at) == tramp_x86_branch_target(&j->insn, j->ip));
}

/* A jmp rel32 that leads to a thunk. */
static void check_thunk(const struct job *j, u32 *off)
{
	u64 at = j->addr + *off;
	struct tramp_x86_insn jmp = next(j, off);

	FUZZ_CHECK(tramp_x86_classify(&jmp) == TRAMP_X86_JMP && jmp.len == 5);
	FUZZ_CHECK(tramp_x86_branch_target(&jmp, at) == thunk_for(j));
}

static void check_push(const struct job *j, u32 *off)
{
	struct tramp_x86_insn push = next(j, off);
	s32 imm;

	if (j->env.has_call_depth) {
		FUZZ_CHECK(tramp_x86_classify(&push) == TRAMP_X86_CALL);
		FUZZ_CHECK(next(j, off).opcode == 0xcc);
		FUZZ_CHECK(tramp_x86_branch_target(&push, 0) == *off);
		push = next(j, off);
		FUZZ_CHECK(push.len == 8 && !memcmp(push.bytes, "\x48\xc7\x04\x24", 4));
	} else {
		FUZZ_CHECK(push.opcode == 0x68 && push.map == 0 && push.imm_size == 4);
	}
	memcpy(&imm, push.bytes + push.imm_off, 4);
	FUZZ_CHECK((u64)(s64)imm == j->ip + j->insn.len);
}

/* The address of a rip-relative operand, as far as the processor computes it. */
static u64 operand(const struct tramp_x86_insn *insn, u64 ip)
{
	u64 addr = ip + insn->len + (u64)(s64)tramp_x86_disp(insn);

	return insn->prefixes & TRAMP_X86_PFX_67 ? (u32)addr : addr;
}

/*
 * The same instruction but for a displacement. Brought back to where it came from
 * it has its old bytes again.
 */
static void check_same(const struct job *j, u32 *off)
{
	u64 at = j->addr + *off;
	struct tramp_x86_insn same = next(j, off);
	u8 back[TRAMP_X86_MAX_RELOCATED];
	struct tasm a = { .buf = back, .len = sizeof(back), .addr = j->ip };

	FUZZ_CHECK(same.len == j->insn.len);
	FUZZ_CHECK(tramp_x86_rip_relative(&same) == tramp_x86_rip_relative(&j->insn));
	if (tramp_x86_rip_relative(&same))
		FUZZ_CHECK(operand(&same, at) == operand(&j->insn, j->ip));
	else
		FUZZ_CHECK(!memcmp(same.bytes, j->insn.bytes, same.len));
	if (!j->ip)
		return;		/* which would mean "not known yet" */
	FUZZ_CHECK(tramp_x86_relocate(&a, &same, at, &j->env) == TRAMP_X86_RELOC_OK);
	FUZZ_CHECK(a.off == j->insn.len && !memcmp(back, j->insn.bytes, a.off));
}

/* A jmp through what is the call's operand after a push. */
static void check_jmp_ind(const struct job *j, u32 *off)
{
	const struct tramp_x86_insn *call = &j->insn;
	u64 at = j->addr + *off;
	struct tramp_x86_insn jmp = next(j, off);
	u8 modrm = call->bytes[call->modrm_off];
	bool mem = modrm >> 6 != 3, has_sib = mem && (modrm & 7) == 4;
	u8 sib = has_sib ? call->bytes[call->modrm_off + 1] : 0;
	bool rsp = !(call->rex & 1) && (has_sib ? (sib & 7) == 4 : modrm == 0xd4);

	FUZZ_CHECK(tramp_x86_classify(&jmp) == TRAMP_X86_JMP_IND);
	FUZZ_CHECK(jmp.prefixes == call->prefixes && jmp.rex == call->rex);
	FUZZ_CHECK(jmp.modrm_off == call->modrm_off);
	FUZZ_CHECK(!memcmp(jmp.bytes, call->bytes, call->modrm_off));
	FUZZ_CHECK((jmp.bytes[jmp.modrm_off] & 7) == (modrm & 7));
	FUZZ_CHECK(!rsp || mem);
	if (tramp_x86_rip_relative(call)) {
		FUZZ_CHECK(operand(&jmp, at) == operand(call, j->ip));
		return;
	}
	FUZZ_CHECK(tramp_x86_disp(&jmp) == (s64)tramp_x86_disp(call) + (rsp ? 8 : 0));
	if (has_sib)
		FUZZ_CHECK(jmp.bytes[jmp.modrm_off + 1] == sib);
	if (!rsp)
		FUZZ_CHECK(jmp.len == call->len && (jmp.bytes[jmp.modrm_off] ^ modrm) == 0x30);
}

static void check_loop(const struct job *j, u32 *off)
{
	struct tramp_x86_insn loop = next(j, off), skip;

	FUZZ_CHECK(tramp_x86_classify(&loop) == TRAMP_X86_LOOP);
	FUZZ_CHECK(loop.opcode == j->insn.opcode);
	FUZZ_CHECK(!((loop.prefixes ^ j->insn.prefixes) & TRAMP_X86_PFX_67));
	FUZZ_CHECK(tramp_x86_branch_target(&loop, 0) == loop.len + 2);
	skip = next(j, off);
	FUZZ_CHECK(tramp_x86_classify(&skip) == TRAMP_X86_JMP);
	FUZZ_CHECK(tramp_x86_branch_target(&skip, loop.len) == j->size);
	check_jmp(j, off);
}

static void check_jcc(const struct job *j, u32 *off)
{
	struct tramp_x86_insn jcc = next(j, off);

	FUZZ_CHECK(tramp_x86_classify(&jcc) == TRAMP_X86_JCC);
	FUZZ_CHECK((jcc.opcode & 0xf) == (j->insn.opcode & 0xf) && jcc.imm_size == 4);
	FUZZ_CHECK(tramp_x86_branch_target(&jcc, j->addr) ==
		   tramp_x86_branch_target(&j->insn, j->ip));
}

static void check_copy(const struct job *j)
{
	u32 off = 0;

	switch (j->kind) {
	case TRAMP_X86_JMP:
		check_jmp(j, &off);
		break;
	case TRAMP_X86_JCC:
		check_jcc(j, &off);
		break;
	case TRAMP_X86_LOOP:
		check_loop(j, &off);
		break;
	case TRAMP_X86_CALL:
		check_push(j, &off);
		check_jmp(j, &off);
		break;
	case TRAMP_X86_CALL_IND:
		check_push(j, &off);
		if (thunk_for(j))
			check_thunk(j, &off);
		else
			check_jmp_ind(j, &off);
		break;
	default:
		if (thunk_for(j))
			check_thunk(j, &off);
		else
			check_same(j, &off);
	}
	FUZZ_CHECK(off == j->size);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct fuzz_input in = { data, size };
	struct job j = { .ip = fuzz_text(&in) };
	u32 avail, too_short;
	u8 *code;

	j.addr = fuzz_near(&in, j.ip);
	too_short = fuzz_take(&in, 1);
	set_thunks(&j, too_short >> 6);
	j.env.has_call_depth = too_short & 0x20;
	avail = in.size < 20 ? in.size : 20;
	code = fuzz_exact(in.data, avail);
	if (tramp_x86_decode(code, avail, &j.insn)) {
		check_decoded(code, avail, &j.insn);
		opinion_check(&j.insn, j.ip);
		j.kind = tramp_x86_classify(&j.insn);
		measure(&j);
		if (emit(&j, j.size) && j.addr)
			check_copy(&j);
		free(j.copy);
		if (j.size) {
			emit(&j, too_short % j.size);
			free(j.copy);
		}
	}
	fuzz_free(code, avail);
	return 0;
}
