// SPDX-License-Identifier: GPL-2.0
/*
 * The optimiser has no memory for an image. A probe stays as it is, with that as its reason, and
 * all its hits count. When there is memory again it becomes what it would have been.
 */
#include <errno.h>
#include <linux/types.h>
#include <string.h>
#include <sys/ioctl.h>
#include "fixture.h"
#include "probe.h"
#include "selftests/vm/lib/probe_progs.skel.h"

#define FORM	"tt_form_inc_1"
#define TIMES	10
/* The optimiser asks for a few things for each image. */
#define POINTS	20

static int dev;
static struct tt_form_info form;
static struct attachment a;

static void setup(void)
{
	dev = fixture_open("about our optimiser");
	fault_needed(dev);
	probe_setup();
	form = form_named(dev, FORM);
	probe_optimiser(false);
	a = attach_insn(OURS, bpf_program__fd(probe_skel->progs.count), form.probe, 0, 0);
}

static void memory_ends(unsigned int nth, bool lasting)
{
	fault_begin(dev, (struct tt_fault){
		.nth = nth, .lasting = lasting, .whose = TT_FAULT_WORK,
	});
}

static bool memory_comes(void)
{
	return fault_end(dev, NULL);
}

static void expect_hits(unsigned int nth)
{
	probe_skel->bss->counted[0] = 0;
	form_run(dev, form.index, TIMES, 3);
	CHECK_EQ(probe_skel->bss->counted[0], TIMES, "allocation %u: hits", nth);
}

static void expect_int3(unsigned int nth)
{
	struct tramp_query q = attachment_query(&a);

	CHECK_EQ(q.mode, TRAMP_MODE_INT3, "allocation %u: mode", nth);
	CHECK(q.mode_reason == TRAMP_REASON_NO_MEMORY ||
	      q.mode_reason == TRAMP_REASON_NO_EXEC_MEMORY, "allocation %u: %s", nth,
	      tramp_reason_name(q.mode_reason));
}

/* It tries when it is switched on. */
static void test_optimiser(void)
{
	unsigned int nth;
	bool failed;

	setup();
	for (nth = 1; nth < POINTS; nth++) {
		memory_ends(nth, nth % 2);
		probe_optimiser(true);
		failed = memory_comes();
		expect_hits(nth);
		if (!failed)
			break;
		expect_int3(nth);
		probe_optimiser(false);
		attachment_expect(&a, TRAMP_MODE_INT3, TRAMP_REASON_OPT_OFF, "switched off");
	}
	CHECK(nth > 1 && nth < POINTS, "%u allocations failed", nth - 1);
	attachment_expect(&a, TRAMP_MODE_JUMP, 0, "with memory");
	detach(&a);
}

static const struct ktap_test tests[] = {
	{ "optimiser", test_optimiser, 60 },
};

KTAP_MAIN(tests)
