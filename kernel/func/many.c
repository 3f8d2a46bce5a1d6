// SPDX-License-Identifier: GPL-2.0
/*
 * Programs at many functions that come or go together, with one update of ftrace for all.
 *
 * Coming. Each program joins its function's list. A function that has no site yet waits for it,
 * and the others are attached at once, as if alone. This goes on until all have joined, or time
 * is up. Then those that wait get an image each, and a site together (ftrace/group.c).
 * tramp_mutex is held all the time, so nobody else meets a function with programs and no site. If
 * one is refused all leave again.
 *
 * ftrace may refuse the group for the sake of one function, or the kernel is not as we know it.
 * Then each function gets a site of its own, and the one that is refused then is to blame.
 * That takes long: some may not have their turn within the time. They leave their lists again,
 * and come with the next part.
 *
 * Going. Programs leave their lists. Of each group the functions with programs left get new images,
 * and are switched to them together. Those without give their sites back together. Nobody
 * sees a function between its list and its image, as tramp_mutex is held. Calls meanwhile run
 * the old images, which hold all that they need until they retire.
 */
#include <linux/slab.h>
#include "base/turn.h"
#include "image.h"
#include "internal.h"
#include "skip.h"

/**
 * struct tramp_coming - functions that wait for their sites
 * @nr: how many
 * @targets: them
 * @first: for each, the item that has come first
 * @images: for each, its image
 * @calls: for each, its site and its image's address
 */
struct tramp_coming {
	u32 nr;
	struct tramp_target **targets;
	u32 *first;
	struct tramp_func_image **images;
	struct tramp_site_call *calls;
};

static void free_coming(struct tramp_coming *c)
{
	if (!c)
		return;
	kvfree(c->targets);
	kvfree(c->first);
	kvfree(c->images);
	kvfree(c->calls);
	kfree(c);
}

static struct tramp_coming *alloc_coming(u32 nr)
{
	struct tramp_coming *c = kzalloc(sizeof(*c), GFP_KERNEL);

	if (!c)
		return NULL;
	c->targets = kvcalloc(nr, sizeof(*c->targets), GFP_KERNEL);
	c->first = kvcalloc(nr, sizeof(*c->first), GFP_KERNEL);
	c->images = kvcalloc(nr, sizeof(*c->images), GFP_KERNEL);
	c->calls = kvcalloc(nr, sizeof(*c->calls), GFP_KERNEL);
	if (c->targets && c->first && c->images && c->calls)
		return c;
	free_coming(c);
	return NULL;
}

void tramp_coming_note(struct tramp_coming *c, struct tramp_target *target, u32 item)
{
	/* It may be the second one there. */
	if (target && tramp_target_nr(target) == 1) {
		c->targets[c->nr] = target;
		c->first[c->nr++] = item;
	}
}

static void drop_images(struct tramp_coming *c, u32 nr, bool entered)
{
	while (nr--)
		tramp_target_drop_image(c->targets[nr], c->images[nr], entered);
}

/* Return: 0 or a negative errno; then nothing has changed. */
static int make_images(struct tramp_coming *c)
{
	struct tramp_func_image *image;
	u32 i;

	for (i = 0; i < c->nr; i++) {
		image = tramp_target_make_image(c->targets[i], NULL);
		if (IS_ERR(image)) {
			drop_images(c, i, false);
			return PTR_ERR(image);
		}
		c->images[i] = image;
		c->calls[i].ip = c->targets[i]->func.site;
		c->calls[i].code = image->image.exec.code;
	}
	return 0;
}

int tramp_coming_attach(struct tramp_coming *c)
{
	struct tramp_site *site;
	bool entered;
	int err;
	u32 i;

	lockdep_assert_held(&tramp_mutex);
	if (c->nr < 2)
		return c->nr ? tramp_target_give_site(c->targets[0], NULL) : 0;
	if (!tramp_site_groups_possible())
		return -EOPNOTSUPP;
	err = make_images(c);
	if (err)
		return err;
	err = tramp_site_attach_each(c->calls, c->nr, &site, &entered, NULL);
	if (err) {
		drop_images(c, c->nr, entered);
		return err;
	}
	for (i = 0; i < c->nr; i++) {
		c->targets[i]->site = site;
		tramp_target_set_image(c->targets[i], c->images[i], NULL);
	}
	return 0;
}

int tramp_coming_try(const struct tramp_join *items, u32 *nr, tramp_coming_fn *attach,
		     struct tramp_refusal *why)
{
	struct tramp_coming *coming = *nr > 1 ? alloc_coming(*nr) : NULL;
	int err;

	lockdep_assert_held(&tramp_mutex);
	err = attach(items, nr, coming, why);
	if (err == 1)
		err = attach(items, nr, NULL, why);
	free_coming(coming);
	return err;
}

/*
 * Give the functions their sites. Return: 0 or a negative errno, with the item that is refused in
 * @nr; or how many of @nr have come to an end, if it takes long.
 */
static int attach_coming(struct tramp_coming *c, u32 *nr, struct tramp_refusal *why)
{
	struct tramp_turn turn;
	int err = 0;
	u32 i;

	if (c->nr > 1 && !tramp_coming_attach(c))
		return 0;
	/* One by one: it is seen which of them is refused, and why. */
	tramp_turn_begin(&turn);
	for (i = 0; !err && i < c->nr; i++) {
		if (i && tramp_turn_over(&turn)) {
			*nr = c->first[i];
			return 0;
		}
		err = tramp_target_give_site(c->targets[i], why);
		if (err)
			*nr = c->first[i];
	}
	return err;
}

/* The first program there, and ftrace waits for grace periods when it goes. */
static bool waits_to_go(const struct tramp_member *member)
{
	const struct tramp_target *target = tramp_target_of(member);

	return tramp_target_mode(target) == TRAMP_MODE_FTRACE_OPS && tramp_target_nr(target) == 1;
}

int tramp_target_attach_many(const struct tramp_join *items, u32 *nr, struct tramp_refusal *why)
{
	struct tramp_coming *c = alloc_coming(*nr);
	struct tramp_target *later;
	struct tramp_turn turn;
	u32 at = 0, done;
	int err = 0;

	lockdep_assert_held(&tramp_mutex);
	tramp_turn_begin(&turn);
	for (; !err && at < *nr && (!at || !tramp_turn_over(&turn)); at++) {
		later = NULL;
		/* One by one where there is no memory for more. */
		err = tramp_target_enlist(items[at].member, items[at].req, c ? &later : NULL, why);
		if (err == -EAGAIN && c && !c->nr)
			err = tramp_target_enlist(items[at].member, items[at].req, NULL, why);
		if (err)
			break;
		if (c)
			tramp_coming_note(c, later, at);
		if (waits_to_go(items[at].member))
			tramp_turn_owe(&turn, TRAMP_TURN_OPS);
	}
	/* The next part begins with it. */
	if (err == -EAGAIN)
		err = 0;
	done = at;
	if (!err && c)
		err = attach_coming(c, &done, why);
	*nr = done;
	while (at-- > (err ? 0 : done))
		tramp_target_strike(items[at].member);
	free_coming(c);
	return err;
}

/*
 * Programs that have left their lists. A function may have several: the last of them, which
 * @leaving of its target is, stands for it.
 */
static struct {
	struct tramp_target *target;
	struct tramp_site *site;		/* when it left; not to be followed */
	struct tramp_slot *slot;
	struct tramp_func_image *image;	/* for those that are left */
} leaving[TRAMP_BATCH_MANY];					/* tramp_mutex */
static struct tramp_site_call new_calls[TRAMP_BATCH_MANY];	/* tramp_mutex */
static unsigned long free_sites[TRAMP_BATCH_MANY];		/* tramp_mutex */

static bool is_at(u32 i, const struct tramp_site *site)
{
	return leaving[i].target->site == site;
}

static bool stands_at(u32 i, const struct tramp_site *site)
{
	return is_at(i, site) && leaving[i].target->leaving == i;
}

/* The functions that have programs left get new images. */
static void switch_site(struct tramp_site *site, u32 first, u32 nr)
{
	struct tramp_func_image *image;
	struct tramp_target *target;
	u32 i, n = 0;
	int err = 0;

	for (i = first; i < nr; i++) {
		target = leaving[i].target;
		leaving[i].image = NULL;
		if (!stands_at(i, site) || !tramp_target_nr(target))
			continue;
		image = tramp_target_make_image(target, NULL);
		if (IS_ERR(image))
			continue;
		leaving[i].image = image;
		new_calls[n].ip = target->func.site;
		new_calls[n++].code = image->image.exec.code;
	}
	if (n)
		err = tramp_site_switch_each(site, new_calls, n, NULL);
	for (i = first; i < nr; i++) {
		target = leaving[i].target;
		if (!is_at(i, site) || !tramp_target_nr(target))
			continue;
		/* They keep the old image, and this program is left out of it. */
		if (err || !leaving[target->leaving].image)
			tramp_target_silence(target, leaving[i].slot);
	}
	for (i = first; i < nr; i++) {
		image = leaving[i].image;
		if (image && err)
			tramp_target_drop_image(leaving[i].target, image, false);
		else if (image)
			tramp_target_set_image(leaving[i].target, image, NULL);
	}
}

/* Those that have none give their sites back. */
static void free_site(struct tramp_site *site, u32 first, u32 nr)
{
	u32 i, n = 0;
	bool clean;

	for (i = first; i < nr; i++) {
		if (stands_at(i, site) && !tramp_target_nr(leaving[i].target))
			free_sites[n++] = leaving[i].target->func.site;
	}
	if (!n)
		return;
	clean = tramp_site_detach_each(site, free_sites, n);
	for (i = first; i < nr && !clean; i++) {
		if (is_at(i, site) && !tramp_target_nr(leaving[i].target))
			tramp_target_silence(leaving[i].target, leaving[i].slot);
	}
	for (i = first; i < nr; i++) {
		if (stands_at(i, site) && !tramp_target_nr(leaving[i].target))
			tramp_target_site_gone(leaving[i].target, clean);
	}
}

bool tramp_target_is_grouped(const struct tramp_target *target)
{
	return target->site && tramp_site_is_group(target->site);
}

void tramp_target_free_group(struct hlist_head *gone)
{
	struct tramp_target *target;
	struct tramp_site *site = NULL;
	struct hlist_node *next;
	bool clean;
	u32 n = 0;

	lockdep_assert_held(&tramp_mutex);
	hlist_for_each_entry(target, gone, hash) {
		site = target->site;
		free_sites[n++] = target->func.site;
	}
	clean = tramp_site_detach_each(site, free_sites, n);
	hlist_for_each_entry_safe(target, next, gone, hash) {
		hlist_del_init(&target->hash);
		tramp_target_site_gone(target, clean);
	}
}

void tramp_target_detach_many(struct tramp_member **members, u32 nr)
{
	struct tramp_site *site;
	u32 i, k, n = 0;

	lockdep_assert_held(&tramp_mutex);
	tramp_func_skips_begin();
	for (i = 0; i < nr; i++) {
		if (!tramp_target_is_grouped(tramp_target_of(members[i]))) {
			tramp_target_detach(members[i]);
			continue;
		}
		leaving[n].slot = members[i]->slot;
		leaving[n].target = tramp_target_leave(members[i]);
		leaving[n].site = leaving[n].target->site;
		leaving[n].target->leaving = n;
		n++;
	}
	for (i = 0; i < n; i++) {
		/* Functions without programs have none any more. */
		site = leaving[i].site;
		for (k = 0; k < i && site; k++) {
			if (leaving[k].site == site)
				site = NULL;
		}
		if (!site)
			continue;
		switch_site(site, i, n);
		free_site(site, i, n);
	}
	tramp_func_skips_end();
	for (i = 0; i < n; i++)
		tramp_target_put(leaving[i].target);
}

/* Each group takes updates of ftrace: of small ones only some may go before others have a turn. */
#define TOGETHER	32

bool tramp_target_together(const struct tramp_member *member)
{
	const struct tramp_target *target = tramp_target_of(member);

	return tramp_target_is_grouped(target) && tramp_site_left(target->site) >= TOGETHER;
}
