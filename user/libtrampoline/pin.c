// SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause
/*
 * Pins: a path in a BPF file system that holds a link, so that the program
 * stays attached when the process is gone.
 */
#include <bpf/bpf.h>
#include <libgen.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "internal.h"

/* The folder a path is in, made if only that is missing; checked to be bpffs. */
static int prepare_folder(const char *path, const char *subject)
{
	struct statfs st;
	char *copy, *dir;
	int err = 0;

	copy = strdup(path);
	if (!copy)
		return libtramp_fail_nomem(subject);
	dir = dirname(copy);
	/*
	 * Where the folder is missing, its parent says which file system it will
	 * be in: nothing is created outside bpffs.
	 */
	if (statfs(dir, &st)) {
		char *parent_copy = strdup(dir);

		if (!parent_copy) {
			err = libtramp_fail_nomem(subject);
			goto out;
		}
		if (!statfs(dirname(parent_copy), &st) && st.f_type == BPF_FS_MAGIC &&
		    mkdir(dir, 0700) && errno != EEXIST)
			st.f_type = 0;
		else if (statfs(dir, &st))
			st.f_type = 0;
		free(parent_copy);
		if (!st.f_type) {
			err = LIBTRAMP_FAIL(-ENOENT, TRAMP_LIB_NOT_BPFFS, subject,
					    "there is no folder '%s'", dir);
			goto out;
		}
	}
	if (st.f_type != BPF_FS_MAGIC)
		err = LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_NOT_BPFFS, subject, "'%s'", dir);
out:
	free(copy);
	return err;
}

int libtramp_link_pin(struct tramp_link *link, const char *path)
{
	char subject[32];
	char *copy;
	int err;

	if (!link || !path || !path[0])
		return LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_BAD_ARGUMENT, "tramp_link__pin()",
				     "%s", !link ? "link is NULL" : "no path");
	libtramp_link_subject(subject, sizeof(subject), link->id);
	if (link->pin_path)
		return LIBTRAMP_FAIL(-EALREADY, TRAMP_LIB_ALREADY_PINNED, subject,
				     "at '%s'", link->pin_path);
	err = prepare_folder(path, subject);
	if (err)
		return err;
	copy = strdup(path);
	if (!copy)
		return libtramp_fail_nomem(subject);
	if (bpf_obj_pin(link->fd, path)) {
		err = -errno;
		free(copy);
		if (err == -EEXIST)
			return LIBTRAMP_FAIL(err, TRAMP_LIB_PIN_EXISTS, subject, "'%s'", path);
		if (err == -EPERM && strchr(path, '/')) {
			const char *base = strrchr(path, '/') + 1;

			/* bpffs refuses names with a dot, by EPERM. */
			if (strchr(base, '.'))
				return LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_BAD_ARGUMENT, subject,
						     "names in a BPF file system have no dot: '%s'",
						     base);
		}
		return LIBTRAMP_FAIL(err, TRAMP_LIB_SYSTEM, subject, "pin at '%s': %s", path,
				     strerror(-err));
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
