/* SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause */
/*
 * libtrampoline: one program on many functions at once.
 *
 *	struct tramp_selection *sel = tramp_syms__select(syms, &what);
 *	TRAMP_OPTS(tramp_multi_opts, opts, .selection = sel, .flags = TRAMP_MULTI_F_SKIP);
 *	struct tramp_link *link = tramp_attach_multi(prog, &opts);
 *
 * The program is one that libbpf's kprobe.multi takes: in SEC("kprobe.multi"),
 * SEC("kretprobe.multi") or SEC("kprobe.session"), with or without a pattern behind. Its
 * context is a struct pt_regs; bpf_get_func_ip() and bpf_get_attach_cookie() tell where it is.
 *
 * Kernels without kprobe.multi load such a program, but their helpers tell it nothing. Others
 * have no sessions. Open its object by one of the functions below rather than by libbpf's, and it
 * works there as it is.
 */
#ifndef TRAMPOLINE_MULTI_H
#define TRAMPOLINE_MULTI_H

#include <trampoline/attach.h>
#include <trampoline/select.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct tramp_multi_opts - options of tramp_attach_multi()
 * @sz: sizeof(struct tramp_multi_opts)
 * @selection: the functions; or
 * @addrs: their addresses; or
 * @names: their names, each "name" or "module:name". The module finds them. One that several
 *	functions of the kernel proper have is refused (AMBIGUOUS)
 * @cnt: entries in @addrs or @names; with @selection 0
 * @cookies: a cookie for each, in the order of @selection, @addrs or @names; NULL: all are 0
 * @flags: TRAMP_MULTI_F_SKIP: leave out what cannot be attached to;
 *	TRAMP_MULTI_F_RETURN: run at the functions' returns. A program in
 *	SEC("kretprobe.multi") does so anyway;
 *	TRAMP_MULTI_F_SESSION: run at both, with a program of SEC("kprobe"). It may have the map
 *	of struct tramp_session_words, and must if it tail-calls (SYNTAX). One in
 *	SEC("kprobe.session") does so anyway
 * @reasons: (out) with TRAMP_MULTI_F_SKIP: enum tramp_reason of each function, 0 for those
 *	that were attached to; NULL: not wanted
 * @attached: (out) how many; NULL: not wanted
 */
struct tramp_multi_opts {
	size_t sz;
	const struct tramp_selection *selection;
	const uint64_t *addrs;
	size_t cnt;
	const uint64_t *cookies;
	uint32_t flags;
	uint32_t *reasons;
	size_t *attached;
	const char *const *names;
};
#define tramp_multi_opts__last_field names

/**
 * tramp_register_sections() - teach libbpf the sections of programs for many functions
 *
 * Call it once, before objects are opened. From then on, and for all objects of the process:
 *  - libbpf knows SEC("kprobe.session"), which it does of itself from 1.5 on;
 *  - on a kernel without kprobe.multi, programs in SEC("kprobe.multi") and
 *    SEC("kretprobe.multi") are loaded in the form that works there: as plain kprobe programs,
 *    which read what bpf_get_func_ip() returns from their context. Only tramp_attach_multi()
 *    can attach them then. The module must be loaded before they are;
 *  - the same is true of SEC("kprobe.session") on a kernel without sessions (before 6.10). Such
 *    a kernel does not have what the program asks either: it must have been opened by
 *    tramp_object__open_file() and its like. Is the module too old for that, it is refused
 *    (MISSING_SYMBOL).
 * bpf_program__attach() goes on as it did: libbpf attaches sessions from 1.5 on, and refuses them
 * before (-EOPNOTSUPP).
 *
 * libbpf_register_prog_handler() does it, once for the process: a second call changes nothing.
 * Threads may call this and tramp_object__open_file() at once. But libbpf reads its list without
 * a lock. So a program whose threads open objects with libbpf itself has to call this before they
 * do.
 * Errors: those of libbpf_register_prog_handler() (TRAMP_LIB_SYSTEM).
 * Return: 0 or a negative errno.
 */
TRAMP_API int tramp_register_sections(void);

/**
 * tramp_object__open_file() - open a BPF object whose programs may be sessions
 * @path: the object's file
 * @opts: for libbpf; may be NULL
 *
 * As bpf_object__open_file(), after tramp_register_sections(). If the kernel has no sessions but
 * the module is loaded, an object that calls bpf_session_is_return() or bpf_session_cookie() is
 * linked with functions of these names. They look into a map that the module fills, named
 * TRAMP_SESSION_MAP, which is the object's then.
 *
 * Errors: those of libbpf; those of tramp_register_sections(); -EINVAL (TRAMP_LIB_BAD_ARGUMENT);
 * what libbpf's linker says (TRAMP_LIB_SYSTEM). Only for the latter three is there a last error.
 * Return: the object, to be closed with bpf_object__close(); NULL and errno on failure.
 */
TRAMP_API struct bpf_object *tramp_object__open_file(const char *path,
						     const struct bpf_object_open_opts *opts);

/**
 * tramp_object__open_mem() - the same for an object in memory
 * @elf: its bytes, which may go afterwards
 * @size: how many
 * @opts: for libbpf; may be NULL
 *
 * Errors: as tramp_object__open_file().
 * Return: the object; NULL and errno on failure.
 */
TRAMP_API struct bpf_object *tramp_object__open_mem(const void *elf, size_t size,
						    const struct bpf_object_open_opts *opts);

/**
 * tramp_object__open_skeleton() - the same for a skeleton
 * @skeleton: what `bpftool gen skeleton` made
 * @opts: for libbpf; may be NULL
 *
 * For foo.skel.h: `struct foo *foo = calloc(1, sizeof(*foo))`, foo__create_skeleton(foo), and this
 * with foo->skeleton. Then foo__load(foo) and foo__destroy(foo) as always.
 *
 * Errors: as tramp_object__open_file().
 * Return: 0 or a negative errno.
 */
TRAMP_API int tramp_object__open_skeleton(struct bpf_object_skeleton *skeleton,
					  const struct bpf_object_open_opts *opts);

/**
 * tramp_attach_multi() - attach a loaded program to many functions
 * @prog: loaded by libbpf and not attached by it
 * @opts: the functions; NULL: those that the pattern in its section name matches, as
 *	SEC("kprobe.multi/vfs_*"), but for those that cannot be attached to
 *
 * All functions or none, but for what TRAMP_MULTI_F_SKIP leaves out. One link for all of
 * them: they are detached together. The first function that is refused is the last error's
 * subject.
 *
 * Errors: those of TRAMP_IOC_ATTACH_MULTI (linux/trampoline.h) with their reasons, those of
 * tramp_attach() and of tramp_syms__select(). -EINVAL (TRAMP_LIB_BAD_ARGUMENT): no function.
 * -EOPNOTSUPP (NOT_BUILT): the module is too old.
 * Return: a link, to be freed with tramp_link__destroy(); NULL and errno on failure.
 */
TRAMP_API struct tramp_link *tramp_attach_multi(const struct bpf_program *prog,
						const struct tramp_multi_opts *opts);

#ifdef __cplusplus
}
#endif

#endif /* TRAMPOLINE_MULTI_H */
