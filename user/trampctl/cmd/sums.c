// SPDX-License-Identifier: GPL-2.0
/*
 * Sums of calls by function: reading what the programs counted, and the order of output.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../out/error.h"
#include "../out/text.h"
#include "../trampctl.h"
#include "sums.h"
#include "user/trampctl/run/many.skel.h"

void calls_init(struct calls *c, const struct many_run *run)
{
	c->nr_cpus = libbpf_num_possible_cpus();
	if (c->nr_cpus < 1)
		c->nr_cpus = 1;
	c->now = xcalloc(run->funcs.nr, sizeof(*c->now));
	c->before = xcalloc(run->funcs.nr, sizeof(*c->before));
	c->cpus = xcalloc(c->nr_cpus, sizeof(*c->cpus));
}

void calls_free(struct calls *c)
{
	free(c->now);
	free(c->before);
	free(c->cpus);
}

/* Returns 0, or the exit code of an error that has been reported. */
int calls_read(struct calls *c, const struct many_run *run)
{
	const int fd = bpf_map__fd(run->skel->maps.calls);
	uint64_t all;
	__u32 i;
	int k;

	for (i = 0; i < run->funcs.nr; i++) {
		if (bpf_map_lookup_elem(fd, &i, c->cpus))
			return fail_bpf(errno, "cannot read the counts");
		for (all = 0, k = 0; k < c->nr_cpus; k++)
			all += c->cpus[k];
		c->now[i] = all - c->before[i];
		c->before[i] = all;
	}
	return 0;
}

static int more_calls_first(const void *a, const void *b)
{
	const struct sum *x = a, *y = b;

	if (x->calls != y->calls)
		return x->calls < y->calls ? 1 : -1;
	return x->nr < y->nr ? -1 : 1;
}

/* Most calls first. Returns how many to show. */
size_t sums_sort(struct sum *sums, size_t nr, uint32_t top)
{
	qsort(sums, nr, sizeof(*sums), more_calls_first);
	return top && top < nr ? top : nr;
}

/* Those that were called, and how often all were. Returns how many to show. */
size_t sums_of_calls(struct sum *sums, const struct calls *c, size_t nr, uint32_t top,
		     uint64_t *total)
{
	size_t i, n = 0;

	*total = 0;
	for (i = 0; i < nr; i++) {
		if (!c->now[i])
			continue;
		sums[n].nr = i;
		sums[n++].calls = c->now[i];
		*total += c->now[i];
	}
	return sums_sort(sums, n, top);
}

/* "function" or "function [module]"; good until the next call. */
const char *sum_name(const struct many_run *run, size_t nr)
{
	const struct tramp_sym *sym = run->funcs.func[nr]->sym;
	static char *text;

	if (!sym->module[0])
		return sym->name;
	free(text);
	text = xasprintf("%s [%s]", sym->name, sym->module);
	return text;
}
