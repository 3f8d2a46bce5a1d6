// SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause
/*
 * Handles of links. A link of the module is a BPF link like any other. Plain
 * bpf(2) calls on its descriptor detach and update it. Closing the last
 * descriptor or pin detaches it. Pinning is in pin.c.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../ask/ask.h"
#include "../core/bpf.h"
#include "../core/device.h"
#include "../core/error.h"
#include "internal.h"

struct tramp_link *libtramp_link_new(int fd, uint32_t id, const char *name)
{
	struct tramp_link *link = calloc(1, sizeof(*link));

	if (link && name) {
		link->name = strdup(name);
		if (!link->name) {
			free(link);
			link = NULL;
		}
	}
	if (!link) {
		close(fd);
		libtramp_fail_nomem(NULL);
		return NULL;
	}
	link->fd = fd;
	link->id = id;
	return link;
}

int tramp_link__fd(const struct tramp_link *link)
{
	return link->fd;
}

uint32_t tramp_link__id(const struct tramp_link *link)
{
	return link->id;
}

const char *tramp_link__pin_path(const struct tramp_link *link)
{
	return link->pin_path;
}

int tramp_link__info(const struct tramp_link *link, struct tramp_link_info *info)
{
	if (!link)
		return LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_BAD_ARGUMENT, "tramp_link__info()",
				     "link is NULL");
	return tramp_link_info_by_id(link->id, info);
}

/* A handle for a descriptor that claims to be a link of ours; closes it on failure. */
static struct tramp_link *adopt(int fd, const char *subject)
{
	struct tramp_query q = { .size = sizeof(q) };
	struct bpf_link_info info = {};
	__u32 len = sizeof(info);
	int dev, err;

	if (!libtramp_fd_is(fd, "link")) {
		err = LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_NOT_OUR_LINK, subject,
				    "it is not a BPF link");
		goto out_close;
	}
	if (bpf_obj_get_info_by_fd(fd, &info, &len)) {
		err = LIBTRAMP_FAIL(-errno, TRAMP_LIB_SYSTEM, subject,
				    "BPF_OBJ_GET_INFO_BY_FD: %s", strerror(errno));
		goto out_close;
	}
	dev = libtramp_dev_open(subject);
	if (dev < 0) {
		err = dev;
		goto out_close;
	}
	q.link_id = info.id;
	err = libtramp_dev_cmd(dev, TRAMP_IOC_QUERY, &q);
	close(dev);
	if (err == -ENOENT) {
		err = LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_NOT_OUR_LINK, subject, "link %u", info.id);
		goto out_close;
	}
	if (err) {
		err = libtramp_query_failed(err, &q, subject);
		goto out_close;
	}
	return libtramp_link_new(fd, info.id, NULL);

out_close:
	close(fd);
	errno = -err;
	return NULL;
}

struct tramp_link *tramp_link__open(const char *path)
{
	char subject[LIBTRAMP_SUBJECT_LEN];
	struct tramp_link *link;
	int fd, err;

	if (!path) {
		LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_BAD_ARGUMENT, "tramp_link__open()",
			      "path is NULL");
		return NULL;
	}
	snprintf(subject, sizeof(subject), "pinned link '%s'", path);
	fd = bpf_obj_get(path);
	if (fd < 0) {
		err = -errno;
		if (err == -EPERM)
			LIBTRAMP_FAIL(err, TRAMP_REASON_PERMISSION, subject, NO_DETAIL);
		else
			LIBTRAMP_FAIL(err, TRAMP_LIB_NO_FILE, subject, "%s", strerror(-err));
		return NULL;
	}
	link = adopt(fd, subject);
	if (!link)
		return NULL;
	link->pin_path = strdup(path);
	if (!link->pin_path) {
		tramp_link__destroy(link);
		libtramp_fail_nomem(subject);
		return NULL;
	}
	return link;
}

/*
 * The kernel says EAGAIN while a link of its own kinds is being attached. Of ours it says so with
 * an older module only, which lists a link a moment before the kernel does.
 */
static int get_fd_by_id(uint32_t id)
{
	int fd, i;

	for (i = 0; i < 100; i++) {
		fd = bpf_link_get_fd_by_id(id);
		if (fd >= 0 || errno != EAGAIN)
			break;
		usleep(1000);
	}
	return fd;
}

struct tramp_link *tramp_link__open_by_id(uint32_t id)
{
	char subject[32];
	int fd, err;

	libtramp_link_subject(subject, sizeof(subject), id);
	fd = get_fd_by_id(id);
	if (fd < 0) {
		err = -errno;
		if (err == -ENOENT)
			LIBTRAMP_FAIL(err, TRAMP_REASON_LINK_GONE, subject, NO_DETAIL);
		else if (err == -EPERM)
			LIBTRAMP_FAIL(err, TRAMP_REASON_PERMISSION, subject, NO_DETAIL);
		else
			LIBTRAMP_FAIL(err, TRAMP_LIB_SYSTEM, subject,
				      "BPF_LINK_GET_FD_BY_ID: %s", strerror(-err));
		return NULL;
	}
	return adopt(fd, subject);
}

int tramp_link__detach(struct tramp_link *link)
{
	char subject[32];
	int err;

	if (!link)
		return LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_BAD_ARGUMENT, "tramp_link__detach()",
				     "link is NULL");
	if (!bpf_link_detach(link->fd))
		return 0;
	err = -errno;
	libtramp_link_subject(subject, sizeof(subject), link->id);
	err = LIBTRAMP_FAIL(err, TRAMP_LIB_SYSTEM, subject, "BPF_LINK_DETACH: %s",
			    strerror(-err));
	libtramp_warn_last();
	return err;
}

/*
 * Is it the right that is lacking, or does lockdown refuse? An update asks for what ATTACH does.
 * That answers before it looks for the program, and here there is none to attach.
 */
static int update_not_allowed(int err, const char *subject)
{
	struct tramp_attach none = { .size = sizeof(none), .prog_fd = -1 };
	int dev = libtramp_dev_open(subject);

	if (dev >= 0) {
		libtramp_dev_cmd(dev, TRAMP_IOC_ATTACH, &none);
		close(dev);
	}
	return LIBTRAMP_FAIL(err, none.refusal.reason == TRAMP_REASON_LOCKDOWN ?
			     TRAMP_REASON_LOCKDOWN : TRAMP_REASON_PERMISSION, subject, NO_DETAIL);
}

/*
 * An update goes through bpf(2), which has an errno for us but no reason. The
 * module gives each of these its one meaning (struct bpf_link_ops::update_prog).
 */
static int update_failed(int err, uint32_t id, int prog_fd)
{
	char subject[32];
	uint32_t other;

	libtramp_link_subject(subject, sizeof(subject), id);
	switch (err) {
	case -EINVAL:
		return LIBTRAMP_FAIL(err, TRAMP_REASON_PROG_MISMATCH, subject, NO_DETAIL);
	case -ENOENT:
	case -ENOLINK:
		return LIBTRAMP_FAIL(-ENOENT, TRAMP_REASON_LINK_GONE, subject, NO_DETAIL);
	case -EBADF:
		return LIBTRAMP_FAIL(err, TRAMP_REASON_BAD_PROG_FD, subject, NO_DETAIL);
	case -EPERM:
		return update_not_allowed(err, subject);
	case -EBUSY:
		/* One errno for two reasons: is the program on that function by another link? */
		other = libtramp_link_of_prog(prog_fd);
		if (other && other != id)
			return LIBTRAMP_FAIL(err, TRAMP_REASON_ALREADY_ATTACHED, subject, "link %u",
					     other);
		return LIBTRAMP_FAIL(err, TRAMP_REASON_SITE_HELD, subject, NO_DETAIL);
	case -ENOMEM:
		return libtramp_fail_nomem(subject);
	case -ENXIO:
		return LIBTRAMP_FAIL(err, TRAMP_REASON_MODULE_GONE, subject, NO_DETAIL);
	case -EOPNOTSUPP:
		return LIBTRAMP_FAIL(err, TRAMP_REASON_FUNC_IP, subject, NO_DETAIL);
	default:
		return LIBTRAMP_FAIL(err, TRAMP_LIB_SYSTEM, subject, "BPF_LINK_UPDATE: %s",
				     strerror(-err));
	}
}

int tramp_link__update_fd(struct tramp_link *link, int prog_fd)
{
	int err;

	if (!link)
		return LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_BAD_ARGUMENT, "tramp_link__update_fd()",
				     "link is NULL");
	if (!bpf_link_update(link->fd, prog_fd, NULL))
		return 0;
	err = update_failed(-errno, link->id, prog_fd);
	libtramp_warn_last();
	return err;
}

int tramp_link__update_program(struct tramp_link *link, const struct bpf_program *prog)
{
	char subject[LIBTRAMP_SUBJECT_LEN];
	int fd, err;

	if (!link || !prog)
		return LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_BAD_ARGUMENT,
				     "tramp_link__update_program()", "%s is NULL",
				     link ? "prog" : "link");
	fd = bpf_program__fd(prog);
	if (fd < 0) {
		libtramp_prog_subject(subject, sizeof(subject), prog);
		err = LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_NOT_LOADED, subject, NO_DETAIL);
		libtramp_warn_last();
		return err;
	}
	return tramp_link__update_fd(link, fd);
}

void tramp_link__disconnect(struct tramp_link *link)
{
	link->disconnected = true;
}

int tramp_link__destroy(struct tramp_link *link)
{
	char subject[32];
	int err = 0;

	if (!link)
		return 0;
	if (!link->disconnected && close(link->fd)) {
		err = -errno;
		libtramp_link_subject(subject, sizeof(subject), link->id);
		LIBTRAMP_FAIL(err, TRAMP_LIB_SYSTEM, subject, "close: %s", strerror(-err));
	}
	free(link->pin_path);
	free(link->name);
	free(link);
	return err;
}
