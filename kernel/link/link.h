/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A link: one attachment, a real bpf_link. bpftool, bpffs and fdinfo work on it
 * as on the kernel's own. Its struct is link.c's alone.
 */
#ifndef TRAMP_LINK_H
#define TRAMP_LINK_H

#include "point.h"

struct tramp_link;

/**
 * typedef tramp_link_reply_t - hand the result of an attach to the caller
 * @d: the attachment; its pointers are not valid, since tramp_mutex is not held
 * @fd: its file descriptor, which nobody can use yet
 * @arg: of tramp_link_attach()
 *
 * Context: process, no locks, may sleep: a page fault may take as long as user space likes.
 * Return: 0 or a negative errno, which undoes the attachment.
 */
typedef int tramp_link_reply_t(const struct tramp_described *d, int fd, void *arg);

/**
 * tramp_link_attach() - attach a program
 * @ops: the kind of place; NULL: the one that programs of its type go to
 * @req: the request, checked for its form
 * @reply: hands the result back, before the fd can be used
 * @arg: passed to @reply
 * @why: why not
 *
 * Context: process, no locks, may sleep.
 * Return: 0 or a negative errno, see the UAPI header.
 */
int tramp_link_attach(const struct tramp_point_ops *ops, const struct tramp_attach *req,
		      tramp_link_reply_t *reply, void *arg, struct tramp_refusal *why);

/**
 * struct tramp_batch - many attachments in one call
 * @count: how many
 * @failed: (out) the one that it failed at; @count if it was at no one of them
 * @fetch: get request @i, and check its form. Return: 0 or a negative errno
 * @reply: hand back the result of request @i, when all are attached: of the description link_id,
 *	kind, key, mode, reason and addr. Otherwise as tramp_link_reply_t
 * @arg: passed to both
 *
 * Both are called in process context, without locks, and may sleep.
 */
struct tramp_batch {
	u32 count;
	u32 failed;
	int (*fetch)(void *arg, u32 i, struct tramp_attach *req, struct tramp_refusal *why);
	int (*reply)(void *arg, u32 i, const struct tramp_described *d, int fd);
	void *arg;
};

/**
 * tramp_link_attach_batch() - attach many programs, all or none
 * @b: the requests
 * @why: why not
 *
 * Context: process, no locks, may sleep.
 * Return: 0 or a negative errno, see the UAPI header; -ERESTARTNOHAND if a signal came.
 */
int tramp_link_attach_batch(struct tramp_batch *b, struct tramp_refusal *why);

/**
 * tramp_link_detach_batch() - detach many links
 * @fds: their file descriptors, in user space
 * @count: how many
 * @failed: (out) the one that it failed at; @count if it did not fail at one
 * @why: why not
 *
 * Context: process, no locks, may sleep.
 * Return: 0 or a negative errno; then nothing was detached.
 */
int tramp_link_detach_batch(const s32 __user *fds, u32 count, u32 *failed,
			    struct tramp_refusal *why);

/**
 * tramp_link_find() - a link by its id
 * @id: the id
 * @next: the one with the lowest id above @id instead
 *
 * Context: tramp_mutex held, which keeps it from going away.
 * Return: the link, NULL if there is none.
 */
struct tramp_link *tramp_link_find(u32 id, bool next);

/**
 * tramp_link_describe() - describe a link for QUERY, fdinfo and debugfs
 * @link: the link
 * @d: (out) the description; its pointers are valid while tramp_mutex is held
 *
 * Context: tramp_mutex held.
 */
void tramp_link_describe(const struct tramp_link *link, struct tramp_described *d);

/* The id of a link; it does not change. */
u32 tramp_link_id(const struct tramp_link *link);

/* Links that are attached; for INFO. */
u32 tramp_link_count(void);

/* Module init and exit. In between the kinds are told when a module goes. */
/* The cache of links, which stays until the retire list is empty: its worker frees them. */
int tramp_link_cache_init(void);
void tramp_link_cache_exit(void);

int tramp_link_init(void);
void tramp_link_exit(void);

#endif /* TRAMP_LINK_H */
