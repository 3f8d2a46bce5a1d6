/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions at which not even an image is safe.
 */
#ifndef TRAMP_UNSAFE_H
#define TRAMP_UNSAFE_H

#include "base/tramp.h"

/* With a reason: it is about the kernel's own guard alone, which calls the function. */
#define TRAMP_UNSAFE_GUARD	0x80

/**
 * tramp_text_unsafe() - whether a function can have programs at its site
 * @name: as kallsyms calls it
 * @in_module: it is in a module, which no guard calls
 *
 * Context: any.
 * Return: 0, or why not: RCU_IDLE or BLACKLISTED, the latter perhaps with TRAMP_UNSAFE_GUARD.
 */
u8 tramp_text_unsafe(const char *name, bool in_module);

/*
 * The reason why that keeps a program away, 0 if it does not. @guarded: the kernel's own guard is
 * around it (TRAMP_X86_CALL_GUARDED). With lock debugging it is around our guards as well.
 */
static inline u32 tramp_text_unsafe_for(u8 unsafe, bool guarded)
{
	if ((unsafe & TRAMP_UNSAFE_GUARD) && !guarded && !IS_ENABLED(CONFIG_DEBUG_LOCK_ALLOC))
		return 0;
	return unsafe & ~TRAMP_UNSAFE_GUARD;
}

#endif /* TRAMP_UNSAFE_H */
