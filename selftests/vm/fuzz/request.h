/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A request: one ioctl() with a struct that an input chose, most of it as the description
 * (uapi.h) wants it, some of it not.
 */
#ifndef FUZZ_REQUEST_H
#define FUZZ_REQUEST_H

#include <linux/trampoline.h>
#include "uapi.h"
#include "world.h"

/* Items of an ATTACH_BATCH; entries of other lists. */
#define REQUEST_ITEMS	6
#define REQUEST_ENTRIES	48
/* The bytes of out members before a request, in some of them. */
#define REQUEST_STALE	0xa5

/**
 * struct request - see above
 * @c: the command, NULL if @nr is none
 * @nr: its number
 * @arg: the struct, in memory that ends behind it
 * @size: what it says of its own size
 * @room: bytes at @arg that are there; 0: none are
 * @before: what the struct was, of that
 * @zero_tail: what is behind the members that the module knows is all zero
 * @may_fault: some pointer leads to bad memory, or not as far as its length says
 */
struct request {
	const struct uapi_command *c;
	unsigned int nr;
	unsigned char *arg;
	uint32_t size;
	uint32_t room;
	unsigned char before[4096 + 64];
	bool zero_tail;
	bool may_fault;
};

/* Make one up. */
void request_make(struct request *r, struct input *in);

/* A member of its struct as a number of its size; 0 if it is beyond @room. */
uint64_t request_get(const struct request *r, const char *field);

#endif /* FUZZ_REQUEST_H */
