// SPDX-License-Identifier: GPL-2.0
/*
 * Detour buffers: made, named, muted, retired.
 *
 * Nobody sleeps in one: programs of probes do not, and the original instructions
 * that are executed there do not return to it. So one RCU-tasks grace period after
 * nothing leads there any more, nobody is inside.
 */
#include <linux/slab.h>
#include "base/cache.h"
#include "base/compat.h"
#include "prog/runtime.h"
#include "base/ksyms.h"
#include "probe.h"
#include "x86/detour_image.h"
#include "x86/relocate.h"

static int emit_error(enum tramp_x86_err err, const struct tramp_x86_detour_out *out,
		      unsigned long addr, struct tramp_refusal *why)
{
	if (!err)
		return 0;
	if (err == TRAMP_X86_NO_SPACE)
		return tramp_refuse(why, TRAMP_REASON_IMAGE_LIMIT, addr, NULL);
	if (out->reloc == TRAMP_X86_RELOC_FIXED || out->reloc == TRAMP_X86_RELOC_RSP)
		return tramp_refuse(why, TRAMP_REASON_INSN_FIXED, addr, NULL);
	return tramp_refuse(why, TRAMP_REASON_OUT_OF_REACH, addr, NULL);
}

/* Emit into @buf for address @code, 0 for measuring. */
static int emit(struct tramp_probe_image *image, const struct tramp_probe *probe,
		const struct tramp_x86_call *calls, u8 *buf, u32 len, unsigned long code,
		struct tramp_refusal *why)
{
	const struct tramp_x86_detour_req req = {
		.env = &tramp_env,
		.ip = probe->addr,
		.code = probe->orig,
		.len = image->len,
		.progs = calls,
		.nr_progs = image->nr,
		.regs = image->regs,
	};
	struct tramp_x86_detour_out out = { .call_off = image->call_off };
	enum tramp_x86_err err = tramp_x86_emit_detour(&req, buf, len, code, &out);

	image->exec.size = out.size;
	image->copy = code + out.copy_off;
	return emit_error(err, &out, probe->addr, why);
}

struct tramp_probe_image *tramp_probe_image_create(const struct tramp_probe *probe, u32 len,
						   struct tramp_slot **slots, u32 nr, u32 index,
						   tramp_describe_t *describe,
						   struct tramp_refusal *why)
{
	struct tramp_probe_image *image = kmem_cache_zalloc(tramp_probe_image_cache, GFP_KERNEL);
	struct tramp_x86_call *calls = NULL;
	u8 *buf = NULL;
	int err;
	u32 i;

	if (!image)
		return ERR_PTR(tramp_refuse(why, TRAMP_REASON_NO_MEMORY, 0, NULL));
	image->len = len;
	image->slots = kcalloc(nr, sizeof(*image->slots), GFP_KERNEL);
	image->call_off = kcalloc(2 * nr, sizeof(u32), GFP_KERNEL);
	calls = kvcalloc(nr, sizeof(*calls), GFP_KERNEL);
	buf = kvmalloc(TRAMP_X86_MAX_IMAGE, GFP_KERNEL);
	if (!image->slots || !image->call_off || !calls || !buf) {
		err = tramp_refuse(why, TRAMP_REASON_NO_MEMORY, 0, NULL);
		goto fail;
	}
	for (i = 0; i < nr; i++) {
		image->slots[i] = tramp_slot_get(slots[i]);
		describe(slots[i], &calls[i]);
		image->regs |= slots[i]->regs;
	}
	image->nr = nr;

	err = emit(image, probe, calls, buf, TRAMP_X86_MAX_IMAGE, 0, why);
	if (!err)
		err = tramp_exec_alloc(&image->exec, image->exec.size, why);
	if (!err)
		err = emit(image, probe, calls, buf, image->exec.size, image->exec.code, why);
	if (!err)
		err = tramp_exec_publish(&image->exec, buf, probe->key, index, why);
	if (err)
		goto fail;
	kvfree(buf);
	kvfree(calls);
	return image;

fail:
	kvfree(buf);
	kvfree(calls);
	tramp_probe_image_destroy(image);
	return ERR_PTR(err);
}

static void free_struct(struct rcu_head *rcu)
{
	kmem_cache_free(tramp_probe_image_cache, container_of(rcu, struct tramp_probe_image, rcu));
}

void tramp_probe_image_destroy(struct tramp_probe_image *image)
{
	u32 i;

	tramp_exec_free(&image->exec);
	for (i = 0; i < image->nr; i++)
		tramp_slot_put(image->slots[i]);
	kfree(image->slots);
	kfree(image->call_off);
	/* Readers of kallsyms may still look at the name. */
	call_rcu(&image->rcu, free_struct);
}

static void image_retired(struct tramp_retire *r)
{
	tramp_exec_count_retiring(-1);
	tramp_probe_image_destroy(container_of(r, struct tramp_probe_image, retire));
}

static const struct tramp_retire_ops image_retire_ops = {
	.free = image_retired,
};

void tramp_probe_image_retire(struct tramp_probe_image *image)
{
	tramp_exec_count_retiring(1);
	tramp_retire_add(&image->retire, &image_retire_ops);
}

void tramp_probe_image_mute(struct tramp_probe_image *image, const struct tramp_slot *slot)
{
	struct tramp_x86_call call;
	u32 i;

	for (i = 0; i < image->nr; i++) {
		if (image->slots[i] != slot)
			continue;
		tramp_slot_call(image->slots[i], &call);
		tramp_exec_mute(&image->exec, image->call_off + 2 * i, call.func);
	}
}
