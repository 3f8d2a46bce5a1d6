/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A place: an instruction that may be probed. locate.c finds it, rules.c judges it.
 */
#ifndef TRAMP_PLACE_H
#define TRAMP_PLACE_H

#include "text/text.h"

/* Where to attach a kprobe program: an address, or the rest as in struct tramp_attach. */
struct tramp_probe_at {
	u64 addr;		/* 0 if @symbol is given */
	u64 offset;
	const char *symbol;
	const char *module;
};

/* The place in a request (struct tramp_attach or tramp_explain_code); refers to its strings. */
#define tramp_probe_at(req) ((struct tramp_probe_at) {	\
	.addr = (req)->addr,				\
	.offset = (req)->offset,			\
	.symbol = (req)->symbol,			\
	.module = (req)->module,			\
})

/* An instruction that may be probed. */
struct tramp_place {
	unsigned long addr;		/* behind an ENDBR if it is a function's entry */
	struct tramp_symbol sym;
	unsigned long entry_addr;	/* tramp_place_entry() of its symbol */
	struct module *module;		/* without a reference; NULL: the kernel proper */
	bool ftrace;			/* it is an ftrace site */
	bool entry;			/* it is the start of its symbol, but for an ENDBR */
	bool untraced;			/* its symbol may hold no probe: no ftrace site */
	bool refuse;			/* @denied refuses every probe, a kernel kprobe, too */
	u8 unsafe;			/* tramp_text_unsafe() of its symbol */
	bool searched;			/* its symbol was searched for indirect jumps, */
	bool indirect;			/* and has one */
	u32 denied;			/* why its symbol may hold no int3 probe; 0 if it may */
	struct tramp_x86_insn insn;
	u8 code[TRAMP_X86_MAX_REGION];	/* original bytes, up to the end of the symbol */
	u32 code_len;
	u32 reason;			/* why only a kernel kprobe can be there, no image; or 0 */
	unsigned long where;		/* the address that @reason is about */
};

/* locate.c ------------------------------------------------------------------ */

/* Whether a request says where: by an address, or by a symbol. Return: 0 or a negative errno. */
int tramp_place_check_syntax(const struct tramp_probe_at *at, struct tramp_refusal *why);

/* Whether an address is that of ftrace's NOP5, or of the call in its place: an instruction. */
bool tramp_place_is_site(unsigned long addr);

/* Where a function begins behind its ENDBR; @addr itself if there is none. */
unsigned long tramp_place_entry(unsigned long addr);

/**
 * tramp_place_address() - find the address of a probe, as tramp_place_locate() will
 * @at: where
 * @addr: (out) the address; in a module that may be gone by then
 * @why: why not
 *
 * Context: may sleep. No locks: a batch need not wait for tramp_mutex with each of its places.
 * Return: 0 or a negative errno.
 */
int tramp_place_address(const struct tramp_probe_at *at, unsigned long *addr,
			struct tramp_refusal *why);

/**
 * tramp_place_locate() - find the place of a probe, without the rules
 * @at: where
 * @place: (out) its @addr, @sym, @module, @untraced and @denied; with @exact also @insn and @code
 * @exact: it must be an instruction; otherwise any address in the symbol will do
 * @why: why not
 *
 * Context: tramp_mutex held, may sleep.
 * Return: 0 or a negative errno.
 */
int tramp_place_locate(const struct tramp_probe_at *at, struct tramp_place *place, bool exact,
		       struct tramp_refusal *why);

/* deny.c -------------------------------------------------------------------- */

/* Judge a place's symbol: sets @untraced, @denied and @refuse. tramp_mutex held. */
void tramp_place_deny(struct tramp_place *place);

/* rules.c ------------------------------------------------------------------- */

/**
 * tramp_place_check() - the rules for an address that is an instruction
 * @place: with @addr, @sym, @insn, @code set; the rest is filled in
 * @why: why no probe can be there
 *
 * Context: tramp_mutex and text_mutex held.
 * Return: 0 or a negative errno.
 */
int tramp_place_check(struct tramp_place *place, struct tramp_refusal *why);

/* The harm that a kernel kprobe at the instruction at @addr would do; NULL: none. */
const char *tramp_place_kprobe_wrong(const struct tramp_x86_insn *insn, unsigned long addr);

/* Locate the place of a probe, an instruction, and check it. tramp_mutex held, may sleep. */
int tramp_place_find(const struct tramp_probe_at *at, struct tramp_place *place,
		     struct tramp_refusal *why);

/**
 * tramp_place_mode() - the best mode of a first program
 * @place: checked
 * @func_ip: the program calls bpf_get_func_ip()
 * @mode: (out) FTRACE_OPS; INT3, which may become a jump; or KPROBE
 *
 * Return: 0, or enum tramp_reason why only a kernel kprobe is left.
 */
u32 tramp_place_mode(const struct tramp_place *place, bool func_ip, enum tramp_mode *mode);

/**
 * tramp_place_jumps_inside() - may an indirect jump land in the middle of its own function?
 * @place: in that function
 * @insn: an instruction of it
 * @at: the instruction's address
 *
 * Context: tramp_mutex held.
 * Return: true if @insn is such a jump; false as well where it can land at an ENDBR only.
 */
bool tramp_place_jumps_inside(const struct tramp_place *place, const struct tramp_x86_insn *insn,
			      unsigned long at);

/**
 * tramp_place_region() - may the region at a place become a jump?
 * @place: checked
 * @len: (out) bytes of the region
 * @where: (out) the address the reason is about
 *
 * Context: as for tramp_place_check(); the text around is ready (tramp_map_ready()).
 * Return: 0, or enum tramp_reason why not.
 */
u32 tramp_place_region(struct tramp_place *place, u32 *len, unsigned long *where);

#endif /* TRAMP_PLACE_H */
