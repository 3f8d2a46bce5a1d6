/* SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause */
/*
 * libtrampoline: choose many functions of a snapshot at once, for tools that trace whole
 * subsystems. Of use on its own, with or without the module.
 *
 *	const char *const what[] = { "vfs_*", "ext4:*" };
 *	TRAMP_OPTS(tramp_select_opts, opts, .patterns = what, .pattern_cnt = 2,
 *		   .arg_type = "struct file *");
 *	struct tramp_selection *sel = tramp_syms__select(syms, &opts);
 *
 *	for (i = 0; i < tramp_selection__count(sel); i++)
 *		printf("%s\n", tramp_selection__get(sel, i)->sym->name);
 */
#ifndef TRAMPOLINE_SELECT_H
#define TRAMPOLINE_SELECT_H

#include <trampoline/symbols.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Patterns and deny patterns of a selection, those in files included. */
#define TRAMP_SELECT_MAX_PATTERNS	65536
/* Functions in a selection. */
#define TRAMP_SELECT_MAX_FUNCTIONS	262144
/* Bytes in a line of a file. */
#define TRAMP_SELECT_MAX_LINE		1024

/* tramp_select_opts::flags */
/* the first problem fails the call; otherwise it goes on the list of what was left out */
#define TRAMP_SELECT_ALL_OR_NOTHING	(1U << 0)
/* also functions that ftrace cannot patch; its list is then not needed */
#define TRAMP_SELECT_UNTRACEABLE	(1U << 1)
/* also functions that are on the built-in deny list */
#define TRAMP_SELECT_NO_DENY_LIST	(1U << 2)
/* leave out functions that [MODULE:]NAME does not tell apart; otherwise the address does */
#define TRAMP_SELECT_UNIQUE		(1U << 3)
/* leave out functions that BTF does not describe */
#define TRAMP_SELECT_BTF		(1U << 4)
/* @min_args and @max_args are meant, even if they are 0 */
#define TRAMP_SELECT_ARGS		(1U << 5)

/**
 * typedef tramp_select_progress_fn - called to tell how far a selection is
 * @done: steps done; 0 at first, @total at the end
 * @total: steps in all; of no particular unit
 * @ctx: tramp_select_opts::progress_ctx
 *
 * Return: 0 to go on; anything else cancels the selection (TRAMP_LIB_CANCELLED).
 */
typedef int (*tramp_select_progress_fn)(size_t done, size_t total, void *ctx);

/**
 * struct tramp_select_opts - options of tramp_syms__select()
 * @sz: sizeof(struct tramp_select_opts)
 * @pattern_cnt: entries in @patterns
 * @patterns: what to choose, as for tramp_syms__match(): "GLOB" for the kernel and all
 *	modules, "MODGLOB:GLOB", "vmlinux:GLOB" for the kernel proper
 * @file_cnt: entries in @files
 * @files: paths of files with such patterns, one a line. Blanks around it and empty lines
 *	are ignored, and so is all from '#' on.
 * @deny_cnt: entries in @deny
 * @deny: patterns of functions to leave out, whoever asks for them
 * @deny_file_cnt: entries in @deny_files
 * @deny_files: paths of files with deny patterns
 * @arg_type: only functions with an argument of this type, as C writes it:
 *	"struct file *", "unsigned long", "pid_t". const and its like do not matter, the
 *	number of stars does. A typedef is found by its own name and by what it stands for.
 *	NULL: any
 * @min_args: with TRAMP_SELECT_ARGS: only functions with as many arguments or more, ...
 * @max_args: ... and no more than this. A "..." is not counted.
 * @max_functions: more than that is an error; 0: TRAMP_SELECT_MAX_FUNCTIONS
 * @flags: TRAMP_SELECT_*
 * @progress: called now and then, from the calling thread; NULL: never
 * @progress_ctx: handed to @progress
 */
struct tramp_select_opts {
	size_t sz;
	size_t pattern_cnt;
	const char *const *patterns;
	size_t file_cnt;
	const char *const *files;
	size_t deny_cnt;
	const char *const *deny;
	size_t deny_file_cnt;
	const char *const *deny_files;
	const char *arg_type;
	uint32_t min_args;
	uint32_t max_args;
	uint32_t max_functions;
	uint32_t flags;
	tramp_select_progress_fn progress;
	void *progress_ctx;
};
#define tramp_select_opts__last_field progress_ctx

/* The compiler made it of a function: the parts of its name behind dots. */
#define TRAMP_SUFFIX_ISRA	(1U << 0)	/* arguments were removed or taken apart */
#define TRAMP_SUFFIX_CONSTPROP	(1U << 1)	/* a copy for constant arguments */
#define TRAMP_SUFFIX_PART	(1U << 2)	/* a piece that callers did not inline */
#define TRAMP_SUFFIX_COLD	(1U << 3)	/* its unlikely piece, without an entry */
#define TRAMP_SUFFIX_OTHER	(1U << 4)

/**
 * struct tramp_selected - a function of a selection
 * @sym: its name, module, address and flags
 * @traceable: ftrace can patch its entry, under this name or another of the address
 * @btf_id: the BTF_KIND_FUNC type that describes it; 0: none, or BTF does not say which
 *	of several functions of the name it describes
 * @btf_obj_id: the BTF object's id in the kernel; 0: none, or the caller may not list
 *	BTF objects (CAP_SYS_ADMIN)
 * @same_name: functions of that name in its module; with more than 1 only the address
 *	tells them apart
 * @suffix: TRAMP_SUFFIX_*
 *
 * Members are only ever added at the end.
 */
struct tramp_selected {
	const struct tramp_sym *sym;
	bool traceable;
	uint32_t btf_id;
	uint32_t btf_obj_id;
	uint32_t same_name;
	uint32_t suffix;
};

/**
 * struct tramp_left_out - a function or a pattern that is not in a selection, and why
 * @sym: the function; NULL: it is about the whole pattern
 * @pattern: the pattern that asked for it
 * @file: the file that has the pattern; NULL: it stands in the options
 * @line: its line there, from 1
 * @reason: DENIED (by the caller's deny pattern), DENY_LIST (the built-in one), NO_MATCH,
 *	INLINED (TRAMP_LIB_*); NO_SUCH_FUNCTION, NOT_TRACEABLE, NO_BTF, AMBIGUOUS, OWN_MODULE
 *	(TRAMP_REASON_*)
 * @detail: what belongs to the reason: the deny pattern, why the built-in list has it,
 *	the nearest names; may be empty, never NULL
 * @remedy: what to do: for this pattern, or for the reason in general; never NULL
 *
 * Members are only ever added at the end.
 */
struct tramp_left_out {
	const struct tramp_sym *sym;
	const char *pattern;
	const char *file;
	uint32_t line;
	uint32_t reason;
	const char *detail;
	const char *remedy;
};

struct tramp_selection;

/**
 * tramp_syms__select() - choose functions
 * @syms: the snapshot; must stay as long as the selection
 * @opts: what to choose; at least one pattern, or one file
 *
 * Chosen are the functions that a pattern matches and the filters (@arg_type, number of
 * arguments) let pass. A function is an address: it is there once, however many
 * patterns match it and however many names it has. A deny pattern that matches one of its
 * names denies it.
 *
 * The built-in deny list applies to what wildcards and files choose. A function that one of
 * @patterns names in full is taken.
 *
 * A function that is refused goes on the list of what was left out; one that a filter turned
 * away does not. A pattern goes on that list as a whole if it gave nothing and no function
 * stands there for it. The selection may be empty.
 *
 * With TRAMP_SELECT_ALL_OR_NOTHING the call fails instead: for a pattern without wildcards if
 * its function is refused, for one with wildcards if it gives nothing. The caller's own deny
 * patterns and the filters leave functions out without failing, as long as one is left.
 *
 * Before Linux 6.5 ftrace's list has no addresses. If it has fewer lines with a name than there
 * are functions of that name, those are left out as ambiguous.
 *
 * Where addresses are hidden from the caller, functions that their names do not tell apart are
 * left out as with TRAMP_SELECT_UNIQUE.
 *
 * Errors: -EINVAL (BAD_PATTERN) for a malformed pattern, with file and line; -EINVAL
 * (BAD_ARGUMENT); -errno (NO_FILE); -errno (NO_TRACEFS) if nothing says what ftrace can patch;
 * -errno (NO_KERNEL_BTF) if BTF is asked for and there is none; -E2BIG (TOO_MANY); -ECANCELED
 * (CANCELLED); -ENOMEM. With TRAMP_SELECT_ALL_OR_NOTHING also the reasons of struct tramp_left_out.
 * Return: to be freed with tramp_selection__free(); NULL and errno on failure.
 */
TRAMP_API struct tramp_selection *tramp_syms__select(struct tramp_syms *syms,
						     const struct tramp_select_opts *opts);

/** tramp_selection__free() - free a selection and all it handed out; NULL is fine */
TRAMP_API void tramp_selection__free(struct tramp_selection *sel);

/** tramp_selection__count() - functions in a selection */
TRAMP_API size_t tramp_selection__count(const struct tramp_selection *sel);

/**
 * tramp_selection__get() - a function of a selection
 * @sel: the selection
 * @i: 0 to tramp_selection__count() - 1, in the order of addresses
 *
 * Return: belongs to @sel; NULL (and no error) beyond the last.
 */
TRAMP_API const struct tramp_selected *tramp_selection__get(const struct tramp_selection *sel,
							    size_t i);

/** tramp_selection__count_left() - functions and patterns that were left out */
TRAMP_API size_t tramp_selection__count_left(const struct tramp_selection *sel);

/**
 * tramp_selection__get_left() - what was left out
 * @sel: the selection
 * @i: 0 to tramp_selection__count_left() - 1: functions in the order of addresses, then
 *	patterns in the order they were given
 *
 * Return: belongs to @sel; NULL (and no error) beyond the last.
 */
TRAMP_API const struct tramp_left_out *
tramp_selection__get_left(const struct tramp_selection *sel, size_t i);

/**
 * struct tramp_deny - an entry of the built-in deny list
 * @pattern: in the syntax of tramp_select_opts::patterns
 * @why: why functions it matches must not be traced wholesale, as a sentence without full stop
 */
struct tramp_deny {
	const char *pattern;
	const char *why;
};

/**
 * tramp_deny_list() - the built-in deny list
 * @i: number of the entry, from 0
 *
 * Return: a static entry; NULL (and no error) beyond the last.
 */
TRAMP_API const struct tramp_deny *tramp_deny_list(size_t i);

#ifdef __cplusplus
}
#endif

#endif /* TRAMPOLINE_SELECT_H */
