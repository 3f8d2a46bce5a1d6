// SPDX-License-Identifier: GPL-2.0
/*
 * Making, naming and retiring trampoline images.
 *
 * Memory and name are prog/exec.c's. Nobody can execute an image before its site is
 * switched.
 *
 * Writes to a published image are two. When an image retires, a jump over the
 * exit programs that are no longer attached. A NOP5 becomes a JMP by
 * bpf_arch_text_poke(), i.e. by int3 and text_poke_bp() under text_mutex: a
 * task that executes these bytes meanwhile sees the NOP, the int3 (whose handler
 * emulates the JMP) or the JMP. Tasks already past the NOP run the program once
 * more; the program is released only after the grace period that waits for them.
 * The programs that go on being attached are not jumped over: a call that entered
 * through this image is theirs, too, and must not be lost because another
 * program came or went. When one of them is detached later, it is left out of the
 * older images that calls are still in as well.
 *
 * And when a program is detached but there is no memory for an image without it,
 * its call is pointed at a function that does nothing, in the same way. The image
 * goes on being used, and holds on to the program, until the next change.
 */
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "base/cache.h"
#include "base/compat.h"
#include "prog/runtime.h"
#include "image.h"
#include "base/ksyms.h"
#include "target.h"

static int emit_error(enum tramp_x86_err err, const struct tramp_image_req *req,
		      struct tramp_refusal *why)
{
	switch (err) {
	case TRAMP_X86_OK:
		return 0;
	case TRAMP_X86_NO_SPACE:
		return tramp_refuse(why, TRAMP_REASON_IMAGE_LIMIT, req->func, NULL);
	case TRAMP_X86_OUT_OF_REACH:
		return tramp_refuse(why, TRAMP_REASON_OUT_OF_REACH, req->func, NULL);
	case TRAMP_X86_TOO_MANY_SLOTS:
		return tramp_refuse(why, TRAMP_REASON_TOO_MANY_ARGS, req->func, NULL);
	case TRAMP_X86_BAD_MODEL:
	case TRAMP_X86_BAD_REQUEST:
		break;
	}
	return tramp_refuse(why, TRAMP_REASON_ARG_TYPE, req->func, "emitter error %d", err);
}

static void free_struct(struct rcu_head *rcu)
{
	kmem_cache_free(tramp_image_cache, container_of(rcu, struct tramp_image, rcu));
}

void tramp_image_destroy(struct tramp_image *image)
{
	u32 i;

	tramp_died_forget(&image->died);
	tramp_exec_free(&image->exec);
	free_percpu(image->inflight);
	for (i = 0; i < image->nr_slots; i++)
		tramp_slot_put(image->slots[i]);
	kfree(image->slots);
	kfree(image->skip_off);
	kfree(image->skip_to);
	kfree(image->exit_state);
	kfree(image->call_off);
	/* Readers of kallsyms may still look at the name. */
	call_rcu(&image->rcu, free_struct);
}

/* Emit into @buf for address @addr, 0 for measuring. */
static int emit(struct tramp_image *image, const struct tramp_image_req *req,
		const struct tramp_x86_call *calls, u8 *buf, u32 len, unsigned long addr,
		struct tramp_refusal *why)
{
	const struct tramp_x86_fentry_req x86 = {
		.env = &tramp_env,
		.model = req->model,
		.func_addr = req->func,
		.orig = req->site + MCOUNT_INSN_SIZE,
		.inflight = (unsigned long)image->inflight,
		.check_rcu = req->check_rcu,
		.fentry = calls,
		.nr_fentry = req->nr_fentry,
		.fmod_ret = calls + req->nr_fentry,
		.nr_fmod_ret = req->nr_fmod_ret,
		.fexit = calls + req->nr_fentry + req->nr_fmod_ret,
		.nr_fexit = req->nr_fexit,
	};
	struct tramp_x86_fentry_out out = {
		.skip_off = image->skip_off,
		.skip_to = image->skip_to,
		.call_off = image->call_off,
	};
	int err;

	err = emit_error(tramp_x86_emit_fentry(&x86, buf, len, addr, &out), req, why);
	image->exec.size = out.size;
	image->after_call = out.after_call;
	return err;
}

/* Whether a task can sleep in the image: in the original, or in a program. */
static bool can_sleep_in(const struct tramp_image_req *req, const struct tramp_x86_call *calls,
			 u32 nr)
{
	u32 i;

	if (req->nr_fmod_ret || req->nr_fexit)
		return true;
	for (i = 0; i < nr; i++) {
		if (calls[i].flags & TRAMP_X86_CALL_GUARDED)
			return true;
	}
	return false;
}

struct tramp_image *tramp_image_create(const struct tramp_image_req *req,
				       struct tramp_refusal *why)
{
	u32 i, nr = req->nr_fentry + req->nr_fmod_ret + req->nr_fexit;
	struct tramp_x86_call *calls = NULL;
	struct tramp_image *image;
	u8 *buf = NULL;
	int err;

	image = kmem_cache_zalloc(tramp_image_cache, GFP_KERNEL);
	if (!image)
		return ERR_PTR(tramp_refuse(why, TRAMP_REASON_NO_MEMORY, 0, NULL));
	INIT_LIST_HEAD(&image->older);
	image->index = req->index;
	image->describe = req->call;
	image->slots = kcalloc(nr, sizeof(*image->slots), GFP_KERNEL);
	image->call_off = kcalloc(2 * nr, sizeof(u32), GFP_KERNEL);
	calls = kvcalloc(nr, sizeof(*calls), GFP_KERNEL);
	buf = kvmalloc(TRAMP_X86_MAX_IMAGE, GFP_KERNEL);
	if (req->nr_fexit) {
		image->skip_off = kcalloc(req->nr_fexit, sizeof(u32), GFP_KERNEL);
		image->skip_to = kcalloc(req->nr_fexit, sizeof(u32), GFP_KERNEL);
		image->exit_state = kzalloc(req->nr_fexit, GFP_KERNEL);
	}
	if (!image->slots || !image->call_off || !calls || !buf ||
	    (req->nr_fexit && (!image->skip_off || !image->skip_to || !image->exit_state)))
		goto no_memory;

	for (i = 0; i < nr; i++) {
		image->slots[i] = tramp_slot_get(req->slots[i]);
		req->call(req->slots[i], &calls[i]);
	}
	image->nr_slots = nr;
	image->nr_fexit = req->nr_fexit;

	if (can_sleep_in(req, calls, nr)) {
		image->inflight = alloc_percpu(u64);
		if (!image->inflight)
			goto no_memory;
	}

	err = emit(image, req, calls, buf, TRAMP_X86_MAX_IMAGE, 0, why);
	if (err)
		goto fail;
	err = tramp_exec_alloc(&image->exec, image->exec.size, why);
	if (err)
		goto fail;
	err = emit(image, req, calls, buf, image->exec.size, image->exec.code, why);
	if (err)
		goto fail;
	err = tramp_exec_publish(&image->exec, buf, req->key, req->index, why);
	if (err)
		goto fail;
	image->target = req->target;
	if (image->after_call)
		tramp_died_watch(&image->died, image->exec.code + image->after_call);
	kvfree(buf);
	kvfree(calls);
	return image;

no_memory:
	err = tramp_refuse(why, TRAMP_REASON_NO_MEMORY, 0, NULL);
fail:
	kvfree(buf);
	kvfree(calls);
	tramp_image_destroy(image);
	return ERR_PTR(err);
}

void tramp_image_mute(struct tramp_image *image, const struct tramp_slot *slot)
{
	struct tramp_x86_call call;
	u32 i;

	for (i = 0; i < image->nr_slots; i++) {
		if (image->slots[i] != slot)
			continue;
		image->describe(image->slots[i], &call);
		tramp_exec_mute(&image->exec, image->call_off + 2 * i, call.func);
	}
}

static struct tramp_image *to_image(struct tramp_retire *r)
{
	return container_of(r, struct tramp_image, retire);
}

static bool has_guarded(const struct tramp_image *image)
{
	u32 i;

	for (i = 0; i < image->nr_slots; i++) {
		if (image->slots[i] && (image->slots[i]->call_flags & TRAMP_X86_CALL_GUARDED))
			return true;
	}
	return false;
}

/*
 * A grace period begins: what has been left out by now will not be called any
 * more when it ends, and no entry program either.
 */
static void image_before(struct tramp_retire *r)
{
	struct tramp_image *image = to_image(r);
	u32 i;

	mutex_lock(&tramp_mutex);
	image->aged = true;
	for (i = 0; i < image->nr_fexit; i++) {
		if (image->exit_state[i] == TRAMP_EXIT_LEFT_OUT)
			image->exit_state[i] = TRAMP_EXIT_AGED;
	}
	mutex_unlock(&tramp_mutex);
}

/*
 * No task can enter any more. All that did have run their entry programs, and are
 * past the exit programs' patched NOPs or will see the jumps. Let go of those
 * programs now, however long somebody sleeps in the original. Not so where a
 * program itself may sleep: then a task may still be on its way through all of
 * them.
 */
static void image_after(struct tramp_retire *r)
{
	struct tramp_image *image = to_image(r);
	u32 i, first_exit = image->nr_slots - image->nr_fexit;

	mutex_lock(&tramp_mutex);
	for (i = 0; i < image->nr_slots && !has_guarded(image); i++) {
		if (i >= first_exit ? image->exit_state[i - first_exit] != TRAMP_EXIT_AGED :
				      !image->aged)
			continue;
		tramp_slot_put(image->slots[i]);
		image->slots[i] = NULL;
	}
	mutex_unlock(&tramp_mutex);
}

static bool image_drained(struct tramp_retire *r)
{
	struct tramp_image *image = to_image(r);
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(*per_cpu_ptr(image->inflight, cpu));
	/* Those who have died inside are in the sum for ever. */
	return sum == tramp_died_nr(&image->died);
}

static void image_free(struct tramp_retire *r)
{
	struct tramp_image *image = to_image(r);
	struct tramp_target *target = image->target;

	tramp_exec_count_retiring(-1);
	mutex_lock(&tramp_mutex);
	list_del(&image->older);
	mutex_unlock(&tramp_mutex);
	tramp_image_destroy(image);
	if (target)
		tramp_target_put(target);
}

static const struct tramp_retire_ops plain_ops = {
	.free = image_free,
};

static const struct tramp_retire_ops inflight_ops = {
	.before = image_before,
	.after = image_after,
	.drained = image_drained,
	.free = image_free,
};

/* Patch the jump over exit program @i. */
static void leave_out(struct tramp_image *image, u32 i)
{
	int err;

	err = KSYM(bpf_arch_text_poke)((void *)(image->exec.code + image->skip_off[i]),
				       BPF_MOD_JUMP, NULL,
				       (void *)(image->exec.code + image->skip_to[i]));
	/*
	 * Fails only if the bytes are not what we wrote there. Then late returns
	 * run the program once more, and the slot stays with the image.
	 */
	if (!WARN_ON_ONCE(err))
		image->exit_state[i] = TRAMP_EXIT_LEFT_OUT;
}

void tramp_image_leave_out(struct tramp_image *image, const struct tramp_counts *counts)
{
	u32 i, first_exit = image->nr_slots - image->nr_fexit;

	for (i = 0; i < image->nr_fexit; i++) {
		if (image->exit_state[i] == TRAMP_EXIT_LIVE &&
		    image->slots[first_exit + i]->counts == counts)
			leave_out(image, i);
	}
}

void tramp_image_retire(struct tramp_image *image,
			bool (*keep)(const struct tramp_slot *slot, void *arg), void *arg)
{
	u32 i, first_exit = image->nr_slots - image->nr_fexit;

	for (i = 0; i < image->nr_fexit; i++) {
		if (!keep || !keep(image->slots[first_exit + i], arg))
			leave_out(image, i);
	}
	if (image->target && image->inflight)
		list_add(&image->older, &image->target->older);
	tramp_exec_count_retiring(1);
	/* Nobody else calls the self-test's function. */
	image->retire.holds_module = image->inflight && image->target;
	tramp_retire_add(&image->retire, image->inflight ? &inflight_ops : &plain_ops);
}
