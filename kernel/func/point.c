// SPDX-License-Identifier: GPL-2.0
/*
 * Functions as a kind of attach point (link/point.h), for programs of tracing type.
 */
#include "image.h"
#include "internal.h"
#include "target.h"

/* The attach type of the programs of each kind. */
static const u32 attach_types[] = {
	[TRAMP_KIND_FENTRY] = BPF_TRACE_FENTRY,
	[TRAMP_KIND_FEXIT] = BPF_TRACE_FEXIT,
	[TRAMP_KIND_FMOD_RET] = BPF_MODIFY_RETURN,
};

static int check_prog(const struct bpf_prog *prog, u8 *kind, struct tramp_refusal *why)
{
	u32 type = prog->expected_attach_type;

	*kind = TRAMP_KIND_FENTRY;
	while (*kind < ARRAY_SIZE(attach_types) && attach_types[*kind] != type)
		++*kind;
	if (*kind == ARRAY_SIZE(attach_types))
		return tramp_refuse(why, TRAMP_REASON_ATTACH_TYPE, 0, "attach type %u", type);
	/*
	 * The kernel clears dst_prog when it attaches, maybe now, but not saved_dst_prog_type. So
	 * it does not matter whether this sees it before or after.
	 */
	if (data_race(prog->aux->dst_prog) || prog->aux->saved_dst_prog_type ||
	    !prog->aux->attach_btf || !prog->aux->attach_btf_id)
		return tramp_refuse(why, TRAMP_REASON_PROG_TARGET, 0, "%s", prog->aux->name);
	return 0;
}

static int prepare(struct tramp_member *member, const struct tramp_attach *req,
		   struct tramp_refusal *why)
{
	if (!req->addr && !*req->symbol && !req->offset && !*req->module)
		return 0;
	return tramp_refuse(why, TRAMP_REASON_SYNTAX, 0,
			    "a tracing program goes to the function that it was loaded for");
}

void tramp_target_describe(const struct tramp_member *member, struct tramp_described *d)
{
	static const char * const modes[] = { "NONE", "DIRECT", "OPS" };
	const struct tramp_target *target = tramp_target_of(member);
	const struct tramp_func_facts *func = &target->func;

	lockdep_assert_held(&tramp_mutex);
	/* Without a site: ftrace has shut down under it. */
	d->mode = tramp_target_mode(target);
	d->mode_name = modes[d->mode];
	d->key = func->key;
	d->index = target->index;
	d->nr_progs = tramp_target_nr(target);
	d->pos = tramp_members_before(&target->members, member);
	d->addr = func->addr;
	d->func_addr = func->addr;
	d->btf_obj_id = tramp_func_btf_obj(func);
	d->btf_id = tramp_func_btf_type(func);
	d->module = tramp_target_module(target);
	d->exec = target->image ? &target->image->image.exec : NULL;
	strscpy(d->name, target->name, sizeof(d->name));
}

static int fill_link_info(const struct tramp_member *member, struct bpf_link_info *info)
{
	u64 key;

	mutex_lock(&tramp_mutex);
	key = member->key;
	mutex_unlock(&tramp_mutex);
	/* Not from the program, which an update may free meanwhile: both are of one kind. */
	info->tracing.attach_type = attach_types[member->kind];
	info->tracing.target_obj_id = key >> 32;
	info->tracing.target_btf_id = (u32)key & 0x7fffffff;
	return 0;
}

const struct tramp_point_ops tramp_func_ops = {
	.prog_type = BPF_PROG_TYPE_TRACING,
	.link_type = BPF_LINK_TYPE_TRACING,
	.check_prog = check_prog,
	.prepare = prepare,
	.attach = tramp_target_attach,
	.detach = tramp_target_detach,
	.attach_many = tramp_target_attach_many,
	.detach_many = tramp_target_detach_many,
	.together = tramp_target_together,
	.replace = tramp_target_replace,
	.describe = tramp_target_describe,
	.module_gone = tramp_target_module_gone,
	.fill_link_info = fill_link_info,
};
