/* SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause */
/*
 * libtrampoline: attach BPF programs that libbpf loaded through the trampoline
 * kernel module, and ask about functions, links and the module.
 *
 * The division of labour: libbpf opens, relocates and loads the object as it
 * always does; this library replaces the attach step only. A program in
 * SEC("fentry/do_unlinkat") that works with bpf_program__attach() works with
 * tramp_attach() as it is. What comes back is a real BPF link: bpftool shows
 * it, it can be pinned in bpffs, and closing its last reference detaches.
 *
 *	struct foo_bpf *skel = foo_bpf__open_and_load();
 *	struct tramp_links *links = tramp_object__attach(skel->obj, NULL);
 *
 *	if (!links) {
 *		fprintf(stderr, "%s\n", tramp_last_error()->message);
 *		...
 *	}
 *	...
 *	tramp_links__destroy(links);
 *	foo_bpf__destroy(skel);
 *
 * Do not call foo_bpf__attach() for the same programs as well: they would be
 * attached twice, by the kernel and by the module, or one of the two refuses.
 *
 * Rules for every function here:
 *
 *  - Functions that return int return 0 (or a count) on success and a negative
 *    errno on failure. Functions that return a pointer return NULL on failure
 *    and set errno.
 *  - Every failing call also fills the calling thread's last error
 *    (tramp_last_error()): errno, reason, a sentence and what to do about it.
 *    Calls that succeed leave it alone, as errno.
 *  - Structs whose first member is @sz grow at the end. Declare them with
 *    TRAMP_OPTS(), which sets @sz and zeroes the rest. Where a function takes
 *    options, NULL means the defaults.
 *  - Strings and structs behind `const` pointers belong to the library; what
 *    the caller has to free, and with what, stands at the function.
 *  - All functions may be called from any thread. A single object (struct
 *    tramp_link, tramp_links, tramp_syms) must not be used by two threads at
 *    once, except that a loaded struct tramp_syms may be read by many: see
 *    there for the calls that load lazily under a lock of their own.
 *  - No function may be called from a signal handler.
 */
#ifndef TRAMPOLINE_TRAMPOLINE_H
#define TRAMPOLINE_TRAMPOLINE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <linux/trampoline.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef TRAMP_API
#define TRAMP_API __attribute__((visibility("default")))
#endif

/* libbpf's types; include <bpf/libbpf.h> and <bpf/btf.h> to use them. */
struct bpf_object;
struct bpf_program;
struct btf;

/**
 * TRAMP_OPTS() - declare and initialise a struct whose first member is @sz
 * @TYPE: the struct's tag
 * @NAME: the variable to declare
 *
 * Further arguments are initialisers: TRAMP_OPTS(tramp_attach_opts, o, .cookie = 7).
 * Everything else, padding included, is zero.
 */
#define TRAMP_OPTS(TYPE, NAME, ...)					\
	struct TYPE NAME = ({						\
		memset(&NAME, 0, sizeof(struct TYPE));			\
		(struct TYPE) {						\
			.sz = sizeof(struct TYPE),			\
			__VA_ARGS__					\
		};							\
	})

/* --------------------------------------------------------------- version -- */

#define TRAMP_MAJOR_VERSION 0
#define TRAMP_MINOR_VERSION 2

/** tramp_major_version() - major version of the library that is running */
TRAMP_API uint32_t tramp_major_version(void);

/** tramp_minor_version() - minor version of the library that is running */
TRAMP_API uint32_t tramp_minor_version(void);

/** tramp_version_string() - version as text, "v0.2" */
TRAMP_API const char *tramp_version_string(void);

/* -------------------------------------------------------------- printing -- */

enum tramp_print_level {
	TRAMP_PRINT_WARN,
	TRAMP_PRINT_INFO,
	TRAMP_PRINT_DEBUG,
};

/** tramp_print_fn_t - receives the library's messages; returns what printf() would */
typedef int (*tramp_print_fn_t)(enum tramp_print_level level, const char *fmt, va_list args);

/**
 * tramp_set_print() - choose where the library's messages go
 * @fn: called for every message of every level, from the thread it arose in;
 *	NULL: no messages at all
 *
 * The default writes warnings to stderr, and debug messages too if the
 * environment variable LIBTRAMPOLINE_DEBUG is set and not empty. Programs that
 * report tramp_last_error() themselves pass NULL.
 *
 * Context: any thread; the setting is the process's.
 * Return: the function set before, NULL for none.
 */
TRAMP_API tramp_print_fn_t tramp_set_print(tramp_print_fn_t fn);

/* ---------------------------------------------------------------- errors -- */

/*
 * TRAMP_LIB_REASONS(X): reasons found by the library before (or without) asking
 * the kernel, as TRAMP_REASONS in linux/trampoline.h are those of the kernel.
 * The values are part of the library's ABI; the two ranges do not overlap.
 */
#define TRAMP_LIB_REASONS(X) \
	X(1000, NO_DEVICE, "no-device", "the trampoline kernel module is not loaded") \
	X(1001, NO_NODE, "no-node", "the module is loaded, but its device node is missing") \
	X(1002, ABI_MISMATCH, "abi-mismatch", \
	  "the module and the library speak different versions of the interface") \
	X(1003, NOT_LOADED, "not-loaded", "the program was not loaded into the kernel") \
	X(1004, NO_PROGRAMS, "no-programs", "the object has no program to attach") \
	X(1005, BAD_ARGUMENT, "bad-argument", "an argument of the library call is invalid") \
	X(1006, NOT_OUR_LINK, "not-our-link", "the link was not made by the trampoline module") \
	X(1007, NOT_BPFFS, "not-bpffs", "the path is not in a BPF file system") \
	X(1008, PIN_EXISTS, "pin-exists", "something is pinned or stands at that path already") \
	X(1009, ALREADY_PINNED, "already-pinned", "the link is pinned already") \
	X(1010, NOT_PINNED, "not-pinned", "the link is not pinned") \
	X(1011, NO_KALLSYMS, "no-kallsyms", "the kernel's symbol table cannot be read") \
	X(1012, NO_TRACEFS, "no-tracefs", "the list of traceable functions cannot be read") \
	X(1013, NO_KERNEL_BTF, "no-kernel-btf", "the kernel's BTF cannot be read") \
	X(1014, NO_MATCH, "no-match", "no function matches") \
	X(1015, BAD_PATTERN, "bad-pattern", "the pattern is malformed") \
	X(1016, KERNEL_ATTACHED, "kernel-attached", \
	  "the program is attached by the kernel itself, not through the module") \
	X(1017, NO_FILE, "no-file", "nothing can be opened at that path") \
	X(1018, SYSTEM, "system", "a system call failed") \
	X(1019, BAD_PLACE, "bad-place", "the place of a probe is malformed") \
	X(1020, NO_IMAGE, "no-image", "hits reach the program without an image")

enum tramp_lib_reason {
#define TRAMP_LIB_REASON_ENUM(value, NAME, name, sentence) TRAMP_LIB_##NAME = value,
	TRAMP_LIB_REASONS(TRAMP_LIB_REASON_ENUM)
#undef TRAMP_LIB_REASON_ENUM
	TRAMP_LIB_REASON_END
};

/**
 * struct tramp_error - why the last failing call of this thread failed
 * @err: the negative errno that was returned
 * @reason: enum tramp_reason or enum tramp_lib_reason; TRAMP_REASON_NONE if the
 *	errno says it all
 * @from_kernel: the trampoline module refused; otherwise the library or a
 *	system call failed
 * @name: short name of the reason ("site-held"), stable, for scripts
 * @sentence: the reason as a sentence without full stop
 * @subject: what it is about ("program 'on_exit'", "function 'do_unlinkat'"); may
 *	be empty
 * @detail: text that belongs to the reason: the holder of a site, the missing
 *	symbol, the nearest names; may be empty
 * @addr: the address it is about; 0: none, or hidden from the caller
 * @remedy: what to do about it; may be empty
 * @message: all of it in one line without newline, fit for "fprintf(stderr,
 *	"%s\n", ...)"
 *
 * No pointer in it is ever NULL. Members are only ever added at the end; the
 * struct belongs to the library.
 */
struct tramp_error {
	int err;
	unsigned int reason;
	bool from_kernel;
	const char *name;
	const char *sentence;
	const char *subject;
	const char *detail;
	uint64_t addr;
	const char *remedy;
	const char *message;
};

/**
 * tramp_last_error() - why the calling thread's last failing call failed
 *
 * Valid until the same thread's next failing call, tramp_clear_error() or its end.
 *
 * Return: never NULL; with @err 0 and empty texts if nothing failed yet.
 */
TRAMP_API const struct tramp_error *tramp_last_error(void);

/** tramp_clear_error() - forget the calling thread's last error */
TRAMP_API void tramp_clear_error(void);

/**
 * tramp_reason_name() - short name of a reason ("site-held")
 * @reason: enum tramp_reason or enum tramp_lib_reason
 *
 * Return: a static string; "unknown" for a number this library does not know
 * (the module may be newer).
 */
TRAMP_API const char *tramp_reason_name(unsigned int reason);

/** tramp_reason_sentence() - a reason as a sentence; like tramp_reason_name() */
TRAMP_API const char *tramp_reason_sentence(unsigned int reason);

/**
 * tramp_reason_remedy() - what to do about a reason, in general
 * @reason: enum tramp_reason or enum tramp_lib_reason
 *
 * Return: a static string, empty where nothing can be done.
 */
TRAMP_API const char *tramp_reason_remedy(unsigned int reason);

/**
 * tramp_reason_by_name() - a reason's number by its short name
 * @name: "site-held"
 *
 * Return: enum tramp_reason or enum tramp_lib_reason; -ENOENT if there is none
 * (the last error is not touched).
 */
TRAMP_API int tramp_reason_by_name(const char *name);

/**
 * tramp_kind_name() - "fentry", "fexit", "fmod_ret", "kprobe" for an enum tramp_kind;
 * "none", "unknown"
 */
TRAMP_API const char *tramp_kind_name(unsigned int kind);

/**
 * tramp_mode_name() - "direct", "ops", "jump", "int3", "kprobe" for an enum tramp_mode;
 * "none", "unknown"
 */
TRAMP_API const char *tramp_mode_name(unsigned int mode);

/* ---------------------------------------------------------------- attach -- */

struct tramp_link;
struct tramp_links;

/**
 * struct tramp_attach_opts - options of tramp_attach() and tramp_attach_fd()
 * @sz: sizeof(struct tramp_attach_opts)
 * @cookie: what bpf_get_attach_cookie() returns in this attachment; a value
 *	other than 0 sets TRAMP_ATTACH_F_COOKIE by itself
 * @flags: TRAMP_ATTACH_F_COOKIE: @cookie is meant even if 0;
 *	TRAMP_ATTACH_F_NO_OPS: refuse rather than go through ftrace_ops;
 *	TRAMP_ATTACH_F_NO_JUMP: a probe stays an int3;
 *	TRAMP_ATTACH_F_NO_KPROBE: refuse rather than use a kprobe of the kernel
 * @symbol: a probe: the function to use instead of the section name's
 * @module: a probe: the module to look in, "vmlinux" for the kernel proper. With @symbol,
 *	or for the function that the section names
 * @offset: a probe: bytes from @symbol; not without it
 * @addr: a probe: its address, instead of all of the above and of the section name
 *
 * The last four are for kprobe programs only (trampoline/probe.h).
 */
struct tramp_attach_opts {
	size_t sz;
	uint64_t cookie;
	uint32_t flags;
	const char *symbol;
	const char *module;
	uint64_t offset;
	uint64_t addr;
};
#define tramp_attach_opts__last_field addr

/**
 * tramp_attach() - attach a loaded program where its section name says
 * @prog: loaded by libbpf (bpf_object__load()) and not attached by it. Its
 *	kind comes from the program (SEC("fentry/FUNC"), SEC("fexit/FUNC"),
 *	SEC("fmod_ret/FUNC") and their sleepable forms; SEC("kprobe/FUNC") and
 *	SEC("kprobe/FUNC+OFFSET")), its function from the section name, for a tracing
 *	program also from bpf_program__set_attach_target() before loading, for a
 *	probe also from @opts.
 * @opts: options, or NULL
 *
 * A tracing program runs on every call of the function that enters after this
 * returned, a probe whenever its instruction is about to be executed, until the link
 * is destroyed, detached or (if pinned) unpinned.
 *
 * Errors, besides those of TRAMP_IOC_ATTACH (linux/trampoline.h), which come
 * with the reasons listed there:
 *  -EINVAL      @prog is NULL or not loaded, unknown flag, bad @sz; a probe without or
 *               with a malformed place (TRAMP_LIB_BAD_PLACE)
 *  -EOPNOTSUPP  a kind this version cannot attach (NOT_BUILT), e.g. SEC("kretprobe/...")
 *  -EBUSY       the program is attached already (ALREADY_ATTACHED; for exit programs
 *               also TRAMP_LIB_KERNEL_ATTACHED), or the place is taken
 *  -ENODEV      the module is not loaded (TRAMP_LIB_NO_DEVICE)
 *  -EPERM       no permission
 *  -EPROTO      module and library do not fit together (TRAMP_LIB_ABI_MISMATCH)
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
 * Return and errors: as tramp_attach().
 */
TRAMP_API struct tramp_link *tramp_attach_fd(int prog_fd, const struct tramp_attach_opts *opts);

/** struct tramp_prog_cookie - a cookie for one program of an object */
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
 */
struct tramp_object_attach_opts {
	size_t sz;
	uint32_t flags;
	uint32_t attach_flags;
	size_t cookie_cnt;
	const struct tramp_prog_cookie *cookies;
};
#define tramp_object_attach_opts__last_field cookies

/**
 * tramp_object__attach() - attach all programs of an object, all or nothing
 * @obj: loaded by libbpf; of a skeleton: skel->obj
 * @opts: options, or NULL
 *
 * Attaches every program that is loaded and has autoattach set (libbpf's
 * default), in the order they stand in the object. If one cannot be attached,
 * those attached before it are detached again, and tramp_last_error()->subject
 * names the program. Programs that are not loaded because autoload is off are
 * passed over, and so are those in a bare SEC("kprobe"), which names no place.
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
 * @i: 0 to tramp_links__count() - 1, in the order of the object's programs
 *
 * Return: the link, which stays the set's; NULL and ERANGE beyond the last.
 */
TRAMP_API struct tramp_link *tramp_links__get(const struct tramp_links *links, size_t i);

/**
 * tramp_links__find() - the link of a program by the program's name
 *
 * Return: the link, which stays the set's; NULL and ENOENT if there is none.
 */
TRAMP_API struct tramp_link *tramp_links__find(const struct tramp_links *links,
					       const char *prog_name);

/**
 * tramp_links__pin() - pin every link as DIR/<program name>, all or nothing
 * @dir: in a BPF file system; created if only the last component is missing
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

/* ----------------------------------------------------------------- links -- */

/**
 * tramp_link__fd() - the link's file descriptor
 *
 * A plain BPF link descriptor for bpf(2); it stays the link's.
 */
TRAMP_API int tramp_link__fd(const struct tramp_link *link);

/** tramp_link__id() - the link's id, as bpftool link shows it; stable for its life */
TRAMP_API uint32_t tramp_link__id(const struct tramp_link *link);

/** tramp_link__pin_path() - where this handle pinned or opened the link; NULL if nowhere */
TRAMP_API const char *tramp_link__pin_path(const struct tramp_link *link);

/**
 * tramp_link__pin() - keep the link beyond this process
 * @path: a path in a BPF file system that does not exist yet; if only its last
 *	folder is missing, that is created
 *
 * Errors: -EALREADY (TRAMP_LIB_ALREADY_PINNED), -EINVAL (TRAMP_LIB_NOT_BPFFS),
 * -EEXIST (TRAMP_LIB_PIN_EXISTS), and those of bpf(BPF_OBJ_PIN).
 * Return: 0 or negative errno.
 */
TRAMP_API int tramp_link__pin(struct tramp_link *link, const char *path);

/**
 * tramp_link__unpin() - remove the pin this handle made or was opened from
 *
 * The link lives on while descriptors or other pins hold it.
 *
 * Return: 0 or negative errno; -EINVAL (TRAMP_LIB_NOT_PINNED).
 */
TRAMP_API int tramp_link__unpin(struct tramp_link *link);

/**
 * tramp_link__open() - open a pinned link
 * @path: where it is pinned
 *
 * Errors: -ENOENT and those of open (TRAMP_LIB_NO_FILE), -EINVAL
 * (TRAMP_LIB_NOT_OUR_LINK) if it is no link of the trampoline module.
 * Return: a link, to be freed with tramp_link__destroy(); NULL and errno on failure.
 */
TRAMP_API struct tramp_link *tramp_link__open(const char *path);

/**
 * tramp_link__open_by_id() - open a link by its id
 *
 * The handle holds the link: it stays attached at least until
 * tramp_link__destroy().
 *
 * Errors: -ENOENT (TRAMP_REASON_LINK_GONE), -EINVAL (TRAMP_LIB_NOT_OUR_LINK), -EPERM.
 * Return: a link, to be freed with tramp_link__destroy(); NULL and errno on failure.
 */
TRAMP_API struct tramp_link *tramp_link__open_by_id(uint32_t id);

/**
 * tramp_link__detach() - detach now, whoever else holds the link
 *
 * Other handles and pins remain, as shells of a detached link. Detaching a
 * detached link succeeds.
 *
 * Return: 0 or negative errno.
 */
TRAMP_API int tramp_link__detach(struct tramp_link *link);

/**
 * tramp_link__update_program() - replace the link's program without a gap
 * @prog: loaded, of the same kind and for the same function
 *
 * Each call of the function is seen by the old or by the new program, none by
 * both, none by neither.
 *
 * Errors: -EINVAL (PROG_MISMATCH), -ENOENT (LINK_GONE) after a detach, for a probe also
 * -ENXIO (MODULE_GONE) and -EOPNOTSUPP (FUNC_IP), and what tramp_attach() can say about
 * @prog.
 * Return: 0 or negative errno.
 */
TRAMP_API int tramp_link__update_program(struct tramp_link *link, const struct bpf_program *prog);

/** tramp_link__update_fd() - tramp_link__update_program() with a program's descriptor */
TRAMP_API int tramp_link__update_fd(struct tramp_link *link, int prog_fd);

/**
 * tramp_link__disconnect() - give up ownership of the link's file descriptor
 *
 * tramp_link__destroy() then frees the handle only. The descriptor (take it
 * with tramp_link__fd() before) stays open, and the program attached, until
 * the caller closes it or the process ends.
 */
TRAMP_API void tramp_link__disconnect(struct tramp_link *link);

/**
 * tramp_link__destroy() - close the link's descriptor and free the handle
 * @link: NULL is fine
 *
 * Detaches if this was the last reference: a pinned link, or one held by
 * another descriptor, lives on.
 *
 * Return: 0 or the negative errno of close().
 */
TRAMP_API int tramp_link__destroy(struct tramp_link *link);

/**
 * struct tramp_link_info - what is known of a link
 * @sz: sizeof(struct tramp_link_info)
 * @link_id: its id
 * @prog_id: its program's id
 * @kind: enum tramp_kind
 * @mode: enum tramp_mode; TRAMP_MODE_NONE once detached
 * @pos: its place, from 0, among the function's programs of its kind
 * @nr_progs: programs on the function, all kinds
 * @cookie: its cookie, 0 if none
 * @key: the target's key: the <key> in trampoline_<key>_<index>
 * @index: index of the function's current image
 * @btf_obj_id: BTF object that describes the function
 * @btf_id: its type id there
 * @image_size: bytes of the current image
 * @func_addr: the function's address; 0 if hidden from the caller
 * @image_addr: the image's address; 0 if hidden or none
 * @hits: times the program was run by this attachment
 * @misses: times it was not, because it was running already where it may not nest
 * @sleepable: the program may sleep
 * @func_name: the function
 * @module: its module; empty: the kernel proper
 * @prog_name: the program
 * @probe_addr: a probe: its address; 0 if hidden. @func_addr is that of its function
 * @offset: a probe: bytes from @func_name
 * @reason_addr: the address @mode_reason is about; 0 if hidden or none
 * @mode_reason: a probe that is no jump: enum tramp_reason why not, OPT_PENDING if it may
 *	become one; MODULE_GONE if it went with its module
 * @region_len: a probe that is a jump: bytes that the jump covers
 */
struct tramp_link_info {
	size_t sz;
	uint32_t link_id;
	uint32_t prog_id;
	uint32_t kind;
	uint32_t mode;
	uint32_t pos;
	uint32_t nr_progs;
	uint64_t cookie;
	uint64_t key;
	uint32_t index;
	uint32_t btf_obj_id;
	uint32_t btf_id;
	uint32_t image_size;
	uint64_t func_addr;
	uint64_t image_addr;
	uint64_t hits;
	uint64_t misses;
	uint32_t sleepable;
	char func_name[TRAMP_SYM_LEN];
	char module[TRAMP_MOD_LEN];
	char prog_name[32];
	uint64_t probe_addr;
	uint64_t offset;
	uint64_t reason_addr;
	uint32_t mode_reason;
	uint32_t region_len;
};
#define tramp_link_info__last_field region_len

/**
 * tramp_link__info() - what is known of a link
 * @info: declared with TRAMP_OPTS(tramp_link_info, ...); filled up to its @sz
 *
 * After a detach it still tells what was: @mode is TRAMP_MODE_NONE, there is no
 * function and no image, hits and misses stand still.
 *
 * Return: 0 or negative errno; -ENOENT (LINK_GONE) if there is no such link.
 */
TRAMP_API int tramp_link__info(const struct tramp_link *link, struct tramp_link_info *info);

/** tramp_link_info_by_id() - tramp_link__info() without opening the link */
TRAMP_API int tramp_link_info_by_id(uint32_t id, struct tramp_link_info *info);

/** tramp_link_cb - called for each link; anything but 0 ends the walk */
typedef int (*tramp_link_cb)(const struct tramp_link_info *info, void *ctx);

/**
 * tramp_for_each() - call back for every link of the module
 * @cb: called in the order of link ids; @info is valid during the call. It may
 *	attach and detach.
 * @ctx: handed to @cb
 *
 * Detached links that somebody still holds are among them (TRAMP_MODE_NONE).
 * Links made or gone meanwhile may or may not be seen; the walk ends however fast
 * others attach.
 *
 * Return: 0; what @cb returned if not 0; or negative errno.
 */
TRAMP_API int tramp_for_each(tramp_link_cb cb, void *ctx);

/**
 * tramp_link_image() - code of the image a link's function runs through now
 * @id: the link's id
 * @info: filled as by tramp_link_info_by_id(), of the same moment as the code:
 *	@image_size bytes, running at @image_addr
 *
 * Errors: -ENOENT (LINK_GONE, also for a link that was detached; TRAMP_LIB_NO_IMAGE for a
 * probe through ftrace or through a kprobe of the kernel), -EPERM (HIDDEN_ADDRESS: the
 * caller may not see kernel addresses), -ENOMEM.
 * Return: the bytes, to be freed with free(); NULL and errno on failure.
 */
TRAMP_API void *tramp_link_image(uint32_t id, struct tramp_link_info *info);

/* ---------------------------------------------------- module and features -- */

/**
 * struct tramp_module_info - what the module on this kernel can do
 * @sz: sizeof(struct tramp_module_info)
 * @abi_version: the module's TRAMP_ABI_VERSION
 * @max_progs: programs on one function, all kinds together
 * @max_slots: argument slots of a function that can be attached to
 * @symbols_found: unexported kernel symbols in use
 * @symbols_missing: optional ones this kernel lacks
 * @links: attached links
 * @features: TRAMP_FEAT_*
 * @targets: functions with at least one program
 * @images: images that exist, those waiting to be freed included
 * @retiring: images waiting to be freed
 * @image_bytes: executable memory of all images
 * @version: the module's version
 * @missing: names of the missing symbols, one a line, cut if they are too many
 * @probes: probed addresses
 * @optimised: how many of them are jumps
 * @grace_periods: RCU-tasks grace periods the module has waited for since it was loaded
 */
struct tramp_module_info {
	size_t sz;
	uint32_t abi_version;
	uint32_t max_progs;
	uint32_t max_slots;
	uint32_t symbols_found;
	uint32_t symbols_missing;
	uint32_t links;
	uint64_t features;
	uint32_t targets;
	uint32_t images;
	uint32_t retiring;
	uint64_t image_bytes;
	char version[32];
	char missing[1024];
	uint32_t probes;
	uint32_t optimised;
	uint64_t grace_periods;
};
#define tramp_module_info__last_field grace_periods

/**
 * tramp_info() - ask the module what it can do
 * @info: declared with TRAMP_OPTS(tramp_module_info, ...); filled up to its @sz
 *
 * Errors: -ENODEV (TRAMP_LIB_NO_DEVICE), -EPERM, -EPROTO (TRAMP_LIB_ABI_MISMATCH;
 * @info is then filled as far as the two understand each other).
 * Return: 0 or negative errno.
 */
TRAMP_API int tramp_info(struct tramp_module_info *info);

/**
 * tramp_feature_name() - name of a feature bit ("sleepable")
 * @bit: 0 to 63; the feature is 1ULL << @bit in tramp_module_info::features
 *
 * Return: a static string; NULL for a bit this library has no name for.
 */
TRAMP_API const char *tramp_feature_name(unsigned int bit);

/** tramp_feature_desc() - a feature bit as a sentence; like tramp_feature_name() */
TRAMP_API const char *tramp_feature_desc(unsigned int bit);

/* --------------------------------------------- symbols: what is out there -- */

/*
 * A snapshot of the kernel's functions: /proc/kallsyms, with what ftrace can
 * patch (available_filter_functions) and what BTF describes, of the kernel and of its
 * modules. Of use on its own, with or without the module.
 *
 * Loading takes some tens of milliseconds and a few MB: load once. BTF, ftrace's list
 * and the order of addresses are made when first asked for, under a lock: a snapshot may
 * be read by several threads.
 */
struct tramp_syms;

/* tramp_sym::flags */
/* ftrace can patch its entry; not set before somebody asks tramp_syms__knows_traceable() */
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
 */
struct tramp_syms_opts {
	size_t sz;
	const char *kallsyms;
	const char *filter_functions;
	const char *vmlinux_btf;
	const char *module_btf_dir;
};
#define tramp_syms_opts__last_field module_btf_dir

/**
 * tramp_syms__load() - take a snapshot of the kernel's functions
 * @opts: options, or NULL
 *
 * Errors: -errno with TRAMP_LIB_NO_KALLSYMS; -ENOMEM.
 * Return: to be freed with tramp_syms__free(); NULL and errno on failure.
 */
TRAMP_API struct tramp_syms *tramp_syms__load(const struct tramp_syms_opts *opts);

/** tramp_syms__free() - free a snapshot and everything it handed out; NULL is fine */
TRAMP_API void tramp_syms__free(struct tramp_syms *syms);

/**
 * tramp_syms__knows_traceable() - is TRAMP_SYM_TRACEABLE meaningful in this snapshot?
 *
 * The first call reads available_filter_functions, which takes as long as loading the
 * snapshot did, and marks the functions. tramp_syms__match() makes that call when it needs to.
 *
 * Return: false if the file cannot be read; then no function is marked.
 */
TRAMP_API bool tramp_syms__knows_traceable(const struct tramp_syms *syms);

/** tramp_syms__count() - functions in a snapshot */
TRAMP_API size_t tramp_syms__count(const struct tramp_syms *syms);

/**
 * tramp_syms__get() - a function by number
 * @i: 0 to tramp_syms__count() - 1, in the order of names
 *
 * Return: NULL (and no error) beyond the last.
 */
TRAMP_API const struct tramp_sym *tramp_syms__get(const struct tramp_syms *syms, size_t i);

/**
 * tramp_syms__find() - a function by name
 * @spec: "NAME", or "MODULE:NAME" for one in a module ("vmlinux:NAME" for the
 *	kernel proper)
 *
 * Errors: -ENOENT (NO_SUCH_FUNCTION); tramp_last_error()->detail then says what
 * is known: that the compiler split or renamed it, or the nearest names.
 * -EINVAL (AMBIGUOUS) if several functions have the name and @spec does not
 * tell them apart. -EINVAL (BAD_PATTERN) if @spec is malformed.
 * Return: NULL and errno on failure.
 */
TRAMP_API const struct tramp_sym *tramp_syms__find(const struct tramp_syms *syms,
						   const char *spec);

/**
 * tramp_syms__find_addr() - the function that an address lies in
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
 * @pattern: "GLOB" for all modules and the kernel, or "MODGLOB:GLOB" ("vmlinux:..."
 *	for the kernel proper); syntax: tramp_glob_match()
 * @opts: options, or NULL
 * @cb: called in the order of names; NULL: count only
 * @ctx: handed to @cb
 *
 * Errors: -ENOENT (TRAMP_LIB_NO_MATCH), with the nearest names if @pattern has no
 * wildcard; -EINVAL (TRAMP_LIB_BAD_PATTERN).
 * Return: the number of matches; what @cb returned if not 0; or negative errno.
 */
TRAMP_API int tramp_syms__match(const struct tramp_syms *syms, const char *pattern,
				const struct tramp_match_opts *opts, tramp_sym_cb cb, void *ctx);

/**
 * tramp_syms__suggest() - the names nearest to one that does not exist
 * @name: what was asked for, without module
 * @out: receives at most @max names, nearest first; they belong to the snapshot
 * @max: room at @out, at most 32 are used
 *
 * Distance is counted in edits (one letter wrong, missing, too many, or two
 * swapped); traceable functions are preferred. Names too far away to be meant are not
 * suggested.
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
 */
TRAMP_API bool tramp_glob_match(const char *pattern, const char *str);

/** tramp_glob_check() - 0 if a pattern is well-formed, else -EINVAL (TRAMP_LIB_BAD_PATTERN) */
TRAMP_API int tramp_glob_check(const char *pattern);

/* ------------------------------------------------ prototypes, out of BTF -- */

/* tramp_arg::flags */
#define TRAMP_ARG_SIGNED	(1U << 0)	/* a signed integer or enum */
#define TRAMP_ARG_BOOL		(1U << 1)
#define TRAMP_ARG_CHAR		(1U << 2)	/* char, as declared */
#define TRAMP_ARG_ENUM		(1U << 3)
#define TRAMP_ARG_PTR		(1U << 4)
#define TRAMP_ARG_STRUCT	(1U << 5)	/* struct or union by value */
#define TRAMP_ARG_FLOAT		(1U << 6)
#define TRAMP_ARG_VOID		(1U << 7)	/* only as a result */
#define TRAMP_ARG_STR		(1U << 8)	/* pointer to char: a string, perhaps */

/**
 * struct tramp_arg - one argument of a function, or its result
 * @name: its name; "argN" where BTF has none, "ret" for the result
 * @type: its type as C writes it ("struct filename *")
 * @type_id: its BTF type
 * @size: bytes, 0 for void
 * @slot: first of its slots: ctx[@slot] in a program
 * @nr_slots: slots it takes, (size + 7) / 8
 * @flags: TRAMP_ARG_*
 */
struct tramp_arg {
	const char *name;
	const char *type;
	uint32_t type_id;
	uint32_t size;
	uint32_t slot;
	uint32_t nr_slots;
	uint32_t flags;
};

/**
 * struct tramp_proto - a function's prototype
 * @name: the function
 * @text: all of it as C writes it: "int do_unlinkat(int dfd, struct filename *name)"
 * @btf: the BTF that describes it; belongs to whoever loaded it
 * @func_id: its BTF_KIND_FUNC type
 * @variadic: ends in "..."
 * @nr_args: arguments, without the "..."
 * @nr_slots: slots they take together; ctx[@nr_slots] is the result
 * @args: the arguments
 * @ret: the result
 *
 * Members are only ever added at the end.
 */
struct tramp_proto {
	const char *name;
	const char *text;
	const struct btf *btf;
	uint32_t func_id;
	bool variadic;
	uint32_t nr_args;
	uint32_t nr_slots;
	const struct tramp_arg *args;
	struct tramp_arg ret;
};

/**
 * tramp_proto__new() - read a function's prototype out of BTF
 * @btf: must stay as long as the prototype
 * @func_id: a BTF_KIND_FUNC type of it
 *
 * Errors: -EINVAL if @func_id is no function, -ENOMEM.
 * Return: to be freed with tramp_proto__free(); NULL and errno on failure.
 */
TRAMP_API struct tramp_proto *tramp_proto__new(const struct btf *btf, uint32_t func_id);

/** tramp_proto__free() - free a prototype; NULL is fine */
TRAMP_API void tramp_proto__free(struct tramp_proto *proto);

/**
 * tramp_syms__proto() - a function's prototype, out of the kernel's or its module's BTF
 * @sym: out of @syms
 *
 * Errors: -ENOENT (NO_BTF) if BTF does not describe it; -errno with
 * TRAMP_LIB_NO_KERNEL_BTF if there is no BTF at all.
 * Return: to be freed with tramp_proto__free(), before @syms; NULL and errno on failure.
 */
TRAMP_API struct tramp_proto *tramp_syms__proto(struct tramp_syms *syms,
						const struct tramp_sym *sym);

/**
 * tramp_syms__btf() - the BTF of the kernel or of a module
 * @module: NULL, "" or "vmlinux": the kernel proper
 *
 * Return: belongs to @syms; NULL and errno on failure (TRAMP_LIB_NO_KERNEL_BTF).
 */
TRAMP_API const struct btf *tramp_syms__btf(struct tramp_syms *syms, const char *module);

/**
 * tramp_syms__btf_id() - where BTF describes a function
 * @sym: out of @syms
 * @btf_obj_id: receives the BTF object's id in the kernel (bpftool btf list);
 *	NULL: not wanted. Needs the right to list BTF objects (CAP_SYS_ADMIN).
 *
 * Return: the BTF_KIND_FUNC type id; or negative errno as tramp_syms__proto(), -EPERM.
 */
TRAMP_API int tramp_syms__btf_id(struct tramp_syms *syms, const struct tramp_sym *sym,
				 uint32_t *btf_obj_id);

/**
 * tramp_arg__format() - write a value of an argument or result as text
 * @proto: the prototype @arg belongs to
 * @arg: what it is
 * @slots: its nr_slots slots: &ctx[arg->slot]; for a result the one slot &ctx[nr_slots]
 * @buf: receives the text, cut and zero-terminated
 * @len: bytes at @buf
 *
 * Integers by size and sign, enums by name, pointers in hex (0 as NULL), bools as true
 * and false, chars quoted, small structs as their bytes in hex, void as "void".
 *
 * Return: the length of the whole text, as snprintf().
 */
TRAMP_API int tramp_arg__format(const struct tramp_proto *proto, const struct tramp_arg *arg,
				const uint64_t *slots, char *buf, size_t len);

/* --------------------------------------------------------------- explain -- */

/**
 * struct tramp_explanation - what could be attached to a function, or why not
 * @sz: sizeof(struct tramp_explanation)
 * @can: TRAMP_CAN_*
 * @fentry_reason: enum tramp_reason: why no entry programs; 0: can be
 * @fexit_reason: enum tramp_reason: why no exit programs; 0: can be
 * @mode: enum tramp_mode that an entry program would get now
 * @nr_progs: programs of the module's there now
 * @nr_args: arguments, 0 without BTF
 * @nr_slots: their slots
 * @ret_size: bytes of the result, 0 for void or unknown
 * @btf_obj_id: BTF object that describes it, 0 if none
 * @btf_id: its type there, 0 if none
 * @func_addr: its address, 0 if hidden
 * @site_addr: address of the patched NOP5 or CALL, 0 if hidden or none
 * @key: the target's key, 0 if not described by BTF
 * @name: the function
 * @module: its module; empty: the kernel proper
 * @holder: who else holds its entry; empty: nobody
 */
struct tramp_explanation {
	size_t sz;
	uint32_t can;
	uint32_t fentry_reason;
	uint32_t fexit_reason;
	uint32_t mode;
	uint32_t nr_progs;
	uint32_t nr_args;
	uint32_t nr_slots;
	uint32_t ret_size;
	uint32_t btf_obj_id;
	uint32_t btf_id;
	uint64_t func_addr;
	uint64_t site_addr;
	uint64_t key;
	char name[TRAMP_SYM_LEN];
	char module[TRAMP_MOD_LEN];
	char holder[TRAMP_DETAIL_LEN];
};
#define tramp_explanation__last_field holder

/**
 * tramp_explain() - ask the module what could be attached to a function
 * @syms: a snapshot to resolve the name in, and to suggest names from; NULL: one
 *	is loaded for this call
 * @spec: "NAME" or "MODULE:NAME"
 * @ex: declared with TRAMP_OPTS(tramp_explanation, ...); filled up to its @sz
 *
 * Succeeds when the question could be answered, also if the answer is
 * "nothing": see @can and the two reasons.
 *
 * Errors: as tramp_syms__find() and tramp_info().
 * Return: 0 or negative errno.
 */
TRAMP_API int tramp_explain(struct tramp_syms *syms, const char *spec,
			    struct tramp_explanation *ex);

/**
 * tramp_explain_btf() - tramp_explain() for a function given by its BTF id
 * @btf_obj_id: the BTF object's id in the kernel
 * @btf_id: a BTF_KIND_FUNC type in it
 */
TRAMP_API int tramp_explain_btf(uint32_t btf_obj_id, uint32_t btf_id,
				struct tramp_explanation *ex);

#ifdef __cplusplus
}
#endif

/* Places, and what probes at a function's instructions would be. */
#include <trampoline/probe.h>

#endif /* TRAMPOLINE_TRAMPOLINE_H */
