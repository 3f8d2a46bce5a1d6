/* SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause */
/*
 * Sizes: of arrays, and of structs that carry their own.
 */
#ifndef LIBTRAMPOLINE_CORE_SIZED_H
#define LIBTRAMPOLINE_CORE_SIZED_H

#include <stdbool.h>
#include <stddef.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/**
 * libtramp_sized_ok() - is a struct whose first member is its size acceptable?
 * @user: the caller's struct; NULL is not acceptable
 * @user_sz: its @sz
 * @min: bytes every version had
 * @known: bytes this version knows
 *
 * A longer one is fine while its tail is zero: nothing is asked for that this
 * version does not know.
 */
bool libtramp_sized_ok(const void *user, size_t user_sz, size_t min, size_t known);

#define LIBTRAMP_OFFSETOFEND(type, field) \
	(offsetof(struct type, field) + sizeof(((struct type *)0)->field))

/* Options: NULL is fine, @sz covers at least itself, an unknown tail is zero. */
#define LIBTRAMP_OPTS_VALID(opts, type)						\
	(!(opts) || libtramp_sized_ok((opts), (opts)->sz, sizeof(size_t),	\
				      LIBTRAMP_OFFSETOFEND(type, type##__last_field)))

/* Is @field within the caller's version of the options? */
#define LIBTRAMP_OPTS_HAS(opts, type, field) \
	((opts) && (opts)->sz >= LIBTRAMP_OFFSETOFEND(type, field))

#define LIBTRAMP_OPTS_GET(opts, type, field, fallback) \
	(LIBTRAMP_OPTS_HAS(opts, type, field) ? (opts)->field : (fallback))

/**
 * libtramp_out() - hand a filled struct to the caller, as much of it as he knows
 * @user: his struct, its first member is @user_sz
 * @mine: ours
 * @mine_sz: its size
 */
void libtramp_out(void *user, size_t user_sz, const void *mine, size_t mine_sz);

#endif /* LIBTRAMPOLINE_CORE_SIZED_H */
