/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An image: code with a name, made for a set of programs. Its kind (func/image.c,
 * probe/image.c) decides what is in the code, and has x86/ emit it.
 */
#ifndef TRAMP_IMAGE_H
#define TRAMP_IMAGE_H

#include <linux/bpf.h>
#include <linux/types.h>
#include "base/retire.h"
#include "base/tramp.h"
#include "set.h"
#include "x86/fentry_image.h"

struct bpf_ksym;
struct tramp_image;

/**
 * struct tramp_exec - executable memory with a name in kallsyms
 * @ksym: its name and range in kallsyms (image_name.h)
 * @code: address of its first instruction, 0 without memory
 * @size: bytes of code
 * @named: kallsyms has the name
 */
struct tramp_exec {
	struct bpf_ksym *ksym;
	unsigned long code;
	u32 size;
	bool named;
};

/**
 * struct tramp_image_kind - what differs between the images of functions and of probes
 * @cache: slab cache of the struct that begins with a struct tramp_image
 * @prepare: after the programs are known, before anything is emitted. Return: 0 or a
 *	negative errno
 * @emit: emit into @buf, @len bytes of room, for address @addr, 0 for measuring. Sets
 *	image->exec.size. Return: 0 or a negative errno
 * @release: free what @prepare has put into the struct; may be NULL. Nobody can be in the
 *	code, which is still there
 * @room: bytes that an image may have; 0: TRAMP_X86_MAX_IMAGE
 */
struct tramp_image_kind {
	struct kmem_cache *cache;
	u32 room;
	int (*prepare)(struct tramp_image *image, const void *arg, struct tramp_refusal *why);
	int (*emit)(struct tramp_image *image, const void *arg,
		    const struct tramp_x86_call *calls, u8 *buf, u32 len, unsigned long addr,
		    struct tramp_refusal *why);
	void (*release)(struct tramp_image *image);
};

/**
 * struct tramp_image - at the beginning of the struct of its kind
 * @exec: its memory and name
 * @kind: what is done with it
 * @set: the programs it calls, in order
 * @call_off: where each is called (struct tramp_x86_fentry_out), for several programs
 * @one_off: the same for one; see tramp_image_call_off()
 * @retire: its place on the retire list
 * @rcu: after that, for freeing the name behind readers of kallsyms
 */
struct tramp_image {
	struct tramp_exec exec;
	const struct tramp_image_kind *kind;
	struct tramp_set *set;
	union {
		u32 *call_off;
		u32 one_off[2];
	};
	union {
		struct tramp_retire retire;
		struct rcu_head rcu;
	};
};

/* How many offsets there are: two for each program, and two more for those that are twice. */
static inline u32 tramp_image_nr_offs(const struct tramp_image *image)
{
	return 2 * (image->set->nr + image->set->nr_twice);
}

/* Where its programs are called. */
static inline u32 *tramp_image_call_off(struct tramp_image *image)
{
	return tramp_image_nr_offs(image) > ARRAY_SIZE(image->one_off) ? image->call_off :
									 image->one_off;
}

/*
 * Keys of places without BTF: this and a number. The high half of a BTF key is the id of the BTF
 * object, which is no greater than INT_MAX (kernel/bpf/btf.c: btf_alloc_id()).
 */
#define TRAMP_IMAGE_KEY		(1ULL << 63)

/*
 * Change a CALL or a JMP in an image that may be executed, or a NOP5: bpf_arch_text_poke(), with no
 * CPU on its way up or down. That syncs CPUs that are online. One that is not may have fetched the
 * int3 that stands there meanwhile, and come into its handler when nobody knows that any more. From
 * 6.12 on the kernel dies of it. tramp_mutex held, may sleep. Return: 0 or a negative errno.
 */
int tramp_image_poke(unsigned long at, enum bpf_text_poke_type type, void *from, void *to);

/* As the module goes, when no image is made any more. */
void tramp_image_exit(void);

/* A key that no place has had. tramp_mutex held. */
u64 tramp_image_new_key(void);

/**
 * struct tramp_image_req - what an image is made of, and called
 * @members: its programs: a list of members in the order they run
 * @key: in its name, trampoline_<key>_<index>
 * @index: likewise
 * @nr_twice: how many of them, the last ones, are called both at the entry and at the return
 * @describe: tramp_slot_call() but in the self-test
 */
struct tramp_image_req {
	const struct list_head *members;
	u64 key;
	u32 index;
	u32 nr_twice;
	tramp_describe_t *describe;
};

/**
 * tramp_image_create() - measure, allocate, emit, and publish the name
 * @kind: its kind
 * @req: what to make
 * @arg: passed to @kind's functions
 * @why: why not
 *
 * The image is executable and named in kallsyms when this returns, but nothing leads to it.
 *
 * Context: tramp_mutex held, may sleep.
 * Return: the image or an ERR_PTR().
 */
struct tramp_image *tramp_image_create(const struct tramp_image_kind *kind,
				       const struct tramp_image_req *req, const void *arg,
				       struct tramp_refusal *why);

/* Turn an error of the emitter into a refusal about the place at @addr. Return: 0 for none. */
int tramp_image_error(enum tramp_x86_err err, unsigned long addr, struct tramp_refusal *why);

/* Free one that nothing ever led to, or that nobody can be in any more. May sleep. */
void tramp_image_destroy(struct tramp_image *image);

/**
 * tramp_image_retire() - free an image once nobody can be inside
 * @image: nothing leads to it any more
 * @ops: how; NULL: one grace period is all it takes. @ops->free ends with tramp_image_retired()
 *
 * Context: tramp_mutex held.
 */
void tramp_image_retire(struct tramp_image *image, const struct tramp_retire_ops *ops);

/*
 * Nobody can be inside of one that was retired: take back the name, which another may have then,
 * and drop the programs. tramp_mutex held.
 */
void tramp_image_let_go(struct tramp_image *image);

/* The end of one that was retired. May sleep. */
void tramp_image_retired(struct tramp_image *image);

/**
 * tramp_image_mute() - leave a program out of an image that stays in use
 * @image: a published image
 * @slot: the program: its calls become calls of a function that returns 0
 *
 * For a detach that has no memory for a new image: muting needs no memory and cannot fail.
 * Calls that enter after it returned do not run the program. The image stays in use until
 * the next change, and keeps its reference to the slot.
 *
 * Context: tramp_mutex held, may sleep.
 */
void tramp_image_mute(struct tramp_image *image, struct tramp_slot *slot);

/* Images that exist, how many of them wait to be freed, their code; for INFO. */
void tramp_image_totals(u32 *images, u32 *retiring, u64 *bytes);

#endif /* TRAMP_IMAGE_H */
