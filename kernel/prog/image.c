// SPDX-License-Identifier: GPL-2.0
/*
 * Making, muting and retiring images, of whichever kind.
 *
 * The memory comes from the kernel's own BPF pack allocator. Several images share a page.
 * The page is never writable and executable at once. Unused bytes are int3. An image is
 * emitted into an ordinary buffer and written by text_poke_copy(), through a temporary mapping
 * of the patching CPU alone. Nobody can execute it before something leads there, which is after
 * it was published, so no cross-modification rules apply to that write.
 *
 * The name in kallsyms comes with struct bpf_ksym (image_name.c), which also tells the unwinder
 * and the exception code that the range is text.
 *
 * When nothing leads there any more it goes to the retire worker (base/retire.c), whose grace
 * period says when nobody is left inside. For an image in which a task may sleep, the count of
 * calls inside says so as well.
 */
#include <linux/cpu.h>
#include <linux/perf_event.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <asm/text-patching.h>
#include "base/compat.h"
#include "base/ksyms.h"
#include "image.h"
#include "image_name.h"
#include "runtime.h"

static atomic_t nr_images = ATOMIC_INIT(0);
static atomic_t nr_retiring = ATOMIC_INIT(0);
static atomic64_t image_bytes = ATOMIC64_INIT(0);

void tramp_image_totals(u32 *images, u32 *retiring, u64 *bytes)
{
	*retiring = atomic_read(&nr_retiring);
	/* One that has just been freed counts as retiring for a moment. */
	*images = max_t(u32, atomic_read(&nr_images), *retiring);
	*bytes = atomic64_read(&image_bytes);
}

int tramp_image_error(enum tramp_x86_err err, unsigned long addr, struct tramp_refusal *why)
{
	switch (err) {
	case TRAMP_X86_OK:
		return 0;
	case TRAMP_X86_NO_SPACE:
		return tramp_refuse(why, TRAMP_REASON_IMAGE_LIMIT, addr, NULL);
	case TRAMP_X86_OUT_OF_REACH:
		return tramp_refuse(why, TRAMP_REASON_OUT_OF_REACH, addr, NULL);
	case TRAMP_X86_TOO_MANY_SLOTS:
		return tramp_refuse(why, TRAMP_REASON_TOO_MANY_ARGS, addr, NULL);
	case TRAMP_X86_BAD_MODEL:
	case TRAMP_X86_BAD_REQUEST:
		break;
	}
	return tramp_refuse(why, TRAMP_REASON_ARG_TYPE, addr, "emitter error %d", err);
}

static void fill_int3(void *area, unsigned int size)
{
	memset(area, 0xcc, size);
}

/* The allocator may want to have a head in front of the code: how long the allocation is. */
#define HEAD	(TRAMP_PACK_HEADER ? sizeof(struct bpf_binary_header) : 0)
/* The kernel takes the address behind an image for a part of it (bpf_tree_comp()): no other's. */
#define BEHIND	1

static int exec_alloc(struct tramp_exec *exec, struct tramp_refusal *why)
{
	u32 size = HEAD + exec->size + BEHIND;
	void *mem = KSYM(bpf_prog_pack_alloc)(TRAMP_PACK_ALLOC_ARGS(size, fill_int3));

	if (!mem)
		return tramp_refuse(why, TRAMP_REASON_NO_EXEC_MEMORY, 0, NULL);
	exec->code = (unsigned long)mem + HEAD;
#if TRAMP_PACK_HEADER
	if (!KSYM(text_poke_copy)(mem, &size, sizeof(size)))
		return tramp_refuse(why, TRAMP_REASON_NO_EXEC_MEMORY, exec->code, NULL);
#endif
	return 0;
}

static void notify_perf(struct tramp_exec *exec, bool gone)
{
	if (tramp_ksyms.has_perf_event_ksymbol)
		KSYM(perf_event_ksymbol)(PERF_RECORD_KSYMBOL_TYPE_BPF, exec->ksym->start,
					 exec->size, gone, exec->ksym->name);
}

/* Write the code, which was emitted for this memory, and name it. */
static int exec_publish(struct tramp_exec *exec, const u8 *buf, u64 key, u32 index,
			struct tramp_refusal *why)
{
	struct bpf_ksym *ksym = tramp_image_name_alloc();

	if (!ksym)
		return tramp_refuse(why, TRAMP_REASON_NO_MEMORY, 0, NULL);
	exec->ksym = ksym;
	if (!KSYM(text_poke_copy)((void *)exec->code, (void *)buf, exec->size))
		return tramp_refuse(why, TRAMP_REASON_NO_EXEC_MEMORY, exec->code, NULL);

	INIT_LIST_HEAD_RCU(&ksym->lnode);
	ksym->start = exec->code;
	ksym->end = exec->code + exec->size;
	snprintf(ksym->name, TRAMP_IMAGE_NAME_LEN, "trampoline_%llu_%u", key, index);
	KSYM(bpf_ksym_add)(ksym);
	exec->named = true;
	notify_perf(exec, false);
	atomic_inc(&nr_images);
	atomic64_add(exec->size, &image_bytes);
	return 0;
}

/* Readers of kallsyms may still look at the name. */
static void exec_unname(struct tramp_exec *exec)
{
	if (!exec->named)
		return;
	exec->named = false;
	KSYM(bpf_ksym_del)(exec->ksym);
	notify_perf(exec, true);
}

/* Nobody is in it, nor can be: tramp_image_destroy()'s caller has seen to that. */
static void exec_free(struct tramp_exec *exec)
{
	exec_unname(exec);
	if (exec->ksym && exec->ksym->start) {
		atomic_dec(&nr_images);
		atomic64_sub(exec->size, &image_bytes);
	}
	if (!exec->code)
		return;
#if TRAMP_PACK_HEADER
	KSYM(bpf_prog_pack_free)((void *)exec->code - HEAD);
#else
	KSYM(bpf_prog_pack_free)((void *)exec->code, exec->size + BEHIND);
#endif
}

static u32 room_of(const struct tramp_image_kind *kind)
{
	return kind->room ?: TRAMP_X86_MAX_IMAGE;
}

/*
 * Where an image is emitted before it has its place. The buffer stays: kernels that clear all
 * memory they give out need as long for a new one as for an image of a few hundred bytes.
 */
static u8 *draft;	/* tramp_mutex */
static u32 draft_size;	/* tramp_mutex */

static u8 *get_draft(u32 size)
{
	if (size > draft_size) {
		kvfree(draft);
		draft = kvmalloc(size, GFP_KERNEL);
		draft_size = draft ? size : 0;
	}
	return draft;
}

void tramp_image_exit(void)
{
	kvfree(draft);
}

/* Emit twice: for the size, which does not depend on the address, and for the address. */
static int emit(struct tramp_image *image, const struct tramp_image_req *req, const void *arg,
		const struct tramp_x86_call *calls, u8 *buf, struct tramp_refusal *why)
{
	const struct tramp_image_kind *kind = image->kind;
	u32 size;
	int err;

	err = kind->emit(image, arg, calls, buf, room_of(kind), 0, why);
	size = image->exec.size;
	if (!err)
		err = exec_alloc(&image->exec, why);
	if (!err)
		err = kind->emit(image, arg, calls, buf, image->exec.size, image->exec.code, why);
	/* That of the allocation, also if something fails from here on. */
	image->exec.size = size;
	if (!err)
		err = exec_publish(&image->exec, buf, req->key, req->index, why);
	return err;
}

u64 tramp_image_new_key(void)
{
	static u64 last = TRAMP_IMAGE_KEY;

	lockdep_assert_held(&tramp_mutex);
	return ++last;
}

/* Most images have one program. Its offsets take no allocation. */
static bool make_offs(struct tramp_image *image)
{
	u32 nr = tramp_image_nr_offs(image);

	if (nr <= ARRAY_SIZE(image->one_off))
		return true;
	image->call_off = kcalloc(nr, sizeof(u32), GFP_KERNEL);
	return image->call_off;
}

static void free_offs(struct tramp_image *image)
{
	if (image->set && tramp_image_nr_offs(image) > ARRAY_SIZE(image->one_off))
		kfree(image->call_off);
}

struct tramp_image *tramp_image_create(const struct tramp_image_kind *kind,
				       const struct tramp_image_req *req, const void *arg,
				       struct tramp_refusal *why)
{
	struct tramp_image *image = kmem_cache_zalloc(kind->cache, GFP_KERNEL);
	struct tramp_x86_call *calls = NULL;
	bool has_offs = false;
	u8 *buf = NULL;
	int err;
	u32 i;

	lockdep_assert_held(&tramp_mutex);
	if (!image)
		return ERR_PTR(tramp_refuse(why, TRAMP_REASON_NO_MEMORY, 0, NULL));
	image->kind = kind;
	image->set = tramp_set_collect(req->members);
	if (image->set) {
		image->set->nr_twice = req->nr_twice;
		has_offs = make_offs(image);
		calls = kvcalloc(image->set->nr, sizeof(*calls), GFP_KERNEL);
		buf = get_draft(room_of(kind));
	}
	if (has_offs && calls && buf) {
		for (i = 0; i < image->set->nr; i++)
			req->describe(image->set->slots[i], &calls[i]);
		err = kind->prepare(image, arg, why) ?:
		      emit(image, req, arg, calls, buf, why);
	} else {
		err = tramp_refuse(why, TRAMP_REASON_NO_MEMORY, 0, NULL);
	}
	kvfree(calls);
	if (!err)
		return image;
	tramp_image_destroy(image);
	return ERR_PTR(err);
}

static void free_struct(struct rcu_head *rcu)
{
	struct tramp_image *image = container_of(rcu, struct tramp_image, rcu);

	tramp_image_name_free(image->exec.ksym);
	kmem_cache_free(image->kind->cache, image);
}

void tramp_image_destroy(struct tramp_image *image)
{
	if (image->kind->release)
		image->kind->release(image);
	exec_free(&image->exec);
	free_offs(image);
	tramp_set_free(image->set);
	call_rcu(&image->rcu, free_struct);
}

void tramp_image_let_go(struct tramp_image *image)
{
	exec_unname(&image->exec);
	tramp_set_put_slots(image->set);
}

void tramp_image_retired(struct tramp_image *image)
{
	tramp_image_destroy(image);
	/* When none is waiting any more all have been freed. */
	smp_mb__before_atomic();
	atomic_dec(&nr_retiring);
}

static void plain_free(struct tramp_retire *r)
{
	tramp_image_retired(container_of(r, struct tramp_image, retire));
}

void tramp_image_retire(struct tramp_image *image, const struct tramp_retire_ops *ops)
{
	static const struct tramp_retire_ops plain_ops = { .free = plain_free };

	lockdep_assert_held(&tramp_mutex);
	atomic_inc(&nr_retiring);
	tramp_retire_add(&image->retire, ops ?: &plain_ops);
}

int tramp_image_poke(unsigned long at, enum bpf_text_poke_type type, void *from, void *to)
{
	int err;

	lockdep_assert_held(&tramp_mutex);
	cpus_read_lock();
	err = KSYM(bpf_arch_text_poke)((void *)at, type, from, to);
	cpus_read_unlock();
	return err;
}

/* The function that the image calls at @call. */
static void *called(unsigned long call)
{
	return (void *)call + CALL_INSN_SIZE + *(const s32 *)(call + 1);
}

void tramp_image_mute(struct tramp_image *image, struct tramp_slot *slot)
{
	u32 i, prog, nr = image->set->nr, *offs = tramp_image_call_off(image);
	unsigned long call;

	lockdep_assert_held(&tramp_mutex);
	for (i = 0; i < tramp_image_nr_offs(image); i++) {
		call = image->exec.code + offs[i];
		prog = i / 2 < nr ? i / 2 : i / 2 - image->set->nr_twice;
		if (image->set->slots[prog] != slot || !offs[i])
			continue;
		/* Fails only if there is no call. */
		WARN_ON_ONCE(tramp_image_poke(call, BPF_MOD_CALL, called(call), tramp_x_nothing));
	}
}
