// SPDX-License-Identifier: GPL-2.0
/*
 * The ioctl interface: one table of commands, one place that copies structs in and
 * out. The rules are those of include/uapi/linux/trampoline.h.
 */
#include <linux/cred.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include "base/rights.h"
#include "internal.h"
#include "ioctl.h"

/* The rights that a command asks of the task that calls. */
enum tramp_need {
	NEED_OPEN,	/* the open device */
	NEED_CAPS,	/* the capabilities as well */
	NEED_ATTACH,	/* and that lockdown allows attaching */
};

/**
 * struct tramp_cmd - one command
 * @cmd: its number
 * @min: smallest struct: the first that was published
 * @size: the struct as this module knows it
 * @refusal: where its struct tramp_refusal is, 0 if it has none
 * @needs: asked of the caller at each call, not only at open (docs/rights.md)
 * @run: does it and replies
 */
struct tramp_cmd {
	unsigned int cmd;
	size_t min;
	size_t size;
	size_t refusal;
	enum tramp_need needs;
	long (*run)(union tramp_arg *arg, const struct tramp_user *user);
};

bool tramp_caller_sees(void)
{
	return tramp_may_see_addresses(current_cred());
}

long tramp_reply(const struct tramp_user *user, const void *arg, long err)
{
	if (user->why && !tramp_caller_sees())
		user->why->addr = 0;
	if (copy_to_user(user->ptr, arg, user->size))
		return err ?: -EFAULT;
	return err;
}

int tramp_check_name(const char *name, size_t room, struct tramp_refusal *why)
{
	if (strnlen(name, room) < room)
		return 0;
	return tramp_refuse(why, TRAMP_REASON_SYNTAX, 0, "a name without its terminating zero");
}

static const struct tramp_cmd commands[] = {
	{ TRAMP_IOC_INFO, TRAMP_INFO_MIN_SIZE, sizeof(struct tramp_info), 0, NEED_OPEN,
	  tramp_run_info },
	{ TRAMP_IOC_ATTACH, TRAMP_ATTACH_MIN_SIZE, sizeof(struct tramp_attach),
	  offsetof(struct tramp_attach, refusal), NEED_ATTACH, tramp_run_attach },
	{ TRAMP_IOC_EXPLAIN, TRAMP_EXPLAIN_MIN_SIZE, sizeof(struct tramp_explain),
	  offsetof(struct tramp_explain, refusal), NEED_CAPS, tramp_run_explain },
	{ TRAMP_IOC_QUERY, TRAMP_QUERY_MIN_SIZE, sizeof(struct tramp_query),
	  offsetof(struct tramp_query, refusal), NEED_CAPS, tramp_run_query },
	{ TRAMP_IOC_EXPLAIN_CODE, TRAMP_EXPLAIN_CODE_MIN_SIZE, sizeof(struct tramp_explain_code),
	  offsetof(struct tramp_explain_code, refusal), NEED_CAPS, tramp_run_explain_code },
	{ TRAMP_IOC_ATTACH_MULTI, TRAMP_ATTACH_MULTI_MIN_SIZE, sizeof(struct tramp_attach_multi),
	  offsetof(struct tramp_attach_multi, refusal), NEED_ATTACH, tramp_run_attach_multi },
	{ TRAMP_IOC_ATTACH_BATCH, TRAMP_ATTACH_BATCH_MIN_SIZE, sizeof(struct tramp_attach_batch),
	  offsetof(struct tramp_attach_batch, refusal), NEED_ATTACH, tramp_run_attach_batch },
	{ TRAMP_IOC_DETACH_BATCH, TRAMP_DETACH_BATCH_MIN_SIZE, sizeof(struct tramp_detach_batch),
	  offsetof(struct tramp_detach_batch, refusal), NEED_OPEN, tramp_run_detach_batch },
};

static const struct tramp_cmd *find_command(unsigned int cmd)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(commands); i++) {
		if (commands[i].cmd == cmd)
			return &commands[i];
	}
	return NULL;
}

static int check_allowed(const struct tramp_cmd *cmd, struct tramp_refusal *why)
{
	if (cmd->needs == NEED_OPEN || (cmd->needs == NEED_CAPS && tramp_may_use()))
		return 0;
	if (cmd->needs == NEED_CAPS)
		return tramp_refuse(why, TRAMP_REASON_PERMISSION, 0, NULL);
	return tramp_may_attach(why);
}

static long tramp_ioctl(struct file *file, unsigned int nr, unsigned long ptr)
{
	struct tramp_user user = { .ptr = (void __user *)ptr };
	const struct tramp_cmd *cmd = find_command(nr);
	union tramp_arg *arg;
	u32 size;
	long err;

	if (!cmd)
		return -ENOTTY;
	if (get_user(size, (u32 __user *)user.ptr))
		return -EFAULT;
	if (size < cmd->min || size > PAGE_SIZE)
		return size < cmd->min ? -EINVAL : -E2BIG;
	user.size = min_t(size_t, size, cmd->size);

	arg = kzalloc(sizeof(*arg), GFP_KERNEL);
	if (!arg)
		return -ENOMEM;
	err = copy_struct_from_user(arg, cmd->size, user.ptr, size);
	if (err)
		goto free;
	if (cmd->refusal) {
		user.why = (void *)arg + cmd->refusal;
		memset(user.why, 0, sizeof(*user.why));
	}
	err = check_allowed(cmd, user.why);
	err = err ? tramp_reply(&user, arg, err) : cmd->run(arg, &user);
free:
	kfree(arg);
	return err;
}

static int tramp_open(struct inode *inode, struct file *file)
{
	return tramp_may_use() ? 0 : -EPERM;
}

const struct file_operations tramp_fops = {
	.owner = THIS_MODULE,
	.open = tramp_open,
	.unlocked_ioctl = tramp_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.llseek = noop_llseek,
};
