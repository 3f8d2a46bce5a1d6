// SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause
/*
 * Functions of a selection: which of those that were asked for are taken, and why not the rest.
 *
 * Names of a single address are judged together, since attaching takes the address. It is
 * denied under any of its names. ftrace's list has only one of them, and so has BTF.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../core/error.h"
#include "../core/sized.h"
#include "select.h"

static uint32_t suffix_of(const char *name)
{
	static const struct {
		const char *name;
		uint32_t flag;
	} known[] = {
		{ "isra", TRAMP_SUFFIX_ISRA }, { "constprop", TRAMP_SUFFIX_CONSTPROP },
		{ "part", TRAMP_SUFFIX_PART }, { "cold", TRAMP_SUFFIX_COLD },
	};
	const char *part = strchr(name, '.');
	uint32_t flags = 0;
	size_t i, len;

	for (; part; part = strchr(part, '.')) {
		part++;
		len = strcspn(part, ".");
		/* The number of a clone says nothing. */
		if (strspn(part, "0123456789") == len)
			continue;
		for (i = 0; i < ARRAY_SIZE(known); i++)
			if (strlen(known[i].name) == len && !memcmp(known[i].name, part, len))
				break;
		flags |= i < ARRAY_SIZE(known) ? known[i].flag : TRAMP_SUFFIX_OTHER;
	}
	return flags;
}

/* Have w->btf be that of a module, if there is one. */
static int use_btf(struct libtramp_select *w, const char *module)
{
	int err;

	if (w->btf_module && !strcmp(w->btf_module, module))
		return 0;
	err = libtramp_btf_of(w->syms, module, &w->btf);
	w->btf_module = module;
	if (err == -ENOMEM)
		return err;
	/* A module without BTF is one matter, a kernel without it another. */
	if (err && w->want_btf && tramp_last_error()->reason == TRAMP_LIB_NO_KERNEL_BTF)
		return err;
	return 0;
}

/* Names of one address: entries of the snapshot by number. */
struct names {
	const uint32_t *at;
	size_t nr;
};

static struct libtramp_mark *mark_of(const struct libtramp_select *w, const struct names *names,
				     size_t i)
{
	return &w->marks[names->at[i]];
}

/* All that is known about an address. */
struct finding {
	struct libtramp_mark mark;	/* of all of its names */
	struct tramp_selected item;
	bool each_known;	/* ftrace's list tells functions of its name apart */
};

/* The name it goes by: one that was asked for, at best one that ftrace's list has. */
static const struct tramp_sym *choose_name(const struct libtramp_select *w,
					   const struct names *names)
{
	const struct tramp_sym *best = NULL, *sym;
	size_t i;

	for (i = 0; i < names->nr; i++) {
		sym = &w->syms->syms[names->at[i]];
		if (mark_of(w, names, i)->asked &&
		    (!best || (sym->flags & ~best->flags & TRAMP_SYM_TRACEABLE)))
			best = sym;
	}
	return best;
}

static int find_btf(struct libtramp_select *w, const struct names *names,
		    struct tramp_selected *item)
{
	int err = use_btf(w, item->sym->module);

	if (err)
		return err;
	item->btf_id = libtramp_btf_function(w->syms, &w->btf, item->sym->module, names->at,
					     names->nr);
	item->btf_obj_id = item->btf_id ? w->btf.obj_id : 0;
	return 0;
}

static void look_at(const struct libtramp_select *w, const struct names *names, struct finding *f)
{
	struct tramp_selected *item = &f->item;
	struct libtramp_namesakes namesakes;
	size_t i;

	memset(f, 0, sizeof(*f));
	for (i = 0; i < names->nr; i++) {
		const struct libtramp_mark *m = mark_of(w, names, i);

		if (!f->mark.asked || (m->asked && m->single && !f->mark.single))
			f->mark.asked = m->asked;
		if (!f->mark.denied)
			f->mark.denied = m->denied;
		f->mark.single |= m->single;
		f->mark.named |= m->named;
		item->traceable |= w->syms->syms[names->at[i]].flags & TRAMP_SYM_TRACEABLE;
	}
	if (!f->mark.asked)
		return;
	item->sym = choose_name(w, names);
	item->suffix = suffix_of(item->sym->name);
	namesakes = libtramp_syms_namesakes(w->syms, item->sym);
	item->same_name = namesakes.nr;
	f->each_known = namesakes.each_known;
}

/* The entry of the built-in deny list for one of its names; NULL if there is none. */
static const struct tramp_deny *find_listed(const struct libtramp_select *w,
					    const struct names *names)
{
	size_t i, n;

	for (i = 0; i < names->nr; i++)
		for (n = 0; n < w->nr_listed; n++)
			if (libtramp_pattern_matches(&w->listed[n], &w->syms->syms[names->at[i]]))
				return tramp_deny_list(n);
	return NULL;
}

/* Why it is refused, whatever its arguments; 0: it can. */
static uint32_t refuse(const struct libtramp_select *w, const struct names *names,
		       const struct finding *f, const char **detail)
{
	const struct tramp_selected *item = &f->item;
	const struct tramp_deny *listed;

	*detail = "";
	if (!strcmp(item->sym->module, "trampoline"))
		return TRAMP_REASON_OWN_MODULE;
	if (f->mark.denied) {
		*detail = w->sel->deny.items[f->mark.denied - 1].text;
		return TRAMP_LIB_DENIED;
	}
	if (!item->traceable && !(w->opts.flags & TRAMP_SELECT_UNTRACEABLE))
		return TRAMP_REASON_NOT_TRACEABLE;
	if (!f->each_known && !(w->opts.flags & TRAMP_SELECT_UNTRACEABLE)) {
		*detail = "ftrace can patch some of that name, and does not say which";
		return TRAMP_REASON_AMBIGUOUS;
	}
	listed = f->mark.named ? NULL : find_listed(w, names);
	if (listed) {
		*detail = listed->why;
		return TRAMP_LIB_DENY_LIST;
	}
	if (item->same_name > 1 && (!item->sym->addr || w->opts.flags & TRAMP_SELECT_UNIQUE))
		return TRAMP_REASON_AMBIGUOUS;
	return 0;
}

static int take(struct libtramp_select *w, const struct tramp_selected *item)
{
	struct tramp_selection *sel = w->sel;
	void *more;

	if (sel->nr >= w->opts.max_functions)
		return LIBTRAMP_FAIL(-E2BIG, TRAMP_LIB_TOO_MANY, "selection",
				     "at most %u functions", w->opts.max_functions);
	more = libtramp_select_grow(sel->items, &sel->room, sel->nr, sizeof(*item));
	if (!more)
		return libtramp_fail_nomem("selection");
	sel->items = more;
	sel->items[sel->nr++] = *item;
	return 0;
}

static int decide(struct libtramp_select *w, const struct names *names, struct finding *f,
		  enum libtramp_fate *fate)
{
	const char *detail;
	uint32_t reason = refuse(w, names, f, &detail);
	int err;

	if (!reason) {
		err = find_btf(w, names, &f->item);
		if (err)
			return err;
		if (w->want_btf && !f->item.btf_id) {
			reason = TRAMP_REASON_NO_BTF;
			if (f->item.same_name > 1)
				detail = "several functions have the name, and BTF does not say which it describes";
		}
	}
	if (reason) {
		*fate = LIBTRAMP_LEFT_OUT;
		err = libtramp_select_leave_out(w, f->item.sym, f->mark.asked - 1, reason, detail,
						NULL);
		/* The caller's own deny pattern is no problem of his. */
		if (!err && w->all_or_nothing && f->mark.single && reason != TRAMP_LIB_DENIED)
			err = libtramp_select_fail(&w->sel->left[w->sel->nr_left - 1]);
		return err;
	}
	if ((w->args.by_type || w->args.by_number) &&
	    !libtramp_args_pass(w->btf.btf, f->item.btf_id, &w->args)) {
		*fate = LIBTRAMP_FILTERED;
		return 0;
	}
	*fate = LIBTRAMP_TAKEN;
	return take(w, &f->item);
}

static int judge(struct libtramp_select *w, const struct names *names)
{
	enum libtramp_fate fate = LIBTRAMP_NOT_JUDGED;
	struct finding f;
	size_t i;
	int err;

	look_at(w, names, &f);
	if (f.mark.asked) {
		err = decide(w, names, &f, &fate);
		if (err)
			return err;
		for (i = 0; i < names->nr; i++)
			mark_of(w, names, i)->fate = fate;
	}
	return libtramp_select_step(w, names->nr);
}

int libtramp_select_judge(struct libtramp_select *w)
{
	const struct tramp_syms *syms = w->syms;
	const uint32_t *order;
	size_t i, nr, end;
	uint32_t one;
	int err = 0;

	order = libtramp_syms_by_addr(syms, &nr);
	if (!order)
		return libtramp_fail_nomem("selection");
	/* Without an address nothing is known of other names. */
	for (i = 0; i < syms->nr && nr < syms->nr && !err; i++) {
		one = i;
		if (!syms->syms[i].addr)
			err = judge(w, &(struct names) { &one, 1 });
	}
	for (i = 0; i < nr && !err; i = end) {
		for (end = i + 1; end < nr; end++)
			if (syms->syms[order[end]].addr != syms->syms[order[i]].addr)
				break;
		err = judge(w, &(struct names) { order + i, end - i });
	}
	return err;
}
