/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An input: bytes from which requests are made up, a choice at a time. The same bytes make the
 * same requests, so an input that showed something can be kept, changed a little, and repeated.
 * Behind the last byte there are zeroes, and 0 chooses what is most likely to be accepted.
 */
#ifndef FUZZ_INPUT_H
#define FUZZ_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Longer ones are cut. */
#define INPUT_MAX 512

struct input {
	const uint8_t *at, *end;
};

static inline uint64_t input_bytes(struct input *in, size_t nr)
{
	uint64_t value = 0;
	size_t have = in->end - in->at;

	memcpy(&value, in->at, nr < have ? nr : have);
	in->at += nr < have ? nr : have;
	return value;
}

/* A choice among @nr, 1 to 65,536. */
static inline uint32_t input_below(struct input *in, uint32_t nr)
{
	return input_bytes(in, nr <= 256 ? 1 : 2) % nr;
}

/* True in @of256 cases of 256. */
static inline bool input_odds(struct input *in, uint32_t of256)
{
	return input_bytes(in, 1) >= 256 - of256;
}

/* A number where mistakes are likely: at the limits of types, of @max, or any. */
uint64_t input_number(struct input *in, uint64_t max);

#endif /* FUZZ_INPUT_H */
