/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The names of images in kallsyms: room for many struct bpf_ksym in little memory.
 */
#ifndef TRAMP_IMAGE_NAME_H
#define TRAMP_IMAGE_NAME_H

#include <linux/bpf.h>

/* With its 0; trampoline_<u64>_<u32> has 43. No more than this may be written. */
#define TRAMP_IMAGE_NAME_LEN	48

/**
 * tramp_image_name_alloc() - room for the name of an image
 *
 * Context: may sleep.
 * Return: a struct of zeroes, of whose name only TRAMP_IMAGE_NAME_LEN bytes are its own; NULL
 * without memory.
 */
struct bpf_ksym *tramp_image_name_alloc(void);

/* Nobody reads it any more: RCU has passed since bpf_ksym_del(). Any context. NULL is fine. */
void tramp_image_name_free(struct bpf_ksym *name);

/* The slab cache. Module init and exit; see base/cache.h. */
int tramp_image_name_init(void);
void tramp_image_name_exit(void);

#endif /* TRAMP_IMAGE_NAME_H */
