/* SPDX-License-Identifier: GPL-2.0 */
/* A table of functions' names, of a request with many functions. */
#ifndef TRAMP_MULTI_NAME_TABLE_H
#define TRAMP_MULTI_NAME_TABLE_H

#include <linux/jhash.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/types.h>

/**
 * struct tramp_name - a name of a function that was asked for
 * @next: the next in the table's bucket, plus one; 0: none
 * @item: the function
 * @hash: of the name
 */
struct tramp_name {
	u32 next;
	u32 item;
	u64 hash;
};

/**
 * struct tramp_names - names by their hash
 * @names: all of them
 * @nr: how many
 * @room: how many there is room for
 * @buckets: heads of the chains, as &struct tramp_name.next
 * @bits: log2 of the number of buckets
 */
struct tramp_names {
	struct tramp_name *names;
	u32 nr;
	u32 room;
	u32 *buckets;
	u32 bits;
};

static inline u64 tramp_name_hash(const char *name)
{
	size_t len = strlen(name);

	return (u64)jhash(name, len, 1) << 32 | jhash(name, len, 2);
}

/* An empty table for about @nr names. tramp_names_free() frees it, also after a failure. */
static inline int tramp_names_init(struct tramp_names *t, u32 nr)
{
	t->nr = 0;
	t->room = nr + 64;
	t->bits = 4;
	while (t->bits < 18 && 1u << t->bits < nr)
		t->bits++;
	t->names = kvmalloc_array(t->room, sizeof(*t->names), GFP_KERNEL);
	t->buckets = kvcalloc(1u << t->bits, sizeof(*t->buckets), GFP_KERNEL);
	return t->names && t->buckets ? 0 : -ENOMEM;
}

static inline void tramp_names_free(struct tramp_names *t)
{
	kvfree(t->buckets);
	kvfree(t->names);
}

static inline int tramp_names_add(struct tramp_names *t, const char *name, u32 item)
{
	struct tramp_name *n, *more;
	u32 *head;

	if (t->nr == t->room) {
		more = kvmalloc_array(2 * t->room, sizeof(*more), GFP_KERNEL);
		if (!more)
			return -ENOMEM;
		memcpy(more, t->names, t->room * sizeof(*more));
		kvfree(t->names);
		t->names = more;
		t->room *= 2;
	}
	n = &t->names[t->nr++];
	n->item = item;
	n->hash = tramp_name_hash(name);
	head = &t->buckets[n->hash & ((1u << t->bits) - 1)];
	n->next = *head;
	*head = t->nr;
	return 0;
}

/* The first name with a @hash behind @after, or of all if that is NULL; NULL: there is none. */
static inline const struct tramp_name *
tramp_names_next(const struct tramp_names *t, u64 hash, const struct tramp_name *after)
{
	u32 at = after ? after->next : t->buckets[hash & ((1u << t->bits) - 1)];

	while (at && t->names[at - 1].hash != hash)
		at = t->names[at - 1].next;
	return at ? &t->names[at - 1] : NULL;
}

#define tramp_names_for_each(n, t, hash) \
	for (n = tramp_names_next(t, hash, NULL); n; n = tramp_names_next(t, hash, n))

#endif /* TRAMP_MULTI_NAME_TABLE_H */
