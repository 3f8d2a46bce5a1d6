// SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause
/*
 * Many at once: attaching, all or none, and detaching. The module takes up to TRAMP_MAX_BATCH in
 * one command, and writes the kernel's text once for many. A module that does not know the
 * command (ENOTTY) gets one command for each.
 */
#define _GNU_SOURCE
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../core/device.h"
#include "../core/error.h"
#include "../core/sized.h"
#include "internal.h"

static struct tramp_links *new_links(size_t nr, const char *subject)
{
	struct tramp_links *links = calloc(1, sizeof(*links) + nr * sizeof(links->link[0]));

	if (!links)
		libtramp_fail_nomem(subject);
	return links;
}

/* Keeps errno. */
static void drop_links(struct tramp_links *links)
{
	int err = errno;

	tramp_links__destroy(links);
	errno = err;
}

static int attach_each(const struct libtramp_request *r, size_t nr, struct tramp_links *links)
{
	size_t i;

	for (i = 0; i < nr; i++) {
		links->link[links->nr] = libtramp_attach(&r[i]);
		if (!links->link[links->nr])
			return -errno;
		links->nr++;
	}
	return 0;
}

/* Handles for what the module has attached; all descriptors are owned or closed afterwards. */
static int adopt_all(const struct libtramp_request *r, const struct tramp_attach *cmds, size_t nr,
		     struct tramp_links *links)
{
	int err = 0;
	size_t i;

	for (i = 0; i < nr; i++) {
		if (err) {
			close(cmds[i].link_fd);
			continue;
		}
		links->link[links->nr] = libtramp_link_new(cmds[i].link_fd, cmds[i].link_id,
							   r[i].name);
		if (links->link[links->nr])
			links->nr++;
		else
			err = -errno;
	}
	return err;
}

/* One command's worth of them. Return: 0, -ENOTTY, or negative errno with the last error filled. */
static int attach_batch(int dev, const struct libtramp_request *r, size_t nr,
			struct tramp_links *links, const char *subject)
{
	struct tramp_attach *cmds = calloc(nr, sizeof(*cmds));
	struct tramp_attach_batch batch = {
		.size = sizeof(batch), .count = nr, .item_size = sizeof(*cmds),
		.items = (uintptr_t)cmds,
		/* A module that ends before the first may leave it so. */
		.failed = nr,
	};
	size_t i;
	int err;

	if (!cmds) {
		libtramp_fail_nomem(subject);
		return -ENOMEM;
	}
	for (i = 0; i < nr; i++)
		libtramp_request_cmd(&r[i], &cmds[i]);
	err = libtramp_dev_cmd(dev, TRAMP_IOC_ATTACH_BATCH, &batch);
	if (!err)
		err = adopt_all(r, cmds, nr, links);
	else if (err != -ENOTTY && batch.failed < nr && !libtramp_refuses_caller(&batch.refusal))
		err = libtramp_refused(dev, err, &batch.refusal, &r[batch.failed]);
	else if (err != -ENOTTY)
		err = libtramp_fail_ioctl(err, &batch.refusal, "ATTACH_BATCH", subject);
	free(cmds);
	return err;
}

/* How many of them go by one command: a program for many functions has a command of its own. */
static size_t batch_len(const struct libtramp_request *r, size_t nr)
{
	size_t n = 0;

	while (n < nr && n < TRAMP_MAX_BATCH && !r[n].multi)
		n++;
	return n ? n : 1;
}

struct tramp_links *libtramp_attach_many(const struct libtramp_request *r, size_t nr,
					 const char *subject)
{
	struct tramp_links *links;
	size_t i, part;
	int dev, err;

	/* One is ATTACH, with its error texts. */
	dev = libtramp_dev_open(nr == 1 ? r->subject : subject);
	if (dev < 0)
		return NULL;
	links = new_links(nr, subject);
	err = links ? 0 : -ENOMEM;
	for (i = 0; !err && i < nr; i += part) {
		part = batch_len(r + i, nr - i);
		err = part > 1 ? attach_batch(dev, r + i, part, links, subject) : -ENOTTY;
		if (err == -ENOTTY)
			err = attach_each(r + i, part, links);
	}
	close(dev);
	if (!err)
		return links;
	errno = -err;
	drop_links(links);
	return NULL;
}

struct tramp_links *tramp_attach_many(const struct tramp_attach_item *items, size_t nr)
{
	struct tramp_links *links = NULL;
	struct libtramp_request *r;
	char subject[32];
	size_t i;
	int err = 0;

	snprintf(subject, sizeof(subject), "%zu programs", nr);
	if (!items || !nr) {
		LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_BAD_ARGUMENT, "tramp_attach_many()", "no items");
		libtramp_warn_last();
		return NULL;
	}
	r = calloc(nr, sizeof(*r));
	if (!r)
		err = libtramp_fail_nomem(subject);
	for (i = 0; !err && i < nr; i++)
		err = libtramp_request(&r[i], items[i].prog, items[i].opts);
	if (!err)
		links = libtramp_attach_many(r, nr, subject);
	err = errno;
	free(r);
	errno = err;
	if (!links)
		libtramp_warn_last();
	return links;
}

/* Return: 0, or a negative errno: then nothing was detached by it. */
static int detach_batch(struct tramp_link *const *links, size_t nr)
{
	struct tramp_detach_batch batch = { .size = sizeof(batch), .count = nr };
	int32_t *fds = calloc(nr, sizeof(*fds));
	int dev, err = -ENOMEM;
	size_t i;

	if (!fds)
		return err;
	for (i = 0; i < nr && links[i]; i++)
		fds[i] = links[i]->fd;
	if (i < nr) {
		free(fds);
		return -EINVAL;
	}
	batch.fds = (uintptr_t)fds;
	dev = libtramp_dev_try();
	err = dev;
	if (dev >= 0) {
		err = libtramp_dev_cmd(dev, TRAMP_IOC_DETACH_BATCH, &batch);
		close(dev);
	}
	free(fds);
	return err;
}

int tramp_link__detach_many(struct tramp_link *const *links, size_t nr)
{
	size_t i, k, part;
	int ret = 0, err;

	if (nr && !links)
		return LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_BAD_ARGUMENT, "tramp_link__detach_many()",
				     "links is NULL");
	for (i = 0; i < nr; i += part) {
		part = nr - i < TRAMP_MAX_BATCH ? nr - i : TRAMP_MAX_BATCH;
		if (part > 1 && !detach_batch(links + i, part))
			continue;
		/* An older module, one who may not open it, a handle that is no link, or NULL. */
		for (k = i; k < i + part; k++) {
			err = tramp_link__detach(links[k]);
			if (err && !ret)
				ret = err;
		}
	}
	return ret;
}

/* How many links from @i on have descriptors one behind the other, which are to be closed. */
static size_t in_a_row(const struct tramp_links *links, size_t i)
{
	size_t n = 0;

	while (i + n < links->nr && !links->link[i + n]->disconnected &&
	       links->link[i + n]->fd == links->link[i]->fd + (int)n)
		n++;
	return n;
}

void tramp_links__destroy(struct tramp_links *links)
{
	size_t i, k, n;
	int fd;

	if (!links)
		return;
	/* In one system call they are detached together. */
	for (i = 0; i < links->nr; i += n) {
		n = in_a_row(links, i);
		fd = links->link[i]->fd;
		if (n > 1 && !syscall(SYS_close_range, fd, fd + (int)n - 1, 0))
			for (k = 0; k < n; k++)
				links->link[i + k]->disconnected = true;
		n += !n;
	}
	/* Backwards, as things are undone. */
	for (i = links->nr; i-- > 0;)
		tramp_link__destroy(links->link[i]);
	free(links);
}
