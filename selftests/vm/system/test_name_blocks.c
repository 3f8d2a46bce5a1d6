// SPDX-License-Identifier: GPL-2.0
/*
 * Names of images lie in blocks, of which the last name takes its block along
 * (kernel/prog/image_name.c). When our module has gone the kernel's log tells of a block that is
 * left.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/types.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "fixture.h"
#include "ownmod.h"
#include "probe.h"
#include "selftests/vm/lib/probe_progs.skel.h"

#define MANY	300	/* functions of the test module, each with an image of its own */
#define TRIES	30
/* In that time an RCU callback is called for certain. */
#define BACK_MS	(1000U * time_scale())

static int dev;		/* the test module's */
static int links[MANY], nr;

/*
 * Sleep for @ms, if the lock of the blocks is let go a second time. Return: how often it was, since
 * this was last called.
 */
static unsigned int pause_for(unsigned int ms)
{
	struct tt_pause p = { .func = "tramp_image_name_alloc", .nth = 2, .ms = ms };

	if (!ioctl(dev, TT_IOC_PAUSE, &p))
		return p.seen;
	REQUIRE(errno == ENOENT, "PAUSE: %s", strerror(errno));
	KERNEL_LACKS("local_bh_enable() cannot be hooked here");
}

/*
 * One more image. If it takes a new block there are @ms, once that is there, for what else happens.
 * Return: whether it did.
 */
static bool add(unsigned int ms)
{
	struct tramp_attach a = { .size = sizeof(a),
				  .prog_fd = bpf_program__fd(probe_skel->progs.nothing) };
	unsigned int seen;
	int err;

	REQUIRE(nr < MANY, "no block is ever full");
	snprintf(a.symbol, sizeof(a.symbol), "tt_many_%03d", nr);
	pause_for(ms);
	err = ownmod_ioctl(TRAMP_IOC_ATTACH, &a);
	seen = pause_for(0);
	REQUIRE(!err, "%s: %s (%s)", a.symbol, strerror(-err), tramp_reason_name(a.refusal.reason));
	REQUIRE(seen, "%s: its name comes from elsewhere", a.symbol);
	links[nr++] = a.link_fd;
	return seen > 1;
}

/* The last one goes. Its image is freed; its name comes back a grace period of RCU later. */
static void take_last(void)
{
	close(links[--nr]);
	while (ownmod_info().retiring)
		usleep(1000);
}

/* A name comes back to a block that was full, while a new block is being made. */
static void test_back_meanwhile(void)
{
	int i, full;

	ownmod_setup();
	dev = tt_open();
	probe_setup();
	tramp_device_close();
	CHECK(ownmod_settle(), "images wait to be freed");
	usleep(BACK_MS * 1000);
	REQUIRE(add(0), "there is a block without an image");
	while (!add(0))
		;
	full = nr - 1;
	take_last();
	usleep(BACK_MS * 1000);
	for (i = 0; i < TRIES; i++) {
		take_last();
		if (add(BACK_MS))
			break;
	}
	ktap_note("%d names in a block; with one on its way back it took %d tries until there was "
		  "another block", full, i + 1);
	CHECK(i < TRIES, "each name was back before");
	while (nr)
		close(links[--nr]);
	CHECK(ownmod_settle(), "images wait to be freed");
	CHECK_EQ(ownmod_unload("trampoline", 100), 0, "unloading");
	ownmod_reload();
}

static const struct ktap_test tests[] = {
	{ "back_meanwhile", test_back_meanwhile, 120 },
};

KTAP_MAIN(tests)
