/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Processes and what they have mapped, for names of their addresses (user_names.h).
 */
#ifndef TRAMPCTL_USER_PROCS_H
#define TRAMPCTL_USER_PROCS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct user_file;
struct user_procs;

/**
 * struct user_room - memory and time for what strangers say
 * @bytes: that mappings and functions may still take
 * @to_read: bytes of symbol tables that may still be read
 * @has_warned: it has been said that something was too much
 */
struct user_room {
	size_t bytes, to_read;
	bool has_warned;
};

/* One of them is too little: say so, once. */
void user_room_warn(struct user_room *room);

/**
 * struct user_mapping - where instructions may be
 * @start, @end: addresses
 * @pos: where in the file it begins
 * @major, @minor, @inode: the file; @inode is 0 if there is none
 * @path: the file's, or what the kernel calls it; empty: nothing
 * @file: user_names.c's; NULL: not looked at yet
 */
struct user_mapping {
	uint64_t start, end, pos, inode;
	unsigned int major, minor;
	char *path;
	struct user_file *file;
};

/**
 * struct user_maps - the mappings of a process, in ascending order
 * @map: they belong to the process, until another one is asked for
 * @nr: how many
 */
struct user_maps {
	struct user_mapping *map;
	size_t nr;
};

struct user_procs *user_procs_open(struct user_room *room);
struct user_maps user_procs_maps(struct user_procs *procs, uint32_t tgid, const char *comm);
struct user_mapping *user_procs_find(struct user_procs *procs, uint32_t tgid, const char *comm,
				     uint64_t addr, bool is_past);
void user_procs_free(struct user_procs *procs);

#endif /* TRAMPCTL_USER_PROCS_H */
