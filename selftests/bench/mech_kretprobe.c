// SPDX-License-Identifier: GPL-2.0
/*
 * kretprobe: the kernel's, through a perf event for each program.
 */
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
