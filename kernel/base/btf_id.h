/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A BTF object by its id.
 */
#ifndef TRAMP_BTF_ID_H
#define TRAMP_BTF_ID_H

#include <linux/btf.h>
#include "tramp.h"

/* Find out where a BTF object has its reference count. At load, after ksyms.c. Return: 0. */
int tramp_btf_id_init(void);

/**
 * tramp_btf_get() - the BTF object with an id
 * @id: the id
 * @why: NO_BTF if there is none, or it is not of the kernel or of a module; MISSING_SYMBOL if this
 *	kernel does not let us find it
 *
 * Uses no file descriptor.
 *
 * Context: process.
 * Return: the object, with a reference (btf_put()), or a negative errno.
 */
struct btf *tramp_btf_get(u32 id, struct tramp_refusal *why);

/**
 * tramp_btf_next() - the BTF objects one after another
 * @id: in: look above it; out: the id of the one found. Begin with 0
 *
 * Context: process.
 * Return: the object, with a reference (btf_put()); NULL: there is no further one, or this
 * kernel does not let us find them.
 */
struct btf *tramp_btf_next(u32 *id);

#endif /* TRAMP_BTF_ID_H */
