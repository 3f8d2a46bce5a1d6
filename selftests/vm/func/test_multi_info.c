// SPDX-License-Identifier: GPL-2.0
/*
 * bpf_link_info of a link to many functions, by members and errors, against that of the kernel's
 * own kprobe.multi link. And an update of such a link, which is refused.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "fixture.h"
#include "many.h"
#include "multi.h"
#include "selftests/vm/func/multi.skel.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define KPTR_RESTRICT	"/proc/sys/kernel/kptr_restrict"
/* An address where no memory is. */
#define NO_MEMORY	0x10

static const char *const names[] = { "tt_hot2", "tt_hot0", "tt_hot3", "tt_hot1" };
#define NR ((uint32_t)ARRAY_SIZE(names))

static struct multi *skel;

static void setup(void)
{
	close(fixture_open("about our links"));
	if (kernel_version() < 6009)
		ktap_skip("link info has no cookies of many functions before 6.9");
	skel = many_open(multi);
	REQUIRE(skel, "%s", strerror(errno));
	REQUIRE(!multi__load(skel), "%s", strerror(errno));
}

static struct many *many_hot(void)
{
	struct many *m = many_new();
	uint32_t i;

	for (i = 0; i < NR; i++)
		many_add_name(m, names[i]);
	for (i = 0; i < NR; i++)
		m->cookies[i] = 1000 + i;
	return m;
}

static int kernels_link(const struct many *m, int prog, uint32_t flags)
{
	unsigned long addrs[NR];
	__u64 cookies[NR];
	LIBBPF_OPTS(bpf_link_create_opts, opts, .kprobe_multi.addrs = addrs,
		    .kprobe_multi.cnt = NR, .kprobe_multi.flags = flags,
		    .kprobe_multi.cookies = cookies);
	uint32_t i;
	int link;

	for (i = 0; i < NR; i++) {
		addrs[i] = m->addrs[i];
		cookies[i] = m->cookies[i];
	}
	link = bpf_link_create(prog, 0, BPF_TRACE_KPROBE_MULTI, &opts);
	REQUIRE(link >= 0, "the kernel's link: %s", strerror(-link));
	return link;
}

/* Lists that are there or not, in memory that is there or not, with room for more or fewer. */
static const struct {
	const char *what;
	bool addrs, cookies, bad;
	uint32_t room;
} asks[] = {
	{ "nothing asked for", false, false, false, 0 },
	{ "all of it", true, true, false, NR },
	{ "room for more", true, true, false, NR + 3 },
	{ "room for fewer", true, true, false, NR - 1 },
	{ "addresses alone", true, false, false, NR },
	{ "no room", true, false, false, 0 },
	{ "room without addresses", false, false, false, NR },
	{ "cookies without room", false, true, false, 0 },
	{ "no memory", true, false, true, NR },
};

struct answer {
	int err;
	struct many_info info;
	uint64_t addrs[NR + 3], cookies[NR + 3];
};

static struct answer ask(int link, size_t i)
{
	struct answer a = { .info.count = asks[i].room };

	if (asks[i].addrs)
		a.info.addrs = asks[i].bad ? NO_MEMORY : (uintptr_t)a.addrs;
	if (asks[i].cookies)
		a.info.cookies = (uintptr_t)a.cookies;
	a.err = many_info(link, &a.info);
	/* No two links have these in common. */
	a.info.addrs = a.info.cookies = 0;
	a.info.id = a.info.prog_id = 0;
	return a;
}

static void test_as_the_kernel(void)
{
	int hidden, returns, prog, theirs;
	size_t i;

	setup();
	for (returns = 0; returns < 2; returns++) {
		struct many *m = many_hot();

		prog = bpf_program__fd(returns ? skel->progs.on_return : skel->progs.on_entry);
		theirs = kernels_link(m, prog, returns ? BPF_F_KPROBE_MULTI_RETURN : 0);
		many_attach(m, prog, returns ? TRAMP_MULTI_F_RETURN : 0);
		for (hidden = 0; hidden < 2; hidden++) {
			REQUIRE(!write_file(KPTR_RESTRICT, "%d", hidden ? 2 : 0), "kptr_restrict");
			for (i = 0; i < ARRAY_SIZE(asks); i++) {
				struct answer kernels = ask(theirs, i);
				struct answer ours = ask(m->cmd.link_fd, i);

				CHECK_EQ(ours.err, kernels.err, "%s", asks[i].what);
				CHECK(!memcmp(&ours.info, &kernels.info, sizeof(ours.info)),
				      "%s: type %u, %u functions, flags %#x; the kernel's %u, %u, %#x",
				      asks[i].what, ours.info.type, ours.info.count,
				      ours.info.flags, kernels.info.type, kernels.info.count,
				      kernels.info.flags);
				CHECK(!memcmp(ours.addrs, kernels.addrs, sizeof(ours.addrs)),
				      "%s: addresses", asks[i].what);
				CHECK(!memcmp(ours.cookies, kernels.cookies, sizeof(ours.cookies)),
				      "%s: cookies", asks[i].what);
			}
		}
		write_file(KPTR_RESTRICT, "0");
		many_detach(m);
		close(theirs);
	}
}

/* Those whose returns a rethook sees are in the same list. A link at nothing has none. */
static void test_ours(void)
{
	uint64_t addrs[3], cookies[3];
	struct many_info info = { .addrs = (uintptr_t)addrs, .cookies = (uintptr_t)cookies,
				  .count = 3 };
	struct many *m;
	int i, k;

	setup();
	m = many_new();
	many_add_name(m, "tt_hot1");
	many_add_name(m, "tt_args12");
	many_add_name(m, "tt_hot0");
	many_attach(m, bpf_program__fd(skel->progs.on_plain_return), TRAMP_MULTI_F_RETURN);
	CHECK_EQ(many_info(m->cmd.link_fd, &info), 0, "link info");
	CHECK_EQ(info.count, 3, "functions");
	for (i = 0; i < 3; i++) {
		CHECK(!i || addrs[i - 1] < addrs[i], "in order of the addresses");
		for (k = 0; k < 3 && m->addrs[k] != addrs[i]; k++)
			;
		CHECK(k < 3 && m->cookies[k] == cookies[i], "function %d: cookie %lu", i,
		      cookies[i]);
	}
	REQUIRE(!bpf_link_detach(m->cmd.link_fd), "%s", strerror(errno));
	info = (struct many_info){ 0 };
	CHECK_EQ(many_info(m->cmd.link_fd, &info), 0, "detached");
	CHECK_EQ(info.count, 0, "detached");
	many_detach(m);
}

/* The kernel's own link has no update either. */
static void test_update(void)
{
	struct many *m;
	int dev;

	setup();
	dev = tt_open();
	m = many_hot();
	many_attach(m, bpf_program__fd(skel->progs.on_plain_entry), 0);
	CHECK_EQ(bpf_link_update(m->cmd.link_fd, bpf_program__fd(skel->progs.on_plain_return),
				 NULL), -EINVAL, "update");
	tt_call(dev, "tt_hot0 n=7 1");
	CHECK_EQ(tramp_query_link(m->cmd.link_id).hits, 7, "hits of the program that stays");
	many_detach(m);
	close(dev);
}

static const struct ktap_test tests[] = {
	{ "as_the_kernel", test_as_the_kernel, 60 },
	{ "ours", test_ours, 60 },
	{ "update", test_update, 60 },
};

KTAP_MAIN(tests)
