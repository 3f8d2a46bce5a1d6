/* SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause */
/*
 * libtrampoline: what all of its headers need: how structs are declared, versions,
 * messages, and errors. Included by the others; the rules are in trampoline/trampoline.h.
 */
#ifndef TRAMPOLINE_COMMON_H
#define TRAMPOLINE_COMMON_H

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
struct bpf_object_open_opts;
struct bpf_object_skeleton;
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
#define TRAMP_MINOR_VERSION 3

/** tramp_major_version() - major version of the library that is running */
TRAMP_API uint32_t tramp_major_version(void);

/** tramp_minor_version() - minor version of the library that is running */
TRAMP_API uint32_t tramp_minor_version(void);

/** tramp_version_string() - version as text, "vMAJOR.MINOR" */
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
	X(1008, PIN_EXISTS, "pin-exists", "the path exists already") \
	X(1009, ALREADY_PINNED, "already-pinned", "the link is pinned already") \
	X(1010, NOT_PINNED, "not-pinned", "the link is not pinned") \
	X(1011, NO_KALLSYMS, "no-kallsyms", "the kernel's symbol table cannot be read") \
	X(1012, NO_TRACEFS, "no-tracefs", "the list of traceable functions cannot be read") \
	X(1013, NO_KERNEL_BTF, "no-kernel-btf", "the kernel's BTF cannot be read") \
	X(1014, NO_MATCH, "no-match", "no function matches") \
	X(1015, BAD_PATTERN, "bad-pattern", "the pattern is malformed") \
	X(1016, KERNEL_ATTACHED, "kernel-attached", \
	  "the kernel itself has attached the program, not the module") \
	X(1017, NO_FILE, "no-file", "the path cannot be opened") \
	X(1018, SYSTEM, "system", "a system call failed") \
	X(1019, BAD_PLACE, "bad-place", "the place of a probe is malformed") \
	X(1020, NO_IMAGE, "no-image", "hits reach the program without an image") \
	X(1021, DENIED, "denied", "a deny pattern of the caller leaves it out") \
	X(1022, DENY_LIST, "deny-list", "it must not be traced wholesale") \
	X(1023, CANCELLED, "cancelled", "the caller has ended it") \
	X(1024, TOO_MANY, "too-many", "there are more of them than the maximum") \
	X(1025, BAD_SECTION, "bad-section", "libbpf knows no section of that name") \
	X(1026, INLINED, "inlined", \
	  "BTF has a type of it, the kernel no symbol: it was inlined or dropped")

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
 * tramp_reason_errno() - the errno with which the module refuses for a reason
 * @reason: enum tramp_reason
 *
 * Return: a negative errno; -EOPNOTSUPP for a reason of the library's, or one that is newer than
 * the library.
 */
TRAMP_API int tramp_reason_errno(unsigned int reason);

/**
 * tramp_reason_by_name() - a reason's number by its short name
 * @name: "site-held"
 *
 * Return: enum tramp_reason or enum tramp_lib_reason; -ENOENT if there is none
 * (the last error is not touched).
 */
TRAMP_API int tramp_reason_by_name(const char *name);

/**
 * tramp_kind_name() - the name of a kind
 * @kind: enum tramp_kind
 *
 * Return: "fentry", "fexit", "fmod_ret", "kprobe", "kretprobe", "kprobe.multi",
 * "kretprobe.multi", "kprobe.session"; "none", "unknown".
 */
TRAMP_API const char *tramp_kind_name(unsigned int kind);

/**
 * tramp_mode_name() - the name of a mode
 * @mode: enum tramp_mode
 *
 * Return: "direct", "ops", "jump", "int3", "kprobe", "rethook"; "none", "unknown".
 */
TRAMP_API const char *tramp_mode_name(unsigned int mode);

#ifdef __cplusplus
}
#endif

#endif /* TRAMPOLINE_COMMON_H */
