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

struct tramp_probe_image;
struct tramp_probe_kp;

/* Keys of probed addresses: this and a number. A BTF key has no such bit. */
#define TRAMP_PROBE_KEY		(1ULL << 62)

/* The bytes that stand in the text at a probe's address. */
enum tramp_probe_text {
	TRAMP_TEXT_ORIGINAL,	/* nothing of ours */
	TRAMP_TEXT_INT3,	/* int3s for the whole instruction */
	TRAMP_TEXT_JUMP,	/* jmp to the image, and int3s for the rest of the region */
};

/**
 * struct tramp_probe - one probed address
 * @point: the attach point that its members see
 * @hash: in the table by address; read by the int3 handler under RCU
 * @addr: the address
 * @go: where an int3 there goes on: the image, or its copy when no program is left
 * @key: its key
 * @index: of its newest image
 * @mode: INT3 (also once it is a jump: see @text), KPROBE, FTRACE_OPS, or NONE when
 *	its module has gone
 * @text: enum tramp_probe_text
 * @entry: at its function's entry
 * @hooked: holds the hook (tramp_probe_hook_get())
 * @quiesced: no CPU is, or comes, between the region's instructions
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
 * tramp_mutex protects everything but @hash, @go and @set.
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
	struct tramp_set __rcu *set;
	struct tramp_probe_kp *kp;
	struct list_head members;
	struct list_head opt;
	struct tramp_retire retire;
	struct rcu_head rcu;
};

/* Probed addresses, and how many of them are jumps; for INFO. tramp_mutex held. */
void tramp_probe_totals(u32 *probes, u32 *optimised);

/* Whether probes become jumps; switching goes through all of them. Without tramp_mutex. */
bool tramp_probe_optimising(void);
void tramp_probe_set_optimising(bool on);

/**
 * tramp_probe_explain() - the EXPLAIN_CODE command
 * @ex: the request; out members are filled in, pointers are user space's
 * @show: addresses and code may be shown
 *
 * Context: process, may sleep, without locks.
 * Return: 0 or a negative errno, see the UAPI header.
 */
int tramp_probe_explain(struct tramp_explain_code *ex, bool show);

int tramp_probe_init(void);
void tramp_probe_exit(void);

#endif /* TRAMP_PROBE_H */
