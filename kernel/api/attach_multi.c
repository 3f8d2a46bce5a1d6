// SPDX-License-Identifier: GPL-2.0
/*
 * The ATTACH_MULTI command.
 */
#include <linux/slab.h>
#include <linux/uaccess.h>
#include "base/rethook.h"
#include "base/rights.h"
#include "internal.h"
#include "link/link.h"
#include "multi/multi.h"
#include "multi/names.h"

#define KNOWN_FLAGS	(TRAMP_MULTI_F_RETURN | TRAMP_MULTI_F_SKIP | TRAMP_MULTI_F_SESSION)

static int check(const struct tramp_attach_multi *multi, struct tramp_refusal *why)
{
	if (multi->flags & ~KNOWN_FLAGS)
		return tramp_refuse(why, TRAMP_REASON_SYNTAX, 0, "unknown flags %#x",
				    multi->flags);
	if (multi->addrs && (multi->names || multi->names_len))
		return tramp_refuse(why, TRAMP_REASON_SYNTAX, 0, "addresses and names");
	if (!multi->nr || (!multi->addrs && !multi->names))
		return tramp_refuse(why, TRAMP_REASON_SYNTAX, 0, "no functions");
	if (multi->nr > TRAMP_MULTI_MAX)
		return tramp_refuse(why, TRAMP_REASON_SYNTAX, 0, "%u functions, at most %u",
				    multi->nr, TRAMP_MULTI_MAX);
	return tramp_may_name_address(multi->addrs, why);
}

/* One array of the caller's into the items, 4,096 entries at a time. */
static int copy_in(struct tramp_func_item *items, u64 from, u32 nr, bool cookies,
		   struct tramp_refusal *why)
{
	const u64 __user *src = u64_to_user_ptr(from);
	u32 i, n, at, chunk = 4096;
	u64 *buf;
	int err = 0;

	buf = kvmalloc_array(chunk, sizeof(*buf), GFP_KERNEL);
	if (!buf)
		return tramp_refuse(why, TRAMP_REASON_NO_MEMORY, 0, NULL);
	for (at = 0; !err && at < nr; at += n) {
		n = min(chunk, nr - at);
		if (copy_from_user(buf, src + at, n * sizeof(*buf)))
			err = -EFAULT;
		for (i = 0; !err && i < n; i++) {
			if (cookies)
				items[at + i].cookie = buf[i];
			else
				items[at + i].addr = buf[i];
		}
	}
	kvfree(buf);
	return err;
}

static int copy_reasons(const struct tramp_func_item *items, u64 to, u32 nr)
{
	u32 __user *dst = u64_to_user_ptr(to);
	u32 i;

	for (i = 0; to && i < nr; i++) {
		if (put_user(items[i].reason, dst + items[i].index))
			return -EFAULT;
		if (i % 4096 == 0)
			cond_resched();
	}
	return 0;
}

/* The caller's struct, its functions, and where it is copied. */
struct reply {
	struct tramp_attach_multi *multi;
	const struct tramp_func_item *items;
	const struct tramp_user *user;
};

static int reply(const struct tramp_described *d, int fd, void *arg)
{
	const struct reply *r = arg;
	struct tramp_attach_multi *multi = r->multi;
	int err = copy_reasons(r->items, multi->reasons, multi->nr);

	if (err)
		return err;
	multi->link_fd = fd;
	multi->link_id = d->link_id;
	multi->kind = d->kind;
	multi->key = d->key;
	multi->nr_attached = d->nr_funcs;
	return tramp_reply(r->user, multi, 0);
}

/* The functions, by address or by name, and their cookies. */
static int take_functions(const struct tramp_attach_multi *multi, struct tramp_func_item *items,
			  struct tramp_func_names *names, const struct tramp_user *user)
{
	u32 i;
	int err;

	for (i = 0; i < multi->nr; i++)
		items[i].index = i;
	if (multi->addrs)
		err = copy_in(items, multi->addrs, multi->nr, false, user->why);
	else
		err = tramp_func_names_copy(names, multi->names, multi->names_len, multi->nr,
					    user->why) ?:
		      tramp_func_names_find(names, items, multi->nr, user->why);
	if (!err && multi->cookies)
		err = copy_in(items, multi->cookies, multi->nr, true, user->why);
	return err;
}

/* The number of the item that has a function; @nr if there is none. */
static u32 find_item(const struct tramp_func_item *items, u32 nr, unsigned long func)
{
	u32 i;

	for (i = 0; func && i < nr; i++) {
		if (items[i].addr == func)
			return items[i].index;
	}
	return nr;
}

static int attach(struct tramp_attach_multi *multi, struct tramp_func_item *items,
		  const struct tramp_user *user)
{
	struct tramp_funcs_req funcs = {
		.items = items,
		.nr = multi->nr,
		.cookies = multi->cookies,
		.returns = multi->flags & TRAMP_MULTI_F_RETURN,
		.skip = multi->flags & TRAMP_MULTI_F_SKIP,
	};
	struct tramp_multi_req req = {
		.attach.prog_fd = multi->prog_fd,
		.returns = funcs.returns,
		.by_map = multi->flags & TRAMP_MULTI_F_SESSION,
	};
	struct reply to = { .multi = multi, .items = items, .user = user };
	struct tramp_func_names names = {};
	int err;

	err = take_functions(multi, items, &names, user) ?:
	      tramp_multi_check_prog(&req, user->why);
	if (!err) {
		funcs.names = names.name;
		funcs.session = req.session;
		funcs.returns |= req.session;
		funcs.hooks = tramp_rethook_possible();
		err = tramp_funcs_create(&funcs, &req.funcs, &req.hooked, user->why);
		multi->failed = funcs.failed;
	}
	tramp_func_names_free(&names);
	if (!err) {
		err = tramp_link_attach(&tramp_multi_ops, &req.attach, reply, &to, user->why);
		if (err)
			multi->failed = find_item(items, multi->nr, req.blamed);
	}
	tramp_funcs_free(&req.funcs);
	tramp_funcs_free(&req.hooked);
	return err;
}

long tramp_run_attach_multi(union tramp_arg *arg, const struct tramp_user *user)
{
	struct tramp_attach_multi *multi = &arg->multi;
	struct tramp_func_item *items;
	int err;

	err = check(multi, user->why);
	if (err)
		return tramp_reply(user, arg, err);
	items = kvcalloc(multi->nr, sizeof(*items), GFP_KERNEL_ACCOUNT);
	err = items ? attach(multi, items, user) :
		      tramp_refuse(user->why, TRAMP_REASON_NO_MEMORY, 0, NULL);
	kvfree(items);
	/* reply() has copied it already: from then on the fd can be used. */
	if (!err)
		return 0;
	multi->link_fd = -1;
	multi->link_id = multi->nr_attached = multi->kind = 0;
	multi->key = 0;
	return tramp_reply(user, arg, err);
}
