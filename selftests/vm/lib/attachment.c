// SPDX-License-Identifier: GPL-2.0
/*
 * Attaching, ours and the kernel's, and asking what became of it: see attachment.h.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/perf_event.h>
#include "attachment.h"

struct attachment attach_want(int prog_fd, struct tramp_attach *want)
{
	struct attachment a = { .how = OURS, .fd = -1 };

	want->size = sizeof(*want);
	want->prog_fd = prog_fd;
	if (ioctl(tramp_device(), TRAMP_IOC_ATTACH, want))
		a.err = -errno;
	else
		a.fd = want->link_fd;
	a.reply = *want;
	return a;
}

/* -------------------------------------------------------------- the kernel's -- */

static struct attachment kernel_func(int prog_fd, const uint64_t *cookie)
{
	struct attachment a = { .how = KERNEL, .fd = -1 };
	struct bpf_prog_info info = {};
	uint32_t len = sizeof(info);
	LIBBPF_OPTS(bpf_link_create_opts, opts);

	if (bpf_obj_get_info_by_fd(prog_fd, &info, &len)) {
		a.err = -errno;
		return a;
	}
	if (cookie)
		opts.tracing.cookie = *cookie;
	/*
	 * BPF_LINK_CREATE wants the program's attach type, which the info does
	 * not tell: of the three, only the right one is not refused.
	 */
	a.fd = bpf_link_create(prog_fd, 0, BPF_TRACE_FENTRY, &opts);
	if (a.fd == -EINVAL)
		a.fd = bpf_link_create(prog_fd, 0, BPF_TRACE_FEXIT, &opts);
	if (a.fd == -EINVAL)
		a.fd = bpf_link_create(prog_fd, 0, BPF_MODIFY_RETURN, &opts);
	if (a.fd < 0)
		a.err = a.fd;
	return a;
}

/* A link, for the cookie. Bit 0 of @config: at the return. */
static struct attachment kernel_insn(int prog_fd, uint64_t addr, uint64_t config, uint64_t cookie)
{
	struct perf_event_attr attr = { .size = sizeof(attr), .config = config, .config2 = addr };
	LIBBPF_OPTS(bpf_link_create_opts, opts, .perf_event.bpf_cookie = cookie);
	struct attachment a = { .how = KERNEL, .fd = -1 };
	char *type = read_file("/sys/bus/event_source/devices/kprobe/type");
	int event;

	attr.type = atoi(type);
	free(type);
	event = syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	if (event < 0) {
		a.err = -errno;
		return a;
	}
	a.fd = bpf_link_create(prog_fd, event, BPF_PERF_EVENT, &opts);
	if (a.fd < 0)
		a.err = a.fd;
	else if (ioctl(event, PERF_EVENT_IOC_ENABLE, 0))
		a.err = -errno;
	close(event);
	return a;
}

/* -------------------------------------------------------------------- either -- */

struct attachment attach_func_try(enum how how, int prog_fd, const uint64_t *cookie)
{
	struct tramp_attach want = {};

	if (how == KERNEL || vmtest_oracle())
		return kernel_func(prog_fd, cookie);
	if (cookie) {
		want.cookie = *cookie;
		want.flags = TRAMP_ATTACH_F_COOKIE;
	}
	return attach_want(prog_fd, &want);
}

struct attachment attach_insn_try(enum how how, int prog_fd, uint64_t addr, uint32_t flags,
				  uint64_t cookie)
{
	struct tramp_attach want = { .addr = addr, .cookie = cookie,
				     .flags = flags | TRAMP_ATTACH_F_COOKIE };

	if (how == KERNEL || vmtest_oracle())
		return kernel_insn(prog_fd, addr, 0, cookie);
	return attach_want(prog_fd, &want);
}

struct attachment attach_return_try(enum how how, int prog_fd, const char *func,
				    uint32_t maxactive, uint64_t cookie)
{
	struct tramp_attach want = { .cookie = cookie, .maxactive = maxactive,
				     .flags = TRAMP_ATTACH_F_RETURN | TRAMP_ATTACH_F_COOKIE };

	if (how == KERNEL || vmtest_oracle())
		return kernel_insn(prog_fd, ksym_addr(func), 1, cookie);
	snprintf(want.symbol, sizeof(want.symbol), "%s", func);
	return attach_want(prog_fd, &want);
}

static struct attachment must(struct attachment a, uint64_t addr)
{
	char name[128] = "its function";

	REQUIRE(!a.err, "attach to %s (%s): %s, %s %s",
		addr ? ksym_name(addr, name, sizeof(name)) : name,
		a.how == KERNEL ? "kernel" : "ours", strerror(-a.err),
		tramp_reason_name(a.reply.refusal.reason), a.reply.refusal.detail);
	return a;
}

struct attachment attach_func(enum how how, int prog_fd, const uint64_t *cookie)
{
	return must(attach_func_try(how, prog_fd, cookie), 0);
}

struct attachment attach_insn(enum how how, int prog_fd, uint64_t addr, uint32_t flags,
			      uint64_t cookie)
{
	return must(attach_insn_try(how, prog_fd, addr, flags, cookie), addr);
}

struct attachment attach_return(enum how how, int prog_fd, const char *func, uint32_t maxactive,
				uint64_t cookie)
{
	struct attachment a = attach_return_try(how, prog_fd, func, maxactive, cookie);

	/* To read all symbols takes longer than to attach. */
	return must(a, a.err ? ksym_addr(func) : 0);
}

void detach(struct attachment *a)
{
	/* 0 is standard input: nothing was ever attached here. */
	if (a->fd > 0)
		close(a->fd);
	a->fd = -1;
	a->err = -EBADF;
}

/* ----------------------------------------------------------------- questions -- */

struct tramp_query attachment_query(const struct attachment *a)
{
	return tramp_query_link(a->reply.link_id);
}

void attachment_counts(const struct attachment *a, uint64_t *hits, uint64_t *misses)
{
	struct tramp_query q;

	*hits = *misses = 0;
	if (a->how == OURS) {
		q = attachment_query(a);
		*hits = q.hits;
		*misses = q.misses;
	}
}

bool attachment_expect(const struct attachment *a, uint32_t mode, uint32_t reason,
		       const char *what)
{
	struct tramp_query q;

	if (vmtest_oracle())
		return true;
	q = attachment_query(a);
	return CHECK(q.mode == mode && q.mode_reason == reason,
		     "%s: %s+%#llx is %s (%s), not %s (%s)", what, q.func_name,
		     (unsigned long long)q.offset, tramp_mode_name(q.mode),
		     tramp_reason_name(q.mode_reason), tramp_mode_name(mode),
		     tramp_reason_name(reason));
}
