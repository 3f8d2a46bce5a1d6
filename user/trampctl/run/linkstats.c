// SPDX-License-Identifier: GPL-2.0
/*
 * The module's counts at one moment, see linkstats.h.
 */
#include <stdlib.h>
#include <string.h>

#include "../out/error.h"
#include "../out/text.h"
#include "linkstats.h"
#include "signals.h"

/* A link, to those that sort and group: how they compare. */
typedef int (*compare_fn)(const void *a, const void *b);

struct walk {
	struct snapshot *s;
	size_t room;
};

static int take_link(const struct tramp_link_info *info, void *arg)
{
	struct walk *w = arg;
	struct snapshot *s = w->s;

	/* Where it was is not known any more, and nothing is counted. */
	if (info->mode == TRAMP_MODE_NONE) {
		s->detached++;
		return 0;
	}
	if (s->nr == w->room) {
		w->room = w->room ? 2 * w->room : 64;
		s->links = xrealloc(s->links, w->room * sizeof(*s->links));
	}
	s->links[s->nr++] = (struct link_stats){ .info = *info, .new_hits = info->hits,
						 .new_misses = info->misses };
	return 0;
}

static int by_number(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static size_t count_programs(const struct snapshot *s)
{
	uint32_t *ids = xcalloc(s->nr, sizeof(*ids));
	size_t i, nr = 0;

	for (i = 0; i < s->nr; i++)
		ids[i] = s->links[i].info.prog_id;
	qsort(ids, s->nr, sizeof(*ids), by_number);
	for (i = 0; i < s->nr; i++)
		nr += !i || ids[i] != ids[i - 1];
	free(ids);
	return nr;
}

/* Both are in the order of ids. A count that is lower than before is another link's. */
static void subtract(struct snapshot *s, const struct snapshot *before)
{
	size_t i, k = 0;

	s->ns = s->time - before->time;
	for (i = 0; i < s->nr; i++) {
		struct link_stats *l = &s->links[i];
		const struct tramp_link_info *old;

		while (k < before->nr && before->links[k].info.link_id < l->info.link_id)
			k++;
		if (k == before->nr || before->links[k].info.link_id != l->info.link_id)
			continue;
		old = &before->links[k].info;
		if (old->hits > l->info.hits || old->misses > l->info.misses)
			continue;
		l->new_hits -= old->hits;
		l->new_misses -= old->misses;
	}
}

/**
 * snapshot_take() - ask the module for its counts
 * @s: (out) what it tells, to be freed by snapshot_free() whether this succeeds or not
 * @before: an earlier snapshot, to tell what is new; may be NULL
 *
 * Return: 0, or the exit code of an error that has been reported.
 */
int snapshot_take(struct snapshot *s, const struct snapshot *before)
{
	TRAMP_OPTS(tramp_module_info, module);
	struct walk w = { .s = s };

	*s = (struct snapshot){ .time = now_ns() };
	if (tramp_info(&module) || tramp_for_each(take_link, &w) < 0)
		return fail_lib(NULL, NULL);
	s->module = module;
	s->programs = count_programs(s);
	if (before)
		subtract(s, before);
	return 0;
}

void snapshot_free(struct snapshot *s)
{
	free(s->links);
	s->links = NULL;
	s->nr = 0;
}

/* ---------------------------------------------------------------- groups -- */

static void group_add(struct group_stats *g, const struct link_stats *l)
{
	g->links++;
	g->hits += l->info.hits;
	g->misses += l->info.misses;
	g->new_hits += l->new_hits;
	g->new_misses += l->new_misses;
}

struct group_stats group_all(const struct snapshot *s)
{
	struct group_stats all = { NULL };
	size_t i;

	for (i = 0; i < s->nr; i++)
		group_add(&all, &s->links[i]);
	return all;
}

/*
 * @same gives 0 for links of one group, and an order to the others. Returns an array of @nr
 * groups in that order, to be freed.
 */
static struct group_stats *group(const struct snapshot *s, compare_fn same, size_t *nr)
{
	const struct link_stats **l = xcalloc(s->nr, sizeof(*l));
	struct group_stats *g = xcalloc(s->nr, sizeof(*g));
	size_t i;

	for (i = 0; i < s->nr; i++)
		l[i] = &s->links[i];
	qsort(l, s->nr, sizeof(*l), same);
	*nr = 0;
	for (i = 0; i < s->nr; i++) {
		if (!i || same(&l[i - 1], &l[i]))
			g[(*nr)++].first = &l[i]->info;
		group_add(&g[*nr - 1], l[i]);
	}
	free(l);
	return g;
}

static const struct tramp_link_info *link_of(const void *p)
{
	return &(*(const struct link_stats *const *)p)->info;
}

static int by_kind(const void *a, const void *b)
{
	const struct tramp_link_info *x = link_of(a), *y = link_of(b);

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return x->mode < y->mode ? -1 : x->mode > y->mode;
}

/* The links of one kind and mode each. To be freed. */
struct group_stats *group_by_kind(const struct snapshot *s, size_t *nr)
{
	return group(s, by_kind, nr);
}

/* A link of many functions has no one function: it is alone. */
static int by_function(const void *a, const void *b)
{
	const struct tramp_link_info *x = link_of(a), *y = link_of(b);
	int order;

	if (x->nr_funcs || y->nr_funcs) {
		if (!x->nr_funcs != !y->nr_funcs)
			return x->nr_funcs ? 1 : -1;
		return x->link_id < y->link_id ? -1 : x->link_id > y->link_id;
	}
	order = strcmp(x->func_name, y->func_name);
	if (!order)
		order = strcmp(x->module, y->module);
	/* Several functions may have one name. */
	if (!order && x->func_addr != y->func_addr)
		order = x->func_addr < y->func_addr ? -1 : 1;
	return order;
}

static int busiest_first(const void *a, const void *b)
{
	const struct group_stats *x = a, *y = b;

	if (x->new_hits != y->new_hits)
		return x->new_hits < y->new_hits ? 1 : -1;
	if (x->hits != y->hits)
		return x->hits < y->hits ? 1 : -1;
	return x->first->link_id < y->first->link_id ? -1 : 1;
}

/* The links of one function each, the one with most new hits first. To be freed. */
struct group_stats *group_by_function(const struct snapshot *s, size_t *nr)
{
	struct group_stats *g = group(s, by_function, nr);

	qsort(g, *nr, sizeof(*g), busiest_first);
	return g;
}
