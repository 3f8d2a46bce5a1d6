// SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause
/*
 * Patterns of a selection: the functions that each matches get a mark, and once all functions
 * are judged, each pattern must have given something.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../core/error.h"
#include "../core/sized.h"
#include "select.h"

#define MAX_NEAR	16	/* patterns whose near misses are looked for; that takes long */

/* No function has a name that the pattern matches. */
static int no_match(struct libtramp_select *w, uint32_t pattern)
{
	const struct libtramp_pattern *p = &w->sel->patterns.items[pattern].pattern;
	uint32_t reason = p->plain ? TRAMP_REASON_NO_SUCH_FUNCTION : TRAMP_LIB_NO_MATCH;
	const char *detail = "", *remedy = NULL;
	struct libtramp_unknown u;
	int err;

	if (w->nr_near++ < MAX_NEAR) {
		libtramp_why_unknown(w->syms, &p->spec, p->plain, &u);
		if (u.inlined)
			reason = TRAMP_LIB_INLINED;
		detail = libtramp_select_keep(w->sel, u.detail);
		if (u.remedy)
			remedy = libtramp_select_keep(w->sel, u.remedy);
		if (!detail || (u.remedy && !remedy))
			return libtramp_fail_nomem("selection");
	}
	err = libtramp_select_leave_out(w, NULL, pattern, reason, detail, remedy);
	if (!err && w->all_or_nothing)
		err = libtramp_select_fail(&w->sel->left[w->sel->nr_left - 1]);
	return err;
}

static int mark_asked(struct libtramp_select *w)
{
	const struct libtramp_list *list = &w->sel->patterns;
	size_t i, n;
	int err = 0;

	for (n = 0; n < list->nr && !err; n++) {
		const struct libtramp_pattern *p = &list->items[n].pattern;

		i = libtramp_pattern_next(w->syms, p, 0);
		if (i == w->syms->nr && w->all_or_nothing)
			return no_match(w, n);
		for (; i < w->syms->nr; i = libtramp_pattern_next(w->syms, p, i + 1)) {
			struct libtramp_mark *m = &w->marks[i];

			if (!m->asked || (p->single && !m->single))
				m->asked = n + 1;
			m->single |= p->single;
			m->named |= p->single && !list->items[n].file;
		}
		err = libtramp_select_step(w, libtramp_steps(p));
	}
	return err;
}

static int mark_denied(struct libtramp_select *w)
{
	const struct libtramp_list *list = &w->sel->deny;
	size_t i, n;
	int err = 0;

	for (n = 0; n < list->nr && !err; n++) {
		const struct libtramp_pattern *p = &list->items[n].pattern;

		for (i = libtramp_pattern_next(w->syms, p, 0); i < w->syms->nr;
		     i = libtramp_pattern_next(w->syms, p, i + 1))
			if (!w->marks[i].denied)
				w->marks[i].denied = n + 1;
		err = libtramp_select_step(w, libtramp_steps(p));
	}
	return err;
}

int libtramp_select_mark(struct libtramp_select *w)
{
	int err = mark_asked(w);

	return err ? err : mark_denied(w);
}

/* ------------------------------------------------------------- afterwards -- */

/* Functions that a pattern matches, by what became of them. */
struct yield {
	size_t left_out, filtered;
};

/* Did it give anything? Looks at no more of its functions than it has to. */
static bool gave_something(const struct libtramp_select *w, const struct libtramp_pattern *p,
			   struct yield *yield)
{
	size_t i;

	memset(yield, 0, sizeof(*yield));
	for (i = libtramp_pattern_next(w->syms, p, 0); i < w->syms->nr;
	     i = libtramp_pattern_next(w->syms, p, i + 1)) {
		if (w->marks[i].fate == LIBTRAMP_TAKEN)
			return true;
		if (w->marks[i].fate == LIBTRAMP_LEFT_OUT)
			yield->left_out++;
		else
			yield->filtered++;
	}
	return false;
}

static int no_yield(struct libtramp_select *w, uint32_t pattern, const struct yield *yield)
{
	const struct libtramp_pattern *p = &w->sel->patterns.items[pattern].pattern;
	const char *detail;
	char text[128];
	int err;

	if (!yield->left_out && !yield->filtered)
		return no_match(w, pattern);
	/* Functions on the list say why; one whose arguments are others is not on it. */
	if (yield->left_out && (p->single || !w->all_or_nothing))
		return 0;
	if (yield->left_out)
		snprintf(text, sizeof(text), "of %zu that match, %zu cannot be attached to",
			 yield->left_out + yield->filtered, yield->left_out);
	else
		snprintf(text, sizeof(text), "%zu match by name, but not by their arguments",
			 yield->filtered);
	detail = libtramp_select_keep(w->sel, text);
	if (!detail)
		return libtramp_fail_nomem("selection");
	err = libtramp_select_leave_out(w, NULL, pattern, TRAMP_LIB_NO_MATCH, detail, NULL);
	/* Of a single function, the caller's filter or deny pattern may leave nothing. */
	if (!err && w->all_or_nothing && !p->single)
		err = libtramp_select_fail(&w->sel->left[w->sel->nr_left - 1]);
	return err;
}

int libtramp_select_check(struct libtramp_select *w)
{
	const struct libtramp_list *list = &w->sel->patterns;
	struct yield yield;
	size_t n;
	int err = 0;

	for (n = 0; n < list->nr && !err; n++) {
		if (!gave_something(w, &list->items[n].pattern, &yield))
			err = no_yield(w, n, &yield);
		if (!err)
			err = libtramp_select_step(w, libtramp_steps(&list->items[n].pattern));
	}
	if (!err && w->all_or_nothing && !w->sel->nr)
		err = LIBTRAMP_FAIL(-ENOENT, TRAMP_LIB_NO_MATCH, "selection",
				    "deny patterns and filters leave no function");
	return err;
}
