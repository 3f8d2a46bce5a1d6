// SPDX-License-Identifier: GPL-2.0
/*
 * kprobe.multi and kretprobe.multi: one link of the kernel's for many functions,
 * here with one. Not on kernels without CONFIG_FPROBE (6.1).
 */
#include <unistd.h>
#include "bench.h"

static void as_multi(const struct bench_place *place, struct bench_load *as)
{
	(void)place;
	*as = (struct bench_load){ BPF_PROG_TYPE_KPROBE, BPF_TRACE_KPROBE_MULTI, NULL };
}

static int attach(struct bench_att *a, __u64 cookie, uint32_t flags)
{
	unsigned long addr = a->addr;
	LIBBPF_OPTS(bpf_link_create_opts, opts,
		    .kprobe_multi.addrs = &addr, .kprobe_multi.cnt = 1,
		    .kprobe_multi.cookies = cookie ? &cookie : NULL,
		    .kprobe_multi.flags = flags);

	a->fd = bpf_link_create(a->prog_fd, 0, BPF_TRACE_KPROBE_MULTI, &opts);
	return a->fd < 0 ? a->fd : 0;
}

static int attach_entry(struct bench_att *a, const struct bench_place *place, uint64_t cookie)
{
	(void)place;
	return attach(a, cookie, 0);
}

static int attach_return(struct bench_att *a, const struct bench_place *place, uint64_t cookie)
{
	(void)place;
	return attach(a, cookie, BPF_F_KPROBE_MULTI_RETURN);
}

/* The link is what this kernel may refuse, not the program. */
static const char *missing(void)
{
	struct bench_place place = bench_place(BENCH_FUNCTION, 0);
	struct bench_att a = { .addr = place.func };
	struct bench_load as;
	int err = -1;

	as_multi(&place, &as);
	a.prog_fd = bench_load_try(BENCH_EMPTY, &as);
	if (a.prog_fd >= 0) {
		err = attach(&a, 0, 0);
		close(a.prog_fd);
	}
	if (err)
		return "this kernel has no fprobe";
	close(a.fd);
	return NULL;
}

BENCH_MECH(kernel_kprobe_multi) = {
	.name = "kprobe-multi", .title = "kprobe.multi", .side = BENCH_KERNEL, .rank = 80,
	.target = BENCH_FUNCTION, .progs = BENCH_ALL, .as = as_multi, .attach = attach_entry,
	.missing = missing,
};

BENCH_MECH(kernel_kretprobe_multi) = {
	.name = "kretprobe-multi", .title = "kretprobe.multi", .side = BENCH_KERNEL, .rank = 90,
	.target = BENCH_FUNCTION, .progs = BENCH_ALL, .as = as_multi, .attach = attach_return,
	.missing = missing,
};
