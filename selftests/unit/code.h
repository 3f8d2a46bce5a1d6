/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Machine code in tables of tests: written as strings of hex escapes, which is
 * what reads best beside a disassembly, with a length, since there are zeros in it.
 */
#ifndef SELFTESTS_UNIT_CODE_H
#define SELFTESTS_UNIT_CODE_H

#include <stdio.h>
#include <string.h>

#include "../../kernel/x86/insn.h"

struct code {
	const char *bytes;
	u32 len;
};

#define CODE(s)	{ s, sizeof(s) - 1 }

#define NR(array) (sizeof(array) / sizeof((array)[0]))

/* For messages; overwritten by the next call. */
static inline const char *hex(const struct code *c)
{
	static char text[3 * 40 + 1];
	u32 i;

	text[0] = 0;
	for (i = 0; i < c->len && i < 40; i++)
		snprintf(text + 3 * i, 4, "%02x ", (u8)c->bytes[i]);
	return text;
}

/* Decode it with other bytes behind it, which must not matter. */
static inline bool code_decode(const struct code *c, struct tramp_x86_insn *insn)
{
	u8 buf[64];

	memset(buf, 0x90, sizeof(buf));
	memcpy(buf, c->bytes, c->len);
	return tramp_x86_decode(buf, sizeof(buf), insn);
}

#endif /* SELFTESTS_UNIT_CODE_H */
