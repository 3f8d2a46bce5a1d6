// SPDX-License-Identifier: GPL-2.0
/*
 * One instruction, made to run at another address. docs/design/instructions.md has what each
 * kind becomes, and why.
 *
 * Most are copied byte by byte. A part that depends on its own address is either a
 * displacement, which is computed anew, or a relative branch, which is written anew in
 * its rel32 form. A call becomes a push of the address it would push and a jump.
 * Flags are never touched on the way, and no register is borrowed.
 *
 * Thunks. In the lower half of a cache line some processors take the target of a return or
 * an indirect branch from another branch (Indirect Target Selection). A copy can come to lie
 * anywhere. So all of them go to the kernel's thunk, which is jumped to: a call has pushed its
 * return address by then. There is none for `ret n` or for memory operands, and no register
 * is free to load one into: these are refused.
 *
 * Call depth tracking. Where the kernel counts calls (at the callee, up to 12), each must make
 * an entry in the return stack buffer, which a push and a jump does not. So a real call makes
 * it, and its return address is replaced. The callee's return is predicted wrongly then, into
 * an int3; those of its callers are not.
 *
 * Two things differ. The oops of an instruction that faults names the copy. If a call's
 * operand cannot be read, its return address is on the stack already.
 */
#include "relocate.h"

#include "fentry_image.h"

#define MODRM_MOD(modrm)	((modrm) >> 6)
#define MODRM_RM(modrm)		((modrm) & 7)
#define SIB_INDEX(sib)		((sib) >> 3 & 7)
#define SIB_BASE(sib)		((sib) & 7)

#define REX_X	0x02
#define REX_B	0x01

#define SLOT	8	/* bytes that a push takes */

static void put_bytes(struct tasm *a, const u8 *bytes, u32 from, u32 to)
{
	for (; from < to; from++)
		tasm_byte(a, bytes[from]);
}

/*
 * The displacement that gives a rip-relative operand the same address as before.
 * With a 67 prefix addresses have 32 bits, and there is nothing out of reach.
 */
static void put_rip_disp(struct tasm *a, const struct tramp_x86_insn *insn, u64 ip)
{
	u64 target = ip + insn->len + (u64)(s64)tramp_x86_disp(insn);
	u32 trailing = insn->len - insn->disp_off - TASM_REL32_SIZE;

	if (!(insn->prefixes & TRAMP_X86_PFX_67))
		tasm_rel32_out(a, target, trailing);
	else
		tasm_imm(a, (u32)(target - (a->addr + a->off + TASM_REL32_SIZE + trailing)), 4);
}

/* The same instruction; @modrm in place of its ModRM byte, if it has one. */
static void put_same(struct tasm *a, const struct tramp_x86_insn *insn, u64 ip, u8 modrm)
{
	u32 from = 0;

	if (insn->modrm_off) {
		put_bytes(a, insn->bytes, 0, insn->modrm_off);
		tasm_byte(a, modrm);
		from = insn->modrm_off + 1;
	}
	if (tramp_x86_rip_relative(insn)) {
		put_rip_disp(a, insn, ip);
		from = insn->disp_off + insn->disp_size;
	}
	put_bytes(a, insn->bytes, from, insn->len);
}

/* With a bnd prefix if there was one. Other prefixes of direct branches are hints. */
static void put_branch(struct tasm *a, const struct tramp_x86_insn *insn, u64 ip,
		       enum tasm_branch op)
{
	if (insn->prefixes & TRAMP_X86_PFX_F2)
		tasm_byte(a, 0xf2);
	tasm_branch(a, op, tramp_x86_branch_target(insn, ip));
}

/*
 * There is no rel32 form:
 *
 *	loop	1f
 *	jmp	2f
 * 1:	jmp	target
 * 2:
 */
static void put_loop(struct tasm *a, const struct tramp_x86_insn *insn, u64 ip)
{
	if (insn->prefixes & TRAMP_X86_PFX_67)	/* counts in ecx */
		tasm_byte(a, 0x67);
	tasm_byte(a, insn->opcode);
	tasm_byte(a, 2);
	tasm_byte(a, 0xeb);
	tasm_byte(a, 5);
	tasm_branch(a, TASM_JMP, tramp_x86_branch_target(insn, ip));
}

/*
 * Always the long form: it must not matter where the original stands. Where calls are counted:
 *
 *	call	1f
 *	int3
 * 1:	movq	$return address, (%rsp)
 *
 * The call is not one of rel32 0, which processors take for a way to read rip, and which
 * then makes no entry.
 */
static void put_push_return(struct tasm *a, const struct tramp_x86_insn *insn, u64 ip,
			    const struct tramp_x86_env *env)
{
	if (env->has_call_depth) {
		tasm_branch_to(a, TASM_CALL, a->off + TASM_CALL_SIZE + 1);
		tasm_op(a, TASM_INT3);
		tasm_mem_op(a, TASM_STORE_IMM32, true, tasm_at(TASM_RSP, 0), (s32)(ip + insn->len));
		return;
	}
	tasm_push_imm32(a, (s32)(ip + insn->len));
}

static bool can_push_return(const struct tramp_x86_insn *insn, u64 ip)
{
	return tasm_fits_s32((s64)(ip + insn->len));
}

/* The operand of an indirect call, as far as rsp is in it. */
enum rsp_use {
	RSP_UNUSED,
	RSP_BASE,	/* it is the base of a memory operand */
	RSP_ITSELF,	/* it is the operand */
};

static enum rsp_use rsp_use(const struct tramp_x86_insn *insn)
{
	u8 modrm = tramp_x86_modrm(insn);

	if (insn->rex & REX_B || MODRM_RM(modrm) != TASM_RSP)
		return RSP_UNUSED;
	if (MODRM_MOD(modrm) == 3)
		return RSP_ITSELF;
	return SIB_BASE(insn->bytes[insn->modrm_off + 1]) == TASM_RSP ? RSP_BASE : RSP_UNUSED;
}

/* Bytes of the displacement after the push. One of none needs one then; a long one stays long. */
static u32 moved_disp_size(const struct tramp_x86_insn *insn)
{
	return insn->disp_size < 4 && tasm_fits_s8((s64)tramp_x86_disp(insn) + SLOT) ? 1 : 4;
}

/*
 * After the push the operand is a slot further up. It must not be where the push
 * writes. (With an index register nobody can tell, but in the kernel nothing
 * that is still needed lies below rsp: an interrupt would write over it.)
 */
static bool can_move_up(const struct tramp_x86_insn *insn)
{
	s32 disp = tramp_x86_disp(insn);
	u8 sib = insn->bytes[insn->modrm_off + 1];
	bool index = SIB_INDEX(sib) != TASM_RSP || insn->rex & REX_X;

	if (!index && disp > -2 * SLOT && disp < 0)
		return false;
	/* prefixes that mean nothing may have filled the instruction up already */
	return tasm_fits_s32((s64)disp + SLOT) &&
	       insn->len - insn->disp_size + moved_disp_size(insn) <= TRAMP_X86_MAX_INSN;
}

/* jmp through the same operand, whose base is rsp, a slot further up. */
static void put_jmp_moved_up(struct tasm *a, const struct tramp_x86_insn *insn)
{
	u32 disp = (u32)tramp_x86_disp(insn) + SLOT;
	u32 size = moved_disp_size(insn);

	put_bytes(a, insn->bytes, 0, insn->modrm_off);
	tasm_modrm(a, size == 1 ? 1 : 2, 4, TASM_RSP);
	tasm_byte(a, insn->bytes[insn->modrm_off + 1]);
	tasm_imm(a, disp, size);
}

/* The thunk that jumps where the operand says, 0 if there is none. */
static u64 indirect_thunk(const struct tramp_x86_insn *insn, const struct tramp_x86_env *env)
{
	u8 modrm = tramp_x86_modrm(insn);

	if (MODRM_MOD(modrm) != 3)
		return 0;
	return env->indirect_thunk[MODRM_RM(modrm) | (insn->rex & REX_B ? 8 : 0)];
}

/* FF /2 becomes FF /4, everything else of it stays; or it becomes a jump to the thunk. */
static enum tramp_x86_reloc put_call_ind(struct tasm *a, const struct tramp_x86_insn *insn, u64 ip,
					 const struct tramp_x86_env *env)
{
	enum rsp_use use = rsp_use(insn);

	if (!can_push_return(insn, ip))
		return TRAMP_X86_RELOC_RETURN;
	if (use == RSP_ITSELF)
		return TRAMP_X86_RELOC_RSP;
	if (env->has_indirect_thunks && !indirect_thunk(insn, env))
		return TRAMP_X86_RELOC_FIXED;
	if (use == RSP_BASE && !env->has_indirect_thunks && !can_move_up(insn))
		return TRAMP_X86_RELOC_RSP;

	put_push_return(a, insn, ip, env);
	if (env->has_indirect_thunks)
		tasm_branch(a, TASM_JMP, indirect_thunk(insn, env));
	else if (use == RSP_BASE)
		put_jmp_moved_up(a, insn);
	else
		put_same(a, insn, ip, (tramp_x86_modrm(insn) & ~0x38) | 4 << 3);
	return TRAMP_X86_RELOC_OK;
}

/* The same instruction; or, where there are @thunks, a jump to the one that does the same. */
static enum tramp_x86_reloc put_or_thunk(struct tasm *a, const struct tramp_x86_insn *insn, u64 ip,
					 bool thunks, u64 thunk)
{
	if (thunks && !thunk)
		return TRAMP_X86_RELOC_FIXED;
	if (thunks)
		tasm_branch(a, TASM_JMP, thunk);
	else
		put_same(a, insn, ip, tramp_x86_modrm(insn));
	return TRAMP_X86_RELOC_OK;
}

static enum tramp_x86_reloc put(struct tasm *a, const struct tramp_x86_insn *insn, u64 ip,
				const struct tramp_x86_env *env)
{
	switch (tramp_x86_classify(insn)) {
	case TRAMP_X86_PLAIN:
		return put_or_thunk(a, insn, ip, false, 0);
	case TRAMP_X86_JMP_IND:
		return put_or_thunk(a, insn, ip, env->has_indirect_thunks,
				    indirect_thunk(insn, env));
	case TRAMP_X86_RET:
		/*
		 * Prefixes of a return mean nothing. Where the thunk counts returns, one that
		 * the kernel has left plain is not counted, wherever it stands, nor is its copy.
		 */
		return put_or_thunk(a, insn, ip, env->return_thunk && !env->has_call_depth,
				    insn->opcode == 0xc3 ? env->return_thunk : 0);
	case TRAMP_X86_JMP:
		put_branch(a, insn, ip, TASM_JMP);
		return TRAMP_X86_RELOC_OK;
	case TRAMP_X86_JCC:
		put_branch(a, insn, ip, 0x0f80 | (insn->opcode & 0xf));
		return TRAMP_X86_RELOC_OK;
	case TRAMP_X86_LOOP:
		put_loop(a, insn, ip);
		return TRAMP_X86_RELOC_OK;
	case TRAMP_X86_CALL:
		if (!can_push_return(insn, ip))
			return TRAMP_X86_RELOC_RETURN;
		put_push_return(a, insn, ip, env);
		put_branch(a, insn, ip, TASM_JMP);
		return TRAMP_X86_RELOC_OK;
	case TRAMP_X86_CALL_IND:
		return put_call_ind(a, insn, ip, env);
	case TRAMP_X86_FIXED:
		break;
	}
	return TRAMP_X86_RELOC_FIXED;
}

enum tramp_x86_reloc tramp_x86_relocate(struct tasm *a, const struct tramp_x86_insn *insn, u64 ip,
					const struct tramp_x86_env *env)
{
	bool before = a->out_of_reach;
	enum tramp_x86_reloc err;

	a->out_of_reach = false;
	err = put(a, insn, ip, env);
	if (err == TRAMP_X86_RELOC_OK && a->out_of_reach)
		err = TRAMP_X86_RELOC_REACH;
	a->out_of_reach |= before;
	return err;
}
