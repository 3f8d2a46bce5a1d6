/* SPDX-License-Identifier: GPL-2.0 */
/*
 * May the instructions at an address be jumped over?
 *
 * A jump takes 5 bytes, so it covers the region: whole instructions from the
 * address on, 5 bytes or more. Each rule is a function with a reason of its own.
 * Where several object, the reason given is the first of: UNDECODABLE, SHORT, HELD,
 * FIXUP, STUCK, MID_CALL, TARGET, INDIRECT.
 */
#ifndef TRAMP_X86_SAFETY_H
#define TRAMP_X86_SAFETY_H

#include "insn.h"

#define TRAMP_X86_JUMP_SIZE	5
/* 4 bytes and the longest instruction */
#define TRAMP_X86_MAX_REGION	(TRAMP_X86_JUMP_SIZE - 1 + TRAMP_X86_MAX_INSN)

enum tramp_x86_why {
	TRAMP_X86_SAFE,
	TRAMP_X86_UNDECODABLE,	/* @where is not an instruction */
	TRAMP_X86_SHORT,	/* the symbol ends before a jump would */
	TRAMP_X86_TARGET,	/* something branches to @where, behind the first byte */
	TRAMP_X86_INDIRECT,	/* an indirect jump could land at @where, behind the first byte */
	TRAMP_X86_FIXUP,	/* the instruction @where has an exception-table entry */
	TRAMP_X86_HELD,		/* somebody patches bytes at @where; see @held */
	TRAMP_X86_MID_CALL,	/* the call at @where would return into the jump */
	TRAMP_X86_STUCK,	/* the instruction @where cannot run elsewhere; see @reloc */
};

struct tramp_x86_env;

/**
 * struct tramp_x86_world - what must be known beyond the bytes
 * @env: the kernel, for tramp_x86_relocate()
 * @is_target: whether @addr is the target of a direct branch from anywhere, a fix-up of the
 *	exception table, or the label of a jump label. Asked for every byte but the first.
 * @has_fixup: whether the instruction at @addr has an exception-table entry. Asked for those
 *	that would run out of line.
 * @held: whether somebody else patches any byte of @start to @end (exclusive): an
 *	ftrace site, jump label, static call, alternative, a probe. Returns 0 for
 *	nobody, else a number that means something to the caller, with the byte in @where.
 * @indirect: whether an indirect jump could land in the middle of the symbol that
 *	holds @ip. Not asked for a region of one instruction.
 *
 * All functions get the caller's @arg of tramp_x86_check_region().
 */
struct tramp_x86_world {
	const struct tramp_x86_env *env;
	bool (*is_target)(u64 addr, void *arg);
	bool (*has_fixup)(u64 addr, void *arg);
	u32 (*held)(u64 start, u64 end, u64 *where, void *arg);
	bool (*indirect)(u64 ip, void *arg);
};

/**
 * struct tramp_x86_verdict - what was found out about a region
 * @why: why not, or TRAMP_X86_SAFE
 * @len: bytes of the region: a jump and what is left of its last instruction. 0 with
 *	UNDECODABLE and SHORT, which is when it is not known
 * @reloc: with TRAMP_X86_STUCK: enum tramp_x86_reloc. TRAMP_X86_RELOC_FIXED also if it is a sti
 *	and the last of the region, so that it would lose what has to follow it at once
 * @held: with TRAMP_X86_HELD: what held() returned
 * @where: the address it is about
 */
struct tramp_x86_verdict {
	enum tramp_x86_why why;
	u32 len;
	u32 reloc;
	u32 held;
	u64 where;
};

/**
 * tramp_x86_check_region() - may the region at @ip become a jump?
 * @ip: the address, the start of an instruction
 * @code: the original bytes from @ip on, with nobody's probes in them
 * @avail: bytes at @code: up to the end of the symbol, TRAMP_X86_MAX_REGION are enough
 * @world: what else is known
 * @arg: passed to its functions
 * @v: (out) the verdict
 *
 * Bytes behind an instruction that does not fall through are never executed if nothing
 * branches there. They need not relocate, have no fix-ups asked for, and need not even
 * decode: the region has whole instructions as far as they do, and at least 5 bytes.
 * Whether what is referred to is within reach of the detour is found out when that is emitted.
 *
 * Context: any that @world's functions allow.
 * Return: @v->why.
 */
enum tramp_x86_why tramp_x86_check_region(u64 ip, const u8 *code, u32 avail,
					  const struct tramp_x86_world *world, void *arg,
					  struct tramp_x86_verdict *v);

#endif /* TRAMP_X86_SAFETY_H */
