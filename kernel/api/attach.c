// SPDX-License-Identifier: GPL-2.0
/*
 * The ATTACH command.
 */
#include "base/rights.h"
#include "internal.h"
#include "link/link.h"

#define KNOWN_FLAGS	(TRAMP_ATTACH_F_COOKIE | TRAMP_ATTACH_F_NO_OPS | \
			 TRAMP_ATTACH_F_NO_JUMP | TRAMP_ATTACH_F_NO_KPROBE | \
			 TRAMP_ATTACH_F_RETURN)

int tramp_check_attach(const struct tramp_attach *attach, struct tramp_refusal *why)
{
	if (attach->flags & ~KNOWN_FLAGS)
		return tramp_refuse(why, TRAMP_REASON_SYNTAX, 0, "unknown flags %#x",
				    attach->flags);
	if (attach->__reserved || attach->__reserved2 || attach->__reserved3)
		return tramp_refuse(why, TRAMP_REASON_SYNTAX, 0, "a reserved member is not 0");
	if (attach->cookie && !(attach->flags & TRAMP_ATTACH_F_COOKIE))
		return tramp_refuse(why, TRAMP_REASON_SYNTAX, 0,
				    "a cookie without TRAMP_ATTACH_F_COOKIE");
	if (attach->maxactive && !(attach->flags & TRAMP_ATTACH_F_RETURN))
		return tramp_refuse(why, TRAMP_REASON_SYNTAX, 0,
				    "maxactive without TRAMP_ATTACH_F_RETURN");
	if (attach->maxactive > TRAMP_MAX_MAXACTIVE)
		return tramp_refuse(why, TRAMP_REASON_SYNTAX, 0, "maxactive above %u",
				    TRAMP_MAX_MAXACTIVE);
	return tramp_check_name(attach->symbol, sizeof(attach->symbol), why) ?:
	       tramp_check_name(attach->module, sizeof(attach->module), why) ?:
	       tramp_may_name_address(attach->addr, why);
}

void tramp_fill_attach(struct tramp_attach *attach, const struct tramp_described *d, int fd)
{
	attach->link_fd = fd;
	attach->link_id = d->link_id;
	attach->kind = d->kind;
	attach->mode = d->mode;
	attach->key = d->key;
	attach->mode_reason = d->reason;
	attach->func_addr = tramp_caller_sees() ? d->addr : 0;
}

/* The caller's struct, and where it is copied. */
struct reply {
	struct tramp_attach *attach;
	const struct tramp_user *user;
};

static int reply(const struct tramp_described *d, int fd, void *arg)
{
	const struct reply *r = arg;

	tramp_fill_attach(r->attach, d, fd);
	return tramp_reply(r->user, r->attach, 0);
}

long tramp_run_attach(union tramp_arg *arg, const struct tramp_user *user)
{
	struct reply to = { .attach = &arg->attach, .user = user };
	int err;

	err = tramp_check_attach(&arg->attach, user->why) ?:
	      tramp_link_attach(NULL, &arg->attach, reply, &to, user->why);
	/* reply() has copied it already: from then on the fd can be used. */
	if (!err)
		return 0;
	tramp_fill_attach(&arg->attach, &(struct tramp_described){}, -1);
	return tramp_reply(user, arg, err);
}
