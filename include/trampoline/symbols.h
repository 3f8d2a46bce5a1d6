/* SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause */
/*
 * libtrampoline, symbols: a snapshot of the kernel's functions. That is /proc/kallsyms,
 * with what ftrace can patch (available_filter_functions) and what BTF describes, of
 * the kernel and of its modules. Of use on its own, with or without the module.
 *
 * Loading takes some tens of milliseconds and a few MB: load once. BTF, ftrace's list
 * and the order of addresses are made when first asked for, under a lock. All calls on one
 * snapshot may run at once, in several threads, but for tramp_syms__free(): it is the last.
 */
#ifndef TRAMPOLINE_SYMBOLS_H
#define TRAMPOLINE_SYMBOLS_H

#include <trampoline/common.h>

#ifdef __cplusplus
extern "C" {
#endif

struct tramp_syms;

/* tramp_sym::flags */
/*
 * ftrace can patch its entry. The first tramp_syms__knows_traceable() sets it in all functions that
 * it is true of; tramp_syms__match() and tramp_syms__select() make that call when they need to.
 * A thread that reads flags meanwhile may see it or not.
 */
#define TRAMP_SYM_TRACEABLE	(1U << 0)
#define TRAMP_SYM_LOCAL		(1U << 1)	/* static */
#define TRAMP_SYM_WEAK		(1U << 2)

/**
 * struct tramp_sym - a function
 * @name: as in kallsyms
 * @module: its module, empty for the kernel proper
 * @addr: its address; 0 if hidden from the caller (kptr_restrict)
 * @flags: TRAMP_SYM_*
 *
 * Belongs to the snapshot. Members are only ever added at the end.
 */
struct tramp_sym {
	const char *name;
	const char *module;
	uint64_t addr;
	uint32_t flags;
};

/**
 * struct tramp_syms_opts - options of tramp_syms__load()
 * @sz: sizeof(struct tramp_syms_opts)
 * @kallsyms: file to read instead of /proc/kallsyms
 * @filter_functions: file to read instead of tracefs' available_filter_functions;
 *	"" for none
 * @vmlinux_btf: BTF (raw or in an ELF file) to read instead of the running kernel's
 * @module_btf_dir: folder with one raw BTF file a module, instead of /sys/kernel/btf
 * @modules: file to read instead of /proc/modules; by default none if there is @kallsyms
 */
struct tramp_syms_opts {
	size_t sz;
	const char *kallsyms;
	const char *filter_functions;
	const char *vmlinux_btf;
	const char *module_btf_dir;
	const char *modules;
};
#define tramp_syms_opts__last_field modules

/**
 * tramp_syms__load() - take a snapshot of the kernel's functions
 * @opts: options, or NULL
 *
 * The kernel may go on listing functions that ran at a module's load, after their memory went
 * to somebody else. They lie outside of the module's text by /proc/modules, and are left out.
 *
 * Errors: -errno with TRAMP_LIB_NO_KALLSYMS; -errno with TRAMP_LIB_NO_FILE if @opts->modules
 * cannot be read; -ENOMEM.
 * Return: to be freed with tramp_syms__free(); NULL and errno on failure.
 */
TRAMP_API struct tramp_syms *tramp_syms__load(const struct tramp_syms_opts *opts);

/** tramp_syms__free() - free a snapshot and everything it handed out; NULL is fine */
TRAMP_API void tramp_syms__free(struct tramp_syms *syms);

/**
 * tramp_syms__knows_traceable() - is TRAMP_SYM_TRACEABLE meaningful in this snapshot?
 * @syms: the snapshot
 *
 * The first call reads available_filter_functions, which takes as long as loading the
 * snapshot did, and marks the functions. tramp_syms__match() makes that call when it needs to.
 *
 * Return: false if the file cannot be read (TRAMP_LIB_NO_TRACEFS); then no function is marked.
 */
TRAMP_API bool tramp_syms__knows_traceable(const struct tramp_syms *syms);

/** tramp_syms__count() - functions in a snapshot */
TRAMP_API size_t tramp_syms__count(const struct tramp_syms *syms);

/**
 * tramp_syms__get() - a function by number
 * @syms: the snapshot
 * @i: 0 to tramp_syms__count() - 1, in the order of names
 *
 * Return: NULL (and no error) beyond the last.
 */
TRAMP_API const struct tramp_sym *tramp_syms__get(const struct tramp_syms *syms, size_t i);

/**
 * tramp_syms__find() - a function by name
 * @syms: the snapshot
 * @spec: "NAME", or "MODULE:NAME" for one in a module ("vmlinux:NAME" for the
 *	kernel proper)
 *
 * Errors: -ENOENT (NO_SUCH_FUNCTION); tramp_last_error()->detail then says what
 * is known: that the compiler split or renamed it, or the nearest names.
 * -ENOENT (TRAMP_LIB_INLINED) if BTF describes it all the same.
 * -EINVAL (AMBIGUOUS) if several functions have the name and @spec does not
 * tell them apart. -EINVAL (BAD_PATTERN) if @spec is malformed, or a pattern.
 * Return: NULL and errno on failure.
 */
TRAMP_API const struct tramp_sym *tramp_syms__find(const struct tramp_syms *syms,
						   const char *spec);

/**
 * tramp_syms__find_addr() - the function that an address lies in
 * @syms: the snapshot
 * @addr: the address
 * @off: where to store the offset in it; NULL: not wanted
 *
 * Return: the function with the highest address not above @addr; NULL and
 * ENOENT if there is none, or addresses are hidden. Symbols have no sizes:
 * judge by @off. The last error is not touched.
 */
TRAMP_API const struct tramp_sym *tramp_syms__find_addr(const struct tramp_syms *syms,
							uint64_t addr, uint64_t *off);

/** tramp_sym_cb - called for each match; anything but 0 ends the walk */
typedef int (*tramp_sym_cb)(const struct tramp_sym *sym, void *ctx);

/**
 * struct tramp_match_opts - options of tramp_syms__match()
 * @sz: sizeof(struct tramp_match_opts)
 * @deny_cnt: entries in @deny
 * @deny: globs of functions to leave out, in the syntax of the pattern
 * @untraceable: also report functions ftrace cannot patch
 */
struct tramp_match_opts {
	size_t sz;
	size_t deny_cnt;
	const char *const *deny;
	bool untraceable;
	size_t :0;
};
#define tramp_match_opts__last_field untraceable

/**
 * tramp_syms__match() - every function that a glob matches
 * @syms: the snapshot
 * @pattern: "GLOB" for all modules and the kernel, or "MODGLOB:GLOB" ("vmlinux:..."
 *	for the kernel proper); syntax: tramp_glob_match()
 * @opts: options, or NULL
 * @cb: called in the order of names; NULL: count only
 * @ctx: handed to @cb
 *
 * Errors: -ENOENT (TRAMP_LIB_NO_MATCH), with the nearest names if @pattern has no
 * wildcard; then also TRAMP_LIB_INLINED, as tramp_syms__find(). -EINVAL
 * (TRAMP_LIB_BAD_PATTERN).
 * Return: the number of matches; what @cb returned if not 0; or negative errno.
 */
TRAMP_API int tramp_syms__match(const struct tramp_syms *syms, const char *pattern,
				const struct tramp_match_opts *opts, tramp_sym_cb cb, void *ctx);

/**
 * tramp_syms__suggest() - the names nearest to one that does not exist
 * @syms: the snapshot
 * @name: what was asked for, without module
 * @out: receives at most @max names, nearest first; they belong to the snapshot
 * @max: room at @out, at most 32 are used
 *
 * Distance is counted in edits (one letter wrong, missing, too many, or two
 * swapped). Names too far away to be meant are not suggested.
 *
 * Return: the number of names, 0 if nothing is near.
 */
TRAMP_API size_t tramp_syms__suggest(const struct tramp_syms *syms, const char *name,
				     const char **out, size_t max);

/**
 * tramp_glob_match() - does a shell-like pattern match a whole string?
 * @pattern: `*` any characters, `?` any one, `[a-z]`, `[!a-z]` one of a set
 * @str: the string
 *
 * A malformed set matches nothing: tramp_glob_check() tells.
 *
 * Return: whether it does.
 */
TRAMP_API bool tramp_glob_match(const char *pattern, const char *str);

/** tramp_glob_check() - 0 if a pattern is well-formed, else -EINVAL (TRAMP_LIB_BAD_PATTERN) */
TRAMP_API int tramp_glob_check(const char *pattern);

/* ------------------------------------------------------- names of any address -- */

struct tramp_names;

/**
 * struct tramp_name - a symbol of any kind
 * @name: as in kallsyms
 * @module: its module, "bpf" for BPF programs and images, "__builtin__kprobes" or
 *	"__builtin__ftrace" for code that the kernel made; empty for the kernel proper
 * @addr: its address; a per-CPU variable's is its offset from the GS base, a small number
 * @type: the letter that nm has for it: 't' and 'T' are code
 *
 * Belongs to the names. Members are only ever added at the end.
 */
struct tramp_name {
	const char *name;
	const char *module;
	uint64_t addr;
	char type;
};

/**
 * struct tramp_names_opts - options of tramp_names__load()
 * @sz: sizeof(struct tramp_names_opts)
 * @kallsyms: file to read instead of /proc/kallsyms
 * @modules: file to read instead of /proc/modules; by default none if there is @kallsyms
 */
struct tramp_names_opts {
	size_t sz;
	const char *kallsyms;
	const char *modules;
};
#define tramp_names_opts__last_field modules

/**
 * tramp_names__load() - take a snapshot of all symbols there are
 * @opts: options, or NULL
 *
 * For stacks and disassemblies: other than struct tramp_syms this has data, BPF programs,
 * images and per-CPU variables, in the order of addresses. It leaves out the gone functions
 * that tramp_syms__load() leaves out. It may be read by several threads.
 *
 * Errors: as tramp_syms__load(); -EPERM with TRAMP_LIB_NO_KALLSYMS if addresses are hidden
 * from the caller.
 * Return: to be freed with tramp_names__free(); NULL and errno on failure.
 */
TRAMP_API struct tramp_names *tramp_names__load(const struct tramp_names_opts *opts);

/** tramp_names__free() - free names and everything they handed out; NULL is fine */
TRAMP_API void tramp_names__free(struct tramp_names *names);

/**
 * tramp_names__find_addr() - the symbol that an address belongs to
 * @names: the names
 * @addr: the address
 * @off: where to store the distance from the symbol; NULL: not wanted
 *
 * Of several names of one address it prefers code, then global ones.
 *
 * Return: NULL and ENOENT if there is none within 64 KiB below. The last error is not touched.
 */
TRAMP_API const struct tramp_name *tramp_names__find_addr(const struct tramp_names *names,
							  uint64_t addr, uint64_t *off);

/** tramp_names__find_percpu() - the same for an offset from the GS base: a per-CPU variable */
TRAMP_API const struct tramp_name *tramp_names__find_percpu(const struct tramp_names *names,
							    uint64_t addr, uint64_t *off);

#ifdef __cplusplus
}
#endif

#endif /* TRAMPOLINE_SYMBOLS_H */
