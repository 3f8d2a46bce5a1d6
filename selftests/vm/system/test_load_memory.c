// SPDX-License-Identifier: GPL-2.0
/*
 * Our module is loaded, and there is no memory. Each allocation of its init fails once, alone or
 * with all that follow it, those of undoing among them. There are some 440, nearly all for the
 * kernel's own functions that it calls (a cache of objects, a work queue, a device, each by
 * several). Of those only some fail, other ones each time: each load takes half a second.
 *
 * The load is refused with ENOMEM, and nothing of it is left. Or it does without, and a program
 * counts all calls. After that it loads as ever.
 *
 * Likewise the first probe behind a load, which has more to set up than others.
 */
#include <errno.h>
#include <linux/types.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "attachment.h"
#include "fixture.h"
#include "ownmod.h"
#include "probe.h"
#include "record.h"
#include "selftests/vm/lib/probe_progs.skel.h"
#include "selftests/vm/lib/record.skel.h"

#define CALLS	10
#define POINTS	2000

static int dev;
static struct record *entries;
static uint64_t where, behind;

static void setup(void)
{
	ownmod_setup();
	dev = tt_open();
	fault_needed(dev);
	entries = FIXTURE_LOAD(record);
}

static void memory_ends(unsigned int nth, unsigned int whose, bool lasting)
{
	fault_begin(dev, (struct tt_fault){ .nth = nth, .lasting = lasting, .whose = whose });
}

/* Return: whether an allocation has failed. */
static bool memory_comes(void)
{
	return fault_end(dev, &where);
}

static void unload(void)
{
	tramp_device_close();
	if (module_loaded("trampoline"))
		REQUIRE(!ownmod_unload("trampoline", 300), "unloading");
}

/* The @nth allocation of the init fails, of those that @whose are. 0 or a negative errno. */
static int load(unsigned int nth, unsigned int whose, bool lasting, bool *failed)
{
	int err;

	unload();
	memory_ends(nth, whose, lasting);
	err = module_load(TRAMPOLINE_KO);
	*failed = memory_comes();
	return err;
}

static void check_gone(void)
{
	CHECK(!module_loaded("trampoline"), "the module is there");
	CHECK(access(TRAMP_DEVICE, F_OK), "the device is there");
	CHECK(access("/sys/kernel/debug/trampoline", F_OK), "the folder in debugfs is there");
	CHECK_EQ(kernel_images(), 0, "images left in kallsyms");
}

static void check_works(void)
{
	uint64_t cookie = 0;
	int prog = prog_clone(entries->progs.count_entry, "tt_hot0", BPF_TRACE_FENTRY);
	struct attachment a = attach_func_try(OURS, prog, &cookie);

	CHECK(!a.err, "attach: %s (%s)", strerror(-a.err), a.reply.refusal.detail);
	entries->bss->counted[0] = 0;
	tt_call(dev, "tt_hot0 n=%d 5", CALLS);
	CHECK_EQ(entries->bss->counted[0], CALLS, "hits");
	detach(&a);
	close(prog);
}

static void fail_each(unsigned int first, unsigned int step, unsigned int whose, bool lasting)
{
	unsigned int n, refused = 0, without = 0;
	bool failed = true;
	char name[128];
	int err = 0;

	for (n = first; n < POINTS && ktap_failures() < 5; n += step) {
		err = load(n, whose, lasting, &failed);
		if (!failed)
			break;
		if (err) {
			CHECK_EQ(err, -ENOMEM, "allocation %u, by %s", n,
				 ksym_name(where, name, sizeof(name)));
			check_gone();
			refused++;
			continue;
		}
		check_works();
		without++;
	}
	CHECK(!failed && !err, "with all its memory: %s", strerror(-err));
	check_works();
	ktap_note("%s: refused at %u, done without %u", whose == TT_FAULT_INIT_OWN ? "own" : "all",
		  refused, without);
	CHECK(refused > 5, "the hooks do not work");
}

static void fail(bool lasting)
{
	unsigned int step = kernel_is_rt() ? 39 : short_form(9, 27);
	unsigned int own = kernel_is_rt() ? 3 : short_form(1, 3);

	setup();
	fail_each(1 + now_ns() % own, own, TT_FAULT_INIT_OWN, lasting);
	fail_each(1 + now_ns() % step, step, TT_FAULT_INIT, lasting);
}

static void test_once(void)
{
	fail(false);
}

static void test_lasting(void)
{
	fail(true);
}

static struct attachment try_probe(unsigned int nth, bool lasting, bool *failed)
{
	struct tramp_attach want = { .symbol = "tt_hot1", .offset = behind };
	struct attachment a;

	tramp_device();
	memory_ends(nth, TT_FAULT_MINE, lasting);
	a = attach_want(bpf_program__fd(probe_skel->progs.count), &want);
	*failed = memory_comes();
	return a;
}

static void check_refusal(unsigned int nth, const struct attachment *a)
{
	uint32_t reason = a->reply.refusal.reason;

	CHECK(a->err == -ENOMEM && (!reason || reason == TRAMP_REASON_NO_MEMORY ||
				    reason == TRAMP_REASON_NO_EXEC_MEMORY),
	      "allocation %u: %s (%s)", nth, strerror(-a->err), tramp_reason_name(reason));
}

static void probe_each(bool lasting)
{
	unsigned int step = kernel_is_rt() ? 11 : short_form(5, 9), n, refused = 0;
	struct attachment a;
	bool failed = true;
	int err = 0;

	for (n = 1 + now_ns() % step; failed && n < POINTS && ktap_failures() < 5; n += step) {
		unload();
		ownmod_reload();
		a = try_probe(n, lasting, &failed);
		probe_skel->bss->counted[0] = 0;
		tt_call(dev, "tt_hot1 n=%d 5", CALLS);
		CHECK_EQ(probe_skel->bss->counted[0], a.err ? 0 : CALLS, "allocation %u: hits", n);
		if (a.err)
			check_refusal(n, &a);
		else
			CHECK_EQ(a.reply.mode, TRAMP_MODE_INT3, "allocation %u: mode", n);
		err = a.err;
		refused += !!err;
		detach(&a);
	}
	CHECK(!failed && !err, "with all its memory: %s", strerror(-err));
	ktap_note("%srefused at %u", lasting ? "lasting: " : "", refused);
	CHECK(refused, "the hooks do not work");
}

static void test_first_probe(void)
{
	setup();
	probe_setup();
	behind = probe_behind_site("tt_hot1");
	probe_each(false);
	probe_each(true);
}

static const struct ktap_test tests[] = {
	{ "once", test_once, 600 },
	{ "lasting", test_lasting, 600 },
	{ "first_probe", test_first_probe, 600 },
};

KTAP_MAIN(tests)
