// SPDX-License-Identifier: GPL-2.0
/*
 * The functions that the kernel's kprobes refuse: its blacklist.
 *
 * within_kprobe_blacklist() walks a list of some thousand functions. Where a symbol has a suffix
 * (.cold, .isra.0), it also looks up the name without it. The kernel often has no such name, and
 * then all symbols of all modules are compared. That is more than half of what it takes to check
 * an instruction, and all others wait for the text meanwhile. So answers are kept.
 *
 * They are about whole symbols. The list has functions as kallsyms has them, and sections end where
 * functions do (kernel/kprobes.c: kprobe_add_ksym_blacklist(), populate_kprobe_blacklist()). The
 * kernel's own functions are on it since boot and for good. Those of a module come and go with
 * it: it is asked for them each time.
 */
#include <linux/hash.h>
#include "base/ksyms.h"
#include "blacklist.h"
#include "text.h"

#define SEEN_BITS	10

/*
 * Where a symbol starts, shifted by one, with the answer in the lowest bit: the highest bit of a
 * kernel address is always set. Under text_mutex.
 */
static unsigned long seen[1 << SEEN_BITS];

bool tramp_text_blacklisted(unsigned long addr, const struct tramp_symbol *sym, bool in_module)
{
	unsigned long *at = &seen[hash_long(sym->start, SEEN_BITS)];

	tramp_text_assert_locked();
	if (in_module)
		return KSYM(within_kprobe_blacklist)(addr);
	if (*at >> 1 != sym->start << 1 >> 1)
		*at = sym->start << 1 | KSYM(within_kprobe_blacklist)(addr);
	return *at & 1;
}
