/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A slot: one program in one attachment, as images see it.
 *
 * A link can change its program (update_prog) and can go away while calls are still inside
 * an older image that runs the program and counts its hits. So an image refers not to the
 * link but to a slot. The link and every image that calls the slot hold a reference to it. So
 * program and counters cannot be freed while any image could still use them. With the program
 * goes its recursion counter (prog->active).
 *
 * The counters are an object of their own: a link keeps them when it gets another slot.
 */
#ifndef TRAMP_SLOT_H
#define TRAMP_SLOT_H

#include <linux/bpf.h>
#include <linux/percpu.h>
#include <linux/refcount.h>
#include "x86/fentry_image.h"

/* Counted up by images with one instruction each, so plain u64 per CPU. */
struct tramp_pcpu_counts {
	u64 hits;
	u64 misses;
};

struct tramp_counts {
	refcount_t ref;
	struct tramp_pcpu_counts __percpu *pcpu;
};

/**
 * struct tramp_hook - a C function of ours in the place of a kprobe program
 * @func: what images and callbacks call: with the registers and this struct. Preemption is off,
 *	and RCU watches. Not traced, and calls nothing that may be. It returns 0
 * @regs: what it reads of pt_regs, as tramp_x86_detour_req::regs
 * @released: nothing calls @func any more: the last of its slots has gone. May sleep
 * @slots: how many there are
 *
 * On each CPU one hook runs at a time: one that comes by meanwhile (in an NMI, say) is missed.
 */
struct tramp_hook {
	u64 (*func)(struct pt_regs *regs, struct tramp_hook *hook);
	u32 regs;
	void (*released)(struct tramp_hook *hook);
	refcount_t slots;
};

/**
 * struct tramp_slot_user - embedded in whatever hears of it when a slot goes
 * @released: the last reference has gone. May sleep
 */
struct tramp_slot_user {
	void (*released)(struct tramp_slot_user *user);
};

/* 64 bytes: there is one for each attachment. */
struct tramp_slot {
	refcount_t ref;
	u32 call_flags;			/* TRAMP_X86_CALL_* */
	u32 regs;			/* a kprobe program: what it reads of pt_regs */
	bool muted;			/* left out of callbacks (tramp_slot_mute()) */
	bool func_ip;			/* a kprobe program: may call bpf_get_func_ip() */
	bool unextended;		/* keeps the program from being extended */
	bool session;			/* by map (prog/session.c) */
	union {
		u64 cookie;
		struct tramp_session_words __percpu *words;	/* with @session; or NULL */
	};
	struct bpf_prog *prog;		/* NULL in the self-test and for a hook */
	struct tramp_hook *hook;	/* instead of a program, or NULL */
	struct tramp_counts *counts;
	unsigned long link;		/* of many functions; see struct tramp_x86_call */
	struct tramp_slot_user *user;	/* may be NULL */
};

/**
 * tramp_slot_mute() - leave a program out of callbacks, or no longer
 * @slot: the program's
 * @muted: whether
 *
 * It has left its list, and there was no memory for a set without it: then the old one goes on, and
 * has it. It may come again with the same slot, if what had failed is tried once more.
 * tramp_mutex held.
 */
static inline void tramp_slot_mute(struct tramp_slot *slot, bool muted)
{
	WRITE_ONCE(slot->muted, muted);
}

/* The value of bpf_get_attach_cookie(); 0 where each function has one of its own. */
static inline u64 tramp_slot_cookie(const struct tramp_slot *slot)
{
	return slot->session ? 0 : slot->cookie;
}

/* New counters at zero, with one reference; NULL if out of memory. May sleep. */
struct tramp_counts *tramp_counts_alloc(void);
void tramp_counts_put(struct tramp_counts *counts);

/**
 * tramp_counts_sum() - add up over all CPUs
 * @counts: the counters
 * @hits: (out) runs
 * @misses: (out) skipped for recursion
 *
 * Not a snapshot: what is counted meanwhile may be seen or not.
 */
void tramp_counts_sum(const struct tramp_counts *counts, u64 *hits, u64 *misses);

/* Count misses that somebody else has counted; a negative number takes some away. May sleep. */
void tramp_counts_add_misses(struct tramp_counts *counts, u64 misses);

/**
 * tramp_slot_alloc() - new slot with one reference
 * @prog: the program; the slot takes a reference of its own
 * @counts: the counters; likewise
 * @cookie: what bpf_get_attach_cookie() returns
 *
 * Looks through the program once for what it uses of its context, so that images
 * leave out the rest.
 *
 * Context: may sleep.
 * Return: the slot, NULL if out of memory.
 */
struct tramp_slot *tramp_slot_alloc(struct bpf_prog *prog, struct tramp_counts *counts,
				    u64 cookie);

/*
 * Refuse a slot with @func_ip, FUNC_IP, and say how the program comes to ask for the function.
 * @addr is the refusal's. Any context.
 */
int tramp_slot_refuse_func_ip(const struct tramp_slot *slot, u64 addr, struct tramp_refusal *why);

/*
 * A copy with one reference of its own, and with the same program, counters and @link; NULL
 * without memory. May sleep. With @released set it tells when no image has it any more.
 */
struct tramp_slot *tramp_slot_clone(const struct tramp_slot *slot);

/* Likewise, for a hook, which is in use until @hook->released() is called. */
struct tramp_slot *tramp_slot_alloc_hook(struct tramp_hook *hook, struct tramp_counts *counts);
/* Run it from a callback, as an image does. Preemption is off. */
void tramp_slot_run_hook(struct tramp_slot *slot, struct pt_regs *regs);

struct tramp_slot *tramp_slot_get(struct tramp_slot *slot);

/* The last reference drops program and counters. @slot may be NULL. May sleep (bpf_prog_put). */
void tramp_slot_put(struct tramp_slot *slot);

/**
 * tramp_slot_call() - describe a slot to the emitter
 * @slot: the slot
 * @call: (out) what to call; refers to @slot without a reference
 */
void tramp_slot_call(struct tramp_slot *slot, struct tramp_x86_call *call);
typedef void tramp_describe_t(struct tramp_slot *slot, struct tramp_x86_call *call);

#endif /* TRAMP_SLOT_H */
