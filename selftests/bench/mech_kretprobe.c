// SPDX-License-Identifier: GPL-2.0
/*
 * kretprobe: programs at a function's return. Ours run from its exit image, or through the
 * kernel's rethook where it can have none. The kernel's are the same in both cases, with a perf
 * event for each program.
 */
#include "bench.h"

static int attach_kernel(struct bench_att *a, const struct bench_place *place, uint64_t cookie)
{
	(void)place;
	a->event_fd = bench_perf_event(a->addr, true);
	return a->event_fd < 0 ? a->event_fd : bench_link_perf(a, cookie);
}

BENCH_MECH(kernel_kretprobe) = {
	.name = "kretprobe", .title = "kretprobe", .side = BENCH_KERNEL, .rank = 70,
	.target = BENCH_FUNCTION, .progs = BENCH_ALL, .as = bench_as_kprobe,
	.attach = attach_kernel,
};

BENCH_MECH(kernel_kretprobe_rethook) = {
	.name = "kretprobe-rethook", .title = "kretprobe, no exit image possible",
	.side = BENCH_KERNEL, .rank = 75, .target = BENCH_VARIADIC, .progs = BENCH_ALL,
	.as = bench_as_kprobe, .attach = attach_kernel,
};

static const char *no_returns(void)
{
	return tramp_module().features & TRAMP_FEAT_KRETPROBE ? NULL :
	       "no return probes in this module";
}

static int attach_ours(struct bench_att *a, const struct bench_place *place, uint64_t cookie)
{
	(void)place;
	return bench_link_ours(a, a->addr, TRAMP_ATTACH_F_RETURN, cookie);
}

static const char *our_images(const struct bench_att *a, unsigned int nr)
{
	return bench_in_mode(a, nr, TRAMP_MODE_DIRECT);
}

static const char *our_rethooks(const struct bench_att *a, unsigned int nr)
{
	return bench_in_mode(a, nr, TRAMP_MODE_RETHOOK);
}

BENCH_MECH(our_kretprobe) = {
	.name = "kretprobe", .title = "return probe by exit image", .side = BENCH_OURS, .rank = 70,
	.target = BENCH_FUNCTION, .progs = BENCH_ALL, .as = bench_as_kprobe, .attach = attach_ours,
	.settled = our_images, .missing = no_returns,
};

BENCH_MECH(our_kretprobe_rethook) = {
	.name = "kretprobe-rethook", .title = "return probe by rethook", .side = BENCH_OURS,
	.rank = 75, .target = BENCH_VARIADIC, .progs = BENCH_ALL, .as = bench_as_kprobe,
	.attach = attach_ours, .settled = our_rethooks, .missing = no_returns,
};
