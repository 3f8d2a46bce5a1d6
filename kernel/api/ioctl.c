// SPDX-License-Identifier: GPL-2.0
/*
 * The ioctl interface: one table of commands, one place that copies structs in and
 * out. The rules are those of include/uapi/linux/trampoline.h.
 */
#include <linux/cred.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include "base/compat.h"
#include "prog/runtime.h"
#include "prog/exec.h"
#include "func/image.h"
#include "ioctl.h"
#include "base/ksyms.h"
#include "link/link.h"
#include "base/rights.h"
#include "func/target.h"

/* Any command's struct. */
union tramp_arg {
	u32 size;
	struct tramp_info info;
	struct tramp_attach attach;
	struct tramp_explain explain;
	struct tramp_query query;
	struct tramp_explain_code code;
};

/* The caller's struct. */
struct user_arg {
	void __user *ptr;
	size_t size;
};

/* What a command asks of the task that calls. */
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
 * @needs: what the caller must be at each call, and not only at open (docs/rights.md)
 * @run: does it; @arg is copied back whatever it returns, unless it says -EIOCBQUEUED:
 *	then it has done so itself, and succeeded
 */
struct tramp_cmd {
	unsigned int cmd;
	size_t min;
	size_t size;
	size_t refusal;
	enum tramp_need needs;
	int (*run)(union tramp_arg *arg, const struct user_arg *user);
};

static bool may_see_addresses(void)
{
	return tramp_may_see_addresses(current_cred());
}

/* Copy back as much as the caller has room for. */
static int put_arg(const void *arg, size_t size, const struct user_arg *user)
{
	return copy_to_user(user->ptr, arg, min(size, user->size)) ? -EFAULT : 0;
}

static int run_info(union tramp_arg *arg, const struct user_arg *user)
{
	struct tramp_info *info = &arg->info;
	u32 len = info->missing_len;
	char *names;
	int err = 0;

	if (info->flags)
		return -EINVAL;
	info->abi_version = TRAMP_ABI_VERSION;
	info->max_progs = TRAMP_MAX_PROGS;
	info->max_slots = TRAMP_MAX_SLOTS;
	info->symbols_found = tramp_ksyms.found;
	info->symbols_missing = tramp_ksyms.missing;
	info->features = TRAMP_FEAT_FENTRY | TRAMP_FEAT_FEXIT | TRAMP_FEAT_FMOD_RET |
			 TRAMP_FEAT_SLEEPABLE | TRAMP_FEAT_COOKIE | TRAMP_FEAT_MODULES |
			 TRAMP_FEAT_UPDATE_PROG;
	if (tramp_inline_guards())
		info->features |= TRAMP_FEAT_INLINE_GUARD | TRAMP_FEAT_FTRACE_OPS;
	if (tramp_ksyms.has_perf_event_ksymbol)
		info->features |= TRAMP_FEAT_KSYMBOL;
	strscpy(info->version, TRAMP_VERSION, sizeof(info->version));

	mutex_lock(&tramp_mutex);
	info->links = tramp_link_count();
	info->targets = tramp_target_count();
	tramp_probe_totals(&info->probes, &info->optimised);
	mutex_unlock(&tramp_mutex);
	if (tramp_ksyms.has_probes)
		info->features |= TRAMP_FEAT_KPROBE | TRAMP_FEAT_JUMP;
	info->grace_periods = tramp_grace_periods();
	tramp_exec_totals(&info->images, &info->retiring, &info->image_bytes);

	info->missing_len = tramp_ksyms_missing(NULL, 0);
	if (!info->missing)
		return 0;
	if (len < info->missing_len)
		return -EMSGSIZE;
	names = kzalloc(info->missing_len, GFP_KERNEL);
	if (!names)
		return -ENOMEM;
	tramp_ksyms_missing(names, info->missing_len);
	if (copy_to_user(u64_to_user_ptr(info->missing), names, info->missing_len))
		err = -EFAULT;
	kfree(names);
	return err;
}

static int attach_copy_out(const struct tramp_attach *attach, void *user)
{
	return put_arg(attach, sizeof(*attach), user);
}

static int run_attach(union tramp_arg *arg, const struct user_arg *user)
{
	struct tramp_attach *attach = &arg->attach;
	int err;

	attach->link_fd = -1;
	if (attach->flags & ~(TRAMP_ATTACH_F_COOKIE | TRAMP_ATTACH_F_NO_OPS |
			      TRAMP_ATTACH_F_NO_JUMP | TRAMP_ATTACH_F_NO_KPROBE))
		return tramp_refuse(&attach->refusal, TRAMP_REASON_SYNTAX, 0,
				    "unknown flags %#x", attach->flags);
	if (attach->__reserved || attach->__reserved2)
		return tramp_refuse(&attach->refusal, TRAMP_REASON_SYNTAX, 0,
				    "a reserved member is not 0");
	if (attach->cookie && !(attach->flags & TRAMP_ATTACH_F_COOKIE))
		return tramp_refuse(&attach->refusal, TRAMP_REASON_SYNTAX, 0,
				    "a cookie without TRAMP_ATTACH_F_COOKIE");
	if (strnlen(attach->symbol, sizeof(attach->symbol)) == sizeof(attach->symbol) ||
	    strnlen(attach->module, sizeof(attach->module)) == sizeof(attach->module))
		return tramp_refuse(&attach->refusal, TRAMP_REASON_SYNTAX, 0,
				    "a name without its terminating zero");
	err = tramp_may_name_address(attach->addr, &attach->refusal) ?:
	      tramp_link_attach(attach, attach_copy_out, (void *)user);
	return err ?: -EIOCBQUEUED;
}

static int run_explain(union tramp_arg *arg, const struct user_arg *user)
{
	struct tramp_explain *ex = &arg->explain;
	struct tramp_refusal held = {};
	struct tramp_target *target;
	struct tramp_func func;
	u32 by_id = ex->btf_obj_id;
	int err;

	ex->can = 0;
	if (ex->flags)
		return tramp_refuse(&ex->refusal, TRAMP_REASON_SYNTAX, 0, "unknown flags %#x",
				    ex->flags);
	if (!!ex->btf_obj_id != !!ex->btf_id)
		return tramp_refuse(&ex->refusal, TRAMP_REASON_SYNTAX, 0,
				    "btf_obj_id and btf_id go together");
	if (strnlen(ex->name, sizeof(ex->name)) == sizeof(ex->name) ||
	    strnlen(ex->module, sizeof(ex->module)) == sizeof(ex->module))
		return tramp_refuse(&ex->refusal, TRAMP_REASON_SYNTAX, 0,
				    "a name without its terminating zero");
	if (!by_id && !*ex->name)
		return tramp_refuse(&ex->refusal, TRAMP_REASON_SYNTAX, 0, "no name given");

	if (by_id)
		err = tramp_resolve_btf(ex->btf_obj_id, ex->btf_id, &func, &ex->refusal);
	else
		err = tramp_resolve_name(ex->name, ex->module, &func, &ex->refusal);
	if (err && (ex->refusal.reason == TRAMP_REASON_NO_SUCH_FUNCTION ||
		    ex->refusal.reason == TRAMP_REASON_NO_BTF ||
		    ex->refusal.reason == TRAMP_REASON_MODULE_GONE ||
		    ex->refusal.reason == TRAMP_REASON_MISSING_SYMBOL))
		return err;
	if (err) {
		/* The function is there, and this is why nothing can be attached. */
		ex->fentry_reason = ex->refusal.reason;
		ex->fexit_reason = ex->refusal.reason;
		goto names;
	}

	mutex_lock(&tramp_mutex);
	target = func.key ? tramp_target_find(func.key) : NULL;
	if (target)
		ex->nr_progs = tramp_target_nr(target);
	ex->mode = TRAMP_MODE_DIRECT;
	if (target && target->site)
		ex->mode = tramp_site_mode(target->site);
	if (func.site)
		tramp_site_check(func.site, target && target->image ? target->image->exec.code : 0,
				 &held);
	mutex_unlock(&tramp_mutex);

	if (!func.key)
		ex->fentry_reason = TRAMP_REASON_NO_BTF;
	if (!func.site)
		ex->fentry_reason = TRAMP_REASON_NOT_TRACEABLE;
	if (ex->nr_progs >= TRAMP_MAX_PROGS)
		ex->fentry_reason = TRAMP_REASON_TOO_MANY_PROGS;
	ex->fexit_reason = ex->fentry_reason ?: func.exit_reason ?: held.reason;
	if (!ex->fexit_reason && ex->mode == TRAMP_MODE_FTRACE_OPS)
		ex->fexit_reason = TRAMP_REASON_SITE_HELD;
	if (held.reason == TRAMP_REASON_SITE_HELD && tramp_inline_guards())
		ex->mode = TRAMP_MODE_FTRACE_OPS;
	else if (held.reason && !ex->fentry_reason)
		ex->fentry_reason = held.reason;
	if (ex->fentry_reason)
		ex->mode = TRAMP_MODE_NONE;
	if (!ex->fentry_reason)
		ex->can |= TRAMP_CAN_FENTRY;
	if (!ex->fexit_reason)
		ex->can |= TRAMP_CAN_FEXIT;
	strscpy(ex->holder, held.detail, sizeof(ex->holder));
names:
	ex->btf_obj_id = func.btf_obj_id;
	ex->btf_id = func.btf_id;
	ex->key = func.key;
	strscpy(ex->name, func.name, sizeof(ex->name));
	strscpy(ex->module, func.module_name, sizeof(ex->module));
	ex->nr_args = func.model.nr_args;
	ex->nr_slots = tramp_x86_model_slots(&func.model, NULL);
	ex->ret_size = func.model.ret_size;
	if (may_see_addresses()) {
		ex->func_addr = func.addr;
		ex->site_addr = func.site;
	}
	tramp_func_put(&func);
	return 0;
}

/* What there is to say of a probe. Return: its image, NULL if it has none. */
static const struct tramp_exec *query_probe(struct tramp_query *q, const struct tramp_link *link,
					    bool show)
{
	const struct tramp_probe *probe = link->probe;
	char name[KSYM_NAME_LEN];
	struct tramp_link *pos;
	unsigned long offset;

	q->nr_progs = probe->nr;
	q->index = probe->index;
	q->mode_reason = probe->reason;
	list_for_each_entry(pos, &probe->links, node) {
		if (pos == link)
			break;
		q->pos++;
	}
	if (probe->mode == TRAMP_MODE_NONE)
		return NULL;
	if (tramp_text_name(probe->addr, name, &offset)) {
		strscpy(q->func_name, name, sizeof(q->func_name));
		q->offset = offset;
	}
	if (probe->module)
		strscpy(q->module, probe->module->name, sizeof(q->module));
	if (show) {
		q->probe_addr = probe->addr;
		q->func_addr = probe->addr - q->offset;
		q->reason_addr = probe->where;
	}
	if (!probe->image)
		return NULL;
	if (probe->text == TRAMP_TEXT_JUMP)
		q->region_len = probe->image->len;
	return &probe->image->exec;
}

static int run_query(union tramp_arg *arg, const struct user_arg *user)
{
	struct tramp_query *q = &arg->query;
	bool show = may_see_addresses();
	const struct tramp_target *target;
	const struct tramp_exec *exec;
	struct tramp_link *link, *pos;
	u32 len = q->image_len;
	u8 *code = NULL;
	int err = 0;

	if (q->flags & ~TRAMP_QUERY_F_NEXT)
		return tramp_refuse(&q->refusal, TRAMP_REASON_SYNTAX, 0, "unknown flags %#x",
				    q->flags);
	mutex_lock(&tramp_mutex);
	link = tramp_link_find(q->link_id, q->flags & TRAMP_QUERY_F_NEXT);
	if (!link) {
		mutex_unlock(&tramp_mutex);
		return tramp_refuse(&q->refusal, TRAMP_REASON_LINK_GONE, 0, "link %u",
				    q->link_id);
	}
	q->link_id = link->id;
	q->prog_id = link->slot->prog->aux->id;
	q->kind = link->kind;
	q->mode = tramp_link_mode(link);
	q->cookie = link->slot->cookie;
	q->key = link->key;
	q->sleepable = tramp_prog_sleepable(link->slot->prog);
	q->image_len = 0;
	strscpy(q->prog_name, link->slot->prog->aux->name, sizeof(q->prog_name));
	tramp_link_counts(link, &q->hits, &q->misses);
	target = link->target;
	if (target) {
		q->btf_obj_id = link->key >> 32;
		q->btf_id = (u32)link->key & 0x7fffffff;
		q->nr_progs = tramp_target_nr(target);
		q->index = target->index;
		strscpy(q->func_name, target->func.name, sizeof(q->func_name));
		strscpy(q->module, target->func.module_name, sizeof(q->module));
		if (show)
			q->func_addr = target->func.addr;
		list_for_each_entry(pos, &target->links[link->list], node) {
			if (pos == link)
				break;
			q->pos++;
		}
	}
	exec = target && target->image ? &target->image->exec : NULL;
	if (link->probe)
		exec = query_probe(q, link, show);
	if (exec) {
		q->image_size = exec->size;
		q->image_len = exec->size;
		if (show)
			q->image_addr = exec->code;
		if (q->image && show && len >= exec->size) {
			code = kvmalloc(exec->size, GFP_KERNEL);
			if (code)
				memcpy(code, (void *)exec->code, exec->size);
			else
				err = -ENOMEM;
		}
	}
	mutex_unlock(&tramp_mutex);

	if (err || !q->image)
		return err;
	if (!show)
		return tramp_refuse(&q->refusal, TRAMP_REASON_HIDDEN_ADDRESS, 0, NULL);
	if (len < q->image_len)
		return -EMSGSIZE;
	if (code && copy_to_user(u64_to_user_ptr(q->image), code, q->image_len))
		err = -EFAULT;
	kvfree(code);
	return err;
}

static int run_explain_code(union tramp_arg *arg, const struct user_arg *user)
{
	return tramp_probe_explain(&arg->code, may_see_addresses());
}

static const struct tramp_cmd commands[] = {
	{ TRAMP_IOC_INFO, TRAMP_INFO_MIN_SIZE, sizeof(struct tramp_info), 0, NEED_OPEN, run_info },
	{ TRAMP_IOC_ATTACH, TRAMP_ATTACH_MIN_SIZE, sizeof(struct tramp_attach),
	  offsetof(struct tramp_attach, refusal), NEED_ATTACH, run_attach },
	{ TRAMP_IOC_EXPLAIN, TRAMP_EXPLAIN_MIN_SIZE, sizeof(struct tramp_explain),
	  offsetof(struct tramp_explain, refusal), NEED_CAPS, run_explain },
	{ TRAMP_IOC_QUERY, TRAMP_QUERY_MIN_SIZE, sizeof(struct tramp_query),
	  offsetof(struct tramp_query, refusal), NEED_CAPS, run_query },
	{ TRAMP_IOC_EXPLAIN_CODE, TRAMP_EXPLAIN_CODE_MIN_SIZE, sizeof(struct tramp_explain_code),
	  offsetof(struct tramp_explain_code, refusal), NEED_CAPS, run_explain_code },
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
	switch (cmd->needs) {
	case NEED_OPEN:
		return 0;
	case NEED_CAPS:
		return tramp_may_use() ? 0 : tramp_refuse(why, TRAMP_REASON_PERMISSION, 0, NULL);
	case NEED_ATTACH:
		break;
	}
	return tramp_may_attach(why);
}

static long tramp_ioctl(struct file *file, unsigned int nr, unsigned long ptr)
{
	struct user_arg user = { .ptr = (void __user *)ptr };
	const struct tramp_cmd *cmd = find_command(nr);
	struct tramp_refusal *why;
	union tramp_arg *arg;
	u32 size;
	int err, put_err;

	if (!cmd)
		return -ENOTTY;
	if (get_user(size, (u32 __user *)user.ptr))
		return -EFAULT;
	if (size < cmd->min || size > PAGE_SIZE)
		return size < cmd->min ? -EINVAL : -E2BIG;
	user.size = size;

	arg = kzalloc(sizeof(*arg), GFP_KERNEL);
	if (!arg)
		return -ENOMEM;
	err = copy_struct_from_user(arg, cmd->size, user.ptr, user.size);
	if (err)
		goto free;
	why = cmd->refusal ? (void *)arg + cmd->refusal : NULL;
	if (why)
		memset(why, 0, sizeof(*why));

	err = check_allowed(cmd, why) ?: cmd->run(arg, &user);
	if (err == -EIOCBQUEUED) {
		err = 0;
		goto free;
	}
	if (why && !may_see_addresses())
		why->addr = 0;
	put_err = put_arg(arg, cmd->size, &user);
	err = err ?: put_err;
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
