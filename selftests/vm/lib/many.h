/* SPDX-License-Identifier: GPL-2.0 */
/* One program attached to many functions by ATTACH_MULTI, without the library. */
#ifndef MANY_H
#define MANY_H

#include "vmtest.h"

/* More than any kernel has. */
#define MANY_MAX 65536

/**
 * struct many - a request, and what came of it
 * @cmd: its nr is how many functions there are
 * @addrs: the functions
 * @cookies: a cookie for each: its number
 * @reasons: why each was left out
 */
struct many {
	struct tramp_attach_multi cmd;
	uint64_t addrs[MANY_MAX];
	uint64_t cookies[MANY_MAX];
	uint32_t reasons[MANY_MAX];
};

/* An empty one. */
struct many *many_new(void);
/* One more function, by address or by name; the name must be a symbol's. */
void many_add(struct many *m, uint64_t addr);
void many_add_name(struct many *m, const char *name);
/*
 * Functions that ftrace can patch and that are not on the deny list, until there are @nr; 0: all
 * of them, modules' as well.
 */
void many_fill(struct many *m, uint32_t nr);
/* 0 or a negative errno; many_attach() fails the test. */
int many_attach_try(struct many *m, int prog_fd, uint32_t flags);
void many_attach(struct many *m, int prog_fd, uint32_t flags);
void many_detach(struct many *m);

#endif /* MANY_H */
