// SPDX-License-Identifier: GPL-2.0
/*
 * Instructions that the kernel's kprobes take, and get wrong when they are hit: our own idea of
 * tramp_place_kprobe_wrong().
 *
 * `ret n` and far returns, which they emulate as a plain one. A call with a prefix (cs, before
 * retpolines), which they have return into its last byte. A loop, which jumps once too often.
 * An instruction that waits for an interrupt, or an sti before one; a hypervisor may wait in a
 * call of it (0f 01). xbegin, which aborts to elsewhere.
 */
#include "probe.h"

/* Bytes in front of an opcode. */
static int prefixes(const uint8_t *code)
{
	int n = 0;

	while (code[n] == 0x26 || code[n] == 0x2e || code[n] == 0x36 || code[n] == 0x3e ||
	       (code[n] >= 0x64 && code[n] <= 0x67) || code[n] == 0xf2 || code[n] == 0xf3)
		n++;
	return n + ((code[n] & 0xf0) == 0x40); /* REX */
}

/* hlt, mwait, mwaitx. */
static bool waits(const uint8_t *code)
{
	code += prefixes(code);
	return code[0] == 0xf4 ||
	       (code[0] == 0x0f && code[1] == 0x01 && (code[2] == 0xc9 || code[2] == 0xfb));
}

bool kprobe_is_wrong(int fd, uint64_t addr)
{
	uint8_t code[32] = {};
	const uint8_t *op;

	text_read(fd, addr, code, sizeof(code) / 2);
	op = code + prefixes(code);
	switch (op[0]) {
	case 0xc2:
	case 0xca ... 0xcb:
	case 0xe0 ... 0xe2:
		return true;
	case 0xe8:
		return op != code;
	case 0xc7:
		return op[1] == 0xf8;
	case 0xfb:
		op += 1 + prefixes(op + 1);
		return waits(op) || (op[0] == 0x0f && op[1] == 0x01);
	default:
		return waits(code);
	}
}
