// SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause
/*
 * Asks the module about its links: one, all of them, and the code of the image
 * that a link's function runs through.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../core/bpf.h"
#include "../core/device.h"
#include "../core/error.h"
#include "../core/sized.h"
#include "ask.h"

int libtramp_query_failed(int err, const struct tramp_query *q, const char *subject)
{
	if (err == -ENOENT && !q->refusal.reason)
		return LIBTRAMP_FAIL(err, TRAMP_REASON_LINK_GONE, subject, NO_DETAIL);
	return libtramp_fail_ioctl(err, &q->refusal, "QUERY", subject);
}

/* QUERY of @q->link_id, with the last error filled if it fails. */
static int query(int dev, struct tramp_query *q, const char *subject)
{
	int err;

	q->size = sizeof(*q);
	err = libtramp_dev_cmd(dev, TRAMP_IOC_QUERY, q);
	return err ? libtramp_query_failed(err, q, subject) : 0;
}

/* A caller's info from a QUERY. */
static void fill_info(struct tramp_link_info *info, const struct tramp_query *q)
{
	info->link_id = q->link_id;
	info->prog_id = q->prog_id;
	info->kind = q->kind;
	info->mode = q->mode;
	info->pos = q->pos;
	info->nr_progs = q->nr_progs;
	info->cookie = q->cookie;
	info->key = q->key;
	info->index = q->index;
	info->btf_obj_id = q->btf_obj_id;
	info->btf_id = q->btf_id;
	info->image_size = q->image_size;
	info->func_addr = q->func_addr;
	info->image_addr = q->image_addr;
	info->hits = q->hits;
	info->misses = q->misses;
	info->sleepable = q->sleepable;
	info->probe_addr = q->probe_addr;
	info->offset = q->offset;
	info->reason_addr = q->reason_addr;
	info->mode_reason = q->mode_reason;
	info->region_len = q->region_len;
	info->nr_funcs = q->nr_funcs;
	memcpy(info->func_name, q->func_name, sizeof(info->func_name));
	memcpy(info->module, q->module, sizeof(info->module));
	memcpy(info->prog_name, q->prog_name, sizeof(info->prog_name));
	info->func_name[sizeof(info->func_name) - 1] = '\0';
	info->module[sizeof(info->module) - 1] = '\0';
	info->prog_name[sizeof(info->prog_name) - 1] = '\0';
}

static int check_info(const struct tramp_link_info *info, const char *call)
{
	if (libtramp_sized_ok(info, info ? info->sz : 0, sizeof(size_t), SIZE_MAX))
		return 0;
	return LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_BAD_ARGUMENT, call,
			     "info must be declared with TRAMP_OPTS(tramp_link_info, ...)");
}

int tramp_link_info_by_id(uint32_t id, struct tramp_link_info *user)
{
	struct tramp_link_info info = { .sz = sizeof(info) };
	struct tramp_query q = { .link_id = id };
	char subject[32];
	int dev, err;

	err = check_info(user, "tramp_link_info_by_id()");
	if (err)
		return err;
	libtramp_link_subject(subject, sizeof(subject), id);
	dev = libtramp_dev_open(subject);
	if (dev < 0)
		return dev;
	err = query(dev, &q, subject);
	close(dev);
	if (err) {
		errno = -err;
		return err;
	}
	fill_info(&info, &q);
	libtramp_out(user, user->sz, &info, sizeof(info));
	return 0;
}

/* QUERY of the first link behind @id. -ENOENT: there is none. The last error does not have that. */
static int query_next(int dev, struct tramp_query *q, uint32_t id)
{
	int err;

	*q = (struct tramp_query) {
		.size = sizeof(*q),
		.flags = TRAMP_QUERY_F_NEXT,
		.link_id = id,
	};
	err = libtramp_dev_cmd(dev, TRAMP_IOC_QUERY, q);
	return err && err != -ENOENT ? libtramp_query_failed(err, q, "list of links") : err;
}

/*
 * The highest id that a link has now.
 *
 * The module does not tell it, but whether there is a link behind any number. So it is searched for
 * by halves. When @high was set, no link was above it. One that has come there since is not asked
 * for.
 */
static int highest_id(int dev, uint32_t *highest)
{
	uint32_t low = 0, high = UINT32_MAX, middle;
	struct tramp_query q;
	int err;

	while (low < high) {
		middle = low + (high - low) / 2;
		err = query_next(dev, &q, middle);
		if (err && err != -ENOENT)
			return err;
		if (err || q.link_id > high)
			high = middle;
		else
			low = q.link_id;
	}
	*highest = high;
	return 0;
}

/*
 * Going by "no further link" alone, this would never end while others attach, or the callback does.
 * So it ends at the highest id of its beginning. Ids grow, and each is reserved before its link is
 * attached. So only links whose attach was under way in the beginning can still come below.
 *
 * These may be many, and come in between. So no number of links tells where to end: one that came
 * late would take the place of one that was there all the time.
 */
static int walk(int dev, tramp_link_cb cb, void *ctx)
{
	struct tramp_link_info info = { .sz = sizeof(info) };
	uint32_t id = 0, highest = 0;
	struct tramp_query q;
	int err;

	err = highest_id(dev, &highest);
	while (!err && id < highest) {
		err = query_next(dev, &q, id);
		if (err || q.link_id > highest)
			break;
		id = q.link_id;
		fill_info(&info, &q);
		err = cb(&info, ctx);
		if (err)
			return err;
	}
	return err == -ENOENT ? 0 : err;
}

int tramp_for_each(tramp_link_cb cb, void *ctx)
{
	int dev, err;

	if (!cb)
		return LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_BAD_ARGUMENT, "tramp_for_each()",
				     "cb is NULL");
	dev = libtramp_dev_open("list of links");
	if (dev < 0)
		return dev;
	err = walk(dev, cb, ctx);
	close(dev);
	return err;
}

struct prog_search {
	uint32_t prog_id, link_id;
};

static int is_of_prog(const struct tramp_link_info *info, void *ctx)
{
	struct prog_search *s = ctx;

	if (info->prog_id != s->prog_id || info->mode == TRAMP_MODE_NONE)
		return 0;
	s->link_id = info->link_id;
	return 1;
}

uint32_t libtramp_link_of_prog(int prog_fd)
{
	struct prog_search s = { .prog_id = libtramp_prog_id(prog_fd) };

	return s.prog_id && tramp_for_each(is_of_prog, &s) == 1 ? s.link_id : 0;
}

void *tramp_link_image(uint32_t id, struct tramp_link_info *user)
{
	struct tramp_link_info info = { .sz = sizeof(info) };
	uint32_t room = 1024;
	void *image = NULL;
	char subject[32];
	int dev, err;

	if (check_info(user, "tramp_link_image()"))
		return NULL;
	libtramp_link_subject(subject, sizeof(subject), id);
	dev = libtramp_dev_open(subject);
	if (dev < 0)
		return NULL;
	/* The image may grow between two attempts: ask until one fits. */
	for (;;) {
		struct tramp_query q = {
			.size = sizeof(q),
			.link_id = id,
			.image_len = room,
		};

		image = malloc(room);
		if (!image) {
			err = libtramp_fail_nomem(subject);
			break;
		}
		q.image = (uintptr_t)image;
		err = libtramp_dev_cmd(dev, TRAMP_IOC_QUERY, &q);
		if (err == -EMSGSIZE && q.image_len > room) {
			free(image);
			room = q.image_len;
			continue;
		}
		if (err)
			err = libtramp_query_failed(err, &q, subject);
		else if (!q.image_size && q.mode == TRAMP_MODE_NONE)
			err = LIBTRAMP_FAIL(-ENOENT, TRAMP_REASON_LINK_GONE, subject,
					    "it is detached");
		else if (!q.image_size)
			err = LIBTRAMP_FAIL(-ENOENT, TRAMP_LIB_NO_IMAGE, subject, "mode %s",
					    tramp_mode_name(q.mode));
		else
			fill_info(&info, &q);
		break;
	}
	close(dev);
	if (err) {
		free(image);
		errno = -err;
		return NULL;
	}
	libtramp_out(user, user->sz, &info, sizeof(info));
	return image;
}
