/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One instruction, made to run at another address.
 */
#ifndef TRAMP_X86_RELOCATE_H
#define TRAMP_X86_RELOCATE_H

#include "asm.h"
#include "insn.h"

struct tramp_x86_env;

/* Most bytes that one instruction becomes. */
#define TRAMP_X86_MAX_RELOCATED	32

/* Why an instruction cannot be relocated. */
enum tramp_x86_reloc {
	TRAMP_X86_RELOC_OK,
	TRAMP_X86_RELOC_FIXED,		/* TRAMP_X86_FIXED, or no thunk does the same */
	TRAMP_X86_RELOC_REACH,		/* a rip-relative operand or a target is out of reach */
	TRAMP_X86_RELOC_RSP,		/* a call through rsp, or through what its push writes to */
	TRAMP_X86_RELOC_RETURN,		/* the return address is no sign-extended 32 bits */
};

/**
 * tramp_x86_relocate() - append to @a what does the same as @insn does at @ip
 * @a: the encoder; its @addr is known, or 0 while measuring
 * @insn: the instruction
 * @ip: where it stands
 * @env: the kernel: of it the thunks of returns and indirect branches matter, and whether it
 *	counts calls
 *
 * Afterwards control is behind the emitted code if it would be behind the
 * instruction, and at the original target otherwise. Registers, flags, memory and
 * stack are as if the instruction had run at @ip; a call pushes the return
 * address that it would push there. The size does not depend on @a->addr. A target out
 * of reach is noted in @a->out_of_reach as well. Nothing is appended unless it returns
 * TRAMP_X86_RELOC_OK or TRAMP_X86_RELOC_REACH.
 *
 * Where the kernel sends returns or indirect branches through thunks, so does the emitted
 * code. That holds even if the instruction at @ip is a plain one: the kernel may have left it
 * so for the sake of its address. `ret n` and branches through memory are refused there.
 *
 * An instruction that faults does so at the copy: the caller sees to it that nobody looks
 * the address up (exception tables). The instruction behind a sti has to follow its copy,
 * see tramp_x86_is_sti().
 *
 * Context: any.
 * Return: TRAMP_X86_RELOC_OK, or why not.
 */
enum tramp_x86_reloc tramp_x86_relocate(struct tasm *a, const struct tramp_x86_insn *insn, u64 ip,
					const struct tramp_x86_env *env);

#endif /* TRAMP_X86_RELOCATE_H */
