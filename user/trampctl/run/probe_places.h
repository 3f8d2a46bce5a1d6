/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The places of `trampctl probe`: one, or all those at which a line of source begins.
 */
#ifndef TRAMPCTL_PROBE_PLACES_H
#define TRAMPCTL_PROBE_PLACES_H

#include <bpf/libbpf.h>
#include <json-c/json.h>
#include <stddef.h>
#include <stdint.h>
#include <trampoline/trampoline.h>

#include "lines.h"

/**
 * struct probe_places - probes that are attached
 * @link: that of a single place; NULL: there are @links
 * @links: one for each place of a line
 * @names: how list shows each place
 * @addrs: the address of each
 * @nr: how many
 */
struct probe_places {
	struct tramp_link *link;
	struct tramp_links *links;
	char **names;
	uint64_t *addrs;
	size_t nr;
};

/* Sums over all of them. */
struct probe_sums {
	uint64_t misses;
	size_t gone;
	uint32_t reason;	/* why the last of those has gone, 0 if it was detached */
};

int probe_places_attach_one(struct probe_places *p, const struct bpf_program *prog,
			    const struct tramp_attach_opts *where);
int probe_places_attach(struct probe_places *p, const struct bpf_program *prog, uint32_t flags,
			const struct line_found *found);
const char *probe_places_name(const struct probe_places *p, uint64_t ip);
int probe_places_sum(const struct probe_places *p, struct probe_sums *sums);
json_object *probe_places_to_json(const struct probe_places *p);
void probe_places_detach(struct probe_places *p);
void probe_places_free(struct probe_places *p);

#endif /* TRAMPCTL_PROBE_PLACES_H */
