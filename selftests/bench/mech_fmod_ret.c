// SPDX-License-Identifier: GPL-2.0
/*
 * fmod_ret: programs that may replace a function's result, the kernel's trampoline and ours.
 */
#include "bench.h"

static void as_fmod_ret(const struct bench_place *place, struct bench_load *as)
{
	*as = (struct bench_load){ BPF_PROG_TYPE_TRACING, BPF_MODIFY_RETURN, place->name };
}

static int attach_kernel(struct bench_att *a, const struct bench_place *place, uint64_t cookie)
{
	(void)place;
	return bench_link_tracing(a, BPF_MODIFY_RETURN, cookie);
}

static int attach_ours(struct bench_att *a, const struct bench_place *place, uint64_t cookie)
{
	(void)place;
	return bench_link_ours(a, 0, 0, cookie);
}

BENCH_MECH(kernel_fmod_ret) = {
	.name = "fmod_ret", .title = "fmod_ret", .side = BENCH_KERNEL, .rank = 30,
	.target = BENCH_SECURITY, .progs = BENCH_PLAIN | 1u << BENCH_COOKIE,
	.image = true, .as = as_fmod_ret, .attach = attach_kernel,
};

BENCH_MECH(our_fmod_ret) = {
	.name = "fmod_ret", .title = "fmod_ret", .side = BENCH_OURS, .rank = 30,
	.target = BENCH_SECURITY, .progs = BENCH_PLAIN | 1u << BENCH_COOKIE,
	.as = as_fmod_ret, .attach = attach_ours,
};
