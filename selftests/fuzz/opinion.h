/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A second opinion about instructions: what Zydis takes one for. The core works it out from a
 * few fields (kernel/x86/insn.c); here tables of somebody else's say it.
 */
#ifndef SELFTESTS_FUZZ_OPINION_H
#define SELFTESTS_FUZZ_OPINION_H

#include "../../kernel/x86/insn.h"
#include "fuzz.h"

/* All that insn.h says of the instruction at @ip must be what Zydis says. */
void opinion_check(const struct tramp_x86_insn *insn, u64 ip);

#endif /* SELFTESTS_FUZZ_OPINION_H */
