// SPDX-License-Identifier: GPL-2.0
/*
 * Rules that hold for every emitter: see emission.h.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "emission.h"

#define CANARY		0x5e

struct tramp_x86_env env;
struct tramp_x86_call calls[TRAMP_X86_MAX_PROGS + 1];
u8 buf[MACHINE_ROOM + 64];

static const struct emission *emission;

void emission_begin(const struct emission *e)
{
	u32 i;

	emission = e;
	env = (struct tramp_x86_env){
		.preempt_count = NEAR_PERCPU,
		.nmi_count = 0x110001,
		.current_task = NEAR_PERCPU + 8,
		.task_bpf_ctx = 0x1a38,
		.run_ctx_size = 16,
		.run_ctx_cookie = 0,
		.run_ctx_saved = 8,
		.trace_ctx_size = 16,
		.trace_ctx_cookie = 0,
		.stats_key = KERNEL + 0x1000,
		.stats_enter = KERNEL + 0x2000,
		.stats_exit = KERNEL + 0x3000,
		.resched = KERNEL + 0x4000,
		.missed = KERNEL + 0x5000,
		.cs = 0x10,
		.ss = 0x18,
		.smap = true,
	};
	for (i = 0; i <= TRAMP_X86_MAX_PROGS; i++)
		calls[i] = (struct tramp_x86_call){
			.func = KERNEL + 0x100000 + i * 0x100,
			.prog = 0xffffc90000012000 + i * 0x1000,
			.missed_arg = 0xffff888012345000 + i * 0x100,
			.hits = NEAR_PERCPU + 0x1008 + i * 0x10,
			.cookie = i,
		};
}

enum tramp_x86_err emit(u64 addr)
{
	memset(buf, CANARY, sizeof(buf));
	return emission->emit(buf, MACHINE_ROOM, addr);
}

bool all_bytes(const u8 *p, size_t n, u8 value)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (p[i] != value)
			return false;
	return true;
}

bool untouched(void)
{
	return all_bytes(buf, sizeof(buf), CANARY);
}

void emission_refused(const char *fmt, ...)
{
	char what[200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	CHECK(untouched(), "the buffer was written to: %s", what);
	CHECK_EQ(*emission->size, 0, "%s", what);
}

void emission_lengths(void)
{
	u32 len, size;

	REQUIRE(emit(IMAGE) == TRAMP_X86_OK, "");
	size = *emission->size;
	for (len = 0; len < size; len++) {
		memset(buf, CANARY, sizeof(buf));
		CHECK_EQ(emission->emit(buf, len, IMAGE), TRAMP_X86_NO_SPACE, "%u of %u bytes",
			 len, size);
		CHECK_EQ(*emission->size, size, "%u of %u bytes", len, size);
		CHECK(untouched(), "%u of %u bytes: written to", len, size);
	}
	for (; len < size + 40; len++) {
		memset(buf, CANARY, sizeof(buf));
		CHECK_EQ(emission->emit(buf, len, IMAGE), TRAMP_X86_OK, "%u bytes for %u", len,
			 size);
		CHECK_EQ(*emission->size, size, "%u bytes for %u", len, size);
		CHECK(all_bytes(buf + size, len - size, 0xcc), "no int3 behind the end");
		CHECK(all_bytes(buf + len, sizeof(buf) - len, CANARY),
		      "written to behind the buffer");
	}
	CHECK_EQ(emission->emit(NULL, 0, 0), TRAMP_X86_NO_SPACE, "");
	CHECK_EQ(*emission->size, size, "measured without a buffer");
}

void emission_reach(void (*good)(void), u64 *const *targets, u32 nr)
{
	static const u64 far[] = {
		IMAGE - 0x80100000, IMAGE + 0x80100000, 0x80001000, 0x7fffffffffff,
		IMAGE ^ 0x8000000000000000, IMAGE - 0x100000000,
	};
	u32 i, j;

	good();
	CHECK_EQ(emit(IMAGE), TRAMP_X86_OK, "all in reach");
	for (i = 0; i < nr; i++) {
		for (j = 0; j < sizeof(far) / sizeof(far[0]); j++) {
			good();
			*targets[i] = far[j];
			CHECK_EQ(emit(IMAGE), TRAMP_X86_OUT_OF_REACH, "target %u at %#lx", i,
				 (long)far[j]);
			CHECK(*emission->size, "the size that it would have");
			CHECK(all_bytes(buf, MACHINE_ROOM, 0xcc),
			      "code was left in the buffer");
			/* not looked at while measuring */
			CHECK_EQ(emit(0), TRAMP_X86_OK, "target %u, measuring", i);
		}
	}
}
