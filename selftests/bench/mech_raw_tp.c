// SPDX-License-Identifier: GPL-2.0
/*
 * Raw tracepoint: no probe at all but a hook that somebody has put there; how
 * cheap a hit can be when the kernel was built for it. The cookie is read through
 * a link that only later kernels have, so it is left out.
 */
#include "bench.h"

static void as_raw_tp(const struct bench_place *place, struct bench_load *as)
{
	(void)place;
	*as = (struct bench_load){ .type = BPF_PROG_TYPE_RAW_TRACEPOINT };
}

static int attach_kernel(struct bench_att *a, const struct bench_place *place, uint64_t cookie)
{
	(void)place;
	(void)cookie;
	a->fd = bpf_raw_tracepoint_open("bench_event", a->prog_fd);
	return a->fd < 0 ? a->fd : 0;
}

BENCH_MECH(kernel_raw_tp) = {
	.name = "raw-tp", .title = "raw tracepoint", .side = BENCH_KERNEL, .rank = 100,
	.target = BENCH_TRACEPOINT, .progs = BENCH_PLAIN, .as = as_raw_tp,
	.attach = attach_kernel,
};
