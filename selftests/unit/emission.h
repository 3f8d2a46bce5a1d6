/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The common part of the tests of refusals, whichever emitter they are about. It has requests
 * in which nothing is wrong, a buffer that shows what was written to it, and the rules that
 * hold for every emitter. Nothing is executed, so addresses are those of a kernel.
 */
#ifndef SELFTESTS_UNIT_EMISSION_H
#define SELFTESTS_UNIT_EMISSION_H

#include "../../kernel/x86/fentry_image.h"
#include "../lib/ktap.h"
#include "machine.h"

#define KERNEL		0xffffffff81000000ULL
#define IMAGE		0xffffffffc0200000ULL
#define NEAR_PERCPU	0x1f000ULL
#define FAR_PERCPU	0x607f00001000ULL

/**
 * struct emission - an emitter under test
 * @emit: emits the test's request
 * @size: the size that it reports
 */
struct emission {
	enum tramp_x86_err (*emit)(u8 *buf, size_t len, u64 addr);
	const u32 *size;
};

/* Parts of the request. */
extern struct tramp_x86_env env;
extern struct tramp_x86_call calls[TRAMP_X86_MAX_PROGS + 1];
/* The emitted code. */
extern u8 buf[MACHINE_ROOM + 64];

/* Begin a request: @env and @calls have all that images of both kinds use. */
void emission_begin(const struct emission *e);

/* Emit into @buf, all of it written over before. */
enum tramp_x86_err emit(u64 addr);

bool all_bytes(const u8 *p, size_t n, u8 value);
/* Nothing of @buf was written to since. */
bool untouched(void);

/* Emit for IMAGE; an error leaves the buffer alone and reports no size. */
#define EXPECT(error, fmt, ...)							\
	do {									\
		CHECK_EQ(emit(IMAGE), TRAMP_X86_##error, fmt, ##__VA_ARGS__);	\
		if (TRAMP_X86_##error != TRAMP_X86_OK)				\
			emission_refused(fmt, ##__VA_ARGS__);			\
	} while (0)

/* The message of EXPECT() about an error. */
void emission_refused(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The request with a buffer of every length that is too short, and the first that is not. */
void emission_lengths(void);

/*
 * One at a time of @nr addresses that the request has, @targets, too far away from the
 * image. @good makes the request anew.
 */
void emission_reach(void (*good)(void), u64 *const *targets, u32 nr);

#endif /* SELFTESTS_UNIT_EMISSION_H */
