/* SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause */
/*
 * libtrampoline: attach one program, or all of an object at once.
 */
#ifndef TRAMPOLINE_ATTACH_H
#define TRAMPOLINE_ATTACH_H

#include <trampoline/common.h>

#ifdef __cplusplus
extern "C" {
#endif

struct tramp_link;
struct tramp_links;

/**
 * struct tramp_attach_opts - options of tramp_attach() and tramp_attach_fd()
 * @sz: sizeof(struct tramp_attach_opts)
 * @cookie: what bpf_get_attach_cookie() returns in this attachment; a value
 *	other than 0 sets TRAMP_ATTACH_F_COOKIE by itself. A program for many functions gets
 *	it in each of them
 * @flags: TRAMP_ATTACH_F_COOKIE: @cookie is meant even if 0;
 *	TRAMP_ATTACH_F_NO_OPS: refuse rather than go through ftrace_ops;
 *	TRAMP_ATTACH_F_NO_JUMP: a probe stays an int3;
 *	TRAMP_ATTACH_F_NO_KPROBE: refuse rather than use a kprobe of the kernel.
 *	TRAMP_ATTACH_F_RETURN: a return probe. SEC("kretprobe") sets it by itself
 * @symbol: a probe: the function to use instead of the section name's
 * @module: a probe: the module to look in, "vmlinux" for the kernel proper. With @symbol,
 *	or for the function that the section names
 * @offset: a probe: bytes from @symbol; not without it
 * @addr: a probe: its address, instead of all of the above and of the section name
 * @maxactive: a return probe in mode RETHOOK: how many calls may be inside the function at a
 *	time, up to TRAMP_MAX_MAXACTIVE. Further ones are missed. 0: the kernel's default
 *
 * The last five are for kprobe programs only (trampoline/probe.h).
 */
struct tramp_attach_opts {
	size_t sz;
	uint64_t cookie;
	uint32_t flags;
	const char *symbol;
	const char *module;
	uint64_t offset;
	uint64_t addr;
	uint32_t maxactive;
	size_t :0;
};
#define tramp_attach_opts__last_field maxactive

/**
 * tramp_attach() - attach a loaded program where its section name says
 * @prog: loaded by libbpf (bpf_object__load()) and not attached by it. Its kind comes from the
 *	program: SEC("fentry/FUNC"), SEC("fexit/FUNC"), SEC("fmod_ret/FUNC") and their sleepable
 *	forms; SEC("kprobe/FUNC"), SEC("kprobe/FUNC+OFFSET") and SEC("kretprobe/FUNC");
 *	SEC("kprobe.multi/PATTERN"), SEC("kretprobe.multi/PATTERN") and
 *	SEC("kprobe.session/PATTERN") for all functions that the pattern matches
 *	(trampoline/multi.h). Its function comes from the section name. For a tracing program it
 *	may also come from bpf_program__set_attach_target() before loading, for a probe also from
 *	@opts.
 * @opts: options, or NULL
 *
 * A tracing program runs on every call of the function that enters after this returned. A probe
 * runs whenever its instruction is about to be executed, a return probe when a call returns that
 * entered the function after this returned. All of them end when the link is destroyed,
 * detached or (if pinned) unpinned.
 *
 * Errors, besides those of TRAMP_IOC_ATTACH (linux/trampoline.h), which come
 * with the reasons listed there:
 *  -EINVAL      @prog is NULL or not loaded, unknown flag, bad @sz; a probe without or
 *               with a malformed place (TRAMP_LIB_BAD_PLACE)
 *  -EOPNOTSUPP  a kind this version cannot attach (NOT_BUILT, e.g. SEC("ksyscall/...");
 *               PROG_TYPE, ATTACH_TYPE)
 *  -EBUSY       the program is attached already (ALREADY_ATTACHED; for exit programs
 *               also TRAMP_LIB_KERNEL_ATTACHED), or the place is taken
 *  -ENODEV      the module is not loaded (TRAMP_LIB_NO_DEVICE)
 *  -EPERM       no permission
 *  -EPROTO      module and library do not fit together (TRAMP_LIB_ABI_MISMATCH)
 *
 * After a signal that has a handler it begins anew, and further ones wait.
 *
 * Where a place is refused, the detail has the nearest names or instructions.
 *
 * Return: a link, to be freed with tramp_link__destroy(); NULL and errno on failure.
 */
TRAMP_API struct tramp_link *tramp_attach(const struct bpf_program *prog,
					  const struct tramp_attach_opts *opts);

/**
 * tramp_attach_fd() - attach a loaded program given by its file descriptor
 * @prog_fd: a program of type BPF_PROG_TYPE_TRACING, or BPF_PROG_TYPE_KPROBE with its place in
 *	@opts, from whatever loader; it stays the caller's and may be closed afterwards
 * @opts: options, or NULL
 *
 * Errors: as tramp_attach().
 * Return: a link, to be freed with tramp_link__destroy(); NULL and errno on failure.
 */
TRAMP_API struct tramp_link *tramp_attach_fd(int prog_fd, const struct tramp_attach_opts *opts);

/**
 * struct tramp_attach_item - one of many programs to attach
 * @prog: the program, as for tramp_attach()
 * @opts: its options, or NULL
 */
struct tramp_attach_item {
	const struct bpf_program *prog;
	const struct tramp_attach_opts *opts;
};

/**
 * tramp_attach_many() - attach many programs at once, all or nothing
 * @items: what to attach; a program may be there for several places
 * @nr: how many, at least one
 *
 * The same as tramp_attach() of one after the other, but far faster from some dozens on: the
 * kernel's text is changed for many at once. If one cannot be attached, none is, and
 * tramp_last_error()->subject names it. A module that does not know the command attaches one after
 * the other.
 *
 * Errors: as tramp_attach(); -EMFILE if the limit of open files (RLIMIT_NOFILE) is too low: each
 * link has one. After a signal that has a handler it begins anew, and further ones wait. One that
 * ends the process ends it, too, and leaves nothing attached.
 *
 * Return: the links in the order of @items, to be freed with tramp_links__destroy(); NULL and errno
 * on failure.
 */
TRAMP_API struct tramp_links *tramp_attach_many(const struct tramp_attach_item *items, size_t nr);

/**
 * struct tramp_prog_cookie - a cookie for one program of an object
 * @prog_name: the program's name
 * @cookie: its cookie
 */
struct tramp_prog_cookie {
	const char *prog_name;
	uint64_t cookie;
};

/* tramp_object_attach_opts::flags */
#define TRAMP_OBJECT_F_SKIP_OTHER	(1U << 0)	/* leave kinds we cannot attach to libbpf */

/**
 * struct tramp_object_attach_opts - options of tramp_object__attach()
 * @sz: sizeof(struct tramp_object_attach_opts)
 * @flags: TRAMP_OBJECT_F_SKIP_OTHER: programs of kinds the module does not
 *	attach (tracepoints, XDP, iterators...) are left for the caller to attach
 *	with libbpf; without it they are an error
 * @attach_flags: tramp_attach_opts::flags for every program that they apply to
 * @cookie_cnt: entries in @cookies
 * @cookies: cookies by program name; programs not named get none
 * @maxactive: tramp_attach_opts::maxactive for every return probe
 */
struct tramp_object_attach_opts {
	size_t sz;
	uint32_t flags;
	uint32_t attach_flags;
	size_t cookie_cnt;
	const struct tramp_prog_cookie *cookies;
	uint32_t maxactive;
	size_t :0;
};
#define tramp_object_attach_opts__last_field maxactive

/**
 * tramp_object__check() - find out before it is loaded why an object could not be attached
 * @obj: opened by libbpf, not loaded
 * @opts: as for the attach to come, or NULL
 *
 * A wrong function of a tracing program shows when libbpf loads it, as an errno alone. This asks
 * before: is the section's name right, is there such a function, can the module
 * attach to it? Programs whose autoload is off are passed over, and so is what cannot be asked.
 *
 * The names in the sections count. Do not call it if bpf_program__set_attach_target() has given
 * another function to a program whose section names one.
 *
 * Errors: as tramp_attach(); -EINVAL with TRAMP_LIB_BAD_SECTION if libbpf knows no such section,
 * -ENOENT with TRAMP_REASON_NO_SUCH_FUNCTION or TRAMP_LIB_INLINED.
 *
 * Return: 0; negative errno, and tramp_last_error()->subject names the program.
 */
TRAMP_API int tramp_object__check(const struct bpf_object *obj,
				  const struct tramp_object_attach_opts *opts);

/**
 * tramp_object__attach() - attach all programs of an object, all or nothing
 * @obj: loaded by libbpf; of a skeleton: skel->obj
 * @opts: options, or NULL
 *
 * Attaches every program that is loaded and has autoattach set (libbpf's
 * default), in the order they stand in the object. If one cannot be attached,
 * those attached before it are detached again, and tramp_last_error()->subject
 * names the program. Programs that are not loaded because autoload is off are
 * passed over, and so are those in a bare SEC("kprobe") or SEC("kretprobe"), which name no
 * place.
 *
 * Errors: as tramp_attach(); -EINVAL with TRAMP_LIB_NOT_LOADED if the object was
 * not loaded, -ENOENT with TRAMP_LIB_NO_PROGRAMS if nothing is left to attach.
 *
 * Return: the links, to be freed with tramp_links__destroy(); NULL and errno on failure.
 */
TRAMP_API struct tramp_links *tramp_object__attach(const struct bpf_object *obj,
						   const struct tramp_object_attach_opts *opts);

/** tramp_links__count() - number of links in a set */
TRAMP_API size_t tramp_links__count(const struct tramp_links *links);

/**
 * tramp_links__get() - a link of a set
 * @links: the set
 * @i: 0 to tramp_links__count() - 1, in the order of the object's programs
 *
 * Return: the link, which stays the set's; NULL and ERANGE beyond the last.
 */
TRAMP_API struct tramp_link *tramp_links__get(const struct tramp_links *links, size_t i);

/**
 * tramp_links__find() - the link of a program by the program's name
 * @links: the set
 * @prog_name: the program's name
 *
 * Return: the link, which stays the set's; NULL and ENOENT if there is none.
 */
TRAMP_API struct tramp_link *tramp_links__find(const struct tramp_links *links,
					       const char *prog_name);

/**
 * tramp_links__pin() - pin every link as DIR/<program name>, all or nothing
 * @links: the set
 * @dir: in a BPF file system; created if only the last component is missing
 *
 * A program that tramp_attach_many() has attached more than once has one path for all of its
 * links, which fails (TRAMP_LIB_PIN_EXISTS): pin each with tramp_link__pin().
 *
 * Errors: as tramp_link__pin(). Links pinned before the failing one are unpinned.
 * Return: 0 or negative errno.
 */
TRAMP_API int tramp_links__pin(struct tramp_links *links, const char *dir);

/** tramp_links__unpin() - remove the pins of every pinned link; 0 or the first error */
TRAMP_API int tramp_links__unpin(struct tramp_links *links);

/** tramp_links__detach() - detach every link, whoever else holds it; 0 or the first error */
TRAMP_API int tramp_links__detach(struct tramp_links *links);

/** tramp_links__destroy() - tramp_link__destroy() for every link, and free the set; NULL is fine */
TRAMP_API void tramp_links__destroy(struct tramp_links *links);

#ifdef __cplusplus
}
#endif

#endif /* TRAMPOLINE_ATTACH_H */
