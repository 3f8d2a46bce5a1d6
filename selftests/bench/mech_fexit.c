// SPDX-License-Identifier: GPL-2.0
/*
 * fexit: programs at a function's return, the kernel's trampoline and ours.
 */
#include "bench.h"

static void as_fexit(const struct bench_place *place, struct bench_load *as)
{
	*as = (struct bench_load){ BPF_PROG_TYPE_TRACING, BPF_TRACE_FEXIT, place->name };
}

static int attach_kernel(struct bench_att *a, const struct bench_place *place, uint64_t cookie)
{
	(void)place;
	return bench_link_tracing(a, BPF_TRACE_FEXIT, cookie);
}

static int attach_ours(struct bench_att *a, const struct bench_place *place, uint64_t cookie)
{
	(void)place;
	return bench_link_ours(a, 0, 0, cookie);
}

BENCH_MECH(kernel_fexit) = {
	.name = "fexit", .title = "fexit", .side = BENCH_KERNEL, .rank = 20,
	.target = BENCH_FUNCTION, .progs = BENCH_PLAIN | 1u << BENCH_COOKIE,
	.image = true, .as = as_fexit, .attach = attach_kernel,
};

BENCH_MECH(our_fexit) = {
	.name = "fexit", .title = "fexit", .side = BENCH_OURS, .rank = 20,
	.target = BENCH_FUNCTION, .progs = BENCH_PLAIN | 1u << BENCH_COOKIE,
	.as = as_fexit, .attach = attach_ours,
};
