// SPDX-License-Identifier: GPL-2.0
/*
 * trampctl stats, for people and as JSON.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "../out/json.h"
#include "../out/linkinfo.h"
#include "../out/moduleinfo.h"
#include "../out/table.h"
#include "../out/text.h"
#include "stats.h"

/* As many in a second as were new. */
static double per_second(const struct snapshot *s, uint64_t new)
{
	return new * 1e9 / s->ns;
}

/* ------------------------------------------------------------------ text -- */

/* The head of a function or a kind, and where its counts begin. */
#define COUNTS "LINKS", "HITS", "MISSES"
#define RATES "HITS/S", "MISSES/S"

struct texts {
	char links[24], hits[24], misses[24], hit_rate[32], miss_rate[32];
};

static void rate_text(const struct snapshot *s, uint64_t new, char *buf, size_t len)
{
	if (s->ns)
		snprintf(buf, len, "%.1f", per_second(s, new));
	else
		snprintf(buf, len, "-");
}

static struct texts texts_of(const struct snapshot *s, const struct group_stats *g)
{
	struct texts t;

	snprintf(t.links, sizeof(t.links), "%zu", g->links);
	snprintf(t.hits, sizeof(t.hits), "%" PRIu64, g->hits);
	snprintf(t.misses, sizeof(t.misses), "%" PRIu64, g->misses);
	rate_text(s, g->new_hits, t.hit_rate, sizeof(t.hit_rate));
	rate_text(s, g->new_misses, t.miss_rate, sizeof(t.miss_rate));
	return t;
}

static void add_total(struct table *t, uint64_t nr, const char *what)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, nr);
	table_row(t, text, what, NULL);
}

static void print_totals(const struct snapshot *s)
{
	static const char *const heads[] = { "NOW", "WHAT IT IS", NULL };
	const struct tramp_module_info *m = &s->module;
	struct table *t = table_new(heads, "rl");

	add_total(t, s->nr, "links");
	add_total(t, s->detached, "detached links that somebody holds");
	add_total(t, s->programs, "programs");
	add_total(t, m->targets, "functions with programs of tracing type");
	add_total(t, m->probes, "probed addresses");
	add_total(t, m->optimised, "of them jumps");
	add_total(t, m->images, "images");
	add_total(t, m->image_bytes, "bytes of them");
	add_total(t, m->retiring, "images that wait to be freed");
	add_total(t, m->grace_periods, "grace periods waited for");
	table_print(t, stdout);
	table_free(t);
}

static void print_features(const struct tramp_module_info *m)
{
	const char *before = "; without";
	unsigned int bit;

	printf("\nmodule v%s with", m->version);
	for (bit = 0; bit < 64; bit++)
		if (tramp_feature_name(bit) && m->features & (1ULL << bit))
			printf(" %s", tramp_feature_name(bit));
	for (bit = 0; bit < 64; bit++)
		if (tramp_feature_name(bit) && !(m->features & (1ULL << bit))) {
			printf("%s %s", before, tramp_feature_name(bit));
			before = "";
		}
	putchar('\n');
}

static void print_kinds(const struct snapshot *s, bool rates)
{
	static const char *const plain[] = { "KIND", "MODE", COUNTS, NULL };
	static const char *const with_rates[] = { "KIND", "MODE", COUNTS, RATES, NULL };
	struct table *t = rates ? table_new(with_rates, "llrrrrr") : table_new(plain, "llrrr");
	size_t nr, i;
	struct group_stats *g = group_by_kind(s, &nr);

	for (i = 0; i < nr; i++) {
		const struct texts x = texts_of(s, &g[i]);

		table_row(t, tramp_kind_name(g[i].first->kind), tramp_mode_name(g[i].first->mode),
			  x.links, x.hits, x.misses, x.hit_rate, x.miss_rate, NULL);
	}
	putchar('\n');
	table_print(t, stdout);
	table_free(t);
	free(g);
}

/* "vfs_read", or how many functions a link has. To be freed. */
static char *function_text(const struct tramp_link_info *info)
{
	return info->nr_funcs ? place_text(info) : func_text(info->module, info->func_name);
}

static void print_functions(const struct snapshot *s, const struct stats_options *o)
{
	static const char *const plain[] = { COUNTS, "FUNCTION", NULL };
	static const char *const with_rates[] = { COUNTS, RATES, "FUNCTION", NULL };
	struct table *t = o->rates ? table_new(with_rates, "rrrrrl") : table_new(plain, "rrrl");
	size_t nr, i;
	struct group_stats *g = group_by_function(s, &nr);

	for (i = 0; i < nr && (!o->top || i < o->top); i++) {
		const struct texts x = texts_of(s, &g[i]);
		char *func = function_text(g[i].first);

		if (o->rates)
			table_row(t, x.links, x.hits, x.misses, x.hit_rate, x.miss_rate, func,
				  NULL);
		else
			table_row(t, x.links, x.hits, x.misses, func, NULL);
		free(func);
	}
	putchar('\n');
	table_print(t, stdout);
	table_free(t);
	free(g);
}

/**
 * stats_print() - show a snapshot as tables
 * @s: the snapshot
 * @o: what of it
 */
void stats_print(const struct snapshot *s, const struct stats_options *o)
{
	print_totals(s);
	print_features(&s->module);
	if (!s->nr)
		return;
	print_kinds(s, o->rates);
	if (!o->totals)
		print_functions(s, o);
}

/* ------------------------------------------------------------------ JSON -- */

static void put_rates(json_object *j, const struct snapshot *s, uint64_t hits, uint64_t misses)
{
	if (!s->ns)
		return;
	json_object_object_add(j, "hits_per_second", json_object_new_double(per_second(s, hits)));
	json_object_object_add(j, "misses_per_second",
			       json_object_new_double(per_second(s, misses)));
}

static void put_counts(json_object *j, const struct snapshot *s, const struct group_stats *g)
{
	json_put_u64(j, "hits", g->hits);
	json_put_u64(j, "misses", g->misses);
	put_rates(j, s, g->new_hits, g->new_misses);
}

static json_object *kinds_to_json(const struct snapshot *s)
{
	json_object *list = json_object_new_array();
	size_t nr, i;
	struct group_stats *g = group_by_kind(s, &nr);

	for (i = 0; i < nr; i++) {
		json_object *j = json_object_new_object();

		json_put_str(j, "kind", tramp_kind_name(g[i].first->kind));
		json_put_str(j, "mode", tramp_mode_name(g[i].first->mode));
		json_put_u64(j, "links", g[i].links);
		put_counts(j, s, &g[i]);
		json_object_array_add(list, j);
	}
	free(g);
	return list;
}

static json_object *functions_to_json(const struct snapshot *s, uint32_t top)
{
	json_object *list = json_object_new_array();
	size_t nr, i;
	struct group_stats *g = group_by_function(s, &nr);

	for (i = 0; i < nr && (!top || i < top); i++) {
		json_object *j = json_object_new_object();
		const struct tramp_link_info *info = g[i].first;

		if (info->nr_funcs)
			json_put_u64(j, "functions", info->nr_funcs);
		else
			json_put_func(j, info->module, info->func_name, info->func_addr);
		json_put_u64(j, "links", g[i].links);
		put_counts(j, s, &g[i]);
		json_object_array_add(list, j);
	}
	free(g);
	return list;
}

static json_object *links_to_json(const struct snapshot *s)
{
	json_object *list = json_object_new_array();
	size_t i;

	for (i = 0; i < s->nr; i++) {
		json_object *j = link_to_json(&s->links[i].info);

		put_rates(j, s, s->links[i].new_hits, s->links[i].new_misses);
		json_object_array_add(list, j);
	}
	return list;
}

/**
 * stats_print_json() - show a snapshot as one object
 * @s: the snapshot
 * @o: what of it
 */
void stats_print_json(const struct snapshot *s, const struct stats_options *o)
{
	const struct group_stats all = group_all(s);
	json_object *j = json_object_new_object();

	json_put_str(j, "type", "stats");
	if (s->ns)
		json_put_u64(j, "interval_ns", s->ns);
	json_object_object_add(j, "module", module_to_json(&s->module));
	json_put_u64(j, "attached", s->nr);
	json_put_u64(j, "detached", s->detached);
	json_put_u64(j, "programs", s->programs);
	put_counts(j, s, &all);
	json_object_object_add(j, "kinds", kinds_to_json(s));
	if (!o->totals) {
		json_object_object_add(j, "functions", functions_to_json(s, o->top));
		json_object_object_add(j, "links", links_to_json(s));
	}
	json_print(j);
}
