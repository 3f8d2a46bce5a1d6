/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Slab caches of our own, for what every attachment has one of and kmalloc()'s powers of two
 * would waste hundreds of bytes on. Each belongs to the file that allocates from it.
 */
#ifndef TRAMP_CACHE_H
#define TRAMP_CACHE_H

#include <linux/rcupdate.h>
#include <linux/slab.h>

/*
 * Module exit, when nothing is retired any more: waits for what is freed behind RCU
 * (call_rcu(), not kfree_rcu(), which older kernels cannot wait for). @cache may be NULL.
 */
static inline void tramp_cache_exit(struct kmem_cache *cache)
{
	rcu_barrier();
	kmem_cache_destroy(cache);
}

#endif /* TRAMP_CACHE_H */
