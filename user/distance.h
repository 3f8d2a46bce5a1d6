/* SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause */
/*
 * How far two words are apart, and which of many is nearest. For names of functions here, and
 * for those of commands and options in trampctl, which is linked with the library's objects.
 */
#ifndef USER_DISTANCE_H
#define USER_DISTANCE_H

#include <stddef.h>

/* Longest word that is compared. */
#define LIBTRAMP_MAX_WORD	128
#define LIBTRAMP_MAX_NEAREST	32

/**
 * libtramp_distance() - edits between two strings, two swapped letters being one
 * @a, @b: the strings
 * @max: stop counting there
 *
 * Return: the number of edits, @max + 1 if there are more.
 */
unsigned int libtramp_distance(const char *a, const char *b, unsigned int max);

/* How far may a word of @len be off and still be meant? */
unsigned int libtramp_tolerance(size_t len);

/**
 * struct libtramp_nearest - the nearest words so far, the nearest first
 * @out: the words
 * @cost: how far each is off
 * @nr: how many there are
 * @max: how many there may be, up to LIBTRAMP_MAX_NEAREST
 *
 * @out and @max are the caller's to set.
 */
struct libtramp_nearest {
	const char **out;
	unsigned int cost[LIBTRAMP_MAX_NEAREST];
	size_t nr, max;
};

/* The distance from which on a word is not worth adding: @tolerance + 1, or less. */
unsigned int libtramp_nearest_limit(const struct libtramp_nearest *n, unsigned int tolerance);

void libtramp_nearest_add(struct libtramp_nearest *n, const char *name, unsigned int cost);

/* Adds a candidate for @word if it is near enough. */
void libtramp_nearest_try(struct libtramp_nearest *n, const char *word, const char *name);

#endif /* USER_DISTANCE_H */
