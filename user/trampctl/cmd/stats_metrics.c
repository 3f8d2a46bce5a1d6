// SPDX-License-Identifier: GPL-2.0
/*
 * trampctl stats as metrics. Names and labels are an interface: others' queries and alerts have
 * them. So they are only ever added to.
 *
 * Types are those that both forms of the text know. A link's counters go with the link. The mode
 * of a link changes while it is there, and so is no label of its counters.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../out/metrics.h"
#include "stats.h"

static void put_module(struct metrics *m, const struct tramp_module_info *info)
{
	unsigned int bit;
	char interface[16];

	snprintf(interface, sizeof(interface), "%u", info->abi_version);
	metrics_family(m, METRIC_GAUGE, "trampoline_build_info", NULL,
		       "Always 1. The labels have the module's version and that of its interface.");
	metrics_sample(m, 1, "version", info->version, "interface", interface, NULL);
	metrics_family(m, METRIC_GAUGE, "trampoline_feature", NULL,
		       "1 if the module has the feature on this kernel.");
	for (bit = 0; bit < 64; bit++)
		if (tramp_feature_name(bit))
			metrics_sample(m, !!(info->features & (1ULL << bit)), "feature",
				       tramp_feature_name(bit), NULL);
	metrics_single(m, METRIC_GAUGE, "trampoline_missing_symbols", NULL,
		       "Optional kernel symbols that this kernel lacks.", info->symbols_missing);
	metrics_single(m, METRIC_GAUGE, "trampoline_functions", NULL,
		       "Functions with programs of tracing type.", info->targets);
	metrics_single(m, METRIC_GAUGE, "trampoline_probes", NULL, "Probed addresses.",
		       info->probes);
	metrics_single(m, METRIC_GAUGE, "trampoline_jumps", NULL, "Probed addresses that are jumps.",
		       info->optimised);
	metrics_single(m, METRIC_GAUGE, "trampoline_images", NULL,
		       "Images that exist, those that wait to be freed included.", info->images);
	metrics_single(m, METRIC_GAUGE, "trampoline_retiring_images", NULL,
		       "Images that wait to be freed.", info->retiring);
	metrics_single(m, METRIC_GAUGE, "trampoline_image_bytes", "bytes",
		       "Executable memory of all images.", info->image_bytes);
	metrics_single(m, METRIC_COUNTER, "trampoline_grace_periods", NULL,
		       "RCU-tasks grace periods that the module has waited for.",
		       info->grace_periods);
}

/* A newer module may have more, and no two samples may have the same labels. */
static const char *label_of(const char *name, unsigned int number, char *text, size_t size)
{
	if (strcmp(name, "unknown"))
		return name;
	snprintf(text, size, "unknown-%u", number);
	return text;
}

#define LABEL_LEN	24

static const char *kind_label(const struct tramp_link_info *info, char *text)
{
	return label_of(tramp_kind_name(info->kind), info->kind, text, LABEL_LEN);
}

static const char *mode_label(const struct tramp_link_info *info, char *text)
{
	return label_of(tramp_mode_name(info->mode), info->mode, text, LABEL_LEN);
}

static void put_kinds(struct metrics *m, const struct snapshot *s)
{
	size_t nr, i;
	struct group_stats *g = group_by_kind(s, &nr);
	char kind[LABEL_LEN], mode[LABEL_LEN];

	metrics_family(m, METRIC_GAUGE, "trampoline_links", NULL,
		       "Links that are attached, by kind and by how hits reach the program.");
	for (i = 0; i < nr; i++)
		metrics_sample(m, g[i].links, "kind", kind_label(g[i].first, kind), "mode",
			       mode_label(g[i].first, mode), NULL);
	free(g);
	metrics_single(m, METRIC_GAUGE, "trampoline_detached_links", NULL,
		       "Links that are detached, which somebody still holds.", s->detached);
	metrics_single(m, METRIC_GAUGE, "trampoline_programs", NULL,
		       "Different programs that are attached.", s->programs);
}

/* Of many functions only their number is known. */
static void put_link(struct metrics *m, const struct tramp_link_info *info, uint64_t value)
{
	char id[16], offset[24] = "", kind[LABEL_LEN];

	snprintf(id, sizeof(id), "%u", info->link_id);
	if (info->kind == TRAMP_KIND_KPROBE)
		snprintf(offset, sizeof(offset), "0x%" PRIx64, info->offset);
	metrics_sample(m, value, "link", id, "kind", kind_label(info, kind), "module",
		       info->nr_funcs ? "" : info->module, "function",
		       info->nr_funcs ? "" : info->func_name, "offset", offset, "program",
		       info->prog_name, NULL);
}

static void put_links(struct metrics *m, const struct snapshot *s)
{
	size_t i;

	metrics_family(m, METRIC_COUNTER, "trampoline_link_hits", NULL,
		       "Times that the program of a link was run.");
	for (i = 0; i < s->nr; i++)
		put_link(m, &s->links[i].info, s->links[i].info.hits);
	metrics_family(m, METRIC_COUNTER, "trampoline_link_misses", NULL,
		       "Times that it was not run, as it may not nest, or too many calls were inside.");
	for (i = 0; i < s->nr; i++)
		put_link(m, &s->links[i].info, s->links[i].info.misses);
	metrics_family(m, METRIC_GAUGE, "trampoline_link_functions", NULL,
		       "Functions that the program of a link is attached to.");
	for (i = 0; i < s->nr; i++)
		put_link(m, &s->links[i].info, s->links[i].info.nr_funcs ?: 1);
}

/**
 * stats_print_metrics() - print a snapshot as metrics
 * @s: the snapshot
 * @o: what of it
 * @openmetrics: as OpenMetrics has it; otherwise as Prometheus' textfile collectors have
 */
void stats_print_metrics(const struct snapshot *s, const struct stats_options *o,
			 bool openmetrics)
{
	struct metrics m = { .f = stdout, .openmetrics = openmetrics };

	put_module(&m, &s->module);
	put_kinds(&m, s);
	if (!o->totals)
		put_links(&m, s);
	metrics_end(&m);
}
