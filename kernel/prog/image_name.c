// SPDX-License-Identifier: GPL-2.0
/*
 * Names of images, laid over each other.
 *
 * The kernel's table of BPF symbols has a struct bpf_ksym for each image: 600 bytes, 512 of them
 * for a name. Ours need 48 of those. So each struct but the first of a block begins within the
 * bytes that the names before it leave unused. Two parts of a struct are used: its head, up to the
 * end of our name, and its tail, behind the kernel's room for a name. With a distance at which no
 * head meets a tail any number of them fit together: 152 bytes with the kernels of today. init()
 * computes it from the struct.
 *
 *	head ................ unused ............... tail
 *	     head ................ unused ............... tail
 *	          head ................ unused ............... tail
 *
 * Its readers are kallsyms, the unwinder and the search of exception tables. They read under RCU
 * while it is in the kernel's table, and take the name as a string. A copy that reads by words may
 * look at up to seven bytes behind the 0. Those are in the block as well, and do not matter to it.
 *
 * bpf_ksym_add() and bpf_ksym_del() write the tail of this one and of its neighbours in
 * the list and in the tree, and no byte of a name.
 *
 * A place is taken again once tramp_image_name_free() has been called, a grace period of RCU
 * after the name has left the table. The block, which has the bits of its places, goes back
 * when no place in it is in use. Only the return of a place does that. So a new block gets its
 * first name before others can see it: one that was never used would stay for ever.
 */
#include <linux/bitmap.h>
#include "base/cache.h"
#include "image_name.h"

#define ROOM	16384	/* of a block */
#define MOST		128

/**
 * struct name_block - of places for names
 * @node: in @blocks, while it has a place that is free
 * @nr: places in use
 * @used: which
 * @room: where the first one is; the others follow at @stride
 */
struct name_block {
	struct list_head node;
	u32 nr;
	DECLARE_BITMAP(used, MOST);
	u8 room[] __aligned(8);
};

#define HEAD_SIZE	(offsetof(struct bpf_ksym, name) + TRAMP_IMAGE_NAME_LEN)
#define TAIL		(offsetof(struct bpf_ksym, name) + sizeof_field(struct bpf_ksym, name))
#define TAIL_SIZE	(sizeof(struct bpf_ksym) - TAIL)

static struct kmem_cache *block_cache;
static LIST_HEAD(blocks);
static DEFINE_SPINLOCK(blocks_lock);	/* @blocks, and what is in them; from softirqs too */
static u32 stride, places;			/* read only after init */

/* At this @distance no tail reaches into a head. */
static bool apart(u32 distance)
{
	u32 tail = TAIL % distance;

	return tail >= HEAD_SIZE && tail + TAIL_SIZE <= distance;
}

int tramp_image_name_init(void)
{
	BUILD_BUG_ON(sizeof_field(struct bpf_ksym, name) < TRAMP_IMAGE_NAME_LEN);

	/* sizeof() itself always will do: then nothing overlaps */
	stride = ALIGN(HEAD_SIZE + TAIL_SIZE, 8);
	while (stride < sizeof(struct bpf_ksym) && !apart(stride))
		stride += 8;
	places = (ROOM - sizeof(struct name_block) - sizeof(struct bpf_ksym)) / stride + 1;
	places = min_t(u32, places, MOST);
	/* aligned to its size, so that a place leads to its block */
	block_cache = kmem_cache_create("tramp_image_names", ROOM, ROOM, 0, NULL);
	return block_cache ? 0 : -ENOMEM;
}

void tramp_image_name_exit(void)
{
	tramp_cache_exit(block_cache);
}

static struct bpf_ksym *place(struct name_block *block, u32 i)
{
	return (struct bpf_ksym *)(block->room + i * stride);
}

/* A free place in this listed block. @blocks_lock held. */
static struct bpf_ksym *take(struct name_block *block)
{
	u32 i = find_first_zero_bit(block->used, places);

	lockdep_assert_held(&blocks_lock);
	__set_bit(i, block->used);
	if (++block->nr == places)
		list_del(&block->node);
	return place(block, i);
}

struct bpf_ksym *tramp_image_name_alloc(void)
{
	struct bpf_ksym *name = NULL;
	struct name_block *block;

	spin_lock_bh(&blocks_lock);
	block = list_first_entry_or_null(&blocks, struct name_block, node);
	if (block)
		name = take(block);
	spin_unlock_bh(&blocks_lock);
	if (!name) {
		block = kmem_cache_zalloc(block_cache, GFP_KERNEL);
		if (!block)
			return NULL;
		/* Its first name is of this one, even if another has room by now. */
		spin_lock_bh(&blocks_lock);
		list_add(&block->node, &blocks);
		name = take(block);
		spin_unlock_bh(&blocks_lock);
	}
	memset(name, 0, HEAD_SIZE);
	memset((u8 *)name + TAIL, 0, TAIL_SIZE);
	return name;
}

void tramp_image_name_free(struct bpf_ksym *name)
{
	struct name_block *block = (struct name_block *)ALIGN_DOWN((unsigned long)name, ROOM);

	if (!name)
		return;
	spin_lock_bh(&blocks_lock);
	__clear_bit(((u8 *)name - block->room) / stride, block->used);
	if (block->nr-- == places)
		list_add(&block->node, &blocks);
	if (block->nr)
		block = NULL;
	else
		list_del(&block->node);
	spin_unlock_bh(&blocks_lock);
	if (block)
		kmem_cache_free(block_cache, block);
}
