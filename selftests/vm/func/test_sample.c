// SPDX-License-Identifier: GPL-2.0
/*
 * A small test, complete: docs/design/writing-a-test.md quotes it. A function returns its
 * argument plus one. It keeps doing so with a program attached, and the program sees each call.
 */
#include "fixture.h"
#include "selftests/vm/func/sample.skel.h"

#define CALLS 10

static struct sample *skel;
static int dev;

/* @about_us: see fixture_open() */
static void setup(const char *about_us)
{
	dev = fixture_open(about_us);
	skel = FIXTURE_LOAD(sample);
}

/* Calls the function; each call must return 42. */
static void call(void)
{
	struct tt_reply reply = tt_call(dev, "tt_hot0 n=%d 41", CALLS);

	CHECK_EQ(reply.result, 42, "result");
	CHECK_EQ(reply.different, 0, "calls with another result");
}

static void test_function(void)
{
	struct attachment a;

	setup(NULL);
	a = attach_func(OURS, bpf_program__fd(skel->progs.on_entry), NULL);
	call();
	CHECK_EQ(skel->bss->entries, CALLS, "calls seen");
	CHECK_EQ(skel->bss->argument, 41, "argument");
	detach(&a);
	call();
	CHECK_EQ(skel->bss->entries, CALLS, "calls seen after the detach");
}

static void test_instruction(void)
{
	struct attachment a;

	setup(NULL);
	a = attach_insn(OURS, bpf_program__fd(skel->progs.on_hit), ksym_addr("tt_hot0"), 0, 0);
	call();
	CHECK_EQ(skel->bss->hits, CALLS, "hits");
	detach(&a);
	call();
	CHECK_EQ(skel->bss->hits, CALLS, "hits after the detach");
}

static void test_refused(void)
{
	struct tramp_attach want = { .addr = ksym_addr("notify_die") };
	struct attachment a;

	setup("about our refusals");
	a = attach_want(bpf_program__fd(skel->progs.on_hit), &want);
	CHECK_EQ(a.err, -EINVAL, "errno");
	CHECK_EQ(a.reply.refusal.reason, TRAMP_REASON_BLACKLISTED, "%s",
		 tramp_reason_name(a.reply.refusal.reason));
}

static const struct ktap_test tests[] = {
	{ "function", test_function, 60 },
	{ "instruction", test_instruction, 60 },
	{ "refused", test_refused, 60 },
};

KTAP_MAIN(tests)
