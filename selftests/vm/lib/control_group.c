// SPDX-License-Identifier: GPL-2.0
/*
 * Control groups in a machine in which nobody else uses them: see control_group.h.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>
#include "control_group.h"
#include "vmtest.h"

#define GROUPS "/sys/fs/cgroup"

static const char *path_of(const char *name, const char *file)
{
	static char path[256];

	snprintf(path, sizeof(path), GROUPS "/%s%s%s", name, *file ? "/" : "", file);
	return path;
}

void control_group_make(const char *name)
{
	mkdir(GROUPS, 0755);
	if (mount("cgroup2", GROUPS, "cgroup2", 0, NULL) && errno != EBUSY)
		KERNEL_LACKS("cgroup2: %s", strerror(errno));
	if (write_file(GROUPS "/cgroup.subtree_control", "+memory"))
		KERNEL_LACKS("no control of memory");
	REQUIRE(!mkdir(path_of(name, ""), 0755) || errno == EEXIST, "group %s: %s", name,
		strerror(errno));
}

void control_group_enter(const char *name)
{
	REQUIRE(!control_group_set(name, "cgroup.procs", "0"), "into the group %s", name);
}

int control_group_set(const char *name, const char *file, const char *value)
{
	return write_file(path_of(name, file), "%s", value);
}

uint64_t control_group_number(const char *name, const char *file, const char *word)
{
	char *text = read_file(path_of(name, file));
	uint64_t number = number_after(text, word, UINT64_MAX);

	free(text);
	REQUIRE(number != UINT64_MAX, "no %s in %s of %s", word, file, name);
	return number;
}

void control_group_remove(const char *name)
{
	CHECK(!rmdir(path_of(name, "")), "group %s: %s", name, strerror(errno));
}
