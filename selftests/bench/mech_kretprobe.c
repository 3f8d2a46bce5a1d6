// SPDX-License-Identifier: GPL-2.0
/*
 * kretprobe: programs at a function's return. Ours run from its exit image, or through the
 * kernel's rethook where it can have none. The kernel's are the same in both cases, with a perf
 * event for each program.
 */
#include <stdio.h>
#include "bench.h"

static void as_kprobe(const struct bench_place *place, struct bench_load *as)
{
	(void)place;
	*as = (struct bench_load){ .type = BPF_PROG_TYPE_KPROBE };
}

static int attach_kernel(struct bench_att *a, const struct bench_place *place, uint64_t cookie)
{
	(void)place;
	a->event_fd = bench_perf_event(a->addr, true);
	return a->event_fd < 0 ? a->event_fd : bench_link_perf(a, cookie);
}

BENCH_MECH(kernel_kretprobe) = {
	.name = "kretprobe", .title = "kretprobe", .side = BENCH_KERNEL, .rank = 70,
	.target = BENCH_FUNCTION, .progs = BENCH_ALL, .as = as_kprobe, .attach = attach_kernel,
};

BENCH_MECH(kernel_kretprobe_rethook) = {
	.name = "kretprobe-rethook", .title = "kretprobe, no exit image possible",
	.side = BENCH_KERNEL, .rank = 75, .target = BENCH_VARIADIC, .progs = BENCH_ALL,
	.as = as_kprobe, .attach = attach_kernel,
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

static const char *all_in_mode(const struct bench_att *a, unsigned int nr, uint32_t mode)
{
	static char why[128];
	unsigned int i;

	for (i = 0; i < nr; i++) {
		struct tramp_query q = tramp_query_link(a[i].link_id);

		if (q.mode == mode)
			continue;
		snprintf(why, sizeof(why), "number %u is in mode %s, %s", i,
			 tramp_mode_name(q.mode), tramp_reason_name(q.mode_reason));
		return why;
	}
	return NULL;
}

static const char *our_images(const struct bench_att *a, unsigned int nr)
{
	return all_in_mode(a, nr, TRAMP_MODE_DIRECT);
}

static const char *our_rethooks(const struct bench_att *a, unsigned int nr)
{
	return all_in_mode(a, nr, TRAMP_MODE_RETHOOK);
}

BENCH_MECH(our_kretprobe) = {
	.name = "kretprobe", .title = "return probe by exit image", .side = BENCH_OURS, .rank = 70,
	.target = BENCH_FUNCTION, .progs = BENCH_ALL, .as = as_kprobe, .attach = attach_ours,
	.settled = our_images, .missing = no_returns,
};

BENCH_MECH(our_kretprobe_rethook) = {
	.name = "kretprobe-rethook", .title = "return probe by rethook", .side = BENCH_OURS,
	.rank = 75, .target = BENCH_VARIADIC, .progs = BENCH_ALL, .as = as_kprobe,
	.attach = attach_ours, .settled = our_rethooks, .missing = no_returns,
};
