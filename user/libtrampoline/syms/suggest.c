// SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause
/*
 * Near misses: what was probably meant by a name that does not exist.
 *
 * A name is missing for one of three reasons. The compiler split or cloned the
 * function (NAME.isra.0, NAME.part.1); the name lacks a prefix that the kernel
 * puts before it (system calls); or it is misspelled. We try them in this order. A name
 * that is part of a longer one counts as misspelled by two edits, so that
 * "unlinkat" finds "do_unlinkat".
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "../core/sized.h"
#include "internal.h"

#define MAX_SUGGESTIONS	32
#define MAX_NAME	128

/*
 * Restricted Damerau-Levenshtein distance, a row at a time: besides inserting,
 * deleting and replacing a character, swapping two neighbours is one edit. Three
 * rows suffice, since a swap looks back two.
 */
unsigned int libtramp_distance(const char *a, const char *b, unsigned int max)
{
	unsigned int rows[3][MAX_NAME + 1], *before = rows[0], *prev = rows[1], *cur = rows[2];
	size_t na = strlen(a), nb = strlen(b), i, j;

	if (na > MAX_NAME || nb > MAX_NAME || (na > nb ? na - nb : nb - na) > max)
		return max + 1;
	for (j = 0; j <= nb; j++)
		prev[j] = j;
	for (i = 1; i <= na; i++) {
		unsigned int least = i, *spare;

		cur[0] = i;
		for (j = 1; j <= nb; j++) {
			unsigned int d = prev[j - 1] + (a[i - 1] != b[j - 1]);

			if (prev[j] + 1 < d)
				d = prev[j] + 1;
			if (cur[j - 1] + 1 < d)
				d = cur[j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    before[j - 2] + 1 < d)
				d = before[j - 2] + 1;
			cur[j] = d;
			if (d < least)
				least = d;
		}
		/* No cell below can be less than the least of this row (a swap: of two rows). */
		if (least > max + 1)
			return max + 1;
		spare = before;
		before = prev;
		prev = cur;
		cur = spare;
	}
	return prev[nb] > max ? max + 1 : prev[nb];
}

/* The best so far, in order; @cost is their distance. */
struct best {
	const char **out;
	unsigned int cost[MAX_SUGGESTIONS];
	size_t nr, max;
};

static void best_add(struct best *b, const char *name, unsigned int cost)
{
	size_t i;

	if (b->nr == b->max && cost >= b->cost[b->nr - 1])
		return;
	if (b->nr < b->max)
		b->nr++;
	for (i = b->nr - 1; i && b->cost[i - 1] > cost; i--) {
		b->cost[i] = b->cost[i - 1];
		b->out[i] = b->out[i - 1];
	}
	b->cost[i] = cost;
	b->out[i] = name;
}

/* How far may a name be off and still be meant? One edit in three characters, at most 4. */
static unsigned int tolerance(size_t len)
{
	return len < 3 ? 0 : len / 3 > 4 ? 4 : len / 3;
}

size_t tramp_syms__suggest(const struct tramp_syms *syms, const char *name,
			   const char **out, size_t max)
{
	struct best best = { .out = out, .max = max > MAX_SUGGESTIONS ? MAX_SUGGESTIONS : max };
	size_t i, len = name ? strlen(name) : 0;
	unsigned int tol = tolerance(len);

	if (!best.max || !tol || !out)
		return 0;
	for (i = 0; i < syms->nr; i++) {
		const struct tramp_sym *sym = &syms->syms[i];
		unsigned int limit = tol, d;

		/* One suggestion a name, however many functions bear it. */
		if (i && !strcmp(sym->name, syms->syms[i - 1].name))
			continue;
		/* Once there are enough, only better ones are worth the work. */
		if (best.nr == best.max && best.cost[best.nr - 1] <= limit)
			limit = best.cost[best.nr - 1] - 1;
		d = libtramp_distance(name, sym->name, limit);
		if (d > limit && len >= 4 && limit >= 2 && strstr(sym->name, name) &&
		    !strchr(sym->name, '.'))
			d = 2;
		if (d > limit || !d)
			continue;
		best_add(&best, sym->name, d);
	}
	return best.nr;
}

static bool exists(const struct tramp_syms *syms, const char *name)
{
	size_t i = libtramp_syms_lower(syms, name);

	return i < syms->nr && !strcmp(syms->syms[i].name, name);
}

/* NAME.something: what the compiler made of it. */
static const char *find_clone(const struct tramp_syms *syms, const char *name)
{
	char prefix[MAX_NAME + 2];
	size_t i, len;

	len = snprintf(prefix, sizeof(prefix), "%s.", name);
	if (len >= sizeof(prefix))
		return NULL;
	i = libtramp_syms_lower(syms, prefix);
	if (i < syms->nr && !strncmp(syms->syms[i].name, prefix, len))
		return syms->syms[i].name;
	return NULL;
}

const char *libtramp_near_misses(const struct tramp_syms *syms, const char *name,
				 char *buf, size_t len)
{
	const char *clone = find_clone(syms, name), *near[3];
	char syscall[MAX_NAME + 16];
	size_t i, nr, pos;

	if (clone) {
		snprintf(buf, len, "the compiler made '%s' of it", clone);
		return "choose a caller of it: BTF does not describe what the compiler made";
	}
	/* unlink, sys_unlink: the system call's entry, as BPF programs see it on x86-64. */
	snprintf(syscall, sizeof(syscall), "__x64_sys_%.*s", MAX_NAME,
		 !strncmp(name, "sys_", 4) ? name + 4 : name);
	if (exists(syms, syscall)) {
		snprintf(buf, len, "the system call is '%s'", syscall);
		return "use that name";
	}
	nr = tramp_syms__suggest(syms, name, near, ARRAY_SIZE(near));
	if (!nr)
		return NULL;
	pos = snprintf(buf, len, "the nearest: ");
	for (i = 0; i < nr && pos < len; i++)
		pos += snprintf(buf + pos, len - pos, "%s%s", i ? ", " : "", near[i]);
	return "use one of these, if it was meant";
}
