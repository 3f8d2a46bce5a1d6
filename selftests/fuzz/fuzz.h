/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the fuzz targets. Each is a libFuzzer target: it takes bytes, makes a question to
 * the pure core (kernel/x86/) of them, and states what must hold of the answer. A statement
 * that does not hold ends the process, as a finding of the address sanitizer does.
 *
 * Memory that the core may use is always allocated at its exact size, so that
 * the sanitizer sees the first byte beyond it.
 */
#ifndef SELFTESTS_FUZZ_FUZZ_H
#define SELFTESTS_FUZZ_FUZZ_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../kernel/x86/types.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

#define FUZZ_CHECK(cond)							\
	do {									\
		if (!(cond)) {							\
			fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #cond); \
			abort();						\
		}								\
	} while (0)

/* The input, taken from its start. Bytes beyond its end are 0. */
struct fuzz_input {
	const u8 *data;
	size_t size;
};

static inline u64 fuzz_take(struct fuzz_input *in, u32 bytes)
{
	u64 v = 0;
	u32 i;

	for (i = 0; i < bytes && in->size; i++, in->data++, in->size--)
		v |= (u64)*in->data << 8 * i;
	return v;
}

/* A copy of exactly that size, to be freed. */
static inline u8 *fuzz_exact(const u8 *from, size_t size)
{
	u8 *p = malloc(size ? size : 1);

	FUZZ_CHECK(p);
	if (size)
		memcpy(p, from, size);
	/* malloc(0) could not be told from one byte */
	return size ? p : p + 1;
}

/* Of @nr entries; NULL if there are none. To be freed by free(). */
static inline void *fuzz_array(const void *from, size_t nr, size_t size)
{
	return nr ? fuzz_exact(from, nr * size) : NULL;
}

/* As many offsets, to be written. Each begins with a value that no offset has. */
static inline u32 *fuzz_offsets(size_t nr)
{
	u32 *p = malloc(nr * sizeof(*p));

	FUZZ_CHECK(p || !nr);
	if (nr)
		memset(p, 0x5e, nr * sizeof(*p));
	return p;
}

static inline void fuzz_free(u8 *p, size_t size)
{
	free(size ? p : p - 1);
}

/*
 * An address for code that stands at @ip: where a copy can be, mostly within reach,
 * sometimes at its very limit, sometimes anywhere.
 */
static inline u64 fuzz_near(struct fuzz_input *in, u64 ip)
{
	u64 mode = fuzz_take(in, 1), where = fuzz_take(in, 8);

	switch (mode % 4) {
	case 0:
		return ip + (u64)(s64)(s32)where;
	case 1:
		return ip + 0x80000000ULL + (u64)(s64)(s8)where;
	case 2:
		return ip - 0x80000000ULL + (u64)(s64)(s8)where;
	default:
		return where;
	}
}

/* No image is as large, nor what is left free around it. */
#define FUZZ_ROOM	0x20000

/*
 * An address for an image, out of any: it is not where @other is, for which it is made, and the
 * addresses do not come to their end in it. So nothing in it is at 0, which means "not known".
 */
static inline u64 fuzz_image(u64 addr, u64 other)
{
	if (addr - other + FUZZ_ROOM < 2 * FUZZ_ROOM)
		addr += 2 * FUZZ_ROOM;
	return addr + FUZZ_ROOM < addr ? addr - FUZZ_ROOM : addr;
}

/* An address in text: of the kernel mostly, where 32 bits are sign-extended. */
static inline u64 fuzz_text(struct fuzz_input *in)
{
	u64 mode = fuzz_take(in, 1), where = fuzz_take(in, 8);

	return mode % 4 ? (u64)(s64)(s32)where : where;
}

#endif /* SELFTESTS_FUZZ_FUZZ_H */
