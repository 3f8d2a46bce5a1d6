// SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause
/*
 * The distance of two words, and the nearest of many. See distance.h.
 */
#include <string.h>

#include "../../distance.h"

/*
 * Restricted Damerau-Levenshtein distance, a row at a time: besides inserting,
 * deleting and replacing a character, swapping two neighbours is one edit. Three
 * rows suffice, since a swap looks back two.
 */
unsigned int libtramp_distance(const char *a, const char *b, unsigned int max)
{
	unsigned int rows[3][LIBTRAMP_MAX_WORD + 1];
	unsigned int *before = rows[0], *prev = rows[1], *cur = rows[2];
	size_t na = strlen(a), nb = strlen(b), i, j;

	if (na > LIBTRAMP_MAX_WORD || nb > LIBTRAMP_MAX_WORD ||
	    (na > nb ? na - nb : nb - na) > max)
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

unsigned int libtramp_tolerance(size_t len)
{
	/* One edit in three characters. */
	return len < 3 ? 0 : len / 3 > 4 ? 4 : len / 3;
}

unsigned int libtramp_nearest_limit(const struct libtramp_nearest *n, unsigned int tolerance)
{
	/* Once there are enough, only better ones are worth the work. */
	if (n->nr == n->max && n->cost[n->nr - 1] <= tolerance)
		return n->cost[n->nr - 1] - 1;
	return tolerance;
}

void libtramp_nearest_add(struct libtramp_nearest *n, const char *name, unsigned int cost)
{
	size_t i;

	if (n->nr == n->max && cost >= n->cost[n->nr - 1])
		return;
	if (n->nr < n->max)
		n->nr++;
	for (i = n->nr - 1; i && n->cost[i - 1] > cost; i--) {
		n->cost[i] = n->cost[i - 1];
		n->out[i] = n->out[i - 1];
	}
	n->cost[i] = cost;
	n->out[i] = name;
}

void libtramp_nearest_try(struct libtramp_nearest *n, const char *word, const char *name)
{
	const unsigned int limit = libtramp_nearest_limit(n, libtramp_tolerance(strlen(word)));
	const unsigned int d = libtramp_distance(word, name, limit);

	if (d && d <= limit)
		libtramp_nearest_add(n, name, d);
}
