// SPDX-License-Identifier: GPL-2.0
/*
 * Making links of one program to many functions, the kernel's and ours.
 */
#include <errno.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "bench.h"

int bench_link_kernel_multi(struct bench_att *a, uint32_t attach_type, const uint64_t *addrs,
			    uint32_t nr, const uint64_t *cookies, uint32_t flags)
{
	union bpf_attr attr = {};

	/* Not by libbpf, which may be older than sessions. */
	attr.link_create.prog_fd = a->prog_fd;
	attr.link_create.attach_type = attach_type;
	attr.link_create.kprobe_multi.flags = flags;
	attr.link_create.kprobe_multi.cnt = nr;
	attr.link_create.kprobe_multi.addrs = (uintptr_t)addrs;
	attr.link_create.kprobe_multi.cookies = (uintptr_t)cookies;
	a->fd = syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
	return a->fd < 0 ? -errno : 0;
}

int bench_link_our_multi(struct bench_att *a, const uint64_t *addrs, uint32_t nr,
			 const uint64_t *cookies, uint32_t flags)
{
	struct tramp_attach_multi at = {
		.size = sizeof(at),
		.flags = flags,
		.prog_fd = a->prog_fd,
		.nr = nr,
		.addrs = (uintptr_t)addrs,
		.cookies = (uintptr_t)cookies,
	};
	int err;

	if (ioctl(tramp_device(), TRAMP_IOC_ATTACH_MULTI, &at)) {
		err = -errno;
		ktap_note("ATTACH_MULTI: number %u: %s (%s) %s", at.failed,
			  tramp_reason_name(at.refusal.reason),
			  tramp_reason_sentence(at.refusal.reason), at.refusal.detail);
		return err;
	}
	a->fd = at.link_fd;
	a->link_id = at.link_id;
	return 0;
}
