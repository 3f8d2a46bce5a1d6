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

static struct tramp_probe_image *to_probe_image(struct tramp_image *image)
{
	return container_of(image, struct tramp_probe_image, image);
}

struct detour_req {
	const struct tramp_probe *probe;
	u32 len;
};

static int detour_prepare(struct tramp_image *base, const void *arg, struct tramp_refusal *why)
{
	struct tramp_probe_image *image = to_probe_image(base);
	const struct detour_req *req = arg;

	image->len = req->len;
	return 0;
}

static int detour_emit(struct tramp_image *base, const void *arg,
		       const struct tramp_x86_call *calls, u8 *buf, u32 len, unsigned long code,
		       struct tramp_refusal *why)
{
	struct tramp_probe_image *image = to_probe_image(base);
	const struct tramp_probe *probe = ((const struct detour_req *)arg)->probe;
	const struct tramp_x86_detour_req req = {
		.env = &tramp_env,
		.ip = probe->addr,
		.code = probe->orig,
		.len = image->len,
		.progs = calls,
		.nr_progs = base->set->nr,
		.regs = tramp_set_regs(base->set, 0, base->set->nr),
	};
	struct tramp_x86_detour_out out = { .call_off = tramp_image_call_off(base) };
	enum tramp_x86_err err = tramp_x86_emit_detour(&req, buf, len, code, &out);

	base->exec.size = out.size;
	image->copy_off = out.copy_off;
	if (err && err != TRAMP_X86_NO_SPACE) {
		if (out.reloc == TRAMP_X86_RELOC_FIXED || out.reloc == TRAMP_X86_RELOC_RSP)
			return tramp_refuse(why, TRAMP_REASON_INSN_FIXED, probe->addr, NULL);
		err = TRAMP_X86_OUT_OF_REACH;
	}
	return tramp_image_error(err, probe->addr, why);
}

static struct tramp_image_kind detour_kind __ro_after_init = {
	.prepare = detour_prepare,
	.emit = detour_emit,
};

struct tramp_probe_image *tramp_probe_image_create(const struct tramp_probe *probe, u32 len,
						   u32 index, tramp_describe_t *describe,
						   struct tramp_refusal *why)
{
	const struct detour_req detour = { .probe = probe, .len = len };
	const struct tramp_image_req req = {
		.members = &probe->members,
		.key = probe->key,
		.index = index,
		.describe = describe,
	};
	struct tramp_image *image = tramp_image_create(&detour_kind, &req, &detour, why);

	return IS_ERR(image) ? ERR_CAST(image) : to_probe_image(image);
}

int __init tramp_probe_image_init(void)
{
	static_assert(!offsetof(struct tramp_probe_image, image));
	detour_kind.cache = KMEM_CACHE(tramp_probe_image, 0);
	return detour_kind.cache ? 0 : -ENOMEM;
}

void tramp_probe_image_exit(void)
{
	tramp_cache_exit(detour_kind.cache);
}
