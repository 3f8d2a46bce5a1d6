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

/* A member that a command reads. */
struct tramp_input {
	u16 at, len;
};

/**
 * struct tramp_cmd - one command
 * @cmd: its number
 * @min: smallest struct: the first that was published
 * @size: the struct as this module knows it
 * @inputs: the members that it reads, in their order; all others are 0 when it runs
 * @nr_inputs: how many
 * @refusal: where its struct tramp_refusal is, 0 if it has none
 * @fd: where the file descriptor is that it gives, 0 if it gives none
 * @count: where the number of things is that it is about, 0 if that is not up to the caller
 * @failed: with @count: where the one is that it failed at
 * @needs: asked of the caller at each call, not only at open (docs/rights.md)
 * @run: does it and replies
 */
struct tramp_cmd {
	unsigned int cmd;
	size_t min;
	size_t size;
	const struct tramp_input *inputs;
	u32 nr_inputs;
	size_t refusal;
	size_t fd;
	size_t count, failed;
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

#define IN(name, member)							\
	{ offsetof(struct tramp_##name, member), sizeof_field(struct tramp_##name, member) }

static const struct tramp_input info_inputs[] = {
	IN(info, size), IN(info, flags), IN(info, missing_len), IN(info, missing),
};
static const struct tramp_input attach_inputs[] = {
	IN(attach, size), IN(attach, flags), IN(attach, prog_fd), IN(attach, __reserved),
	IN(attach, cookie), IN(attach, addr), IN(attach, offset), IN(attach, symbol),
	IN(attach, module), IN(attach, __reserved2), IN(attach, maxactive),
	IN(attach, __reserved3),
};
static const struct tramp_input explain_inputs[] = {
	IN(explain, size), IN(explain, flags), IN(explain, btf_obj_id), IN(explain, btf_id),
	IN(explain, name), IN(explain, module),
};
static const struct tramp_input query_inputs[] = {
	IN(query, size), IN(query, flags), IN(query, link_id), IN(query, image),
	IN(query, image_len),
};
static const struct tramp_input explain_code_inputs[] = {
	IN(explain_code, size), IN(explain_code, flags), IN(explain_code, addr),
	IN(explain_code, offset), IN(explain_code, symbol), IN(explain_code, module),
	IN(explain_code, insns), IN(explain_code, nr_insns), IN(explain_code, code_len),
	IN(explain_code, code),
};
static const struct tramp_input attach_multi_inputs[] = {
	IN(attach_multi, size), IN(attach_multi, flags), IN(attach_multi, prog_fd),
	IN(attach_multi, nr), IN(attach_multi, addrs), IN(attach_multi, names),
	IN(attach_multi, cookies), IN(attach_multi, reasons), IN(attach_multi, names_len),
};
static const struct tramp_input attach_batch_inputs[] = {
	IN(attach_batch, size), IN(attach_batch, flags), IN(attach_batch, count),
	IN(attach_batch, item_size), IN(attach_batch, items), IN(attach_batch, __reserved),
};
static const struct tramp_input detach_batch_inputs[] = {
	IN(detach_batch, size), IN(detach_batch, flags), IN(detach_batch, count),
	IN(detach_batch, fds),
};

#define COMMAND(NAME, name)							\
	.cmd = TRAMP_IOC_##NAME, .min = TRAMP_##NAME##_MIN_SIZE,		\
	.size = sizeof(struct tramp_##name), .run = tramp_run_##name,		\
	.inputs = name##_inputs, .nr_inputs = ARRAY_SIZE(name##_inputs)
#define REFUSAL(name)	.refusal = offsetof(struct tramp_##name, refusal)
#define LINK_FD(name)	.fd = offsetof(struct tramp_##name, link_fd)
#define MANY(name, member)							\
	.count = offsetof(struct tramp_##name, member),				\
	.failed = offsetof(struct tramp_##name, failed)

static const struct tramp_cmd commands[] = {
	{ COMMAND(INFO, info), .needs = NEED_OPEN },
	{ COMMAND(ATTACH, attach), REFUSAL(attach), LINK_FD(attach), .needs = NEED_ATTACH },
	{ COMMAND(EXPLAIN, explain), REFUSAL(explain), .needs = NEED_CAPS },
	{ COMMAND(QUERY, query), REFUSAL(query), .needs = NEED_CAPS },
	{ COMMAND(EXPLAIN_CODE, explain_code), REFUSAL(explain_code), .needs = NEED_CAPS },
	{ COMMAND(ATTACH_MULTI, attach_multi), REFUSAL(attach_multi), LINK_FD(attach_multi),
	  MANY(attach_multi, nr), .needs = NEED_ATTACH },
	{ COMMAND(ATTACH_BATCH, attach_batch), REFUSAL(attach_batch), MANY(attach_batch, count),
	  .needs = NEED_ATTACH },
	{ COMMAND(DETACH_BATCH, detach_batch), REFUSAL(detach_batch), MANY(detach_batch, count),
	  .needs = NEED_OPEN },
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

/* Whatever the caller left in other members must not come back as an answer. */
static void keep_inputs(const struct tramp_cmd *cmd, void *arg)
{
	size_t from = 0;
	u32 i;

	for (i = 0; i < cmd->nr_inputs; i++) {
		memset(arg + from, 0, cmd->inputs[i].at - from);
		from = cmd->inputs[i].at + cmd->inputs[i].len;
	}
	memset(arg + from, 0, cmd->size - from);
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
	keep_inputs(cmd, arg);
	if (cmd->refusal)
		user.why = (void *)arg + cmd->refusal;
	/* Whatever refuses, no caller is to take 0 for a link's. */
	if (cmd->fd)
		*(s32 *)((void *)arg + cmd->fd) = -1;
	/* Nor 0 for the one that it failed at, before it was at any. */
	if (cmd->count)
		*(u32 *)((void *)arg + cmd->failed) = *(u32 *)((void *)arg + cmd->count);
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
