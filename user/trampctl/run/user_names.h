/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Names for addresses in processes: the file that is mapped there, the place in it, and the
 * function if the file has symbols.
 */
#ifndef TRAMPCTL_USER_NAMES_H
#define TRAMPCTL_USER_NAMES_H

#include <stdbool.h>
#include <stdint.h>

struct user_names;

/**
 * struct user_place - whose address it is
 * @tgid: the process, in the initial PID namespace
 * @comm: its task's name, FILTER_COMM_LEN bytes
 * @addr: the address
 * @is_return: a call returns there
 * @is_past: it is from a while ago: what user_names_read() has read then goes before what is now
 */
struct user_place {
	uint32_t tgid;
	const char *comm;
	uint64_t addr;
	bool is_return;
	bool is_past;
};

struct user_names *user_names_open(void);
void user_names_read(struct user_names *names, uint32_t tgid, const char *comm);
char *user_names_text(struct user_names *names, const struct user_place *place, bool whole);
void user_names_free(struct user_names *names);

#endif /* TRAMPCTL_USER_NAMES_H */
