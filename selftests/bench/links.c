// SPDX-License-Identifier: GPL-2.0
/*
 * Making links: what the mechanisms have in common.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/perf_event.h>
#include "bench.h"

static uint64_t number_in(const char *path, const char *word)
{
	char *text = read_file(path);
	uint64_t n = *word ? number_after(text, word, 0) : strtoull(text, NULL, 10);

	free(text);
	return n;
}

void bench_as_kprobe(const struct bench_place *place, struct bench_load *as)
{
	(void)place;
	*as = (struct bench_load){ .type = BPF_PROG_TYPE_KPROBE };
}

int bench_perf_event(uint64_t addr, bool ret)
{
	static uint32_t type, ret_bit;
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.sample_period = 1,
		.wakeup_events = 1,
		.kprobe_addr = addr,
	};
	int fd;

	if (!type) {
		type = number_in("/sys/bus/event_source/devices/kprobe/type", "");
		ret_bit = number_in("/sys/bus/event_source/devices/kprobe/format/retprobe",
				    "config:");
	}
	attr.type = type;
	attr.config = ret ? 1ULL << ret_bit : 0;
	fd = syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int bench_link_perf(struct bench_att *a, uint64_t cookie)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .perf_event.bpf_cookie = cookie);

	a->fd = bpf_link_create(a->prog_fd, a->event_fd, BPF_PERF_EVENT, &opts);
	if (a->fd < 0)
		return a->fd;
	return ioctl(a->event_fd, PERF_EVENT_IOC_ENABLE, 0) ? -errno : 0;
}

int bench_link_tracing(struct bench_att *a, uint32_t attach_type, uint64_t cookie)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .tracing.cookie = cookie);

	a->fd = bpf_link_create(a->prog_fd, 0, attach_type, &opts);
	return a->fd < 0 ? a->fd : 0;
}

int bench_link_ours(struct bench_att *a, uint64_t addr, uint32_t flags, uint64_t cookie)
{
	struct tramp_attach at = {
		.size = sizeof(at),
		.flags = flags | (cookie ? TRAMP_ATTACH_F_COOKIE : 0),
		.prog_fd = a->prog_fd,
		.cookie = cookie,
		.addr = addr,
	};
	int err;

	if (ioctl(tramp_device(), TRAMP_IOC_ATTACH, &at)) {
		err = -errno;
		ktap_note("ATTACH: %s (%s) %s", tramp_reason_name(at.refusal.reason),
			  tramp_reason_sentence(at.refusal.reason), at.refusal.detail);
		return err;
	}
	a->fd = at.link_fd;
	a->link_id = at.link_id;
	return 0;
}

const char *bench_in_mode(const struct bench_att *a, unsigned int nr, uint32_t mode)
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

static int by_addr(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

unsigned int bench_kprobes(const struct bench_att *a, unsigned int nr, const char *mark)
{
	char *text = read_file("/sys/kernel/debug/kprobes/list"), *rest = text, *line;
	uint64_t *addr = calloc(nr, sizeof(*addr));
	unsigned int i, found = 0;

	REQUIRE(addr, "out of memory");
	for (i = 0; i < nr; i++)
		addr[i] = a[i].addr;
	qsort(addr, nr, sizeof(*addr), by_addr);

	/* ffffffff81234560  k  name+0x5    [OPTIMIZED] */
	while ((line = strsep(&rest, "\n"))) {
		uint64_t at = strtoull(line, NULL, 16), before = at - 4;

		if (strstr(line, mark) && (bsearch(&at, addr, nr, sizeof(*addr), by_addr) ||
					   bsearch(&before, addr, nr, sizeof(*addr), by_addr)))
			found++;
	}
	free(addr);
	free(text);
	return found;
}

unsigned int bench_first_byte_is(const struct bench_att *a, unsigned int nr, uint8_t byte)
{
	uint64_t low = UINT64_MAX, high = 0;
	unsigned int i, found = 0;
	uint8_t *text;

	for (i = 0; i < nr; i++) {
		low = a[i].addr < low ? a[i].addr : low;
		high = a[i].addr > high ? a[i].addr : high;
	}
	text = malloc(high - low + 1);
	REQUIRE(text, "out of memory");
	kcore_read(low, text, high - low + 1);
	for (i = 0; i < nr; i++)
		found += text[a[i].addr - low] == byte;
	free(text);
	return found;
}
