/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Kernel text: reading what it was before anybody's probes, and writing probes
 * into it.
 */
#ifndef TRAMP_TEXT_H
#define TRAMP_TEXT_H

#include <linux/module.h>
#include "symbol.h"
#include "x86/insn.h"
#include "x86/safety.h"

/* Where an ftrace site may be at most, from its function's start: behind an ENDBR64. */
#define TRAMP_SITE_MAX	4

/* Walks through original instructions. */
struct tramp_cursor {
	unsigned long addr;	/* the next instruction */
	unsigned long end;	/* where to stop */
	u8 cover[TRAMP_X86_MAX_REGION];	/* original bytes that a probe hides */
	unsigned long cover_at;	/* their address */
	u32 cover_len;		/* how many there are, 0: none */
};

/**
 * tramp_cursor_init() - start at an instruction
 * @c: the cursor
 * @start: the start of a symbol: nothing that hides instructions begins before it
 * @end: where to stop, in the same symbol
 */
void tramp_cursor_init(struct tramp_cursor *c, unsigned long start, unsigned long end);

/**
 * tramp_cursor_next() - decode the next instruction
 * @c: the cursor
 * @insn: (out) the instruction that stood at @c->addr, which is then moved behind it
 *
 * Sees through int3s and jumps of ours and of the kernel's kprobes.
 *
 * Context: tramp_mutex and text_mutex held: nobody is in the middle of patching.
 * Return: false at the end, or if there is no instruction (then @c->addr < @c->end).
 */
bool tramp_cursor_next(struct tramp_cursor *c, struct tramp_x86_insn *insn);

/**
 * tramp_text_original() - the bytes at an address without anybody's probes
 * @addr: the start of an instruction
 * @start: the start of its symbol: nothing that hides instructions begins before it
 * @buf: (out) @len bytes
 * @len: at most TRAMP_X86_MAX_REGION, all in one symbol
 *
 * Context: tramp_mutex and text_mutex held.
 */
void tramp_text_original(unsigned long addr, unsigned long start, u8 *buf, u32 len);

/*
 * The original bytes that a probe of ours hides, at most TRAMP_X86_MAX_REGION. tramp_mutex held.
 * Return: how many, 0 if no probe of ours begins at @addr.
 */
typedef u32 tramp_cover_t(unsigned long addr, u8 *cover);

/* Set the function that knows what probes of ours hide; NULL: no probes. Init and exit. */
void tramp_text_set_cover(tramp_cover_t *cover);

/* text_mutex, for reading what nobody is patching. Takes tramp_mutex before. */
void tramp_text_lock(void);
void tramp_text_unlock(void);

/*
 * For writing: kprobe_mutex, and text_mutex inside. While they are held no kprobe of
 * the kernel comes, goes, or becomes a jump, and no CPU comes or goes.
 */
void tramp_text_write_lock(void);
void tramp_text_write_unlock(void);

/*
 * Assert, where lockdep is on, that the caller has locked the text, or locked it for writing.
 * Sparse (__must_hold) cannot follow these locks: their addresses are found at load.
 */
void tramp_text_assert_locked(void);
void tramp_text_assert_write_locked(void);

/* Whether a kprobe of the kernel may have bytes from @start to @end (exclusive). */
bool tramp_text_has_kprobe(unsigned long start, unsigned long end);

/*
 * Whether a kprobe of the kernel, armed or not, was registered for an address from
 * @start to @end (exclusive).
 */
bool tramp_text_knows(unsigned long start, unsigned long end);

/* Write bytes; nobody may be executing them but the first. Locked for writing. */
void tramp_text_write(unsigned long addr, const u8 *bytes, u32 len);

/* Wait until every CPU sees what was written. Locked for writing. */
void tramp_text_sync(void);

#endif /* TRAMP_TEXT_H */
