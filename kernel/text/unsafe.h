/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions at which not even an image is safe.
 */
#ifndef TRAMP_UNSAFE_H
#define TRAMP_UNSAFE_H

#include "base/tramp.h"

/**
 * tramp_text_unsafe() - whether a function can have programs at its site
 * @name: as kallsyms calls it
 * @in_module: it is in a module, which no guard calls
 *
 * Context: any.
 * Return: 0, RCU_IDLE (no program at all), or BLACKLISTED: none whose guard calls it, see
 * tramp_text_unsafe_for().
 */
u32 tramp_text_unsafe(const char *name, bool in_module);

/*
 * Whether that keeps a program away. @guarded: the kernel's own guard is around it
 * (TRAMP_X86_CALL_GUARDED). With lock debugging it is around our guards as well.
 */
static inline bool tramp_text_unsafe_for(u32 reason, bool guarded)
{
	return reason == TRAMP_REASON_RCU_IDLE ||
	       (reason && (guarded || IS_ENABLED(CONFIG_DEBUG_LOCK_ALLOC)));
}

#endif /* TRAMP_UNSAFE_H */
