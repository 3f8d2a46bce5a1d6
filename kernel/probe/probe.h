/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A probe: one instruction with programs. The self-test also uses image.h, trap.h and poke.h.
 */
#ifndef TRAMP_PROBE_H
#define TRAMP_PROBE_H

#include <linux/list.h>
#include "base/retire.h"
#include "base/tramp.h"
#include "link/point.h"
#include "x86/safety.h"

struct tramp_probe_at;

struct tramp_probe_image;
struct tramp_probe_kp;

/* The bytes that stand in the text at a probe's address. */
enum tramp_probe_text {
	TRAMP_TEXT_ORIGINAL,	/* nothing of ours */
	TRAMP_TEXT_INT3,	/* int3s for the whole instruction */
	TRAMP_TEXT_JUMP,	/* jmp to the image, and int3s for the rest of the region */
};

/*
 * One probed address. tramp_mutex protects everything but @hash, @go and @set.
 *
 * @mode and @text are written under it, and read without it as well, marked. @intruded is cleared
 * under it, and set under kprobe_mutex (kprobe_veto.c). Clearing may undo a set. The kprobe is in
 * the kernel's table then, and who has cleared it looks there afterwards.
 */
struct tramp_probe {
	struct tramp_point point;	/* as its members see it */
	struct hlist_node hash;		/* in the table; read by the int3 handler under RCU */
	unsigned long addr;
	unsigned long go;		/* of int3s: the image; its copy when no program is left */
	u64 key;
	u32 index;			/* of its newest image */
	/* INT3 (a jump, too: see @text), KPROBE, FTRACE_OPS; NONE: its module has gone */
	u8 mode;
	u8 text;			/* enum tramp_probe_text */
	bool entry;			/* at its function's entry */
	bool hooked;			/* holds the hook (tramp_probe_hook_get()) */
	bool quiesced;			/* no CPU is, or comes, between the region's instructions */
	bool waiting;			/* the optimiser waits for it to become quiesced */
	/* Without programs, but with bytes of somebody else; holds a reference to this module. */
	bool lingers;
	bool told;			/* the log says so */
	bool intruded;			/* a kernel kprobe has come into the region */
	bool abandoned;			/* out of the table; with programs if its module has gone */
	bool jumps;			/* an indirect jump among @orig may land in its function */
	u8 insn_len;
	u8 nr_branches;
	u16 nr;				/* programs; 0: it is being taken away */
	u16 no_jump;			/* programs that asked for no jump */
	u32 reason;			/* why it is no jump */
	unsigned long where;		/* the address that @reason is about */
	u8 orig[TRAMP_X86_MAX_REGION];	/* the original bytes */
	/* Where direct branches among @orig go, from @addr; if it @jumps, then its function. */
	s32 *branches;
	struct module *module;		/* without a reference; NULL: the kernel proper */
	struct tramp_probe_image *image;	/* mode INT3 */
	struct tramp_set __rcu *set;	/* modes KPROBE and FTRACE_OPS */
	struct tramp_probe_kp *kp;		/* mode KPROBE */
	struct list_head members;	/* its programs in the order they came */
	struct list_head opt;		/* in the optimiser's list */
	struct tramp_retire retire;
};

/* Probed addresses, and how many of them are jumps; for INFO. tramp_mutex held. */
void tramp_probe_totals(u32 *probes, u32 *optimised);

/* Whether the module of an attached member's place has gone. tramp_mutex held. */
bool tramp_probe_is_gone(const struct tramp_member *member);

/* Whether probes become jumps; switching goes through all of them. Without tramp_mutex. */
bool tramp_probe_optimising(void);
void tramp_probe_set_optimising(bool on);

/**
 * tramp_probe_prepare() - what has to be known before a probe is attached
 * @at: where
 * @all: of the whole function, not of this place alone
 * @why: why not
 *
 * Reads what branches where in the text around, unless that is known: takes around a second
 * for the kernel proper. At an ftrace site nobody needs to know.
 * Context: may sleep, without tramp_mutex.
 * Return: 0 or a negative errno.
 */
int tramp_probe_prepare(const struct tramp_probe_at *at, bool all, struct tramp_refusal *why);

/**
 * tramp_probe_explain() - the EXPLAIN_CODE command
 * @ex: the request; out members are filled in, pointers are user space's
 * @show: addresses and code may be shown
 *
 * Context: process, may sleep, without locks.
 * Return: 0 or a negative errno, see the UAPI header.
 */
int tramp_probe_explain(struct tramp_explain_code *ex, bool show);

/*
 * Fill in struct bpf_link_info for a probe or a return probe, as @ops describe it. May sleep,
 * without tramp_mutex. Return: 0 or a negative errno.
 */
int tramp_probe_link_info(const struct tramp_point_ops *ops, const struct tramp_member *member,
			  struct bpf_link_info *info);

/* The cache of probes, which stays until the retire list is empty. */
int tramp_probe_cache_init(void);
void tramp_probe_cache_exit(void);

/* The hook's filter. Module exit, behind the last grace period. */
void tramp_probe_hook_free(void);

int tramp_probe_init(void);
void tramp_probe_exit(void);

#endif /* TRAMP_PROBE_H */
