/* SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause */
/*
 * BPF objects by their descriptors and ids.
 */
#ifndef LIBTRAMPOLINE_CORE_BPF_H
#define LIBTRAMPOLINE_CORE_BPF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bpf_prog_info;

/**
 * libtramp_fd_is() - is a descriptor a BPF object of a sort?
 * @sort: "link" or "prog"
 *
 * The kernel answers info requests for programs, maps and links alike, with structs
 * that only look the same: the name of the anonymous inode tells them apart. It is in /proc;
 * without that, a command that takes only the one sort does.
 */
bool libtramp_fd_is(int fd, const char *sort);

/* "link 12" into @buf; returns @buf. */
const char *libtramp_link_subject(char *buf, size_t len, uint32_t id);

/* Ask the kernel about a loaded program; false if the descriptor is none. */
bool libtramp_prog_info(int prog_fd, struct bpf_prog_info *info);

/* The id of a loaded program; 0 if the descriptor is none. */
uint32_t libtramp_prog_id(int prog_fd);

#endif /* LIBTRAMPOLINE_CORE_BPF_H */
