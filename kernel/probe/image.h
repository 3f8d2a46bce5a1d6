/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Detour buffers: the images of probes.
 */
#ifndef TRAMP_PROBE_IMAGE_H
#define TRAMP_PROBE_IMAGE_H

#include "probe.h"
#include "prog/image.h"

/* A detour buffer. */
struct tramp_probe_image {
	struct tramp_image image;	/* its code, name and programs; first */
	u32 len;			/* bytes of the original instructions that it executes */
	u32 copy_off;			/* where it executes them, without any program */
};

/* The address of that. */
static inline unsigned long tramp_probe_image_copy(const struct tramp_probe_image *image)
{
	return image->image.exec.code + image->copy_off;
}

/**
 * tramp_probe_image_create() - make and name a detour buffer
 * @probe: its probe, whose members it calls; orig holds at least @len bytes
 * @len: original bytes that it executes
 * @index: for its name
 * @describe: tramp_slot_call() but in the self-test
 * @why: why not
 *
 * Context: tramp_mutex held, may sleep.
 * Return: it, or an ERR_PTR().
 */
struct tramp_probe_image *tramp_probe_image_create(const struct tramp_probe *probe, u32 len,
						   u32 index, tramp_describe_t *describe,
						   struct tramp_refusal *why);

/* The slab cache of detour buffers. Module init and exit; see base/cache.h. */
int tramp_probe_image_init(void);
void tramp_probe_image_exit(void);

#endif /* TRAMP_PROBE_IMAGE_H */
