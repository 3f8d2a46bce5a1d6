// SPDX-License-Identifier: GPL-2.0
/*
 * bpf_link_info of a probe's link, member by member and error by error, against that of the
 * kernel's own kprobe: a perf event of the kprobe PMU with a link.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "fixture.h"
#include "probe.h"
#include "selftests/vm/lib/probe_progs.skel.h"

#define FUNC		"vfs_write"
#define VARIADIC	"sysfs_emit"
#define COOKIE		0x1122334455667788ull
#define KPTR_RESTRICT	"/proc/sys/kernel/kptr_restrict"

/* struct bpf_link_info of a kprobe, which this system's headers need not have. */
struct info {
	uint32_t type, id, prog_id, pad;
	uint32_t event_type, pad2;
	uint64_t name;
	uint32_t name_len, offset;
	uint64_t addr, missed, cookie;
	uint64_t room[8];
};
#define EVENT_KPROBE	3	/* BPF_PERF_EVENT_KPROBE */
#define EVENT_KRETPROBE	4	/* BPF_PERF_EVENT_KRETPROBE */

struct answer {
	int err;
	struct info info;
	char name[160];
};

static struct answer ask(int link, bool with_name, uint32_t len)
{
	struct answer a = {};
	union bpf_attr attr = { .info = { .bpf_fd = link, .info_len = sizeof(a.info),
					  .info = (uintptr_t)&a.info } };

	memset(a.name, 'x', sizeof(a.name));
	a.info.name = with_name ? (uintptr_t)a.name : 0;
	a.info.name_len = len;
	if (syscall(SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr)))
		a.err = -errno;
	/* No two links have these in common. */
	a.info.name = 0;
	a.info.id = a.info.prog_id = 0;
	return a;
}

static int perf_link(int prog, const char *symbol, uint64_t offset)
{
	struct perf_event_attr attr = { .size = sizeof(attr), .config1 = (uintptr_t)symbol,
					.config2 = offset };
	LIBBPF_OPTS(bpf_link_create_opts, opts, .perf_event.bpf_cookie = COOKIE);
	char *type = read_file("/sys/bus/event_source/devices/kprobe/type");
	int event, link;

	attr.type = atoi(type);
	free(type);
	event = syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	REQUIRE(event >= 0, "perf_event_open of %s+%#lx: %s", symbol, offset, strerror(errno));
	link = bpf_link_create(prog, event, BPF_PERF_EVENT, &opts);
	REQUIRE(link >= 0, "link: %s", strerror(-link));
	close(event);
	return link;
}

static int our_link(int prog, const char *symbol, uint64_t offset, uint32_t flags)
{
	struct tramp_attach want = { .offset = offset, .cookie = COOKIE,
				     .flags = flags | TRAMP_ATTACH_F_COOKIE };
	struct attachment p;

	strcpy(want.symbol, symbol);
	p = attach_want(prog, &want);
	REQUIRE(!p.err, "%s+%#lx: %s", symbol, offset, tramp_reason_name(p.reply.refusal.reason));
	return p.fd;
}

/* Room for the name: none, in all sizes around its own, in sizes that do not go together. */
static const struct {
	bool name;
	uint32_t len;
} room[] = {
	{ false, 0 }, { false, 5 }, { true, 0 }, { true, 1 }, { true, 2 },
	{ true, sizeof(FUNC) - 1 }, { true, sizeof(FUNC) }, { true, sizeof(FUNC) + 1 },
	{ true, 128 },
};
#define ROOMS (sizeof(room) / sizeof(room[0]))

static void ask_all(int link, struct answer *answers)
{
	size_t i;

	for (i = 0; i < ROOMS; i++)
		answers[i] = ask(link, room[i].name, room[i].len);
	close(link);
}

static void compare(const char *what, const struct answer *ours, const struct answer *kernels)
{
	size_t i;

	for (i = 0; i < ROOMS; i++) {
		const struct answer *a = &ours[i], *k = &kernels[i];

		CHECK_EQ(a->err, k->err, "%s, room %zu", what, i);
		CHECK_EQ(a->info.type, k->info.type, "%s, room %zu: type", what, i);
		CHECK_EQ(a->info.event_type, k->info.event_type, "%s, room %zu: event", what, i);
		CHECK_EQ(a->info.name_len, k->info.name_len, "%s, room %zu: name_len", what, i);
		CHECK_EQ(a->info.offset, k->info.offset, "%s, room %zu: offset", what, i);
		CHECK_EQ(a->info.addr, k->info.addr, "%s, room %zu: address", what, i);
		CHECK_EQ(a->info.missed, k->info.missed, "%s, room %zu: missed", what, i);
		CHECK_EQ(a->info.cookie, k->info.cookie, "%s, room %zu: cookie", what, i);
		CHECK(!memcmp(&a->info, &k->info, sizeof(a->info)), "%s, room %zu: the rest", what,
		      i);
		CHECK(!memcmp(a->name, k->name, sizeof(a->name)), "%s, room %zu: '%.20s', '%.20s'",
		      what, i, a->name, k->name);
	}
}

/* An instruction in the middle of FUNC. */
static uint64_t middle(void)
{
	struct probe_func f;
	uint64_t offset;

	REQUIRE(!probe_explain(&f, 0, FUNC, false), FUNC);
	offset = f.insns[f.nr / 2].offset;
	probe_func_free(&f);
	return offset;
}

static void test_as_the_kernel(void)
{
	static struct answer ours[ROOMS], kernels[ROOMS];
	uint64_t offsets[2] = { 0, 0 };
	int prog, i, hidden;
	char what[64];

	close(fixture_open("about our links"));
	if (kernel_version() < 6009)
		ktap_skip("link info has no cookie before 6.9");
	probe_setup();
	prog = bpf_program__fd(probe_skel->progs.nothing);
	offsets[1] = middle();
	for (hidden = 0; hidden < 2; hidden++) {
		REQUIRE(!write_file(KPTR_RESTRICT, "%d", hidden ? 2 : 0), "kptr_restrict");
		for (i = 0; i < 2; i++) {
			snprintf(what, sizeof(what), FUNC "+%#lx%s", offsets[i],
				 hidden ? ", hidden" : "");
			ask_all(perf_link(prog, FUNC, offsets[i]), kernels);
			ask_all(our_link(prog, FUNC, offsets[i], 0), ours);
			probe_flush();	/* the text as it was: the kernel's is next */
			/* The test itself: the kernel tells what it should. */
			CHECK_EQ(kernels[0].info.event_type, EVENT_KPROBE, "%s", what);
			CHECK_EQ(kernels[0].info.cookie, COOKIE, "%s", what);
			CHECK_EQ(!kernels[0].info.addr, hidden, "%s", what);
			compare(what, ours, kernels);
		}
	}
	write_file(KPTR_RESTRICT, "0");
}

/* Memory that is none, and a link that is at nothing any more. */
static void check_ours(const char *what, int link, const char *symbol, uint32_t event)
{
	struct answer a = ask(link, true, sizeof(a.name));
	union bpf_attr attr = {};
	struct info info = {};
	int i;

	CHECK_EQ(a.err, 0, "%s", what);
	CHECK_EQ(a.info.event_type, event, "%s", what);
	CHECK_EQ(a.info.cookie, COOKIE, "%s", what);
	CHECK(!strcmp(a.name, symbol), "%s: '%s'", what, a.name);
	attr.info.bpf_fd = link;
	attr.info.info_len = sizeof(info);
	attr.info.info = (uintptr_t)&info;
	/* Room for all of it, and for a part. */
	for (i = 0; i < 2; i++) {
		info.name = 0x10;
		info.name_len = i ? 64 : 2;
		CHECK(syscall(SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr)) < 0 &&
		      errno == EFAULT, "%s: %s", what, strerror(errno));
	}
	REQUIRE(!bpf_link_detach(link), "%s: %s", what, strerror(errno));
	a = ask(link, true, 64);
	CHECK_EQ(a.err, 0, "%s, detached", what);
	CHECK_EQ(a.info.event_type, event, "%s, detached", what);
	CHECK_EQ(a.info.name_len, 1, "%s, detached", what);
	CHECK_EQ(a.info.addr, 0, "%s, detached", what);
	CHECK_EQ(a.info.cookie, COOKIE, "%s, detached", what);
	CHECK(!a.name[0], "%s, detached: '%s'", what, a.name);
	close(link);
}

static void test_ours(void)
{
	int prog;

	close(fixture_open("about our links"));
	if (kernel_version() < 6006)
		ktap_skip("link info tells of probes from 6.6 on");
	probe_setup();
	prog = bpf_program__fd(probe_skel->progs.nothing);
	check_ours("entry", our_link(prog, FUNC, 0, 0), FUNC, EVENT_KPROBE);
	check_ours("middle", our_link(prog, FUNC, middle(), 0), FUNC, EVENT_KPROBE);
	check_ours("return", our_link(prog, FUNC, 0, TRAMP_ATTACH_F_RETURN), FUNC,
		   EVENT_KRETPROBE);
	/* Not by an exit image: it takes any number of arguments. */
	check_ours("return by rethook", our_link(prog, VARIADIC, 0, TRAMP_ATTACH_F_RETURN),
		   VARIADIC, EVENT_KRETPROBE);
}

static const struct ktap_test tests[] = {
	{ "as_the_kernel", test_as_the_kernel, 60 },
	{ "ours", test_ours, 60 },
};

KTAP_MAIN(tests)
