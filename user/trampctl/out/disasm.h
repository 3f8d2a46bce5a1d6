/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Instructions as text, by Zydis: what `dump` shows of an image and `explain` of a
 * function. Addresses in operands get their names from /proc/kallsyms.
 */
#ifndef TRAMPCTL_DISASM_H
#define TRAMPCTL_DISASM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kallsyms.h"

/* Longest text of an instruction, with its zero, and of its 15 bytes in hex. */
#define DISASM_TEXT	256
#define DISASM_BYTES	48

/**
 * struct disasm_opts - how it looks
 * @intel: Intel's syntax, not AT&T's
 * @ks: names for addresses; NULL: none
 * @label: a name that goes before those of @ks, to be freed, or NULL; may be NULL
 * @ctx: handed to @label
 */
struct disasm_opts {
	bool intel;
	const struct tramp_names *ks;
	char *(*label)(uint64_t addr, void *ctx);
	void *ctx;
};

struct disasm;

struct disasm *disasm_new(const struct disasm_opts *opts);
void disasm_free(struct disasm *d);
uint32_t disasm_length(struct disasm *d, const uint8_t *code, uint32_t max);
bool disasm_branch_target(struct disasm *d, const uint8_t *code, uint32_t max, uint64_t addr,
			  uint64_t *target);
void disasm_text(struct disasm *d, const uint8_t *code, uint32_t len, uint64_t addr, char *text);
void disasm_bytes(const uint8_t *code, uint32_t len, char *text);

#endif /* TRAMPCTL_DISASM_H */
