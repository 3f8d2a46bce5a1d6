/* SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause */
/*
 * Shared by the files that choose functions: select.c, select_list.c and select_args.c.
 */
#ifndef LIBTRAMPOLINE_SYMS_SELECT_H
#define LIBTRAMPOLINE_SYMS_SELECT_H

#include "internal.h"

/**
 * struct libtramp_item - a pattern of a list
 * @text: it
 * @file: the file it stands in, or NULL
 * @line: its line there
 * @pattern: read
 */
struct libtramp_item {
	char *text;
	const char *file;
	uint32_t line;
	struct libtramp_pattern pattern;
};

/* Patterns of the caller and of files, in the order they came. */
struct libtramp_list {
	struct libtramp_item *items;
	size_t nr, room;
	char **files;		/* copies of their paths */
	size_t nr_files;
};

/* Both return 0 or negative errno with the last error filled. */
int libtramp_list_add(struct libtramp_list *list, const char *const *patterns, size_t nr);
int libtramp_list_read(struct libtramp_list *list, const char *const *files, size_t nr);
void libtramp_list_free(struct libtramp_list *list);

/* A type that somebody wrote down. */
struct libtramp_type {
	uint32_t tag;		/* BTF_KIND_STRUCT, _UNION, _ENUM; 0: another */
	uint32_t stars;
	char name[TRAMP_SYM_LEN];
};

/* Which functions pass, by their arguments. */
struct libtramp_args {
	bool by_type, by_number;
	struct libtramp_type type;
	uint32_t min, max;
};

/* 0 or negative errno with the last error filled. */
int libtramp_type_parse(const char *text, struct libtramp_type *type);

/* Is the type @id the type @type? */
bool libtramp_type_is(const struct btf *btf, uint32_t id, const struct libtramp_type *type);

/* Does the function @func_id pass? */
bool libtramp_args_pass(const struct btf *btf, uint32_t func_id, const struct libtramp_args *args);

/* The verdict on a function that was asked for. FILTERED: its arguments are others. */
enum libtramp_fate {
	LIBTRAMP_NOT_JUDGED, LIBTRAMP_TAKEN, LIBTRAMP_LEFT_OUT, LIBTRAMP_FILTERED,
};

/**
 * struct libtramp_mark - what patterns say of a function
 * @asked: the pattern that asks for it, and is reported: a single one if there is one
 * @denied: the caller's pattern that denies it
 * @single: a pattern without wildcards asks for it
 * @named: ... which does not stand in a file
 * @fate: enum libtramp_fate
 *
 * Patterns are numbers plus 1; 0: none.
 */
struct libtramp_mark {
	uint32_t asked, denied;
	uint8_t single, named, fate;
};

/**
 * struct tramp_selection - what was chosen, and what not
 * @items: functions in the order of addresses, @nr of them
 * @left: what was left out, @nr_left of it
 * @patterns: what was asked for; @left points into it
 * @deny: likewise
 * @texts: details and remedies in @left that are not static, @nr_texts of them
 * @room: at @items
 * @room_left: at @left
 */
struct tramp_selection {
	struct tramp_selected *items;
	size_t nr, room;
	struct tramp_left_out *left;
	size_t nr_left, room_left;
	struct libtramp_list patterns, deny;
	char **texts;
	size_t nr_texts;
};

/* Steps between two calls of the progress callback. */
#define LIBTRAMP_STEPS_UNTOLD	512

/* Steps that a pattern takes. Without a text to begin with, the walk is over all names. */
static inline size_t libtramp_steps(const struct libtramp_pattern *p)
{
	return p->prefix ? 1 : LIBTRAMP_STEPS_UNTOLD;
}

/**
 * struct libtramp_select - a selection while it is made
 * @syms: the snapshot
 * @sel: the result
 * @opts: the caller's, of this version
 * @args: filters
 * @all_or_nothing: the first problem is the error
 * @want_btf: functions need BTF
 * @marks: one for each function of @syms
 * @listed: the patterns of the built-in deny list, in its order
 * @nr_listed: how many
 * @btf: BTF of @btf_module, if it has one
 * @btf_module: NULL: no module was looked up yet
 * @done: steps done, of @total; at @told the callback was called
 * @nr_near: how often near misses were looked for
 */
struct libtramp_select {
	struct tramp_syms *syms;
	struct tramp_selection *sel;
	struct tramp_select_opts opts;
	struct libtramp_args args;
	bool all_or_nothing, want_btf;
	struct libtramp_mark *marks;
	struct libtramp_pattern *listed;
	size_t nr_listed;
	struct libtramp_btf btf;
	const char *btf_module;
	size_t done, told, total;
	unsigned int nr_near;
};

/* All of these return 0 or negative errno with the last error filled. */

/* Count steps, and call the progress callback now and then. */
int libtramp_select_step(struct libtramp_select *w, size_t steps);

/* The three passes (select.c). */
int libtramp_select_mark(struct libtramp_select *w);
int libtramp_select_judge(struct libtramp_select *w);
int libtramp_select_check(struct libtramp_select *w);

/*
 * Put it on the list of what was left out. @detail and @remedy live as long as the selection;
 * @remedy: NULL for that of the reason.
 */
int libtramp_select_leave_out(struct libtramp_select *w, const struct tramp_sym *sym,
			      uint32_t pattern, uint32_t reason, const char *detail,
			      const char *remedy);

/* Have an entry of that list be the error. */
int libtramp_select_fail(const struct tramp_left_out *left);

/* A copy of a text that lives as long as the selection; NULL if there is no memory. */
const char *libtramp_select_keep(struct tramp_selection *sel, const char *text);

/* Room for one more of @nr entries of @size bytes; NULL if there is no memory. */
void *libtramp_select_grow(void *items, size_t *room, size_t nr, size_t size);

#endif /* LIBTRAMPOLINE_SYMS_SELECT_H */
