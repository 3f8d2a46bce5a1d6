// SPDX-License-Identifier: GPL-2.0
/*
 * Detour buffers: images (prog/image.h) of probes.
 *
 * Nobody sleeps in one: programs of probes do not, and the original instructions
 * that are executed there do not return to it. So one RCU-tasks grace period after
 * nothing leads there any more, nobody is inside.
 */
#include <linux/slab.h>
#include "base/cache.h"
#include "image.h"
#include "prog/runtime.h"
#include "x86/detour_image.h"
#include "x86/relocate.h"

static struct kmem_cache *cache;

static struct tramp_probe_image *to_probe_image(struct tramp_image *image)
{
	return container_of(image, struct tramp_probe_image, image);
}

static void free_struct(struct rcu_head *rcu)
{
	kmem_cache_free(cache, container_of(rcu, struct tramp_probe_image, image.rcu));
}

static void detour_free(struct tramp_image *image)
{
	call_rcu(&image->rcu, free_struct);
}

static int detour_emit(struct tramp_image *base, const void *arg,
		       const struct tramp_x86_call *calls, u8 *buf, u32 len, unsigned long code,
		       struct tramp_refusal *why)
{
	struct tramp_probe_image *image = to_probe_image(base);
	const struct tramp_probe *probe = arg;
	const struct tramp_x86_detour_req req = {
		.env = &tramp_env,
		.ip = probe->addr,
		.code = probe->orig,
		.len = image->len,
		.progs = calls,
		.nr_progs = base->set->nr,
		.regs = image->regs,
	};
	struct tramp_x86_detour_out out = { .call_off = base->call_off };
	enum tramp_x86_err err = tramp_x86_emit_detour(&req, buf, len, code, &out);

	base->exec.size = out.size;
	image->copy = code + out.copy_off;
	if (err && err != TRAMP_X86_NO_SPACE) {
		if (out.reloc == TRAMP_X86_RELOC_FIXED || out.reloc == TRAMP_X86_RELOC_RSP)
			return tramp_refuse(why, TRAMP_REASON_INSN_FIXED, probe->addr, NULL);
		err = TRAMP_X86_OUT_OF_REACH;
	}
	return tramp_image_error(err, probe->addr, why);
}

static int detour_prepare(struct tramp_image *base, const void *arg,
			  const struct tramp_x86_call *calls, struct tramp_refusal *why)
{
	u32 i;

	for (i = 0; i < base->set->nr; i++)
		to_probe_image(base)->regs |= base->set->slots[i]->regs;
	return 0;
}

static const struct tramp_image_kind detour_kind = {
	.prepare = detour_prepare,
	.emit = detour_emit,
	.free = detour_free,
};

struct tramp_probe_image *tramp_probe_image_create(const struct tramp_probe *probe, u32 len,
						   u32 index, tramp_describe_t *describe,
						   struct tramp_refusal *why)
{
	struct tramp_probe_image *image = kmem_cache_zalloc(cache, GFP_KERNEL);
	const struct tramp_image_req req = {
		.members = &probe->members,
		.key = probe->key,
		.index = index,
		.describe = describe,
	};
	int err;

	lockdep_assert_held(&tramp_mutex);
	if (!image)
		return ERR_PTR(tramp_refuse(why, TRAMP_REASON_NO_MEMORY, 0, NULL));
	image->len = len;
	err = tramp_image_build(&image->image, &detour_kind, &req, probe, why);
	return err ? ERR_PTR(err) : image;
}

int __init tramp_probe_image_init(void)
{
	cache = KMEM_CACHE(tramp_probe_image, 0);
	return cache ? 0 : -ENOMEM;
}

void tramp_probe_image_exit(void)
{
	tramp_cache_exit(cache);
}
