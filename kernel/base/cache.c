// SPDX-License-Identifier: GPL-2.0
/*
 * The module's slab caches (cache.h).
 */
#include "cache.h"
#include "func/image.h"
#include "probe/probe.h"
#include "func/target.h"

struct kmem_cache *tramp_image_cache;
struct kmem_cache *tramp_probe_image_cache;
struct kmem_cache *tramp_target_cache;

int tramp_caches_init(void)
{
	tramp_image_cache = KMEM_CACHE(tramp_image, 0);
	tramp_probe_image_cache = KMEM_CACHE(tramp_probe_image, 0);
	tramp_target_cache = KMEM_CACHE(tramp_target, 0);
	if (tramp_image_cache && tramp_probe_image_cache && tramp_target_cache)
		return 0;
	tramp_caches_exit();
	return -ENOMEM;
}

void tramp_caches_exit(void)
{
	rcu_barrier();
	kmem_cache_destroy(tramp_target_cache);
	kmem_cache_destroy(tramp_probe_image_cache);
	kmem_cache_destroy(tramp_image_cache);
}
