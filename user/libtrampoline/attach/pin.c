// SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause
/*
 * Pins: a path in a BPF file system that holds a link, so that the program
 * stays attached when the process is gone.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "../core/bpf.h"
#include "../core/error.h"
#include "internal.h"

/* Record why something could not be made at a path in a BPF file system. */
static int make_failed(int err, const char *path, const char *subject)
{
	const char *base = strrchr(path, '/');

	base = base ? base + 1 : path;
	if (err == -EEXIST)
		return LIBTRAMP_FAIL(err, TRAMP_LIB_PIN_EXISTS, subject, "'%s'", path);
	/* The kernel keeps names with a dot for itself, and says EPERM. */
	if (err == -EPERM && strchr(base, '.'))
		return LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_BAD_ARGUMENT, subject,
				     "names in a BPF file system have no dot: '%s'", base);
	return LIBTRAMP_FAIL(err, TRAMP_LIB_SYSTEM, subject, "'%s': %s", path, strerror(-err));
}

static bool on_bpffs(const char *path)
{
	struct statfs st;

	return !statfs(path, &st) && st.f_type == BPF_FS_MAGIC;
}

/* There is no folder @parent. Would one be in a BPF file system, if somebody made it? */
static int no_parent(char *parent, const char *subject)
{
	struct libtramp_failure f = { .err = -ENOENT, .subject = subject };
	char missing[PATH_MAX], remedy[PATH_MAX + 64];
	char *dir = parent;

	snprintf(missing, sizeof(missing), "%s", parent);
	while (access(dir, F_OK) && strcmp(dir, "/") && strcmp(dir, "."))
		dir = dirname(dir);
	if (!on_bpffs(dir)) {
		f.reason = TRAMP_LIB_NOT_BPFFS;
		return libtramp_fail(&f, "there is no folder '%s', and '%s' is in none", missing,
				     dir);
	}
	snprintf(remedy, sizeof(remedy), "make the folder first: mkdir -p %s", missing);
	f.reason = TRAMP_LIB_NO_FILE;
	f.remedy = remedy;
	return libtramp_fail(&f, "there is no folder '%s'", missing);
}

/*
 * Make a folder, if its parent is in a BPF file system already: nothing is
 * created elsewhere.
 */
static int make_folder(const char *dir, const char *subject)
{
	char *copy = strdup(dir), *parent;
	int err = 0;

	if (!copy)
		return libtramp_fail_nomem(subject);
	parent = dirname(copy);
	if (access(parent, F_OK))
		err = no_parent(parent, subject);
	else if (!on_bpffs(parent))
		err = LIBTRAMP_FAIL(-ENOENT, TRAMP_LIB_NOT_BPFFS, subject, "'%s'", parent);
	free(copy);
	if (err)
		return err;
	if (mkdir(dir, 0700) && errno != EEXIST)
		return make_failed(-errno, dir, subject);
	return 0;
}

/* The folder a path is in: made if only that is missing, checked to be in a BPF file system. */
static int prepare_folder(const char *path, const char *subject)
{
	char *copy = strdup(path), *dir;
	int err = 0;

	if (!copy)
		return libtramp_fail_nomem(subject);
	dir = dirname(copy);
	if (access(dir, F_OK))
		err = make_folder(dir, subject);
	else if (!on_bpffs(dir))
		err = LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_NOT_BPFFS, subject, "'%s'", dir);
	free(copy);
	return err;
}

int libtramp_link_pin(struct tramp_link *link, const char *path)
{
	char subject[32];
	char *copy;
	int err;

	if (!link || !path || !path[0])
		return LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_BAD_ARGUMENT, "tramp_link__pin()", "%s",
				     link ? "no path" : "link is NULL");
	libtramp_link_subject(subject, sizeof(subject), link->id);
	if (link->pin_path)
		return LIBTRAMP_FAIL(-EALREADY, TRAMP_LIB_ALREADY_PINNED, subject, "at '%s'",
				     link->pin_path);
	err = prepare_folder(path, subject);
	if (err)
		return err;
	copy = strdup(path);
	if (!copy)
		return libtramp_fail_nomem(subject);
	if (bpf_obj_pin(link->fd, path)) {
		err = -errno;
		free(copy);
		return make_failed(err, path, subject);
	}
	link->pin_path = copy;
	return 0;
}

int tramp_link__pin(struct tramp_link *link, const char *path)
{
	int err = libtramp_link_pin(link, path);

	if (err)
		libtramp_warn_last();
	return err;
}

int tramp_link__unpin(struct tramp_link *link)
{
	char subject[32];
	int err;

	if (!link)
		return LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_BAD_ARGUMENT, "tramp_link__unpin()",
				     "link is NULL");
	libtramp_link_subject(subject, sizeof(subject), link->id);
	if (!link->pin_path)
		return LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_NOT_PINNED, subject, NO_DETAIL);
	if (unlink(link->pin_path)) {
		err = -errno;
		LIBTRAMP_FAIL(err, TRAMP_LIB_SYSTEM, subject, "remove '%s': %s",
			      link->pin_path, strerror(-err));
		libtramp_warn_last();
		return err;
	}
	free(link->pin_path);
	link->pin_path = NULL;
	return 0;
}
