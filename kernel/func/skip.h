/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Jumps over exit programs, in images that calls may still be in.
 */
#ifndef TRAMP_FUNC_SKIP_H
#define TRAMP_FUNC_SKIP_H

#include "image.h"

/**
 * tramp_func_skip() - leave an exit program out of an image that retires
 * @image: the image
 * @i: which of its exit programs; live. It is left out when this returns, or, between begin and
 *	end, from the end on
 *
 * Context: tramp_mutex held, may sleep.
 */
void tramp_func_skip(struct tramp_func_image *image, u32 i);

/*
 * Around many of them: all their jumps are written at the end, with a few syncs of all CPUs.
 * tramp_mutex is held from one to the other; they may sleep.
 */
void tramp_func_skips_begin(void);
void tramp_func_skips_end(void);

#endif /* TRAMP_FUNC_SKIP_H */
