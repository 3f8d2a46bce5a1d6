// SPDX-License-Identifier: GPL-2.0
/*
 * fentry: programs at a function's entry, the kernel's trampoline and ours.
 */
#include "bench.h"

static void as_fentry(const struct bench_place *place, struct bench_load *as)
{
	*as = (struct bench_load){ BPF_PROG_TYPE_TRACING, BPF_TRACE_FENTRY, place->name };
}

static int attach_kernel(struct bench_att *a, const struct bench_place *place, uint64_t cookie)
{
	(void)place;
	return bench_link_tracing(a, BPF_TRACE_FENTRY, cookie);
}

static int attach_ours(struct bench_att *a, const struct bench_place *place, uint64_t cookie)
{
	(void)place;
	return bench_link_ours(a, 0, TRAMP_ATTACH_F_NO_OPS, cookie);
}

BENCH_MECH(kernel_fentry) = {
	.name = "fentry", .title = "fentry", .side = BENCH_KERNEL, .rank = 10,
	.target = BENCH_FUNCTION, .progs = BENCH_PLAIN | 1u << BENCH_COOKIE, .many = 300,
	.image = true, .as = as_fentry, .attach = attach_kernel,
};

BENCH_MECH(our_fentry) = {
	.name = "fentry", .title = "fentry", .side = BENCH_OURS, .rank = 10,
	.target = BENCH_FUNCTION, .progs = BENCH_PLAIN | 1u << BENCH_COOKIE, .many = 1000,
	.as = as_fentry, .attach = attach_ours,
};
