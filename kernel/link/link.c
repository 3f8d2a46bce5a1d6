// SPDX-License-Identifier: GPL-2.0
/*
 * Links: attaching through a file descriptor, detaching when the last one goes.
 *
 * How many are attached together is in batch.c, how they go in release.c.
 *
 * This is who may see a link, step by step:
 *
 * - tramp_link_open() reserves a file descriptor and an id (bpf_link_prime()). The core's index has
 *   the link from now on. It answers EAGAIN for the id of a link that is not settled, and bpftool
 *   takes that as the end of all links. An attach may wait long, for syncs or for the caller's
 *   memory. So the link's count of references is 0 meanwhile (hide()), as that of a link that goes:
 *   BPF_LINK_GET_FD_BY_ID answers ENOENT, which everybody passes over, and iterators leave it out.
 * - Attached: hits run the program. Its image has a name, and INFO counts the link. Nobody has the
 *   link itself, so nobody can detach or update it.
 * - The reply goes to the caller; its descriptor is not open yet. A fault undoes all of it. Hits of
 *   the meantime have run the program, and their counts go with the link.
 * - tramp_link_enter() and tramp_link_show(), behind which nothing can fail: QUERY and debugfs list
 *   the link, and whoever sees it there gets it from the core by its id.
 * - fd_install(): the caller's descriptor is open. That is what is left to do of
 *   bpf_link_settle(), which would write the id once more, under the eyes of whoever has the link.
 */
#include <linux/cred.h>
#include <linux/file.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/wait.h>
#include <linux/xarray.h>
#include "base/cache.h"
#include "base/compat.h"
#include "base/ksyms.h"
#include "base/rights.h"
#include "internal.h"

static const struct tramp_point_ops * const kinds[] = {
	&tramp_func_ops, &tramp_probe_ops, &tramp_ret_ops
};

/* By id, for QUERY and debugfs. Changed under tramp_mutex. */
static DEFINE_XARRAY(links);
static u32 nr_attached;

static struct kmem_cache *cache;	/* of links */

u32 tramp_link_count(void)
{
	return READ_ONCE(nr_attached);
}

u32 tramp_link_id(const struct tramp_link *link)
{
	return link->member.link_id;
}

void tramp_link_describe(const struct tramp_link *link, struct tramp_described *d)
{
	const struct tramp_member *member = &link->member;
	const struct bpf_prog *prog = member->slot->prog;

	lockdep_assert_held(&tramp_mutex);
	memset(d, 0, sizeof(*d));
	d->link_id = member->link_id;
	d->kind = member->kind;
	d->prog_id = prog->aux->id;
	d->prog_name = prog->aux->name;
	d->sleepable = tramp_prog_sleepable(prog);
	d->cookie = tramp_slot_cookie(member->slot);
	d->key = member->key;
	d->mode_name = "NONE";
	d->module = "";
	tramp_counts_sum(member->counts, &d->hits, &d->misses);
	if (!tramp_link_is_attached(link))
		return;
	link->ops->describe(member, d);
	if (link->ops->misses)
		d->misses += link->ops->misses(member);
}

struct tramp_link *tramp_link_find(u32 id, bool next)
{
	unsigned long index = id;

	lockdep_assert_held(&tramp_mutex);
	if (!next)
		return xa_load(&links, id);
	return xa_find_after(&links, &index, UINT_MAX, XA_PRESENT);
}

static DECLARE_WAIT_QUEUE_HEAD(detached);

void tramp_link_detach_member(struct tramp_link *link)
{
	lockdep_assert_held(&tramp_mutex);
	if (!link->member.point)
		return;
	WRITE_ONCE(link->busy, true);
	link->ops->detach(&link->member);
	WRITE_ONCE(link->busy, false);
	wake_up_all(&detached);
}

void tramp_link_wait_detached(struct tramp_link *link)
{
	wait_event_idle(detached, !READ_ONCE(link->busy));
}

static void detach_locked(struct tramp_link *link)
{
	if (!tramp_link_is_attached(link))
		return;
	tramp_link_detach_member(link);
	nr_attached--;
}

void tramp_link_count_one(int change)
{
	lockdep_assert_held(&tramp_mutex);
	nr_attached += change;
}

/* The core may have given the id to another link already. */
void tramp_link_forget(struct tramp_link *link)
{
	lockdep_assert_held(&tramp_mutex);
	xa_cmpxchg(&links, link->member.link_id, link, NULL, GFP_KERNEL);
}

int tramp_link_enter(struct tramp_link *link, struct tramp_refusal *why)
{
	lockdep_assert_held(&tramp_mutex);
	if (xa_err(xa_store(&links, link->member.link_id, link, GFP_KERNEL)))
		return tramp_refuse(why, TRAMP_REASON_NO_MEMORY, 0, NULL);
	return 0;
}

/*
 * Nobody can get the link by its id, which it is about to have; the core asks for a reference if
 * @id is not 0. The file that bpf_link_prime() makes has one, which nobody drops before show().
 */
static void hide(struct bpf_link *link)
{
	link->id = U32_MAX;
	atomic64_set(&link->refcnt, 0);
}

/* A reader that finds the reference finds the id as well. */
static void show(struct bpf_link *link, u32 id)
{
	/*
	 * The core reads the id before that, and asks only whether it is 0. As long as the link can
	 * be found, it never is.
	 */
	data_race(link->id = id);
	atomic64_set_release(&link->refcnt, 1);
}

void tramp_link_show(struct tramp_link *link)
{
	lockdep_assert_held(&tramp_mutex);
	show(&link->link, link->member.link_id);
}

void tramp_link_free(struct tramp_link *link)
{
	tramp_slot_put(link->member.slot);
	tramp_counts_put(link->member.counts);
	kmem_cache_free(cache, link);
}

static int link_detach(struct bpf_link *bpf_link)
{
	mutex_lock(&tramp_mutex);
	detach_locked(tramp_to_link(bpf_link));
	mutex_unlock(&tramp_mutex);
	tramp_link_wait_detached(tramp_to_link(bpf_link));
	return 0;
}

/* Put a program in the place of the link's, with a slot that becomes the member's. */
static int replace_prog(struct tramp_link *link, struct bpf_prog *new, struct tramp_slot *slot)
{
	struct bpf_prog *old = link->link.prog;
	struct tramp_refusal why = {};
	u8 kind;
	int err;

	if (new->type != old->type || new->expected_attach_type != old->expected_attach_type ||
	    new->aux->attach_btf != old->aux->attach_btf ||
	    new->aux->attach_btf_id != old->aux->attach_btf_id ||
	    link->ops->check_prog(new, &kind, NULL))
		return -EINVAL;
	slot->cookie = tramp_slot_cookie(link->member.slot);
	err = link->ops->replace(&link->member, slot, &why);
	if (err)
		return err;
	/*
	 * The core gave us its reference to the new one; the old one was ours. Images that run it
	 * have their own. The core reads this one without a lock for fdinfo, as with its links.
	 */
	bpf_prog_put(xchg(&link->link.prog, new));
	return 0;
}

static int link_update_prog(struct bpf_link *bpf_link, struct bpf_prog *new_prog,
			    struct bpf_prog *old_prog)
{
	struct tramp_link *link = tramp_to_link(bpf_link);
	struct tramp_refusal why = {};
	struct tramp_slot *slot;
	int err;

	/* To put another program here needs the same rights as to attach it. */
	err = tramp_may_attach(&why);
	if (err)
		return err;
	/* Not under the mutex: it waits for extensions of the program (prog/slot.c). */
	slot = tramp_slot_alloc(new_prog, link->member.counts, 0);
	if (!slot)
		return -ENOMEM;
	mutex_lock(&tramp_mutex);
	if (!tramp_link_is_attached(link)) {
		err = -ENOLINK;
	} else if (old_prog && bpf_link->prog != old_prog) {
		err = -EPERM;
	} else if (bpf_link->prog == new_prog) {
		bpf_prog_put(new_prog);
	} else {
		err = replace_prog(link, new_prog, slot);
		if (!err)
			slot = NULL;
	}
	mutex_unlock(&tramp_mutex);
	tramp_slot_put(slot);
	return err;
}

/* Symbol and offset, or nothing: %pS prints an address without a symbol as it is. */
static void show_place(const struct tramp_described *d, struct seq_file *seq)
{
	seq_printf(seq, "index:\t%u\n", d->index);
	if (d->nr_funcs) {
		seq_printf(seq, "funcs:\t%u\n", d->nr_funcs);
		return;
	}
	if (!d->instruction) {
		seq_printf(seq, "func:\t%s%s%s\n", d->module, *d->module ? ":" : "", d->name);
		return;
	}
	if (*d->name)
		seq_printf(seq, "place:\t%pS\n", (void *)(unsigned long)d->addr);
	else
		seq_puts(seq, "place:\t-\n");
	seq_printf(seq, "reason:\t%s\n", tramp_reason_name(d->reason));
}

static void link_show_fdinfo(const struct bpf_link *bpf_link, struct seq_file *seq)
{
	const struct tramp_link *link = tramp_to_link(bpf_link);
	struct tramp_described d;

	mutex_lock(&tramp_mutex);
	tramp_link_describe(link, &d);
	seq_printf(seq, "kind:\t%s\nmode:\t%s\nkey:\t%llu\n", tramp_kind_name(d.kind),
		   tramp_mode_name(d.mode), d.key);
	if (tramp_link_is_attached(link))
		show_place(&d, seq);
	seq_printf(seq, "cookie:\t%llu\nhits:\t%llu\nmisses:\t%llu\n", d.cookie, d.hits, d.misses);
	mutex_unlock(&tramp_mutex);
}

static int link_fill_info(const struct bpf_link *bpf_link, struct bpf_link_info *info)
{
	const struct tramp_link *link = tramp_to_link(bpf_link);

	return link->ops->fill_link_info(&link->member, info);
}

const struct bpf_link_ops tramp_link_ops = {
	.release = tramp_link_release,
	.dealloc = tramp_link_dealloc,
	.detach = link_detach,
	.update_prog = link_update_prog,
	.show_fdinfo = link_show_fdinfo,
	.fill_link_info = link_fill_info,
};

/*
 * The kind of place that a program goes to, if it can go to one: @ops, or that of its type and
 * the request's flags.
 */
static const struct tramp_point_ops *find_kind(const struct tramp_point_ops *ops,
					       const struct bpf_prog *prog, u32 flags, u8 *kind,
					       struct tramp_refusal *why)
{
	bool returns = flags & TRAMP_ATTACH_F_RETURN;
	int err;
	u32 i;

	for (i = 0; !ops && i < ARRAY_SIZE(kinds); i++) {
		if (kinds[i]->prog_type == prog->type && kinds[i]->returns == returns)
			ops = kinds[i];
	}
	if (ops && ops->prog_type == prog->type) {
		err = ops->check_prog(prog, kind, why);
		if (!err && !prog->jited && IS_ENABLED(CONFIG_BPF_JIT_ALWAYS_ON))
			err = tramp_refuse(why, TRAMP_REASON_PROG_NOT_JITED, 0, "%s",
					   prog->aux->name);
		return err ? ERR_PTR(err) : ops;
	}
	if (ops || returns)
		return ERR_PTR(tramp_refuse(why, TRAMP_REASON_PROG_TYPE, 0,
					    "program type %u %s, not kprobe (%u)", prog->type,
					    ops ? "at many functions" : "at a return",
					    BPF_PROG_TYPE_KPROBE));
	return ERR_PTR(tramp_refuse(why, TRAMP_REASON_PROG_TYPE, 0,
				    "program type %u, neither tracing (%u) nor kprobe (%u)",
				    prog->type, BPF_PROG_TYPE_TRACING, BPF_PROG_TYPE_KPROBE));
}

/* Everything of a link but its attachment. Its caller keeps the reference to @prog. */
static struct tramp_link *alloc_link(const struct tramp_point_ops *ops, struct bpf_prog *prog,
				     const struct tramp_attach *req, struct tramp_refusal *why)
{
	struct tramp_member *member;
	struct tramp_link *link;
	u8 kind;

	ops = find_kind(ops, prog, req->flags, &kind, why);
	if (IS_ERR(ops))
		return ERR_CAST(ops);
	link = kmem_cache_zalloc(cache, GFP_KERNEL);
	if (!link)
		return ERR_PTR(tramp_refuse(why, TRAMP_REASON_NO_MEMORY, 0, NULL));
	link->ops = ops;
	member = &link->member;
	member->kind = kind;
	member->counts = tramp_counts_alloc();
	if (member->counts)
		member->slot = tramp_slot_alloc(prog, member->counts, req->cookie);
	if (!member->slot) {
		tramp_link_free(link);
		return ERR_PTR(tramp_refuse(why, TRAMP_REASON_NO_MEMORY, 0, NULL));
	}
	refcount_set(&link->users, 1);
	KSYM(bpf_link_init)(&link->link, ops->link_type, &tramp_link_ops, prog);
	return link;
}

struct tramp_link *tramp_link_open(const struct tramp_point_ops *ops,
				   const struct tramp_attach *req,
				   struct bpf_link_primer *primer, struct tramp_refusal *why)
{
	struct tramp_link *link;
	struct bpf_prog *prog;
	int err;

	prog = KSYM(bpf_prog_get)(req->prog_fd);
	if (IS_ERR(prog))
		return ERR_PTR(tramp_refuse(why, TRAMP_REASON_BAD_PROG_FD, 0, "fd %d",
					    req->prog_fd));
	err = tramp_lsm_permits_link(prog, req->prog_fd, why);
	if (err)
		goto put_prog;
	link = alloc_link(ops, prog, req, why);
	if (IS_ERR(link)) {
		err = PTR_ERR(link);
		goto put_prog;
	}
	err = link->ops->prepare(&link->member, req, why);
	if (err)
		goto free_link;
	hide(&link->link);
	err = KSYM(bpf_link_prime)(&link->link, primer);
	if (err == -ENOMEM)
		tramp_refuse(why, TRAMP_REASON_NO_MEMORY, 0, NULL);
	if (err)
		goto free_link;
	__module_get(THIS_MODULE);	/* for dealloc(); the ioctl holds one */
	link->member.link_id = primer->id;
	return link;

free_link:
	tramp_link_free(link);
put_prog:
	bpf_prog_put(prog);
	return ERR_PTR(err);
}

void tramp_link_abandon(struct bpf_link_primer *primer)
{
	struct bpf_prog *prog = primer->link->prog;
	struct bpf_link *link = primer->link;
	struct file *file = primer->file;

	/* Drops fd, id and file; the release of the file calls dealloc() only. */
	get_file(file);
	KSYM(bpf_link_cleanup)(primer);
	/* Nobody finds it any more, and its id may be that of another link. */
	show(link, 0);
	fput(file);
	bpf_prog_put(prog);
}

/* Attach a link's member, and describe it. */
static int attach(struct tramp_link *link, const struct tramp_attach *req,
		  struct tramp_described *d, struct tramp_refusal *why)
{
	int err;

	mutex_lock(&tramp_mutex);
	err = link->ops->attach(&link->member, req, why);
	if (!err) {
		nr_attached++;
		tramp_link_describe(link, d);
	}
	mutex_unlock(&tramp_mutex);
	return err;
}

static int publish(struct tramp_link *link, struct tramp_refusal *why)
{
	int err;

	mutex_lock(&tramp_mutex);
	err = tramp_link_enter(link, why);
	if (!err)
		tramp_link_show(link);
	mutex_unlock(&tramp_mutex);
	return err;
}

int tramp_link_attach(const struct tramp_point_ops *ops, const struct tramp_attach *req,
		      tramp_link_reply_t *reply, void *arg, struct tramp_refusal *why)
{
	struct bpf_link_primer primer;
	struct tramp_described d;
	struct tramp_link *link;
	int err;

	link = tramp_link_open(ops, req, &primer, why);
	if (IS_ERR(link))
		return PTR_ERR(link);
	err = attach(link, req, &d, why);
	if (!err)
		err = reply(&d, primer.fd, arg) ?: publish(link, why);
	if (!err) {
		fd_install(primer.fd, primer.file);
		return 0;
	}
	mutex_lock(&tramp_mutex);
	detach_locked(link);
	mutex_unlock(&tramp_mutex);
	tramp_link_abandon(&primer);
	return err;
}

static int on_module(struct notifier_block *nb, unsigned long event, void *mod)
{
	u32 i;

	if (event != MODULE_STATE_GOING)
		return NOTIFY_DONE;
	mutex_lock(&tramp_mutex);
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (kinds[i]->module_gone)
			kinds[i]->module_gone(mod);
	}
	mutex_unlock(&tramp_mutex);
	return NOTIFY_OK;
}

static struct notifier_block module_block = {
	.notifier_call = on_module,
};

int __init tramp_link_cache_init(void)
{
	cache = KMEM_CACHE(tramp_link, 0);
	return cache ? 0 : -ENOMEM;
}

void tramp_link_cache_exit(void)
{
	tramp_cache_exit(cache);
}

int __init tramp_link_init(void)
{
	return register_module_notifier(&module_block);
}

void tramp_link_exit(void)
{
	unregister_module_notifier(&module_block);
}
