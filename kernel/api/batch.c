// SPDX-License-Identifier: GPL-2.0
/*
 * The ATTACH_BATCH and DETACH_BATCH commands: arrays in user space.
 *
 * Each item is read once, and written once when all are attached. The caller may change its
 * memory meanwhile: what is written are the out members, and nothing is read again.
 */
#include <linux/uaccess.h>
#include "internal.h"
#include "link/link.h"

static int check_count(u32 flags, u32 count, struct tramp_refusal *why)
{
	if (flags)
		return tramp_refuse(why, TRAMP_REASON_SYNTAX, 0, "unknown flags %#x", flags);
	if (!count || count > TRAMP_MAX_BATCH)
		return tramp_refuse(why, TRAMP_REASON_SYNTAX, 0, "%u items, not 1 to %u", count,
				    TRAMP_MAX_BATCH);
	return 0;
}

/* The caller's struct, and where it is copied. */
struct request {
	struct tramp_attach_batch *cmd;
	const struct tramp_user *user;
};

static void __user *item_at(const struct tramp_attach_batch *cmd, u32 i)
{
	return u64_to_user_ptr(cmd->items + (u64)i * cmd->item_size);
}

static int fetch(void *arg, u32 i, struct tramp_attach *req, struct tramp_refusal *why)
{
	const struct tramp_attach_batch *cmd = ((struct request *)arg)->cmd;
	int err;

	err = copy_struct_from_user(req, sizeof(*req), item_at(cmd, i), cmd->item_size);
	if (err)
		return err;
	if (req->size != cmd->item_size)
		return tramp_refuse(why, TRAMP_REASON_SYNTAX, 0, "size %u, not %u", req->size,
				    cmd->item_size);
	return tramp_check_attach(req, why);
}

/* Out members that stand together, and the one behind the first published size. */
#define OUT_FROM	offsetof(struct tramp_attach, link_fd)
#define OUT_TO		offsetofend(struct tramp_attach, refusal)

static int reply(void *arg, u32 i, const struct tramp_described *d, int fd)
{
	const struct request *r = arg;
	const struct tramp_attach_batch *cmd = r->cmd;
	struct tramp_attach __user *item = item_at(cmd, i);
	struct tramp_attach out = {};

	/* With the first item: once the files can be used, a fault could not be undone. */
	if (!i && tramp_reply(r->user, cmd, 0))
		return -EFAULT;
	tramp_fill_attach(&out, d, fd);
	if (copy_to_user((void __user *)item + OUT_FROM, (void *)&out + OUT_FROM,
			 OUT_TO - OUT_FROM))
		return -EFAULT;
	if (cmd->item_size >= offsetofend(struct tramp_attach, mode_reason) &&
	    put_user(out.mode_reason, &item->mode_reason))
		return -EFAULT;
	return 0;
}

long tramp_run_attach_batch(union tramp_arg *arg, const struct tramp_user *user)
{
	struct tramp_attach_batch *cmd = &arg->attach_batch;
	struct request request = { .cmd = cmd, .user = user };
	struct tramp_batch batch = {
		.count = cmd->count,
		.fetch = fetch,
		.reply = reply,
		.arg = &request,
	};
	int err;

	err = check_count(cmd->flags, cmd->count, user->why);
	if (!err && cmd->__reserved)
		err = tramp_refuse(user->why, TRAMP_REASON_SYNTAX, 0, "a reserved member is not 0");
	if (!err && (cmd->item_size < TRAMP_ATTACH_MIN_SIZE || cmd->item_size > PAGE_SIZE))
		err = tramp_refuse(user->why, TRAMP_REASON_SYNTAX, 0, "items of %u bytes",
				   cmd->item_size);
	if (!err) {
		err = tramp_link_attach_batch(&batch, user->why);
		cmd->failed = batch.failed;
	}
	return err ? tramp_reply(user, cmd, err) : 0;
}

long tramp_run_detach_batch(union tramp_arg *arg, const struct tramp_user *user)
{
	struct tramp_detach_batch *cmd = &arg->detach_batch;
	int err;

	err = check_count(cmd->flags, cmd->count, user->why) ?:
	      tramp_link_detach_batch(u64_to_user_ptr(cmd->fds), cmd->count, &cmd->failed,
				      user->why);
	return tramp_reply(user, cmd, err);
}
