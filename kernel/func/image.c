// SPDX-License-Identifier: GPL-2.0
/*
 * Entry and exit images: what they are made of, and how they retire.
 *
 * Nobody can execute an image before its site is switched. Besides being muted
 * (prog/image.c), a published image is written to when it retires: jumps over the exit
 * programs that are no longer attached (skip.c). Tasks that are already past such a jump's place
 * run the program once more; the program is released only after the grace period that
 * waits for them.
 *
 * Programs that stay attached are not jumped over. A call that entered through this image is
 * theirs too, and must not be lost because another program came or went. When a program is
 * detached later, it is also left out of the older images that calls are still in.
 */
#include <linux/slab.h>
#include "base/cache.h"
#include "base/ksyms.h"
#include "image.h"
#include "prog/runtime.h"
#include "skip.h"
#include "target.h"

static struct tramp_func_image *to_func(struct tramp_image *image)
{
	return container_of(image, struct tramp_func_image, image);
}

static struct tramp_func_image *to_retired(struct tramp_retire *r)
{
	return container_of(r, struct tramp_func_image, image.retire);
}

/* Exit programs are the last ones. */
static u32 nr_exits(const struct tramp_func_image *image)
{
	return image->inside ? image->inside->nr_exits : 0;
}

static u32 first_exit(const struct tramp_func_image *image)
{
	return image->image.set->nr - nr_exits(image);
}

static bool has_guarded(const struct tramp_set *set)
{
	u32 i;

	for (i = 0; i < set->nr; i++) {
		if (set->slots[i] && (set->slots[i]->call_flags & TRAMP_X86_CALL_GUARDED))
			return true;
	}
	return false;
}

/* For an image with @nr_exits exit programs that a task can sleep in. */
static struct tramp_func_inside *alloc_inside(u32 nr_exits)
{
	struct tramp_func_inside *in;

	in = kzalloc(struct_size(in, room, 3 * nr_exits), GFP_KERNEL);
	if (!in)
		return NULL;
	in->inflight = alloc_percpu(u64);
	if (!in->inflight) {
		kfree(in);
		return NULL;
	}
	in->nr_exits = nr_exits;
	in->exit_state = in->room;
	in->skip_off = in->exit_state + nr_exits;
	in->skip_to = in->skip_off + nr_exits;
	return in;
}

static int func_prepare(struct tramp_image *base, const void *arg, struct tramp_refusal *why)
{
	struct tramp_func_image *image = to_func(base);
	const struct tramp_func_image_req *req = arg;
	u32 nr = req->nr[TRAMP_LIST_FEXIT] + req->nr[TRAMP_LIST_KRET] +
		 req->nr[TRAMP_LIST_SESSION];

	image->target = req->target;
	image->gone = req->gone;
	/* Their target holds it, too. Of many functions multi/ holds the modules. */
	if (req->func && base->set->nr > req->nr[TRAMP_LIST_KPROBE])
		image->module = req->func->owner;
	__module_get(image->module);
	/* In the original, or in a program. */
	if (!nr && !req->nr[TRAMP_LIST_FMOD_RET] && !has_guarded(base->set))
		return 0;
	image->inside = alloc_inside(nr);
	if (!image->inside)
		return tramp_refuse(why, TRAMP_REASON_NO_MEMORY, 0, NULL);
	image->inside->image = image;
	return 0;
}

static void func_release(struct tramp_image *base)
{
	struct tramp_func_image *image = to_func(base);

	module_put(image->module);
	if (!image->inside)
		return;
	/* Before the code goes: another image may be at that address next. */
	tramp_died_forget(&image->inside->died);
	free_percpu(image->inside->inflight);
	/* A task that dies on another CPU may be at it, on its way to others of the table. */
	kfree_rcu(image->inside, rcu);
}

/* Where in an image's set the programs of a kind begin. */
static u32 first_of(const u8 *nr, enum tramp_list list)
{
	u32 first = 0;

	while (list)
		first += nr[--list];
	return first;
}

/* The members of pt_regs that those of a kind, kprobe programs, read. */
static u32 regs_of(const struct tramp_set *set, const u8 *nr, enum tramp_list list)
{
	return tramp_set_regs(set, first_of(nr, list), nr[list]);
}

static int func_emit(struct tramp_image *base, const void *arg,
		     const struct tramp_x86_call *calls, u8 *buf, u32 len, unsigned long addr,
		     struct tramp_refusal *why)
{
	struct tramp_func_image *image = to_func(base);
	const struct tramp_func_image_req *req = arg;
	struct tramp_func_inside *in = image->inside;
	const u8 *nr = req->nr;
	struct tramp_x86_fentry_req x86 = {
		.env = &tramp_env,
		.inflight = in ? (unsigned long)in->inflight : 0,
		.many = !req->func,
		.regs = regs_of(base->set, nr, TRAMP_LIST_KPROBE) |
			regs_of(base->set, nr, TRAMP_LIST_SESSION),
		.ret_regs = regs_of(base->set, nr, TRAMP_LIST_KRET) |
			    regs_of(base->set, nr, TRAMP_LIST_SESSION),
		.kprobe = calls + first_of(nr, TRAMP_LIST_KPROBE),
		.fentry = calls + first_of(nr, TRAMP_LIST_FENTRY),
		.fmod_ret = calls + first_of(nr, TRAMP_LIST_FMOD_RET),
		.fexit = calls + first_of(nr, TRAMP_LIST_FEXIT),
		.kret = calls + first_of(nr, TRAMP_LIST_KRET),
		.session = calls + first_of(nr, TRAMP_LIST_SESSION),
		.nr_kprobe = nr[TRAMP_LIST_KPROBE],
		.nr_fentry = nr[TRAMP_LIST_FENTRY],
		.nr_fmod_ret = nr[TRAMP_LIST_FMOD_RET],
		.nr_fexit = nr[TRAMP_LIST_FEXIT],
		.nr_kret = nr[TRAMP_LIST_KRET],
		.nr_session = nr[TRAMP_LIST_SESSION],
	};
	struct tramp_x86_fentry_out out = {
		.skip_off = in ? in->skip_off : NULL,
		.skip_to = in ? in->skip_to : NULL,
		.call_off = tramp_image_call_off(base),
	};
	enum tramp_x86_err err;

	if (req->func) {
		x86.model = &req->func->model;
		x86.func_addr = req->func->addr;
		x86.site = req->func->site;
		x86.orig = req->func->site + MCOUNT_INSN_SIZE;
		x86.check_rcu = req->func->idle;
	}
	err = tramp_x86_emit_fentry(&x86, buf, len, addr, &out);
	base->exec.size = out.size;
	if (in)
		in->after_call = out.after_call;
	return tramp_image_error(err, x86.func_addr, why);
}

static struct tramp_image_kind func_kind __ro_after_init = {
	.prepare = func_prepare,
	.emit = func_emit,
	.release = func_release,
};

struct tramp_func_image *tramp_func_image_create(const struct tramp_func_image_req *req,
						 struct tramp_refusal *why)
{
	struct tramp_image *base = tramp_image_create(&func_kind, &req->image, req, why);
	struct tramp_func_image *image;

	if (IS_ERR(base))
		return ERR_CAST(base);
	image = to_func(base);
	if (image->inside && image->inside->after_call)
		tramp_died_watch(&image->inside->died,
				 base->exec.code + image->inside->after_call);
	return image;
}

/*
 * A grace period begins. When it ends, nobody calls the programs that have been left out
 * by now, nor the entry programs.
 */
static void image_before(struct tramp_retire *r)
{
	struct tramp_func_inside *in = to_retired(r)->inside;
	u32 i;

	for (i = 0; i < in->nr_exits; i++) {
		if (in->exit_state[i] == TRAMP_EXIT_LEFT_OUT)
			in->exit_state[i] = TRAMP_EXIT_AGED;
	}
}

/*
 * No task can enter any more. Every task inside has run the entry programs, and is past the
 * exit programs' patched NOPs or will see the jumps. Let go of those programs now, however
 * long somebody sleeps in the original. Not so where a program itself may sleep: then a task
 * may still be on its way through all of them. The worker alone changes the list of those that
 * drain, so before() has seen each image that comes here.
 */
static void image_after(struct tramp_retire *r)
{
	struct tramp_func_image *image = to_retired(r);
	struct tramp_set *set = image->image.set;
	u32 i, exits = first_exit(image);

	for (i = 0; i < set->nr && !has_guarded(set); i++) {
		if (i >= exits && image->inside->exit_state[i - exits] != TRAMP_EXIT_AGED)
			continue;
		tramp_slot_put(set->slots[i]);
		set->slots[i] = NULL;
	}
}

static bool image_drained(struct tramp_retire *r)
{
	struct tramp_func_inside *in = to_retired(r)->inside;
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(*per_cpu_ptr(in->inflight, cpu));
	/* Calls in which the task has died are in the sum for ever. */
	return sum == tramp_died_nr(&in->died);
}

/*
 * Nobody executes in the function's module by way of the image any more. Since 6.2 programs of
 * tracing type hold that as well. The name goes before the target, whose next one may have it.
 */
static void image_let_go(struct tramp_retire *r)
{
	struct tramp_func_image *image = to_retired(r);

	if (image->inside)
		hlist_del_init(&image->inside->older);
	tramp_image_let_go(&image->image);
	if (image->target)
		tramp_target_put(image->target);
	if (image->gone)
		image->gone->gone(image->gone);
	module_put(image->module);
	image->target = NULL;
	image->gone = NULL;
	image->module = NULL;
}

static void image_free(struct tramp_retire *r)
{
	tramp_image_retired(&to_retired(r)->image);
}

static const struct tramp_retire_ops plain_ops = {
	.let_go = image_let_go,
	.free = image_free,
};

static const struct tramp_retire_ops inflight_ops = {
	.before = image_before,
	.after = image_after,
	.drained = image_drained,
	.let_go = image_let_go,
	.free = image_free,
	.holds_module = true,
};

/* Only the self-test calls its function. */
static const struct tramp_retire_ops selftest_ops = {
	.before = image_before,
	.after = image_after,
	.drained = image_drained,
	.let_go = image_let_go,
	.free = image_free,
};

void tramp_func_image_leave_out(struct tramp_func_image *image,
				const struct tramp_counts *counts)
{
	struct tramp_slot **exits = image->image.set->slots + first_exit(image);
	u32 i;

	lockdep_assert_held(&tramp_mutex);
	for (i = 0; i < nr_exits(image); i++) {
		if (image->inside->exit_state[i] == TRAMP_EXIT_LIVE && exits[i]->counts == counts)
			tramp_func_skip(image, i);
	}
}

void tramp_func_image_retire(struct tramp_func_image *image,
			     const struct tramp_func_image *next,
			     const struct tramp_slot *replaced)
{
	struct tramp_slot **exits = image->image.set->slots + first_exit(image);
	const struct tramp_retire_ops *ops = &inflight_ops;
	u32 i;

	lockdep_assert_held(&tramp_mutex);
	for (i = 0; i < nr_exits(image); i++) {
		if (exits[i] != replaced && !(next && tramp_set_has(next->image.set, exits[i])))
			tramp_func_skip(image, i);
	}
	if (image->target && image->inside)
		hlist_add_head(&image->inside->older, &image->target->older);
	if (!image->inside)
		ops = &plain_ops;
	else if (!image->target && !image->gone)
		ops = &selftest_ops;
	tramp_image_retire(&image->image, ops);
}

int __init tramp_func_image_init(void)
{
	static_assert(!offsetof(struct tramp_func_image, image));
	func_kind.cache = KMEM_CACHE(tramp_func_image, 0);
	return func_kind.cache ? 0 : -ENOMEM;
}

void tramp_func_image_exit(void)
{
	tramp_cache_exit(func_kind.cache);
}
