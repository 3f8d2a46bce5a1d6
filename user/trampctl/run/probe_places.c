// SPDX-License-Identifier: GPL-2.0
/*
 * One program at a place, or at all those at which a line of source begins; see probe_places.h.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../out/error.h"
#include "../out/json.h"
#include "../out/linkinfo.h"
#include "../out/text.h"
#include "probe_places.h"

static struct tramp_link *link_at(const struct probe_places *p, size_t i)
{
	return p->link ?: tramp_links__get(p->links, i);
}

/* Returns 0, or -1 with the library's last error. */
static int note_names(struct probe_places *p)
{
	size_t i;

	p->nr = p->link ? 1 : tramp_links__count(p->links);
	p->names = xcalloc(p->nr, sizeof(*p->names));
	p->addrs = xcalloc(p->nr, sizeof(*p->addrs));
	for (i = 0; i < p->nr; i++) {
		TRAMP_OPTS(tramp_link_info, info);

		if (tramp_link__info(link_at(p, i), &info))
			return -1;
		p->names[i] = place_text(&info);
		p->addrs[i] = info.probe_addr;
	}
	return 0;
}

/**
 * probe_places_attach_one() - attach a program at one place
 * @p: (out) to be freed by probe_places_free(), also after an error
 * @prog: the program
 * @where: the place
 *
 * Return: 0, or -1 with the library's last error, which has not been reported.
 */
int probe_places_attach_one(struct probe_places *p, const struct bpf_program *prog,
			    const struct tramp_attach_opts *where)
{
	p->link = tramp_attach(prog, where);
	return p->link ? note_names(p) : -1;
}

/**
 * probe_places_attach() - attach a program where a line begins, everywhere or nowhere
 * @p: (out) to be freed by probe_places_free(), also after an error
 * @prog: the program
 * @flags: TRAMP_ATTACH_F_*
 * @found: the places
 *
 * Return: 0, or the exit code of an error that has been reported.
 */
int probe_places_attach(struct probe_places *p, const struct bpf_program *prog, uint32_t flags,
			const struct line_found *found)
{
	struct tramp_attach_item *items = xcalloc(found->nr, sizeof(*items));
	struct tramp_attach_opts *opts = xcalloc(found->nr, sizeof(*opts));
	size_t i;

	for (i = 0; i < found->nr; i++) {
		opts[i] = (struct tramp_attach_opts){ .sz = sizeof(opts[i]), .flags = flags,
						      .addr = found->places[i].addr };
		items[i] = (struct tramp_attach_item){ .prog = prog, .opts = &opts[i] };
	}
	p->links = tramp_attach_many(items, found->nr);
	free(items);
	free(opts);
	return p->links && !note_names(p) ? 0 : fail_lib(NULL, NULL);
}

/* The place that a hit is at, by its instruction pointer, which is one byte behind it. */
const char *probe_places_name(const struct probe_places *p, uint64_t ip)
{
	size_t i;

	for (i = 0; i + 1 < p->nr; i++)
		if (p->addrs[i] == ip - 1)
			break;
	return p->names[i];
}

/* Returns 0, or the exit code of an error that has been reported. */
int probe_places_sum(const struct probe_places *p, struct probe_sums *sums)
{
	size_t i;

	*sums = (struct probe_sums){ 0 };
	for (i = 0; i < p->nr; i++) {
		TRAMP_OPTS(tramp_link_info, info);

		if (tramp_link__info(link_at(p, i), &info))
			return fail_lib(NULL, NULL);
		sums->misses += info.misses;
		if (info.mode == TRAMP_MODE_NONE) {
			sums->gone++;
			sums->reason = info.mode_reason;
		}
	}
	return 0;
}

/* All links, as list has them. */
json_object *probe_places_to_json(const struct probe_places *p)
{
	json_object *list = json_object_new_array();
	size_t i;

	for (i = 0; i < p->nr; i++) {
		TRAMP_OPTS(tramp_link_info, info);

		if (!tramp_link__info(link_at(p, i), &info))
			json_object_array_add(list, link_to_json(&info));
	}
	return list;
}

/* Hits that have come can still be named. */
void probe_places_detach(struct probe_places *p)
{
	tramp_link__destroy(p->link);
	tramp_links__destroy(p->links);
	p->link = NULL;
	p->links = NULL;
}

void probe_places_free(struct probe_places *p)
{
	size_t i;

	probe_places_detach(p);
	for (i = 0; i < p->nr; i++)
		free(p->names[i]);
	free(p->names);
	free(p->addrs);
	*p = (struct probe_places){ NULL };
}
