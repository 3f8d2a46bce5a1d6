// SPDX-License-Identifier: GPL-2.0
/*
 * The QUERY command: one link, or all in turn, and the code of its image.
 */
#include <linux/mm.h>
#include <linux/uaccess.h>
#include "internal.h"
#include "link/link.h"

static void fill(struct tramp_query *q, const struct tramp_described *d, bool show)
{
	q->link_id = d->link_id;
	q->prog_id = d->prog_id;
	q->kind = d->kind;
	q->mode = d->mode;
	q->cookie = d->cookie;
	q->key = d->key;
	q->sleepable = d->sleepable;
	q->hits = d->hits;
	q->misses = d->misses;
	strscpy(q->prog_name, d->prog_name, sizeof(q->prog_name));
	q->mode_reason = d->reason;
	q->nr_progs = d->nr_progs;
	q->nr_funcs = d->nr_funcs;
	q->pos = d->pos;
	q->index = d->index;
	q->btf_obj_id = d->btf_obj_id;
	q->btf_id = d->btf_id;
	q->offset = d->offset;
	q->region_len = d->region_len;
	strscpy(q->func_name, d->name, sizeof(q->func_name));
	strscpy(q->module, d->module, sizeof(q->module));
	q->image_size = d->exec ? d->exec->size : 0;
	q->image_len = q->image_size;
	if (!show)
		return;
	q->func_addr = d->func_addr;
	q->reason_addr = d->reason_addr;
	if (d->instruction)
		q->probe_addr = d->addr;
	if (d->exec)
		q->image_addr = d->exec->code;
}

/* The link, and a copy of its code in @code if there is room for it. tramp_mutex held. */
static int look(struct tramp_query *q, u8 *code, u32 room, bool show)
{
	const struct tramp_link *link;
	struct tramp_described d;

	lockdep_assert_held(&tramp_mutex);
	link = tramp_link_find(q->link_id, q->flags & TRAMP_QUERY_F_NEXT);
	if (!link)
		return tramp_refuse(&q->refusal, TRAMP_REASON_LINK_GONE, 0, "link %u",
				    q->link_id);
	tramp_link_describe(link, &d);
	fill(q, &d, show);
	if (d.exec && room >= d.exec->size)
		memcpy(code, (void *)d.exec->code, d.exec->size);
	return 0;
}

static int query(struct tramp_query *q)
{
	bool show = tramp_caller_sees();
	u32 room = q->image && show ? min_t(u32, q->image_len, TRAMP_X86_MAX_IMAGE) : 0;
	u8 *code = NULL;
	int err;

	if (q->flags & ~TRAMP_QUERY_F_NEXT)
		return tramp_refuse(&q->refusal, TRAMP_REASON_SYNTAX, 0, "unknown flags %#x",
				    q->flags);
	/*
	 * Kept while the caller's memory is written, which user space can make wait. His cgroup may
	 * have him wait for it: not with the mutex held.
	 */
	if (room)
		code = kvmalloc(room, GFP_KERNEL_ACCOUNT);
	if (room && !code)
		return -ENOMEM;
	mutex_lock(&tramp_mutex);
	err = look(q, code, room, show);
	mutex_unlock(&tramp_mutex);

	if (!err && q->image && !show)
		err = tramp_refuse(&q->refusal, TRAMP_REASON_HIDDEN_ADDRESS, 0, NULL);
	else if (!err && q->image && room < q->image_len)
		err = -EMSGSIZE;
	else if (!err && q->image && copy_to_user(u64_to_user_ptr(q->image), code, q->image_len))
		err = -EFAULT;
	kvfree(code);
	return err;
}

long tramp_run_query(union tramp_arg *arg, const struct tramp_user *user)
{
	return tramp_reply(user, arg, query(&arg->query));
}
