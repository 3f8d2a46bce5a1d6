/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An instruction, as far as we need to know it.
 *
 * The decoder is not ours: the module asks the kernel's own (kernel/arch/x86/decode.c),
 * user space asks Zydis (selftests/lib/decode.c). All else is worked out from this struct.
 */
#ifndef TRAMP_X86_INSN_H
#define TRAMP_X86_INSN_H

#include "types.h"

#define TRAMP_X86_MAX_INSN	15

/* struct tramp_x86_insn::prefixes */
#define TRAMP_X86_PFX_66	(1u << 0)	/* operand size */
#define TRAMP_X86_PFX_67	(1u << 1)	/* address size */
#define TRAMP_X86_PFX_F2	(1u << 2)	/* repne, bnd */
#define TRAMP_X86_PFX_F3	(1u << 3)	/* rep */
#define TRAMP_X86_PFX_LOCK	(1u << 4)
#define TRAMP_X86_PFX_SEG	(1u << 5)	/* any segment override */

/**
 * struct tramp_x86_insn - one instruction and where its parts are
 * @bytes: the instruction, @len bytes
 * @len: its length, 1 to TRAMP_X86_MAX_INSN
 * @map: 0: one-byte opcode, 1: 0F, 2: 0F 38, 3: 0F 3A; the same numbers for the
 *	maps of VEX, EVEX and XOP, higher ones as encoded there
 * @opcode: the opcode byte in that map (0F for 3DNow!, whose own is an immediate)
 * @vex: VEX, EVEX or XOP encoded
 * @prefixes: TRAMP_X86_PFX_*, of the legacy prefixes; 0 with @vex but for
 *	TRAMP_X86_PFX_67 and _SEG, what VEX has in their place is not told
 * @rex: the REX byte, 0: none. (One that is not directly in front of the opcode counts
 *	for nothing; such an instruction does not decode.)
 * @opcode_off: offset of @opcode
 * @modrm_off: offset of the ModRM byte, 0: none (a ModRM byte is never first)
 * @disp_off: offset of the displacement of a memory operand with ModRM
 * @disp_size: its size, 0: none
 * @imm_off: offset of all immediates: everything behind the displacement, also that of a
 *	relative branch, and the address of "mov moffs". It is @len with @imm_size 0.
 * @imm_size: their size, 0: none
 *
 * The kernel asks a hypervisor to emulate an instruction by prefixes (ud2 and three letters).
 * With the instruction they are one ud2, which is what the processor takes it for.
 */
struct tramp_x86_insn {
	u8 bytes[TRAMP_X86_MAX_INSN];
	u8 len;
	u8 map;
	u8 opcode;
	bool vex;
	u8 prefixes;
	u8 rex;
	u8 opcode_off;
	u8 modrm_off;
	u8 disp_off, disp_size;
	u8 imm_off, imm_size;
};

/**
 * tramp_x86_decode() - decode one instruction; the interface to the decoder
 * @code: where it starts
 * @avail: bytes that may be read there
 * @insn: (out) unspecified if it fails
 *
 * Context: any.
 * Return: false if these are not the bytes of a whole instruction.
 */
bool tramp_x86_decode(const u8 *code, u32 avail, struct tramp_x86_insn *insn);

/*
 * For decoders. The TRAMP_X86_PFX_* of a byte, 0 if it is no legacy prefix. Whether an
 * emulation prefix is at `code`. The instruction behind one, as both decoders show it;
 * together they take up `len` bytes.
 */
#define TRAMP_X86_EMULATE_SIZE	5

u8 tramp_x86_prefix(u8 byte);
bool tramp_x86_emulate_prefix(const u8 *code, u32 avail);
void tramp_x86_emulated(const u8 *code, u8 len, struct tramp_x86_insn *insn);

/* Its ModRM byte, 0 if it has none. */
static inline u8 tramp_x86_modrm(const struct tramp_x86_insn *insn)
{
	return insn->modrm_off ? insn->bytes[insn->modrm_off] : 0;
}

/* Kinds by the effect on the flow of control, which says how to relocate them. */
enum tramp_x86_kind {
	TRAMP_X86_PLAIN,	/* goes on behind itself */
	TRAMP_X86_JMP,		/* jmp rel8, rel32 */
	TRAMP_X86_JCC,		/* jcc rel8, rel32 */
	TRAMP_X86_LOOP,		/* loop, loope, loopne, jrcxz, jecxz */
	TRAMP_X86_CALL,		/* call rel32 */
	TRAMP_X86_JMP_IND,	/* jmp r/m64 */
	TRAMP_X86_CALL_IND,	/* call r/m64 */
	TRAMP_X86_RET,		/* ret, ret n */
	TRAMP_X86_FIXED,	/* works only at its own address: traps, iret, ... */
};

/**
 * tramp_x86_classify() - the kind of an instruction
 * @insn: the instruction
 *
 * TRAMP_X86_FIXED traps, leaves by a way of its own, or has the processor remember or
 * look at where it stands. These are:
 *
 * - int3, int n, int1, into, ud0-2, iret, uiret, eretu, erets, syscall, sysret,
 *   sysenter, sysexit, hlt, rsm, mov to ss, lss, xbegin, far branches;
 * - enclu, encls, enclv, getsec, vmlaunch, vmresume, vmrun, skinit, seamret;
 * - branches on masks (jkzd, jknzd), which one processor had;
 * - branches with a 66 prefix, since processors disagree about their length, and with
 *   a LOCK prefix, since they trap.
 *
 * Return: the kind.
 */
enum tramp_x86_kind tramp_x86_classify(const struct tramp_x86_insn *insn);

/* Whether a memory operand is relative to rip (to eip, with TRAMP_X86_PFX_67). */
bool tramp_x86_rip_relative(const struct tramp_x86_insn *insn);

/* The displacement, sign-extended; 0 if there is none. */
s32 tramp_x86_disp(const struct tramp_x86_insn *insn);

/*
 * Whether there is an address in it that it may go to: JMP, JCC, LOOP, CALL, and of TRAMP_X86_FIXED
 * those that are such branches by their opcode, and xbegin.
 */
bool tramp_x86_has_target(const struct tramp_x86_insn *insn);

/* That address, if the instruction stands at @ip. */
u64 tramp_x86_branch_target(const struct tramp_x86_insn *insn, u64 ip);

/*
 * ENDBR64, ENDBR32. A copy of it is a NOP, so it is TRAMP_X86_PLAIN. But with indirect branch
 * tracking on, nothing else may stand at its place: writers there have to know. The manual leaves
 * open which of F2 and F3 counts when both are there (Intel SDM vol. 2, 2.1.1): with F3 it is one.
 */
bool tramp_x86_is_endbr(const struct tramp_x86_insn *insn);

/*
 * sti: interrupts come only behind the next instruction, which idle loops count on (sti;
 * hlt). It relocates as itself, but the next one has to follow it in the copy as well.
 */
bool tramp_x86_is_sti(const struct tramp_x86_insn *insn);

/*
 * Whether all that it can fault about is its memory operand, by a #PF as long as the address is
 * canonical: integer instructions that move, compare and compute. Intel SDM vol. 2 has the
 * exceptions of each. One that is not known here is not one of these.
 */
bool tramp_x86_only_accesses(const struct tramp_x86_insn *insn);

/*
 * Whether what follows the instruction is reached from it: not JMP, JMP_IND, RET.
 * A call comes back, and so may what is TRAMP_X86_FIXED.
 */
static inline bool tramp_x86_falls_through(enum tramp_x86_kind kind)
{
	return kind != TRAMP_X86_JMP && kind != TRAMP_X86_JMP_IND && kind != TRAMP_X86_RET;
}

static inline bool tramp_x86_is_call(enum tramp_x86_kind kind)
{
	return kind == TRAMP_X86_CALL || kind == TRAMP_X86_CALL_IND;
}

#endif /* TRAMP_X86_INSN_H */
