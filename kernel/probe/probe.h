/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Probes: one instruction with programs.
 *
 *	probe.c			attaching and detaching: the list of programs of an address
 *	place.c		where a probe may go, and as what
 *	deny.c		functions that are special
 *	image.c		its detour buffer
 *	poke.c		what is written into the text, step by step
 *	trap.c		the int3 handler
 *	optimiser.c		from int3 to jump, in batches
 *	callback.c	through ftrace or a kernel kprobe, where no image can be
 *	explain.c		what would become of each instruction of a function
 */
#ifndef TRAMP_PROBE_H
#define TRAMP_PROBE_H

#include <linux/list.h>
#include "base/retire.h"
#include "base/tramp.h"
#include "link/point.h"
#include "prog/image.h"
#include "text/text.h"

struct tramp_probe_kp;

/* Keys of probed addresses: this and a number. A BTF key has no such bit. */
#define TRAMP_PROBE_KEY		(1ULL << 62)

/**
 * struct tramp_probe_image - a detour buffer
 * @image: its code, name and programs
 * @len: bytes of the original instructions that it executes
 * @regs: members of struct pt_regs that it builds
 * @copy: where it executes them, without any program
 */
struct tramp_probe_image {
	struct tramp_image image;
	u32 len;
	u32 regs;
	unsigned long copy;
};

/* The bytes in the text at a probe's address. */
enum tramp_probe_text {
	TRAMP_TEXT_ORIGINAL,	/* nothing of ours */
	TRAMP_TEXT_INT3,	/* int3s for the whole instruction */
	TRAMP_TEXT_JUMP,	/* jmp to the image, and int3s for the rest of the region */
};

/**
 * struct tramp_probe - one probed address
 * @point: what it is to its members
 * @hash: in the table by address; read by the int3 handler under RCU
 * @addr: the address
 * @go: where an int3 there goes on: the image, or its copy when no program is left
 * @key: its key
 * @index: of its newest image
 * @mode: INT3 (also once it is a jump: see @text), KPROBE, FTRACE_OPS, or NONE when
 *	its module has gone
 * @text: what is in the text
 * @entry: at its function's entry
 * @hooked: holds the hook (tramp_probe_hook_get())
 * @quiesced: nobody is, or comes, between the region's instructions
 * @waiting: the optimiser waits for it to become quiesced
 * @lingers: without programs, but somebody else has patched its bytes; holds a reference
 *	to this module
 * @told: the log says so
 * @no_jump: programs that asked for no jump
 * @reason: why it is no jump
 * @where: the address that @reason is about
 * @insn_len: length of its instruction
 * @region: bytes that a jump would cover, as found safe; 0: not safe, or not known
 * @orig: the original bytes
 * @nr_branches: entries in @branches
 * @branches: where the direct branches among @orig go, from @addr
 * @intruded: a kernel kprobe has come into the region
 * @module: where it is, without a reference; NULL for the kernel proper
 * @image: mode INT3
 * @set: modes KPROBE and FTRACE_OPS
 * @kp: mode KPROBE
 * @members: its programs in the order they came
 * @nr: how many. 0: it is being taken away
 * @opt: in the optimiser's list
 * @retire: its end
 * @rcu: for freeing it behind readers of @hash
 *
 * Everything but @hash, @go and @set is protected by tramp_mutex.
 */
struct tramp_probe {
	struct tramp_point point;
	struct hlist_node hash;
	unsigned long addr;
	unsigned long go;
	u64 key;
	u32 index;
	u8 mode;
	u8 text;
	bool entry;
	bool hooked;
	bool quiesced;
	bool waiting;
	bool lingers;
	bool told;
	u8 insn_len;
	u8 region;
	u16 nr;
	u16 no_jump;
	u32 reason;
	unsigned long where;
	u8 orig[TRAMP_X86_MAX_REGION];
	u8 nr_branches;
	bool intruded;
	s32 branches[(TRAMP_X86_MAX_REGION + 1) / 2];	/* none is shorter than 2 bytes */
	struct module *module;
	struct tramp_probe_image *image;
	struct tramp_live_set __rcu *set;
	struct tramp_probe_kp *kp;
	struct list_head members;
	struct list_head opt;
	struct tramp_retire retire;
	struct rcu_head rcu;
};

/* probe.c ------------------------------------------------------------------ */

/**
 * struct tramp_probe_at - where to attach a kprobe program
 * @addr: the address, 0 if @symbol is given
 * @offset: else as in struct tramp_attach
 * @symbol: the same
 * @module: the same
 */
struct tramp_probe_at {
	u64 addr;
	u64 offset;
	const char *symbol;
	const char *module;
};

/* The place in a request; refers to its strings. */
static inline struct tramp_probe_at tramp_probe_at(const struct tramp_attach *req)
{
	return (struct tramp_probe_at) {
		.addr = req->addr,
		.offset = req->offset,
		.symbol = req->symbol,
		.module = req->module,
	};
}

/**
 * tramp_probe_prepare() - what has to be known before a probe is attached
 * @at: where
 * @why: why not
 *
 * Reads the text around for what branches where, if nobody has before: takes around a
 * second for the kernel proper.
 * Context: may sleep, without tramp_mutex.
 * Return: 0 or a negative errno.
 */
int tramp_probe_prepare(const struct tramp_probe_at *at, struct tramp_refusal *why);

/* The probe that a member is at; NULL once detached. */
static inline struct tramp_probe *tramp_probe_of(const struct tramp_member *member)
{
	return member->point ? container_of(member->point, struct tramp_probe, point) : NULL;
}

/* What point.c has in its table; see struct tramp_point_ops. */
int tramp_probe_attach(struct tramp_member *member, const struct tramp_attach *req,
		       struct tramp_refusal *why);
void tramp_probe_detach(struct tramp_member *member);
int tramp_probe_replace(struct tramp_member *member, struct tramp_slot *slot,
			struct tramp_refusal *why);
void tramp_probe_module_gone(const struct module *mod);

/* What mode a probe's hits have now: enum tramp_mode. tramp_mutex held. */
enum tramp_mode tramp_probe_mode(const struct tramp_probe *probe);

/* Call @fn for every probe in the table. tramp_mutex held. */
typedef void tramp_probe_visit_t(struct tramp_probe *probe, void *arg);
void tramp_probe_for_each(tramp_probe_visit_t *fn, void *arg);

/* The probe at an address, also one that is being taken away. tramp_mutex held. */
struct tramp_probe *tramp_probe_find(unsigned long addr);

/* Probed addresses, and how many of them are jumps; for INFO. tramp_mutex held. */
void tramp_probe_totals(u32 *probes, u32 *optimised);

/**
 * tramp_probe_new_image() - run the probe's programs from a new image
 * @probe: mode INT3
 * @len: original bytes that the new image executes: one instruction, or the region
 * @why: why not
 *
 * Hits run the old list or the new one; the old image is retired. On failure
 * everything is as before.
 * Context: tramp_mutex held, may sleep.
 * Return: 0 or a negative errno.
 */
int tramp_probe_new_image(struct tramp_probe *probe, u32 len, struct tramp_refusal *why);

/* Nothing of it is in the text any more: forget it. tramp_mutex held. */
void tramp_probe_remove(struct tramp_probe *probe);

int tramp_probe_init(void);
void tramp_probe_exit(void);

/* place.c --------------------------------------------------------------- */

/**
 * struct tramp_place - an instruction that may be probed
 * @addr: its address, behind an ENDBR if it is a function's entry
 * @sym: its symbol
 * @module: the module it is in, without a reference
 * @ftrace: it is an ftrace site
 * @entry: it is the start of its symbol, but for an ENDBR
 * @untraced: its symbol is not traceable (tramp_probe_traceable())
 * @denied: what tramp_probe_denied() says of the symbol
 * @refuse: whether it refuses every probe there
 * @searched: its symbol was searched for indirect jumps
 * @indirect: it has one
 * @insn: the instruction
 * @code: the original bytes from there to the end of the symbol
 * @code_len: how many there are, at most TRAMP_X86_MAX_REGION
 * @reason: enum tramp_reason: why no image can execute it elsewhere, so that only a
 *	kernel kprobe is left; 0 if one can
 * @where: the address that @reason is about
 */
struct tramp_place {
	unsigned long addr;
	struct tramp_symbol sym;
	struct module *module;
	bool ftrace;
	bool entry;
	bool untraced;
	bool refuse;
	bool searched;
	bool indirect;
	u32 denied;
	struct tramp_x86_insn insn;
	u8 code[TRAMP_X86_MAX_REGION];
	u32 code_len;
	u32 reason;
	unsigned long where;
};

/**
 * tramp_place_find() - find and check the place of a probe
 * @at: where
 * @place: (out) the place
 * @why: why no probe can be there
 *
 * Context: tramp_mutex held, may sleep.
 * Return: 0 or a negative errno.
 */
int tramp_place_find(const struct tramp_probe_at *at, struct tramp_place *place,
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

/* Where a function begins behind its ENDBR; @addr itself if there is none. */
unsigned long tramp_place_entry(unsigned long addr);

/**
 * tramp_place_check() - the rules for an address that is an instruction
 * @place: with @addr, @sym, @insn, @code set; the rest is filled in
 * @why: why no probe can be there
 *
 * Context: tramp_mutex and text_mutex held.
 * Return: 0 or a negative errno.
 */
int tramp_place_check(struct tramp_place *place, struct tramp_refusal *why);

/**
 * tramp_place_region() - may the region at a place become a jump?
 * @place: checked
 * @len: (out) bytes of the region
 * @where: (out) the address the reason is about
 *
 * Context: as above; the text around is ready (tramp_branches_ready()).
 * Return: 0, or enum tramp_reason why not.
 */
u32 tramp_place_region(struct tramp_place *place, u32 *len, unsigned long *where);

/* deny.c -------------------------------------------------------------------- */

/**
 * tramp_probe_traceable() - whether ftrace covers a function
 * @sym: the function, or a part of one (.cold): then the one it belongs to must be covered
 * @mod: the module it is in, NULL for the kernel proper
 *
 * Context: tramp_mutex held; @mod does not go (its notifier waits for that mutex).
 * Return: false if no probe may be in it, since a tracer might run it before its test
 * for recursion.
 */
bool tramp_probe_traceable(const struct tramp_symbol *sym, const struct module *mod);

/**
 * tramp_probe_denied() - whether a function is none for our int3s
 * @sym: the function
 * @refuse: (out) and none for a kernel kprobe either
 *
 * Return: enum tramp_reason, 0 if it is like any other.
 */
u32 tramp_probe_denied(const struct tramp_symbol *sym, bool *refuse);

/* image.c ---------------------------------------------------------------- */

/**
 * tramp_probe_image_create() - make and name a detour buffer
 * @probe: its probe, whose members it calls; orig holds at least @len bytes
 * @len: original bytes that it executes
 * @index: for its name
 * @describe: tramp_slot_call() but in the self-test
 * @why: why not
 *
 * Context: tramp_mutex held, may sleep.
 * Return: it, or an ERR_PTR().
 */
struct tramp_probe_image *tramp_probe_image_create(const struct tramp_probe *probe, u32 len,
						   u32 index, tramp_describe_t *describe,
						   struct tramp_refusal *why);

/* The slab cache of detour buffers. Module init and exit; see base/cache.h. */
int tramp_probe_image_init(void);
void tramp_probe_image_exit(void);

/* poke.c: tramp_mutex held for all of them ------------------------------- */

/**
 * tramp_probe_arm() - put an int3 at a probe's address
 * @probe: in the table, with its image
 * @why: why not: KPROBE_THERE or FOREIGN_BYTES
 *
 * Return: 0 or a negative errno. When it is 0, every hit from now on is a hit.
 */
int tramp_probe_arm(struct tramp_probe *probe, struct tramp_refusal *why);

/**
 * tramp_probe_unjump() - from jump back to int3, at once
 * @probe: text JUMP; its image still executes the region
 *
 * Return: false if a foreign kprobe has to do with the jump; then nothing was done.
 */
bool tramp_probe_unjump(struct tramp_probe *probe);

/* Whether text and kprobes are such that an int3 of ours can be changed now. */
bool tramp_probe_is_ours(const struct tramp_probe *probe);

/**
 * tramp_probe_jump_batch() - from int3 to jump
 * @list: probes by @opt: quiesced, with text INT3 and an image that executes their region.
 * @refused: (out) those that cannot be changed after all, with their reason
 */
void tramp_probe_jump_batch(struct list_head *list, struct list_head *refused);

/**
 * tramp_probe_restore_batch() - give the text back
 * @list: probes by @opt, without programs. Those whose bytes somebody else has patched
 *	keep their text; the others have TRAMP_TEXT_ORIGINAL afterwards.
 */
void tramp_probe_restore_batch(struct list_head *list);

/* trap.c ------------------------------------------------------------------ */

/* The table of probes by address. */
void tramp_probe_hash_add(struct tramp_probe *probe);
void tramp_probe_hash_del(struct tramp_probe *probe);

/* The probe at an address; NULL if there is none. RCU or tramp_mutex. */
struct tramp_probe *tramp_probe_lookup(unsigned long addr);

int tramp_probe_trap_init(void);
void tramp_probe_trap_exit(void);

/**
 * tramp_probe_visit_rcu() - call a function for every probe in the table
 * @fn: must neither sleep nor change the table
 * @arg: passed to it
 *
 * Context: preemption off.
 */
notrace void tramp_probe_visit_rcu(tramp_probe_visit_t *fn, void *arg);

/**
 * tramp_probe_take_first() - send an int3 to the image of the probe it belongs to
 * @regs: of the exception
 *
 * What this leaves to the kernel's kprobes comes by the die notifiers if it is ours.
 * Context: the int3 handler, interrupts off.
 * Return: whether it was a probe's.
 */
bool tramp_probe_take_first(struct pt_regs *regs);

/* trap_fast.c ---------------------------------------------------------------- */

/* What asks that, at the entry of kprobe_int3_handler(); no function for C. */
void tramp_int3_stub(void);

/**
 * tramp_probe_direct_on() - take the short way from an int3 to a probe, if possible
 *
 * Hits are the same without it, only slower. Nothing is done if it is taken already.
 * Context: tramp_mutex held, may sleep.
 */
void tramp_probe_direct_on(void);

/**
 * tramp_probe_direct_off() - give it back
 *
 * Context: tramp_mutex held, may sleep.
 * Return: false if ftrace has shut down and left it in place: then the module must stay.
 */
bool tramp_probe_direct_off(void);

/* kprobe_veto.c ------------------------------------------------------------------ */

/**
 * struct tramp_hooked - a kprobe of the kernel that might become a jump
 * @addr: its address
 * @refuse: (out) it must not
 * @intruded: (out) it stands in a region of ours
 */
struct tramp_hooked {
	unsigned long addr;
	bool refuse;
	bool intruded;
};

/**
 * tramp_probe_hook_get() - have a say in what the kernel makes jumps of
 * @why: why that is not possible; then no int3 of ours may be written
 *
 * Takes the short way for int3s, too. Each success is undone by tramp_probe_hook_put().
 * Context: tramp_mutex held, may sleep.
 * Return: 0 or a negative errno.
 */
int tramp_probe_hook_get(struct tramp_refusal *why);
void tramp_probe_hook_put(void);
/* Module exit; takes tramp_mutex. Does not return if ftrace has shut down. */
void tramp_probe_hook_exit(void);

/* Note the branches among a new probe's original bytes; @len of them are known. */
void tramp_probe_note_branches(struct tramp_probe *probe, u32 len);

/* optimiser.c ------------------------------------------------------------------- */

/**
 * tramp_probe_queue() - have the optimiser look at a probe
 * @probe: mode INT3: it may become a jump, or has to be taken away
 *
 * Context: tramp_mutex held.
 */
void tramp_probe_queue(struct tramp_probe *probe);

/* Kprobes have come into regions. Any context. */
void tramp_probe_queue_intruded(void);

/* Something has gone from @addr: those whose regions hold it may be jumps again. */
void tramp_probe_queue_around(unsigned long addr);

/**
 * tramp_probe_evaluate() - whether a probe may be a jump, for its image
 * @probe: mode INT3
 * @place: checked
 *
 * Sets the probe's reason.
 * Context: tramp_mutex held.
 * Return: bytes of the region, 0 for no jump (now).
 */
u32 tramp_probe_evaluate(struct tramp_probe *probe, struct tramp_place *place);

/* Run the optimiser now and wait for it. Without tramp_mutex. */
void tramp_probe_flush(void);

/* Whether probes become jumps; switching goes through all of them. */
bool tramp_probe_optimising(void);
void tramp_probe_set_optimising(bool on);

/* No link is left: wait until all text is restored. Module exit, without tramp_mutex. */
void tramp_probe_opt_drain(void);

int tramp_probe_opt_init(void);
void tramp_probe_opt_exit(void);

/* callback.c --------------------------------------------------------------- */

/**
 * tramp_probe_callback_attach() - reach a probe through ftrace or a kernel kprobe
 * @probe: mode FTRACE_OPS or KPROBE, with its set, in the table
 * @why: why not
 *
 * Context: tramp_mutex held, may sleep.
 * Return: 0 or a negative errno.
 */
int tramp_probe_callback_attach(struct tramp_probe *probe, struct tramp_refusal *why);
/* No hit reaches it when this returned; its set may still be in use. May sleep. */
void tramp_probe_callback_detach(struct tramp_probe *probe);

/*
 * Hits that a kernel kprobe has skipped since it was registered: another one was running
 * on the CPU, so it did not call us.
 */
u64 tramp_probe_callback_missed(const struct tramp_probe *probe);

/* explain.c ----------------------------------------------------------------- */

/**
 * tramp_probe_explain() - the EXPLAIN_CODE command
 * @ex: the request; out members are filled in, pointers are user space's
 * @show: addresses and code may be shown
 *
 * Context: process, may sleep, without locks.
 * Return: 0 or a negative errno, see the UAPI header.
 */
int tramp_probe_explain(struct tramp_explain_code *ex, bool show);

#endif /* TRAMP_PROBE_H */
