/* SPDX-License-Identifier: GPL-2.0 */
/* Detour buffers: what a probe's JMP leads to, or its int3 is continued at. */
#ifndef TRAMP_X86_DETOUR_IMAGE_H
#define TRAMP_X86_DETOUR_IMAGE_H

#include "fentry_image.h"
#include "safety.h"

/**
 * struct tramp_x86_detour_req - what to emit
 * @env: the kernel; without programs only the thunks and @has_call_depth matter
 * @ip: the probed address, the next one to be had by sign-extending 32 bits (kernel
 *	and module text is)
 * @code: the original bytes there
 * @len: how many of them are executed out of line: one instruction, or the whole region
 *	that a jump covers, at most TRAMP_X86_MAX_REGION. Bytes behind an instruction that does
 *	not fall through are not looked at; a call must be the last one, since it returns behind it
 * @nr_progs: entries in @progs, at most TRAMP_X86_MAX_PROGS; may be 0
 * @progs: programs in the order they run. All have inline policy (no
 *	TRAMP_X86_CALL_GUARDED or _SLEEPABLE); their context is the struct pt_regs. For one
 *	with TRAMP_X86_CALL_COOKIE or _IP (helpers behind bpf_get_func_ip() look there
 *	first) current->bpf_ctx points to a bpf_trace_run_ctx; _NARGS means nothing.
 *	Neighbours with the same @active are all run or all missed.
 * @regs: the members of pt_regs that must be right, bit n for the u64 at 8 * n;
 *	TRAMP_X86_REGS_ALL if unknown. Other members are not built, and must not
 *	be read.
 */
struct tramp_x86_detour_req {
	const struct tramp_x86_env *env;
	u64 ip;
	const u8 *code;
	u32 len;
	const struct tramp_x86_call *progs;
	u32 nr_progs;
	u32 regs;
};

/* struct pt_regs is the same on every x86-64 kernel. */
#define TRAMP_X86_REGS_ALL	((1u << 21) - 1)

/**
 * struct tramp_x86_detour_out - what was emitted
 * @size: bytes of code, as in struct tramp_x86_fentry_out
 * @copy_off: offset of the relocated instructions: continuing there runs the code
 *	as if nothing were probed
 * @copy_len: bytes of them, the jump back included
 * @reloc: with TRAMP_X86_BAD_REQUEST or TRAMP_X86_OUT_OF_REACH: enum
 *	tramp_x86_reloc of the instruction that cannot be relocated, if that is why
 * @reloc_at: offset of that instruction in the request's code, or of the bytes that are
 *	none, or of a call that is not the last instruction
 * @call_off: as in struct tramp_x86_fentry_out, two for each program; may be NULL
 *
 * The image starts with a 5-byte instruction (push imm32; without programs a JMP to the
 * copy). So a JMP can replace its first 5 bytes while it is being executed.
 */
struct tramp_x86_detour_out {
	u32 size;
	u32 copy_off;
	u32 copy_len;
	u32 reloc;
	u32 reloc_at;
	u32 *call_off;
};

/**
 * tramp_x86_emit_detour() - emit a detour buffer
 * @req: what to emit
 * @buf: as for tramp_x86_emit_fentry()
 * @len: as there
 * @addr: as there
 * @out: (out) what was emitted
 *
 * Context: any; touches nothing but its arguments.
 * Return: as tramp_x86_emit_fentry().
 */
enum tramp_x86_err tramp_x86_emit_detour(const struct tramp_x86_detour_req *req,
					 u8 *buf, size_t len, u64 addr,
					 struct tramp_x86_detour_out *out);

#endif /* TRAMP_X86_DETOUR_IMAGE_H */
