/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One program attached at one place: at the function it was loaded for, or, for a kprobe
 * program, at an instruction or at a function's return. Through our module or through the kernel.
 */
#ifndef ATTACHMENT_H
#define ATTACHMENT_H

#include "vmtest.h"

enum how {
	OURS,		/* through trampoline.ko */
	KERNEL,		/* the kernel's own trampoline; a perf event of its kprobe PMU */
};

/* An attachment, or why there is none. */
struct attachment {
	enum how how;
	int fd;				/* the link's, -1: none */
	int err;			/* 0 or a negative errno */
	struct tramp_attach reply;	/* what ATTACH gave back (ours only) */
};

/*
 * Attach to the program's function, @cookie may be NULL; to the instruction at @addr; or to the
 * return of the function @func (@maxactive is for ours only). Failing ends the test.
 */
struct attachment attach_func(enum how how, int prog_fd, const uint64_t *cookie);
struct attachment attach_insn(enum how how, int prog_fd, uint64_t addr, uint32_t flags,
			      uint64_t cookie);
struct attachment attach_return(enum how how, int prog_fd, const char *func, uint32_t maxactive,
				uint64_t cookie);
/* The same, but ->err says whether it worked. */
struct attachment attach_func_try(enum how how, int prog_fd, const uint64_t *cookie);
struct attachment attach_insn_try(enum how how, int prog_fd, uint64_t addr, uint32_t flags,
				  uint64_t cookie);
struct attachment attach_return_try(enum how how, int prog_fd, const char *func,
				    uint32_t maxactive, uint64_t cookie);
/* Ours, as @want says; its size and prog_fd are filled in. ->err says whether it worked. */
struct attachment attach_want(int prog_fd, struct tramp_attach *want);

/* Close the link, if there is one. */
void detach(struct attachment *a);

/* The module's knowledge of one of ours. */
struct tramp_query attachment_query(const struct attachment *a);
/* hits and misses as the module counts them (0 for the kernel's). */
void attachment_counts(const struct attachment *a, uint64_t *hits, uint64_t *misses);
/* Checks mode and reason of one of ours. */
bool attachment_expect(const struct attachment *a, uint32_t mode, uint32_t reason,
		       const char *what);

#endif /* ATTACHMENT_H */
