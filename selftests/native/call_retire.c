// SPDX-License-Identifier: GPL-2.0
/*
 * How an image of calls goes: the second half of kernel/func/image.c.
 */
#include <stdlib.h>

#include "call.h"
#include "plant.h"
#include "text.h"

static struct call_image *of(struct retire *r)
{
	return (struct call_image *)r;
}

static u32 first_exit(const struct call_image *image)
{
	return image->nr - image->nr_exits;
}

static void release(struct call_image *image, u32 i)
{
	if (image->prog[i])
		call_prog_put(image->prog[i]);
	image->prog[i] = NULL;
}

static void image_before(struct retire *r)
{
	struct call_image *image = of(r);
	u32 i;

	for (i = 0; i < image->nr_exits; i++)
		if (image->exit_state[i] == CALL_LEFT_OUT)
			image->exit_state[i] = CALL_AGED;
}

/* Nobody enters any more, and who is inside has run the entry programs. */
static void image_after(struct retire *r)
{
	struct call_image *image = of(r);
	u32 i, exits = first_exit(image);

	for (i = 0; i < image->nr; i++)
		if (i < exits || image->exit_state[i - exits] == CALL_AGED)
			release(image, i);
}

static bool image_drained(struct retire *r)
{
	return !call_inflight(of(r)->inflight);
}

static void image_free(struct retire *r)
{
	struct call_image *image = of(r), **at;
	u32 i;

	for (at = &image->func->older; *at; at = &(*at)->older) {
		if (*at == image) {
			*at = image->older;
			break;
		}
	}
	for (i = 0; i < image->nr; i++)
		release(image, i);
	call_inflight_put(image->inflight);
	text_page_put(image->code);
	free(image);
}

static void leave_out(struct call_image *image, u32 i)
{
	if (!plant_is(PLANT_STALE))
		site_poke(image->code + image->skip_off[i], SITE_JUMP,
			  image->code + image->skip_to[i]);
	image->exit_state[i] = CALL_LEFT_OUT;
	if (plant_is(PLANT_PROGS_EARLY))
		release(image, first_exit(image) + i);
}

static bool has(const struct call_image *image, const struct call_prog *prog)
{
	u32 i;

	for (i = 0; i < image->nr; i++)
		if (image->prog[i] == prog)
			return true;
	return false;
}

void call_image_retire(struct call_image *image, const struct call_image *next,
		       const struct call_prog *replaced)
{
	static const struct retire_ops plain = { .free = image_free };
	static const struct retire_ops inflight = {
		.before = image_before, .after = image_after, .drained = image_drained,
		.free = image_free,
	};
	struct call_prog **exits = image->prog + first_exit(image);
	u32 i;

	for (i = 0; i < image->nr_exits; i++)
		if (plant_is(PLANT_OWED) ||
		    (exits[i] != replaced && !(next && has(next, exits[i]))))
			leave_out(image, i);
	if (image->counted) {
		image->older = image->func->older;
		image->func->older = image;
	}
	retire_add(&image->retire, image->counted ? &inflight : &plain);
}

void call_leave_out(struct func *func, const struct call_member *member)
{
	struct call_image *image;
	u32 i;

	for (image = func->older; image; image = image->older) {
		struct call_prog **exits = image->prog + first_exit(image);

		for (i = 0; i < image->nr_exits; i++)
			if (image->exit_state[i] == CALL_LIVE && exits[i]->member == member)
				leave_out(image, i);
	}
}
