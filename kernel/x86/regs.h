/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Kprobe programs in an image: a frame with a struct pt_regs in it, and the calls.
 *
 * Internal to kernel/x86/. Detour buffers (detour_image.c) have them at any instruction,
 * entry images (fentry_image.c) at a function's entry.
 */
#ifndef TRAMP_X86_REGS_H
#define TRAMP_X86_REGS_H

#include "guard.h"

/* Members of struct pt_regs, which is the same on every x86-64 kernel: a u64 at 8 * M_*. */
enum {
	TRAMP_M_BP = 4,
	TRAMP_M_R11 = 6, TRAMP_M_R9 = 8, TRAMP_M_AX = 10, TRAMP_M_DX = 12, TRAMP_M_DI = 14,
	TRAMP_M_ORIG_AX, TRAMP_M_IP, TRAMP_M_CS, TRAMP_M_FLAGS, TRAMP_M_SP, TRAMP_M_SS,
	TRAMP_NR_MEMBERS,
};

/**
 * struct tramp_regs_member - a member of pt_regs on the stack
 * @what: TRAMP_M_*
 * @room: bytes that are left out above it
 * @saved: it is restored from here
 */
struct tramp_regs_member {
	u8 what;
	u8 room;
	bool saved;
};

/**
 * struct tramp_regs - the frame that kprobe programs run on
 * @progs: the programs, see struct tramp_x86_detour_req
 * @nr_progs: how many
 * @read: the members of pt_regs that must be right, bit n for the u64 at 8 * n
 * @ip: what is its member of that name
 * @orig_ax: the same. With @many, and programs without CALL_MULTI, it is the function's address
 * @any: what is hit may be any instruction. Otherwise it is a function's entry, or its return
 * @ret: it is a function's return
 * @many: it is any of many functions: all about it comes from the return address, and
 *	@ip does not matter
 * @link: with @many: see struct tramp_x86_call
 * @session: with @many: the one program runs at both
 * @more: with @many, at a return: other programs follow, which want r11, see below
 * @run_ctx_words: what is pushed first: the run context, and room for the outer one
 * @nr: entries in @stack
 * @stack: the members in the order they are pushed; the flags may be there twice
 * @bottom: of the frame, from rbp
 * @sp: pt_regs.sp, from rbp
 * @session_cookie: with @session: its cookie, from rbp
 *
 * Registers that come and go besides (they mean nothing at a function's entry and return):
 *  - behind a session's entry r10 is its cookie and r11 what the program returned; both come
 *    back at the return;
 *  - at a return from one of many, r11 is the image's own return address, behind the function's
 *    NOP5. At an entry that is where pt_regs.ip is.
 *
 * At a return only rax and rdx are kept, which may hold the result, and r11 where @more says so.
 * ip is the return address.
 * At any instruction the flags are restored, and all registers that a call may change, and
 * interrupts are off in between. At a function's entry the flags, r10 and r11 carry nothing
 * (the compiler knows that ftrace may change them), and a kprobe on ftrace leaves interrupts
 * alone, too.
 */
struct tramp_regs {
	const struct tramp_x86_call *progs;
	u32 nr_progs;
	u32 read;
	s32 ip;
	s32 orig_ax;
	bool any;
	bool ret;
	bool many;
	bool session;
	bool more;
	u64 link;
	u32 run_ctx_words;
	u32 nr;
	struct tramp_regs_member stack[TRAMP_NR_MEMBERS + 1];
	s32 bottom;
	s32 sp;
	s32 session_cookie;
};

/**
 * tramp_regs_check() - whether programs can run on such a frame
 * @env: the kernel
 * @progs: the programs
 * @nr: how many
 * @read: as in struct tramp_regs
 * @many: likewise
 *
 * Return: whether they can.
 */
bool tramp_regs_check(const struct tramp_x86_env *env, const struct tramp_x86_call *progs,
		      u32 nr, u32 read, bool many);

/**
 * tramp_regs_lay_out() - decide where everything is
 * @r: all set but what is on the stack, which is zero
 * @g: its environment set; what it has to know of the frame is filled in
 */
void tramp_regs_lay_out(struct tramp_regs *r, struct tramp_guard *g);

/**
 * tramp_regs_emit() - the frame, the programs, and back
 * @r: laid out
 * @g: the image
 * @call_off: (out) two entries for each program, see struct tramp_x86_fentry_out; may be NULL
 *
 * On entry rsp points to a return address, which an unwinder takes for the caller's, and
 * pt_regs.sp is what is above it. Behind it everything is as before, but for what
 * struct tramp_regs says.
 */
void tramp_regs_emit(const struct tramp_regs *r, struct tramp_guard *g, u32 *call_off);

#endif /* TRAMP_X86_REGS_H */
