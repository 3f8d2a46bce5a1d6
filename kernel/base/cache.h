/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Slab caches of our own, for what every attachment has one of and kmalloc()'s powers of
 * two would waste hundreds of bytes on. They show in /proc/slabinfo by the structs' names,
 * unless the kernel merges them with others of the same size.
 */
#ifndef TRAMP_CACHE_H
#define TRAMP_CACHE_H

#include <linux/slab.h>

extern struct kmem_cache *tramp_image_cache;		/* struct tramp_image */
extern struct kmem_cache *tramp_probe_image_cache;	/* struct tramp_probe_image */
extern struct kmem_cache *tramp_target_cache;		/* struct tramp_target */

/* Module init. Return: 0 or -ENOMEM. */
int tramp_caches_init(void);

/*
 * Module exit, when nothing is retired any more: waits for what is freed behind RCU
 * (call_rcu(), not kfree_rcu(), which older kernels cannot wait for).
 */
void tramp_caches_exit(void);

#endif /* TRAMP_CACHE_H */
