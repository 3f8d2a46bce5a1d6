/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The module's counts at one moment, and what is new since another.
 *
 * Everything comes from what INFO and QUERY tell. Links are asked one after the other, so the
 * sums are of moments close together.
 */
#ifndef TRAMPCTL_LINKSTATS_H
#define TRAMPCTL_LINKSTATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <trampoline/trampoline.h>

/**
 * struct link_stats - one link
 * @info: all that is known of it
 * @new_hits, @new_misses: those since the snapshot before; all of them, of a new link
 */
struct link_stats {
	struct tramp_link_info info;
	uint64_t new_hits, new_misses;
};

/**
 * struct group_stats - links that have something in common
 * @first: one of them
 * @links: how many
 * @hits, @misses, @new_hits, @new_misses: their sums
 */
struct group_stats {
	const struct tramp_link_info *first;
	size_t links;
	uint64_t hits, misses, new_hits, new_misses;
};

/**
 * struct snapshot - the counts at one moment
 * @time: now_ns() when they were taken
 * @ns: since the snapshot before; 0: there was none
 * @module: totals of the module, features, and its version
 * @links: those that are attached, by ascending ids
 * @nr: how many
 * @detached: links that are detached, which somebody still holds
 * @programs: different programs among @links
 */
struct snapshot {
	uint64_t time;
	uint64_t ns;
	struct tramp_module_info module;
	struct link_stats *links;
	size_t nr;
	size_t detached;
	size_t programs;
};

int snapshot_take(struct snapshot *s, const struct snapshot *before);
void snapshot_free(struct snapshot *s);

struct group_stats *group_by_kind(const struct snapshot *s, size_t *nr);
struct group_stats *group_by_function(const struct snapshot *s, size_t *nr);
struct group_stats group_all(const struct snapshot *s);

#endif /* TRAMPCTL_LINKSTATS_H */
