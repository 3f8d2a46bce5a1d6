/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory of the kernel's that the kernel may be writing, read without its lock.
 */
#ifndef TRAMP_PEEK_H
#define TRAMP_PEEK_H

#include <linux/compiler.h>
#include <linux/module.h>
#include <linux/string.h>
#include <asm/ibt.h>
#include "compat.h"

/*
 * Text that somebody may be patching: each byte is an old one or a new one, or an int3. Its reader
 * says why any mix of them will do. Marking both sides is not possible: the kernel writes text
 * through another mapping, and KCSAN would see a value change that nobody wrote.
 * Context: any; nothing is called.
 */
static __always_inline void tramp_peek(void *to, unsigned long addr, size_t len)
{
	/* Any mix of old and new bytes will do. */
	data_race(memcpy(to, (const void *)addr, len));
}

/*
 * Where a function's patchable entry is, if it has one: behind an ENDBR, or behind the NOP of four
 * bytes that the kernel puts in place of one (is_endbr()). A program of the JIT's has such a NOP
 * under FineIBT. No state of a patchable entry begins like one.
 * Context: any.
 */
static inline unsigned long tramp_behind_endbr(unsigned long func)
{
	u32 first;

	tramp_peek(&first, func, sizeof(first));
	return func + (is_endbr(first) ? sizeof(first) : 0);
}

/*
 * The state of a module that nobody holds, which may go on to the next at any moment: the loader
 * writes it plainly, without a lock that others could take. A reference (try_module_get()) decides.
 * Context: preemption off, or else the module may be freed.
 */
static inline enum module_state tramp_module_state(const struct module *mod)
{
	/* The loader writes it plainly. */
	return data_race(READ_ONCE(mod->state));
}

/*
 * A reference to a module that is there for others, for module_put(). One that is still loading
 * is freed whoever has a reference, if its init fails (do_init_module()).
 * Context: preemption off. Return: whether there is one.
 */
static inline bool tramp_module_get_live(struct module *mod)
{
	return tramp_module_state(mod) == MODULE_STATE_LIVE && try_module_get(mod);
}

/*
 * Whether @addr, which is in the text of a live module, is in text that a reference keeps. Init
 * text is not: the loader frees it some time after the module has become live, when all work that
 * was begun meanwhile is done (async_synchronize_full()). The other text does not change, so the
 * answer stays right.
 * Context: preemption off, or with a reference.
 */
static inline bool tramp_module_keeps(const struct module *mod, unsigned long addr)
{
	unsigned long start, end;

	tramp_module_text(mod, &start, &end);
	return addr >= start && addr < end;
}

#endif /* TRAMP_PEEK_H */
