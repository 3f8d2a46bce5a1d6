// SPDX-License-Identifier: GPL-2.0
/*
 * How many functions of one attachment of many can have other programs. Only those count whose
 * site calls this attachment, not all that a request shares with others.
 */
#include <string.h>
#include "attachment.h"
#include "many.h"
#include "ones.h"
#include "probe.h"
#include "selftests/vm/lib/probe_progs.skel.h"

/* TRAMP_GATE_MAX, kernel/func/gate.h */
#define SHARED	1024

static struct tramp_attach item[SHARED + 1];
static int32_t fds[SHARED];

static void setup(void)
{
	if (vmtest_oracle())
		ktap_skip("is about our module");
	probe_setup();
	probe_many_files();
	ones_fill(item, SHARED + 1, bpf_program__fd(probe_skel->progs.count));
}

/* Of the functions in item[] those from @first on, before @end. */
static void add(struct many *m, uint32_t first, uint32_t end)
{
	while (first < end)
		many_add(m, item[first++].addr);
}

/* At the last function there is no room for another program's image, be it of one or of many. */
static void test_full(void)
{
	struct many *many = many_new(), *more = many_new();
	struct attachment one;
	uint32_t mode;

	setup();
	add(many, 0, SHARED + 1);
	many_attach(many, bpf_program__fd(probe_skel->progs.nothing), 0);
	ones_come(item, fds, SHARED);
	one = attach_want(item[SHARED].prog_fd, &item[SHARED]);
	REQUIRE(!one.err, "one more: %s", strerror(-one.err));
	mode = attachment_query(&one).mode;
	CHECK(mode != TRAMP_MODE_DIRECT, "one more has an image of its own");
	detach(&one);
	add(more, 0, SHARED + 1);
	many_attach(more, bpf_program__fd(probe_skel->progs.nothing), TRAMP_MULTI_F_SKIP);
	CHECK_EQ(more->cmd.nr_attached, SHARED, "those that have other programs anyway");
	CHECK_EQ(more->reasons[SHARED], TRAMP_REASON_SITE_HELD, "the last one");
	many_detach(more);
	ones_go(fds, SHARED);
	one = attach_want(item[SHARED].prog_fd, &item[SHARED]);
	attachment_expect(&one, TRAMP_MODE_DIRECT, TRAMP_REASON_NONE, "when others have gone");
	detach(&one);
	many_detach(many);
}

/*
 * More than half of the functions that can be shared have other programs. A request for as many,
 * which have programs elsewhere, and for one more of this attachment's, is not too many.
 */
static void test_elsewhere(void)
{
	struct many *many = many_new(), *more = many_new();
	uint32_t here = SHARED * 6 / 10, both = SHARED * 4 / 10;

	setup();
	add(many, 0, here);
	add(many, SHARED - 1, SHARED);
	many_attach(many, bpf_program__fd(probe_skel->progs.nothing), 0);
	ones_come(item, fds, SHARED - 1);
	add(more, both, SHARED);
	many_attach(more, bpf_program__fd(probe_skel->progs.nothing), 0);
	CHECK_EQ(more->cmd.nr_attached, SHARED - both, "attached");
	many_detach(more);
	ones_go(fds, SHARED - 1);
	many_detach(many);
}

static const struct ktap_test tests[] = {
	{ "full", test_full, 200 },
	{ "elsewhere", test_elsewhere, 200 },
};

KTAP_MAIN(tests)
