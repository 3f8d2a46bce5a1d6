// SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause
/*
 * BPF objects by their descriptors and ids: what a descriptor is, and how it is called in
 * an error.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bpf.h"

const char *libtramp_link_subject(char *buf, size_t len, uint32_t id)
{
	snprintf(buf, len, "link %u", id);
	return buf;
}

/*
 * The same where /proc is not mounted. Each of these commands takes a descriptor of the sort and
 * then another one, which here is none. So EBADF is about the other one, and nothing is changed.
 */
static bool is_taken_for(int fd, const char *sort)
{
	if (fcntl(fd, F_GETFD) < 0)
		return false;
	return (!strcmp(sort, "prog") ? bpf_prog_bind_map(fd, -1, NULL) :
					bpf_link_update(fd, -1, NULL)) == -EBADF;
}

bool libtramp_fd_is(int fd, const char *sort)
{
	char path[64], name[64], wanted[32];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	n = readlink(path, name, sizeof(name) - 1);
	if (n < 0)
		return is_taken_for(fd, sort);
	name[n] = '\0';
	/* bpf-prog, bpf-map, and bpf_link or, later, bpf-link. */
	snprintf(wanted, sizeof(wanted), "bpf-%s", sort);
	if (strstr(name, wanted))
		return true;
	wanted[strlen("bpf")] = '_';
	return strstr(name, wanted);
}

bool libtramp_prog_info(int prog_fd, struct bpf_prog_info *info)
{
	__u32 len = sizeof(*info);

	memset(info, 0, sizeof(*info));
	return libtramp_fd_is(prog_fd, "prog") &&
	       !bpf_obj_get_info_by_fd(prog_fd, info, &len);
}

uint32_t libtramp_prog_id(int prog_fd)
{
	struct bpf_prog_info info;

	return libtramp_prog_info(prog_fd, &info) ? info.id : 0;
}
