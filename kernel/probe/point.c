// SPDX-License-Identifier: GPL-2.0
/*
 * Instructions as a kind of attach point (link/point.h), for kprobe programs.
 */
#include <linux/cred.h>
#include <linux/uaccess.h>
#include "base/compat.h"
#include "base/rights.h"
#include "func/target.h"
#include "image.h"
#include "internal.h"

static int check_prog(const struct bpf_prog *prog, u8 *kind, struct tramp_refusal *why)
{
	*kind = TRAMP_KIND_KPROBE;
	if (prog->expected_attach_type)
		return tramp_refuse(why, TRAMP_REASON_ATTACH_TYPE, 0, "attach type %u",
				    prog->expected_attach_type);
	if (tramp_prog_sleepable(prog))
		return tramp_refuse(why, TRAMP_REASON_PROG_TYPE, 0,
				    "a sleepable kprobe program is one for user space");
	if (prog->kprobe_override)
		return tramp_refuse(why, TRAMP_REASON_PROG_OVERRIDE, 0, "%s", prog->aux->name);
	return 0;
}

static int prepare(struct tramp_member *member, const struct tramp_attach *req,
		   struct tramp_refusal *why)
{
	const struct tramp_probe_at at = tramp_probe_at(req);

	return tramp_place_check_syntax(&at, why) ?: tramp_probe_prepare(&at, false, why);
}

/* At a function's entry the member may be one of the function's (probe.c: attach_direct()). */
void tramp_probe_leave(struct tramp_member *member)
{
	if (tramp_probe_of(member))
		tramp_probe_detach(member);
	else
		tramp_target_detach(member);
}

static int replace(struct tramp_member *member, struct tramp_slot *slot,
		   struct tramp_refusal *why)
{
	int err;

	if (tramp_probe_of(member))
		return tramp_probe_replace(member, slot, why);
	if (slot->func_ip)
		return tramp_slot_refuse_func_ip(slot, 0, why);
	err = tramp_probe_check_prog(tramp_target_of(member)->func.site, slot->prog, member->kind,
				     why);
	return err ?: tramp_target_replace(member, slot, why);
}

bool tramp_probe_is_gone(const struct tramp_member *member)
{
	const struct tramp_probe *probe = tramp_probe_of(member);

	return probe ? probe->mode == TRAMP_MODE_NONE :
		       tramp_target_is_gone(tramp_target_of(member));
}

/* The others wait for ftrace, or for a grace period. */
static bool together(const struct tramp_member *member)
{
	const struct tramp_probe *probe = tramp_probe_of(member);

	if (!probe)
		return tramp_target_together(member);
	return probe->mode != TRAMP_MODE_FTRACE_OPS && probe->mode != TRAMP_MODE_KPROBE;
}

static u64 misses(const struct tramp_member *member)
{
	const struct tramp_probe *probe = tramp_probe_of(member);

	return probe ? tramp_probe_callback_missed(probe) : 0;
}

/* It went with its module: something else may be there now. */
static void describe_gone(struct tramp_described *d)
{
	d->reason = TRAMP_REASON_MODULE_GONE;
	d->addr = d->func_addr = 0;
	d->btf_obj_id = d->btf_id = 0;
	d->module = "";
	*d->name = 0;
}

/* In the function's image: as a probe, which knows no BTF and may have another of its names. */
static void describe_entry(const struct tramp_member *member, struct tramp_described *d)
{
	unsigned long offset;

	tramp_target_describe(member, d);
	if (tramp_target_is_gone(tramp_target_of(member))) {
		describe_gone(d);
		return;
	}
	d->btf_obj_id = 0;
	d->btf_id = 0;
	d->addr = tramp_target_of(member)->func.site;
	d->offset = d->addr - d->func_addr;
	if (tramp_text_name(d->addr, d->name, &offset))
		d->offset = offset;
}

static void describe(const struct tramp_member *member, struct tramp_described *d)
{
	static const char * const modes[] = {
		[TRAMP_MODE_NONE] = "NONE",
		[TRAMP_MODE_FTRACE_OPS] = "FTRACE",
		[TRAMP_MODE_JUMP] = "OPTIMIZED",
		[TRAMP_MODE_INT3] = "INT3",
		[TRAMP_MODE_KPROBE] = "KPROBE",
	};
	const struct tramp_probe *probe = tramp_probe_of(member);
	unsigned long offset;

	lockdep_assert_held(&tramp_mutex);
	d->instruction = true;
	if (!probe) {
		describe_entry(member, d);
		return;
	}
	d->mode = probe->mode;
	if (probe->mode == TRAMP_MODE_INT3 && probe->text == TRAMP_TEXT_JUMP)
		d->mode = TRAMP_MODE_JUMP;
	d->mode_name = modes[d->mode];
	d->reason = probe->reason;
	d->index = probe->index;
	d->nr_progs = probe->nr;
	d->pos = tramp_members_before(&probe->members, member);
	/* It went with its module: something else may be there now. */
	if (probe->mode == TRAMP_MODE_NONE)
		return;
	if (tramp_text_name(probe->addr, d->name, &offset))
		d->offset = offset;
	d->addr = probe->addr;
	d->func_addr = probe->addr - d->offset;
	d->reason_addr = probe->where;
	if (probe->module)
		d->module = probe->module->name;
	if (!probe->image)
		return;
	d->exec = &probe->image->image.exec;
	if (probe->text == TRAMP_TEXT_JUMP)
		d->region_len = probe->image->len;
}

#if TRAMP_LINK_INFO_KPROBE
/* Where a probe is, as it is written when one is attached: an entry is at +0. */
static void name_probe(const struct tramp_point_ops *ops, const struct tramp_member *member,
		       char *symbol, u32 *offset, u64 *addr)
{
	struct tramp_described d = {};

	*symbol = 0;
	if (member->point)
		ops->describe(member, &d);
	/* Detached, or gone with its module. */
	if (!d.addr || !*d.name)
		return;
	strscpy(symbol, d.name, KSYM_NAME_LEN);
	*offset = d.addr == tramp_place_entry(d.func_addr) ? 0 : d.offset;
	if (tramp_may_see_addresses(current_cred()))
		*addr = d.addr;
}

/* As much of a name as there is room for, as the kernel's own links do (bpf_copy_to_user()). */
static int copy_name(char __user *to, u32 room, const char *name, u32 need)
{
	if (room >= need)
		return copy_to_user(to, name, need) ? -EFAULT : 0;
	if (copy_to_user(to, name, room - 1) || put_user(0, to + room - 1))
		return -EFAULT;
	return -ENOSPC;
}

/*
 * The same as the kernel says of its own kprobes (bpf_perf_link_fill_kprobe()), with the same
 * errors. A probe that was attached by address has a name, too: the kernel leaves it empty.
 */
int tramp_probe_link_info(const struct tramp_point_ops *ops, const struct tramp_member *member,
			  struct bpf_link_info *info)
{
	char __user *name = u64_to_user_ptr(info->perf_event.kprobe.func_name);
	u32 need, offset = 0, room = info->perf_event.kprobe.name_len;
	char symbol[KSYM_NAME_LEN];
	u64 hits, missed, cookie, addr = 0;
	int err;

	if (!name != !room)
		return -EINVAL;
	mutex_lock(&tramp_mutex);
	tramp_counts_sum(member->counts, &hits, &missed);
	if (member->point)
		missed += ops->misses(member);
	name_probe(ops, member, symbol, &offset, &addr);
	cookie = member->slot->cookie;
	mutex_unlock(&tramp_mutex);

	need = strlen(symbol) + 1;
	err = name ? copy_name(name, room, symbol, need) : 0;
	if (err)
		return err;
	info->perf_event.type = ops->returns ? BPF_PERF_EVENT_KRETPROBE : BPF_PERF_EVENT_KPROBE;
	info->perf_event.kprobe.name_len = need;
	info->perf_event.kprobe.offset = offset;
	info->perf_event.kprobe.addr = addr;
	tramp_link_info_more(info, missed, cookie);
	return 0;
}
#else
int tramp_probe_link_info(const struct tramp_point_ops *ops, const struct tramp_member *member,
			  struct bpf_link_info *info)
{
	return 0;
}
#endif

static int fill_link_info(const struct tramp_member *member, struct bpf_link_info *info)
{
	return tramp_probe_link_info(&tramp_probe_ops, member, info);
}

const struct tramp_point_ops tramp_probe_ops = {
	.prog_type = BPF_PROG_TYPE_KPROBE,
	.link_type = BPF_LINK_TYPE_PERF_EVENT,
	.check_prog = check_prog,
	.prepare = prepare,
	.attach = tramp_probe_attach,
	.detach = tramp_probe_leave,
	.attach_many = tramp_probe_attach_many,
	.detach_many = tramp_probe_detach_many,
	.together = together,
	.replace = replace,
	.misses = misses,
	.describe = describe,
	.module_gone = tramp_probe_module_gone,
	.fill_link_info = fill_link_info,
};
