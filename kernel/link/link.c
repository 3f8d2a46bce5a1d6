// SPDX-License-Identifier: GPL-2.0
/*
 * Links: attaching through a file descriptor, detaching when the last one goes.
 *
 * A link's memory and the module. The BPF core keeps calling into a link through
 * our ops and has no idea of our module, so every link holds a reference to it. It
 * must not be dropped in release() or dealloc(): the core would return into text
 * that rmmod may have freed. dealloc() hands the link to the module's workqueue,
 * whose worker frees it and drops the reference; module exit flushes the queue, and
 * then waits one RCU-tasks grace period for whoever has been preempted in
 * dealloc() itself (base/retire.c).
 */
#include <linux/cred.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/xarray.h>
#include "base/compat.h"
#include "func/image.h"
#include "base/ksyms.h"
#include "link.h"
#include "base/rights.h"

/* By id, for QUERY and debugfs. Changed under tramp_mutex. */
static DEFINE_XARRAY(links);
static u32 nr_attached;

static struct tramp_link *to_link(const struct bpf_link *link)
{
	return container_of(link, struct tramp_link, link);
}

u32 tramp_link_count(void)
{
	return READ_ONCE(nr_attached);
}

void tramp_link_counts(const struct tramp_link *link, u64 *hits, u64 *misses)
{
	tramp_counts_sum(link->counts, hits, misses);
	if (link->probe)
		*misses += tramp_probe_callback_missed(link->probe) - link->missed_before;
}

const char *tramp_kind_name(enum tramp_kind kind)
{
	static const char * const names[] = {
		"none", "fentry", "fexit", "fmod_ret", "kprobe",
	};

	return names[kind];
}

enum tramp_mode tramp_link_mode(const struct tramp_link *link)
{
	if (link->probe)
		return tramp_probe_mode(link->probe);
	if (!link->target || !link->target->site)
		return TRAMP_MODE_NONE;
	return tramp_site_mode(link->target->site);
}

const char *tramp_mode_name(enum tramp_mode mode)
{
	static const char * const names[] = {
		"none", "direct", "ops", "jump", "int3", "kprobe",
	};

	return names[mode];
}

struct tramp_link *tramp_link_find(u32 id, bool next)
{
	unsigned long index = id;

	lockdep_assert_held(&tramp_mutex);
	if (!next)
		return xa_load(&links, id);
	return xa_find_after(&links, &index, UINT_MAX, XA_PRESENT);
}

/* Take the program off. tramp_mutex held. */
static void detach_locked(struct tramp_link *link)
{
	if (link->target)
		tramp_target_detach(link);
	else if (link->probe)
		tramp_probe_detach(link);
	else
		return;
	nr_attached--;
}

/* The core may have given the id to another link already. */
static void forget(struct tramp_link *link)
{
	xa_cmpxchg(&links, link->id, link, NULL, GFP_KERNEL);
}

static void link_release(struct bpf_link *bpf_link)
{
	struct tramp_link *link = to_link(bpf_link);

	mutex_lock(&tramp_mutex);
	detach_locked(link);
	forget(link);
	mutex_unlock(&tramp_mutex);
}

static void link_free(struct work_struct *work)
{
	struct tramp_link *link = container_of(work, struct tramp_link, free);

	tramp_slot_put(link->slot);
	tramp_counts_put(link->counts);
	kfree(link);
	module_put(THIS_MODULE);
}

static void link_dealloc(struct bpf_link *bpf_link)
{
	struct tramp_link *link = to_link(bpf_link);

	INIT_WORK(&link->free, link_free);
	tramp_retire_queue_work(&link->free);
}

static int link_detach(struct bpf_link *bpf_link)
{
	mutex_lock(&tramp_mutex);
	detach_locked(to_link(bpf_link));
	mutex_unlock(&tramp_mutex);
	return 0;
}

/* Whether @new may take the place of @old. */
static int check_update(const struct bpf_prog *new, const struct bpf_prog *old)
{
	if (new->type != old->type || new->expected_attach_type != old->expected_attach_type ||
	    new->aux->attach_btf != old->aux->attach_btf ||
	    new->aux->attach_btf_id != old->aux->attach_btf_id || new->aux->dst_prog ||
	    new->kprobe_override ||
	    (new->type == BPF_PROG_TYPE_KPROBE && tramp_prog_sleepable(new)))
		return -EINVAL;
	return 0;
}

static int link_update_prog(struct bpf_link *bpf_link, struct bpf_prog *new_prog,
			    struct bpf_prog *old_prog)
{
	struct tramp_link *link = to_link(bpf_link);
	struct tramp_refusal why = {};
	struct tramp_slot *slot;
	int err;

	/* Another program where this one is: it takes what attaching it takes. */
	err = tramp_may_attach(&why);
	if (err)
		return err;
	/* Not under the mutex: it waits for who extends the program (prog/slot.c). */
	slot = tramp_slot_alloc(new_prog, link->counts, 0);
	if (!slot)
		return -ENOMEM;
	mutex_lock(&tramp_mutex);
	if (!link->target && !link->probe) {
		err = -ENOLINK;
		goto unlock;
	}
	if (old_prog && bpf_link->prog != old_prog) {
		err = -EPERM;
		goto unlock;
	}
	err = 0;
	if (bpf_link->prog == new_prog) {
		bpf_prog_put(new_prog);
		goto unlock;
	}
	err = check_update(new_prog, bpf_link->prog);
	if (err)
		goto unlock;
	slot->cookie = link->slot->cookie;
	err = link->probe ? tramp_probe_replace(link, slot, &why) :
			    tramp_target_replace(link, slot, &why);
	if (err)
		goto unlock;
	slot = NULL;	/* the link's now */
	/* The core gave us its reference to the new one; the old one was ours. */
	old_prog = xchg(&bpf_link->prog, new_prog);
	bpf_prog_put(old_prog);
unlock:
	mutex_unlock(&tramp_mutex);
	tramp_slot_put(slot);
	return err;
}

/* Symbol and offset, or nothing: %pS prints an address without a symbol as it is. */
static void show_probe(const struct tramp_probe *probe, struct seq_file *seq)
{
	char name[KSYM_NAME_LEN];
	unsigned long offset;

	seq_printf(seq, "index:\t%u\n", probe->index);
	/* Without a mode it went with its module: something else may be there now. */
	if (probe->mode != TRAMP_MODE_NONE && tramp_text_name(probe->addr, name, &offset))
		seq_printf(seq, "place:\t%pS\n", (void *)probe->addr);
	else
		seq_puts(seq, "place:\t-\n");
	seq_printf(seq, "reason:\t%s\n", tramp_reason_name(probe->reason));
}

static void link_show_fdinfo(const struct bpf_link *bpf_link, struct seq_file *seq)
{
	const struct tramp_link *link = to_link(bpf_link);
	const struct tramp_target *target;
	u64 hits, misses;

	mutex_lock(&tramp_mutex);
	target = link->target;
	tramp_link_counts(link, &hits, &misses);
	seq_printf(seq, "kind:\t%s\nmode:\t%s\nkey:\t%llu\n",
		   tramp_kind_name(link->kind),
		   tramp_mode_name(tramp_link_mode(link)), link->key);
	if (target)
		seq_printf(seq, "index:\t%u\nfunc:\t%s%s%s\n", target->index,
			   target->func.module_name, *target->func.module_name ? ":" : "",
			   target->func.name);
	if (link->probe)
		show_probe(link->probe, seq);
	seq_printf(seq, "cookie:\t%llu\nhits:\t%llu\nmisses:\t%llu\n", link->slot->cookie, hits,
		   misses);
	mutex_unlock(&tramp_mutex);
}

#if TRAMP_LINK_INFO_KPROBE
/* Where a link's probe is, as it is written when one is attached: an entry is at +0. */
static void name_probe(const struct tramp_link *link, char *symbol, u32 *offset, u64 *addr)
{
	const struct tramp_probe *probe = link->probe;
	unsigned long off;

	*symbol = 0;
	/* Detached, or gone with its module. */
	if (!probe || probe->mode == TRAMP_MODE_NONE ||
	    !tramp_text_name(probe->addr, symbol, &off))
		return;
	*offset = probe->addr == tramp_place_entry(probe->addr - off) ? 0 : off;
	if (tramp_may_see_addresses(current_cred()))
		*addr = probe->addr;
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
 * What the kernel tells of its own kprobes (bpf_perf_link_fill_kprobe()), with the same
 * errors. One that was attached by address is named as well: the kernel leaves its name
 * empty.
 */
static int link_kprobe_info(const struct tramp_link *link, struct bpf_link_info *info)
{
	char __user *name = u64_to_user_ptr(info->perf_event.kprobe.func_name);
	u32 need, offset = 0, room = info->perf_event.kprobe.name_len;
	char symbol[KSYM_NAME_LEN];
	u64 hits, missed, cookie, addr = 0;
	int err;

	if (!name != !room)
		return -EINVAL;
	mutex_lock(&tramp_mutex);
	tramp_link_counts(link, &hits, &missed);
	name_probe(link, symbol, &offset, &addr);
	cookie = link->slot->cookie;
	mutex_unlock(&tramp_mutex);

	need = strlen(symbol) + 1;
	err = name ? copy_name(name, room, symbol, need) : 0;
	if (err)
		return err;
	info->perf_event.type = BPF_PERF_EVENT_KPROBE;
	info->perf_event.kprobe.name_len = need;
	info->perf_event.kprobe.offset = offset;
	info->perf_event.kprobe.addr = addr;
	tramp_link_info_more(info, missed, cookie);
	return 0;
}
#else
static int link_kprobe_info(const struct tramp_link *link, struct bpf_link_info *info)
{
	return 0;
}
#endif

static int link_fill_info(const struct bpf_link *bpf_link, struct bpf_link_info *info)
{
	/* Not from the program, which an update may put meanwhile: both are of one kind. */
	static const u32 attach_types[] = {
		[TRAMP_KIND_FENTRY] = BPF_TRACE_FENTRY,
		[TRAMP_KIND_FEXIT] = BPF_TRACE_FEXIT,
		[TRAMP_KIND_FMOD_RET] = BPF_MODIFY_RETURN,
	};
	const struct tramp_link *link = to_link(bpf_link);

	if (link->kind == TRAMP_KIND_KPROBE)
		return link_kprobe_info(link, info);
	info->tracing.attach_type = attach_types[link->kind];
	info->tracing.target_obj_id = link->key >> 32;
	info->tracing.target_btf_id = (u32)link->key & 0x7fffffff;
	return 0;
}

static const struct bpf_link_ops tramp_link_ops = {
	.release = link_release,
	.dealloc = link_dealloc,
	.detach = link_detach,
	.update_prog = link_update_prog,
	.show_fdinfo = link_show_fdinfo,
	.fill_link_info = link_fill_info,
};

static int check_tracing(const struct bpf_prog *prog, enum tramp_kind *kind,
			 struct tramp_refusal *why)
{
	switch (prog->expected_attach_type) {
	case BPF_TRACE_FENTRY:
		*kind = TRAMP_KIND_FENTRY;
		break;
	case BPF_TRACE_FEXIT:
		*kind = TRAMP_KIND_FEXIT;
		break;
	case BPF_MODIFY_RETURN:
		*kind = TRAMP_KIND_FMOD_RET;
		break;
	default:
		return tramp_refuse(why, TRAMP_REASON_ATTACH_TYPE, 0, "attach type %u",
				    prog->expected_attach_type);
	}
	/* The kernel clears dst_prog when it attaches; what it was stays. */
	if (prog->aux->dst_prog || prog->aux->saved_dst_prog_type || !prog->aux->attach_btf ||
	    !prog->aux->attach_btf_id)
		return tramp_refuse(why, TRAMP_REASON_PROG_TARGET, 0, "%s", prog->aux->name);
	return 0;
}

static int check_kprobe(const struct bpf_prog *prog, enum tramp_kind *kind,
			struct tramp_refusal *why)
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

/* The program behind an fd, with a reference, if it is of a kind we attach. */
static struct bpf_prog *get_prog(int fd, enum tramp_kind *kind, struct tramp_refusal *why)
{
	struct bpf_prog *prog;
	int err;

	prog = KSYM(bpf_prog_get)(fd);
	if (IS_ERR(prog))
		return ERR_PTR(tramp_refuse(why, TRAMP_REASON_BAD_PROG_FD, 0, "fd %d", fd));
	if (prog->type == BPF_PROG_TYPE_TRACING)
		err = check_tracing(prog, kind, why);
	else if (prog->type == BPF_PROG_TYPE_KPROBE)
		err = check_kprobe(prog, kind, why);
	else
		err = tramp_refuse(why, TRAMP_REASON_PROG_TYPE, 0,
				   "program type %u, neither tracing (%u) nor kprobe (%u)",
				   prog->type, BPF_PROG_TYPE_TRACING, BPF_PROG_TYPE_KPROBE);
	if (err)
		goto put;
	if (!prog->jited && IS_ENABLED(CONFIG_BPF_JIT_ALWAYS_ON)) {
		err = tramp_refuse(why, TRAMP_REASON_PROG_NOT_JITED, 0, "%s", prog->aux->name);
		goto put;
	}
	return prog;
put:
	bpf_prog_put(prog);
	return ERR_PTR(err);
}

/* Everything of a link but its attachment. Takes over nothing; puts nothing. */
static struct tramp_link *alloc_link(struct bpf_prog *prog, enum tramp_kind kind, u64 cookie)
{
	static const enum tramp_list lists[] = {
		[TRAMP_KIND_FENTRY] = TRAMP_LIST_FENTRY,
		[TRAMP_KIND_FMOD_RET] = TRAMP_LIST_FMOD_RET,
		[TRAMP_KIND_FEXIT] = TRAMP_LIST_FEXIT,
	};
	struct tramp_link *link = kzalloc(sizeof(*link), GFP_KERNEL);
	enum bpf_link_type type = BPF_LINK_TYPE_TRACING;

	if (!link)
		return NULL;
	link->kind = kind;
	if (kind == TRAMP_KIND_KPROBE)
		type = BPF_LINK_TYPE_PERF_EVENT;
	else
		link->list = lists[kind];
	link->counts = tramp_counts_alloc();
	if (!link->counts)
		goto free_link;
	link->slot = tramp_slot_alloc(prog, link->counts, cookie);
	if (!link->slot)
		goto put_counts;
	KSYM(bpf_link_init)(&link->link, type, &tramp_link_ops, prog);
	return link;

put_counts:
	tramp_counts_put(link->counts);
free_link:
	kfree(link);
	return NULL;
}

/* Whether the place fits the kind of program, and what is needed before the mutex. */
static int check_place(const struct tramp_link *link, const struct tramp_probe_at *at,
		       struct tramp_refusal *why)
{
	bool place = at->addr || *at->symbol || at->offset || *at->module;

	if (link->kind != TRAMP_KIND_KPROBE) {
		if (!place)
			return 0;
		return tramp_refuse(why, TRAMP_REASON_SYNTAX, 0,
				    "a tracing program goes where it was loaded for");
	}
	if (!at->addr == !*at->symbol)
		return tramp_refuse(why, TRAMP_REASON_SYNTAX, 0,
				    "a probe needs either an address or a symbol");
	if (at->addr && (at->offset || *at->module))
		return tramp_refuse(why, TRAMP_REASON_SYNTAX, 0,
				    "offset and module go with a symbol");
	return tramp_probe_prepare(at, why);
}

int tramp_link_attach(struct tramp_attach *attach,
		      int (*copy_out)(const struct tramp_attach *attach, void *arg), void *arg)
{
	const struct tramp_probe_at at = {
		.addr = attach->addr,
		.offset = attach->offset,
		.symbol = attach->symbol,
		.module = attach->module,
	};
	struct tramp_refusal *why = &attach->refusal;
	struct bpf_link_primer primer;
	struct tramp_link *link;
	struct bpf_prog *prog;
	enum tramp_kind kind;
	int err;

	prog = get_prog(attach->prog_fd, &kind, why);
	if (IS_ERR(prog))
		return PTR_ERR(prog);
	link = alloc_link(prog, kind, attach->cookie);
	if (!link) {
		err = tramp_refuse(why, TRAMP_REASON_NO_MEMORY, 0, NULL);
		goto put_prog;
	}
	err = check_place(link, &at, why);
	if (err)
		goto free_link;
	/* An fd and an id, which nobody can see before bpf_link_settle(). */
	err = KSYM(bpf_link_prime)(&link->link, &primer);
	if (err)
		goto free_link;
	__module_get(THIS_MODULE);	/* for link_dealloc(); the ioctl holds one */
	link->id = primer.id;

	mutex_lock(&tramp_mutex);
	err = xa_err(xa_store(&links, link->id, link, GFP_KERNEL));
	if (err)
		err = tramp_refuse(why, TRAMP_REASON_NO_MEMORY, 0, NULL);
	else
		err = link->kind == TRAMP_KIND_KPROBE ?
		      tramp_probe_attach(link, &at, attach->flags, why) :
		      tramp_target_attach(link, attach->flags, why);
	if (!err) {
		nr_attached++;
		attach->link_fd = primer.fd;
		attach->link_id = primer.id;
		attach->kind = link->kind;
		attach->mode = tramp_link_mode(link);
		attach->key = link->key;
		attach->func_addr = link->probe ? link->probe->addr : link->target->func.addr;
		attach->mode_reason = link->probe ? link->probe->reason : 0;
		if (!tramp_may_see_addresses(current_cred())) {
			attach->func_addr = 0;
			why->addr = 0;
		}
	}
	mutex_unlock(&tramp_mutex);

	/* Not under the mutex: a page fault may take as long as user space likes. */
	if (!err)
		err = copy_out(attach, arg);
	if (err) {
		mutex_lock(&tramp_mutex);
		detach_locked(link);
		forget(link);
		mutex_unlock(&tramp_mutex);
		/* Drops fd and file; the file's release calls link_dealloc() only. */
		KSYM(bpf_link_cleanup)(&primer);
		goto put_prog;
	}
	KSYM(bpf_link_settle)(&primer);
	return 0;

free_link:
	tramp_slot_put(link->slot);
	tramp_counts_put(link->counts);
	kfree(link);
put_prog:
	bpf_prog_put(prog);
	return err;
}
