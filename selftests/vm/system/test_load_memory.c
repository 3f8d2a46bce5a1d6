// SPDX-License-Identifier: GPL-2.0
/*
 * Our module is loaded, and there is no memory. Each allocation of its init fails once, alone or
 * with all that follow it, those of undoing among them. There are some 440, nearly all for the
 * kernel's own functions that it calls (a cache of objects, a work queue, a device, each by
 * several). Of those only some fail, other ones each time: each load takes half a second.
 *
 * The load is refused with ENOMEM, and nothing of it is left. Or it does without, and a program
 * counts all calls. After that it loads as ever.
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
#include "selftests/vm/lib/record.skel.h"

#define CALLS	10
#define POINTS	2000

static int dev;
static struct record *entries;
static uint64_t where;

static void setup(void)
{
	struct tt_fault f = {};

	ownmod_setup();
	dev = tt_open();
	if (ioctl(dev, TT_IOC_FAULT, &f))
		KERNEL_LACKS("allocations cannot be made to fail here: %s", strerror(errno));
	entries = FIXTURE_LOAD(record);
}

/* The @nth allocation of the init fails, of those that @whose are. 0 or a negative errno. */
static int load(unsigned int nth, unsigned int whose, bool lasting, bool *failed)
{
	struct tt_fault f = { .nth = nth, .lasting = lasting, .in_init = whose };
	int err = 0;

	tramp_device_close();
	if (module_loaded("trampoline"))
		REQUIRE(!ownmod_unload("trampoline", 300), "unloading");
	REQUIRE(!ioctl(dev, TT_IOC_FAULT, &f), "FAULT: %s", strerror(errno));
	err = module_load(TRAMPOLINE_KO);
	f = (struct tt_fault){};
	REQUIRE(!ioctl(dev, TT_IOC_FAULT, &f), "FAULT: %s", strerror(errno));
	*failed = f.taken;
	where = f.where;
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
	ktap_note("%s: refused at %u, done without %u", whose == TT_FAULT_OWN ? "own" : "all",
		  refused, without);
	CHECK(refused > 10, "the hooks do not work");
}

static void fail(bool lasting)
{
	unsigned int step = kernel_is_rt() ? 19 : 9;

	setup();
	fail_each(1, 1, TT_FAULT_OWN, lasting);
	fail_each(1 + now_ns() % step, step, 1, lasting);
}

static void test_once(void)
{
	fail(false);
}

static void test_lasting(void)
{
	fail(true);
}

static const struct ktap_test tests[] = {
	{ "once", test_once, 600 },
	{ "lasting", test_lasting, 600 },
};

KTAP_MAIN(tests)
