/* SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause */
/*
 * Questions to the BTF of a snapshot, for other folders of the library.
 */
#ifndef LIBTRAMPOLINE_SYMS_BTF_H
#define LIBTRAMPOLINE_SYMS_BTF_H

#include <trampoline/trampoline.h>

/*
 * Has BTF a type of a function, but the kernel no symbol? Then the compiler inlined it everywhere,
 * or dropped it. BTF describes one also if it has become NAME.isra.0: that is no such function.
 * @module: the one that it was sought in; empty: the kernel proper.
 */
bool libtramp_is_inlined(const struct tramp_syms *syms, const char *module, const char *name);

#endif /* LIBTRAMPOLINE_SYMS_BTF_H */
