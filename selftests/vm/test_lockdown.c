// SPDX-License-Identifier: GPL-2.0
/*
 * Kernel lockdown. It can be raised but never lowered, so this program needs a
 * machine of its own: selftests/vm/lockdown boots one for it.
 *
 * At "integrity" attaching is allowed, as kprobes and the kernel's own fentry are;
 * at "confidentiality" it is refused. What is attached already goes on, and can be
 * detached.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <linux/types.h>
#include "vmtest.h"
#include "record.h"
#include "selftests/vm/record.skel.h"

#define LOCKDOWN "/sys/kernel/security/lockdown"

static struct record *skel;
static int dev, prog[4];

static struct tramp_link *try_attach(int prog_fd, uint64_t cookie)
{
	TRAMP_OPTS(tramp_attach_opts, opts, .cookie = cookie, .flags = TRAMP_ATTACH_F_COOKIE);

	return tramp_attach_fd(prog_fd, &opts);
}

static void raise_to(const char *level)
{
	int err = write_file(LOCKDOWN, "%s", level);
	char *text, marked[64];

	REQUIRE(!err, "%s: %s: %s", LOCKDOWN, level, strerror(-err));
	text = read_file(LOCKDOWN);
	snprintf(marked, sizeof(marked), "[%s]", level);
	REQUIRE(strstr(text, marked), "lockdown is '%s'", text);
	free(text);
}

static void test_lockdown(void)
{
	struct tramp_explain ex = { .size = sizeof(ex), .name = "tt_hot0" };
	struct tramp_link *link[2], *refused;
	int i;

	if (access(LOCKDOWN, F_OK))
		ktap_skip("this kernel has no lockdown");
	dev = tt_open();
	skel = record__open_and_load();
	REQUIRE(skel, "record.bpf.o: %s", strerror(errno));
	for (i = 0; i < 4; i++)
		prog[i] = prog_clone(skel->progs.count_entry, "tt_hot0", BPF_TRACE_FENTRY);
	link[0] = try_attach(prog[0], 0);
	REQUIRE(link[0], "%s", tramp_last_error()->message);

	raise_to("integrity");
	link[1] = try_attach(prog[1], 1);
	CHECK(link[1], "at integrity: %s", tramp_last_error()->message);

	raise_to("confidentiality");
	refused = try_attach(prog[2], 2);
	CHECK(!refused && errno == EPERM, "at confidentiality: %s",
	      refused ? "attached" : strerror(errno));
	CHECK_EQ(tramp_last_error()->reason, TRAMP_REASON_LOCKDOWN, "%s",
		 tramp_last_error()->message);
	CHECK_EQ(tramp_module().links, 2, "links");
	tt_call(dev, "tt_hot0 n=10 1");
	CHECK_EQ(skel->bss->counted[0], 10, "attached before");
	CHECK_EQ(skel->bss->counted[1], 10, "attached at integrity");
	CHECK_EQ(skel->bss->counted[2], 0, "refused");
	CHECK(!ioctl(tramp_device(), TRAMP_IOC_EXPLAIN, &ex), "EXPLAIN: %s", strerror(errno));

	tramp_link__destroy(link[0]);
	tramp_link__destroy(link[1]);
	tt_call(dev, "tt_hot0 n=10 1");
	CHECK_EQ(skel->bss->counted[0], 10, "detached");
	CHECK(tramp_settle(), "images stay");
	CHECK_EQ(tramp_module().links, 0, "links");
	CHECK_EQ(tramp_module().images, 0, "images");
}

static const struct ktap_test tests[] = {
	{ "lockdown", test_lockdown, 60 },
};

KTAP_MAIN(tests)
