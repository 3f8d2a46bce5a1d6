/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Common to all commands of /dev/trampoline: the caller's struct, and the reply.
 */
#ifndef TRAMP_API_INTERNAL_H
#define TRAMP_API_INTERNAL_H

#include "base/tramp.h"

/* Any command's struct. */
union tramp_arg {
	u32 size;
	struct tramp_info info;
	struct tramp_attach attach;
	struct tramp_explain explain;
	struct tramp_query query;
	struct tramp_explain_code code;
	struct tramp_attach_multi multi;
	struct tramp_attach_batch attach_batch;
	struct tramp_detach_batch detach_batch;
};

/**
 * struct tramp_user - who called
 * @ptr: the caller's struct
 * @size: bytes of it that this module knows
 * @why: the refusal in the struct that is copied back; NULL: the command has none
 */
struct tramp_user {
	void __user *ptr;
	size_t size;
	struct tramp_refusal *why;
};

/* Whether the caller may see addresses. */
bool tramp_caller_sees(void);

/**
 * tramp_reply() - copy a command's struct back, as much as the caller has room for
 * @user: the caller
 * @arg: the struct
 * @err: how the command ended
 *
 * Context: process, no locks, may sleep.
 * Return: @err, or -EFAULT instead of 0.
 */
long tramp_reply(const struct tramp_user *user, const void *arg, long err);

/*
 * The commands. Each checks the form of its request, and replies by tramp_reply().
 * Context: process, no locks, may sleep.
 * Return: 0 or a negative errno, see the UAPI header.
 */
long tramp_run_info(union tramp_arg *arg, const struct tramp_user *user);
long tramp_run_attach(union tramp_arg *arg, const struct tramp_user *user);
long tramp_run_query(union tramp_arg *arg, const struct tramp_user *user);
long tramp_run_explain(union tramp_arg *arg, const struct tramp_user *user);
long tramp_run_attach_multi(union tramp_arg *arg, const struct tramp_user *user);
long tramp_run_explain_code(union tramp_arg *arg, const struct tramp_user *user);
long tramp_run_attach_batch(union tramp_arg *arg, const struct tramp_user *user);
long tramp_run_detach_batch(union tramp_arg *arg, const struct tramp_user *user);

/* The form of a request to attach. Return: 0 or a negative errno. */
int tramp_check_attach(const struct tramp_attach *attach, struct tramp_refusal *why);

/* Fill in what an attachment comes to, but for the refusal. */
struct tramp_described;
void tramp_fill_attach(struct tramp_attach *attach, const struct tramp_described *d, int fd);

/* Whether a name in a request has its terminating zero; a refusal in @why if not. */
int tramp_check_name(const char *name, size_t room, struct tramp_refusal *why);

#endif /* TRAMP_API_INTERNAL_H */
