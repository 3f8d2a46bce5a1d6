// SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause
/*
 * Choosing functions: many patterns in, a set of addresses out.
 *
 * There are three passes. The first walks the functions that each pattern matches, and marks
 * them: asked for, denied by the caller, denied by the built-in list (select_marks.c). The
 * second goes through all functions in the order of addresses and judges those that are asked
 * for (select_judge.c). The third goes through the patterns again: did each give something?
 *
 * So the time is proportional to the functions plus the matches of all patterns. A pattern
 * without wildcards costs one search.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../core/error.h"
#include "../core/sized.h"
#include "select.h"

int libtramp_select_step(struct libtramp_select *w, size_t steps)
{
	w->done += steps;
	if (!w->opts.progress || (w->done - w->told < LIBTRAMP_STEPS_UNTOLD && w->done < w->total))
		return 0;
	w->told = w->done;
	if (!w->opts.progress(w->done, w->total, w->opts.progress_ctx))
		return 0;
	return LIBTRAMP_FAIL(-ECANCELED, TRAMP_LIB_CANCELLED, "selection", "after step %zu of %zu",
			     w->done, w->total);
}

void *libtramp_select_grow(void *items, size_t *room, size_t nr, size_t size)
{
	void *more;

	if (nr < *room)
		return items;
	more = realloc(items, (*room ? *room * 2 : 256) * size);
	if (more)
		*room = *room ? *room * 2 : 256;
	return more;
}

const char *libtramp_select_keep(struct tramp_selection *sel, const char *text)
{
	char *copy, **more;

	more = realloc(sel->texts, (sel->nr_texts + 1) * sizeof(*more));
	if (!more)
		return NULL;
	sel->texts = more;
	copy = strdup(text);
	if (copy)
		sel->texts[sel->nr_texts++] = copy;
	return copy;
}

/* A problem is an errno, and in skip mode an entry of the list. */
static int problem_errno(uint32_t reason)
{
	switch (reason) {
	case TRAMP_REASON_AMBIGUOUS:
		return -EINVAL;
	case TRAMP_REASON_NOT_TRACEABLE:
	case TRAMP_REASON_OWN_MODULE:
	case TRAMP_LIB_DENIED:
	case TRAMP_LIB_DENY_LIST:
		return -EOPNOTSUPP;
	default:
		return -ENOENT;
	}
}

int libtramp_select_fail(const struct tramp_left_out *left)
{
	struct libtramp_failure f = {
		.err = problem_errno(left->reason), .reason = left->reason, .remedy = left->remedy,
	};
	char subject[LIBTRAMP_SUBJECT_LEN], where[128] = "";

	if (left->file)
		snprintf(where, sizeof(where), " (%s, line %u)", left->file, left->line);
	if (left->sym)
		snprintf(subject, sizeof(subject), "function '%s:%s'%s", libtramp_shown_module(left->sym),
			 left->sym->name, where);
	else
		snprintf(subject, sizeof(subject), "%s '%s'%s",
			 left->reason == TRAMP_LIB_NO_MATCH ? "pattern" : "function", left->pattern,
			 where);
	f.subject = subject;
	f.addr = left->sym ? left->sym->addr : 0;
	return left->detail[0] ? libtramp_fail(&f, "%s", left->detail) :
				 libtramp_fail(&f, NO_DETAIL);
}

int libtramp_select_leave_out(struct libtramp_select *w, const struct tramp_sym *sym,
			      uint32_t pattern, uint32_t reason, const char *detail,
			      const char *remedy)
{
	const struct libtramp_item *item = &w->sel->patterns.items[pattern];
	struct tramp_selection *sel = w->sel;
	struct tramp_left_out *more;

	more = libtramp_select_grow(sel->left, &sel->room_left, sel->nr_left, sizeof(*more));
	if (!more)
		return libtramp_fail_nomem("selection");
	sel->left = more;
	sel->left[sel->nr_left++] = (struct tramp_left_out) {
		.sym = sym, .pattern = item->text, .file = item->file, .line = item->line,
		.reason = reason, .detail = detail,
		.remedy = remedy ? remedy : tramp_reason_remedy(reason),
	};
	return 0;
}

/* ---------------------------------------------------------------- options -- */

static int bad_argument(const char *why)
{
	return LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_BAD_ARGUMENT, "tramp_syms__select()", "%s", why);
}

static int check_opts(struct libtramp_select *w, const struct tramp_select_opts *opts)
{
	const uint32_t known = TRAMP_SELECT_ALL_OR_NOTHING | TRAMP_SELECT_UNTRACEABLE |
			       TRAMP_SELECT_NO_DENY_LIST | TRAMP_SELECT_UNIQUE |
			       TRAMP_SELECT_BTF | TRAMP_SELECT_ARGS;
	struct tramp_select_opts *o = &w->opts;

	if (!opts || !LIBTRAMP_OPTS_VALID(opts, tramp_select_opts))
		return bad_argument("opts must be declared with TRAMP_OPTS(tramp_select_opts, ...)");
	/* An older caller has left out what he does not know. */
	memcpy(o, opts, opts->sz < sizeof(*o) ? opts->sz : sizeof(*o));
	if (!o->pattern_cnt && !o->file_cnt)
		return bad_argument("there is no pattern");
	if ((o->pattern_cnt && !o->patterns) || (o->file_cnt && !o->files) ||
	    (o->deny_cnt && !o->deny) || (o->deny_file_cnt && !o->deny_files))
		return bad_argument("there is a number without what it counts");
	if (o->flags & ~known)
		return bad_argument("there are unknown flags");
	w->args.by_number = o->flags & TRAMP_SELECT_ARGS;
	w->args.min = o->min_args;
	w->args.max = o->max_args;
	if (w->args.by_number ? o->min_args > o->max_args : o->min_args || o->max_args)
		return bad_argument(w->args.by_number ? "min_args is above max_args" :
				    "min_args or max_args without TRAMP_SELECT_ARGS");
	if (!o->max_functions || o->max_functions > TRAMP_SELECT_MAX_FUNCTIONS)
		o->max_functions = TRAMP_SELECT_MAX_FUNCTIONS;
	w->args.by_type = o->arg_type;
	w->want_btf = w->args.by_type || w->args.by_number || o->flags & TRAMP_SELECT_BTF;
	w->all_or_nothing = o->flags & TRAMP_SELECT_ALL_OR_NOTHING;
	return o->arg_type ? libtramp_type_parse(o->arg_type, &w->args.type) : 0;
}

static int read_lists(struct libtramp_select *w)
{
	const struct tramp_select_opts *o = &w->opts;
	struct tramp_selection *sel = w->sel;
	int err;

	err = libtramp_list_add(&sel->patterns, o->patterns, o->pattern_cnt);
	if (!err)
		err = libtramp_list_read(&sel->patterns, o->files, o->file_cnt);
	if (!err)
		err = libtramp_list_add(&sel->deny, o->deny, o->deny_cnt);
	if (!err)
		err = libtramp_list_read(&sel->deny, o->deny_files, o->deny_file_cnt);
	return err;
}

static int read_deny_list(struct libtramp_select *w)
{
	size_t nr = 0;
	int err = 0;

	while (tramp_deny_list(nr))
		nr++;
	w->listed = calloc(nr, sizeof(*w->listed));
	if (!w->listed)
		return libtramp_fail_nomem("selection");
	for (; w->nr_listed < nr && !err; w->nr_listed++)
		err = libtramp_pattern_parse(tramp_deny_list(w->nr_listed)->pattern,
					     &w->listed[w->nr_listed]);
	return err;
}

static size_t steps_of(const struct libtramp_list *list)
{
	size_t n, steps = 0;

	for (n = 0; n < list->nr; n++)
		steps += libtramp_steps(&list->items[n].pattern);
	return steps;
}

static int run(struct libtramp_select *w)
{
	int err;

	w->marks = calloc(w->syms->nr, sizeof(*w->marks));
	if (!w->marks)
		return libtramp_fail_nomem("selection");
	w->total = 2 * steps_of(&w->sel->patterns) + steps_of(&w->sel->deny) + w->syms->nr;
	/* Before ftrace's list is read, which takes a moment. */
	w->told = -LIBTRAMP_STEPS_UNTOLD;
	err = libtramp_select_step(w, 0);
	if (!err && !tramp_syms__knows_traceable(w->syms) &&
	    !(w->opts.flags & TRAMP_SELECT_UNTRACEABLE))
		err = tramp_last_error()->err;
	if (!err)
		err = libtramp_select_mark(w);
	if (!err)
		err = libtramp_select_judge(w);
	return err ? err : libtramp_select_check(w);
}

struct tramp_selection *tramp_syms__select(struct tramp_syms *syms,
					   const struct tramp_select_opts *opts)
{
	struct libtramp_select w = { .syms = syms };
	int err;

	w.sel = calloc(1, sizeof(*w.sel));
	if (!w.sel) {
		libtramp_fail_nomem("selection");
		return NULL;
	}
	err = check_opts(&w, opts);
	if (!err)
		err = read_lists(&w);
	if (!err && !(w.opts.flags & TRAMP_SELECT_NO_DENY_LIST))
		err = read_deny_list(&w);
	if (!err)
		err = run(&w);
	free(w.marks);
	free(w.listed);
	if (!err)
		return w.sel;
	tramp_selection__free(w.sel);
	errno = -err;
	return NULL;
}

/* ----------------------------------------------------------------- results -- */

void tramp_selection__free(struct tramp_selection *sel)
{
	size_t i;

	if (!sel)
		return;
	for (i = 0; i < sel->nr_texts; i++)
		free(sel->texts[i]);
	free(sel->texts);
	free(sel->items);
	free(sel->left);
	libtramp_list_free(&sel->patterns);
	libtramp_list_free(&sel->deny);
	free(sel);
}

size_t tramp_selection__count(const struct tramp_selection *sel)
{
	return sel->nr;
}

const struct tramp_selected *tramp_selection__get(const struct tramp_selection *sel, size_t i)
{
	return i < sel->nr ? &sel->items[i] : NULL;
}

size_t tramp_selection__count_left(const struct tramp_selection *sel)
{
	return sel->nr_left;
}

const struct tramp_left_out *tramp_selection__get_left(const struct tramp_selection *sel, size_t i)
{
	return i < sel->nr_left ? &sel->left[i] : NULL;
}
