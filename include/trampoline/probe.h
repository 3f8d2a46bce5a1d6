/* SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause */
/*
 * libtrampoline, probes: programs at any instruction of the kernel.
 *
 * A program in SEC("kprobe/FUNCTION") or SEC("kprobe/FUNCTION+OFFSET") is
 * attached by tramp_attach() and tramp_object__attach() like any other; struct
 * tramp_attach_opts can name another place. It runs whenever the instruction is about to be
 * executed. Its context is a struct pt_regs with the registers as they are there (ip is one
 * byte behind the instruction's address, as after an int3).
 *
 * A probe begins as an int3 and becomes a jump a little later where that is safe:
 * tramp_link__info() tells the mode, and why it is no jump.
 *
 * Here is how a place is written, and what probes at the instructions of a function would be.
 * Included by trampoline/trampoline.h, whose rules hold here too.
 */
#ifndef TRAMPOLINE_PROBE_H
#define TRAMPOLINE_PROBE_H

#include <trampoline/symbols.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct tramp_place - where a probe goes
 * @sz: sizeof(struct tramp_place)
 * @addr: its address; 0: @symbol is meant
 * @offset: bytes from @symbol
 * @symbol: a function, empty if @addr is given
 * @module: the module it is in; "vmlinux": the kernel proper; empty: wherever it is
 * @has_offset: an offset was written, even if 0: an instruction is meant rather than
 *	the function
 */
struct tramp_place {
	size_t sz;
	uint64_t addr;
	uint64_t offset;
	char symbol[TRAMP_SYM_LEN];
	char module[TRAMP_MOD_LEN];
	bool has_offset;
	size_t :0;
};
#define tramp_place__last_field has_offset

/**
 * tramp_place__parse() - take the text of a place apart
 * @text: "[MODULE:]FUNCTION[+OFFSET]" or "0xADDRESS". Letters, digits, "_" and "." make
 *	up FUNCTION, as in libbpf's section names; OFFSET is decimal, or hexadecimal with 0x
 * @place: declared with TRAMP_OPTS(tramp_place, ...); filled up to its @sz
 *
 * Nothing is looked up. A decimal number with a zero in front is refused, since libbpf
 * reads it as octal.
 *
 * Errors: -EINVAL (TRAMP_LIB_BAD_PLACE).
 * Return: 0 or negative errno.
 */
TRAMP_API int tramp_place__parse(const char *text, struct tramp_place *place);

/**
 * struct tramp_code_opts - options of tramp_explain_code()
 * @sz: sizeof(struct tramp_code_opts)
 * @whole: all instructions of the function, also if the place is one of them
 */
struct tramp_code_opts {
	size_t sz;
	bool whole;
	size_t :0;
};
#define tramp_code_opts__last_field whole

/**
 * struct tramp_code - instructions of a function, and what probes at them would be
 * @func_name: the function
 * @module: its module, empty for the kernel proper
 * @func_addr: its address; 0 if hidden from the caller
 * @func_size: bytes up to the next symbol
 * @insns: the instructions in order (struct tramp_insn_info: linux/trampoline.h)
 * @nr_insns: how many; 1 if one was asked for
 * @code: the function's original bytes, with nobody's probes in them, from its first on;
 *	NULL if kernel addresses are hidden from the caller
 * @code_len: bytes at @code
 *
 * Members are only ever added at the end.
 */
struct tramp_code {
	const char *func_name;
	const char *module;
	uint64_t func_addr;
	uint64_t func_size;
	const struct tramp_insn_info *insns;
	size_t nr_insns;
	const uint8_t *code;
	size_t code_len;
};

/**
 * tramp_explain_code() - ask the module what probes in a function would be
 * @syms: a snapshot to suggest names from; NULL: one is loaded when that is needed
 * @spec: a place as tramp_place__parse() takes it. "FUNCTION" gives all of its
 *	instructions, "FUNCTION+OFFSET" and "0xADDRESS" the one that is there
 * @opts: options, or NULL
 *
 * Succeeds when the question could be answered, also if the answer is that no probe can
 * be there. The first call of all may take a while: the module reads the text of the
 * whole kernel to know what branches where.
 *
 * Errors: -EINVAL (TRAMP_LIB_BAD_PLACE, NOT_TEXT, NOT_BOUNDARY, OFFSET_RANGE, AMBIGUOUS),
 * -ENOENT (NO_SUCH_FUNCTION), -ENXIO (MODULE_GONE), -EOPNOTSUPP (MISSING_SYMBOL; NOT_BUILT
 * if the module knows no probes), and those of tramp_info(). The detail has the nearest
 * names or instructions, where there are any.
 * Return: to be freed with tramp_code__free(); NULL and errno on failure.
 */
TRAMP_API struct tramp_code *tramp_explain_code(const struct tramp_syms *syms, const char *spec,
						const struct tramp_code_opts *opts);

/** tramp_code__free() - free what tramp_explain_code() returned; NULL is fine */
TRAMP_API void tramp_code__free(struct tramp_code *code);

#ifdef __cplusplus
}
#endif

#endif /* TRAMPOLINE_PROBE_H */
