// SPDX-License-Identifier: GPL-2.0
/*
 * Our module is loaded, used in each of its modes and unloaded, again and again.
 *
 * In the end ftrace has at each function what it had before: no filter of ours keeps one. And the
 * kernel's memory does not grow with each time.
 *
 * Environment: RELOADS, how many times, default 51, on -rt, which is slower, 15. Between two
 * measurements memory_flat() lets 16 objects pass, so 17 times show one that is lost each time.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "fixture.h"
#include "memory.h"
#include "ownmod.h"
#include "probe.h"
#include "record.h"
#include "selftests/vm/lib/probe_progs.skel.h"
#include "selftests/vm/lib/record.skel.h"

/* With RELOADS / MEASURED times between each two. */
#define MEASURED 3
#define CALLS 10

static int dev;
static struct probe_progs *probes;
static struct record *entries;

/* A program, by its cookie, and the mode that it gets. */
static struct place {
	const char *func;
	uint64_t offset;	/* 0: the entry */
	uint32_t flags, mode;
} places[] = {
	/* The kernel's own programs are here. */
	{ "tt_hot0", 0, 0, TRAMP_MODE_FTRACE_OPS },
	{ "tt_hot1", 0, 0, TRAMP_MODE_FTRACE_OPS },
	{ "tt_hot2", 0, 0, TRAMP_MODE_DIRECT },
	{ "tt_steps", 0, TRAMP_ATTACH_F_NO_JUMP, TRAMP_MODE_INT3 },
	/* For a program that asks for the function. */
	{ "tt_hot3", 0, 0, TRAMP_MODE_KPROBE },
};
#define PLACES ((int)(sizeof(places) / sizeof(places[0])))

static void setup(void)
{
	ownmod_setup();
	dev = tt_open();
	probes = FIXTURE_LOAD(probe_progs);
	entries = FIXTURE_LOAD(record);
}

static int attach(int i)
{
	const struct place *p = &places[i];
	struct tramp_attach a = {
		.size = sizeof(a), .flags = p->flags | TRAMP_ATTACH_F_COOKIE, .cookie = i,
		.offset = p->offset, .link_fd = -1,
	};
	int err;

	a.prog_fd = bpf_program__fd(p->mode == TRAMP_MODE_KPROBE ? probes->progs.ask_func_ip :
								   probes->progs.count);
	strcpy(a.symbol, p->func);
	err = ownmod_ioctl(TRAMP_IOC_ATTACH, &a);
	REQUIRE(!err, "%s: %s (%s %s)", p->func, strerror(-err),
		tramp_reason_name(a.refusal.reason), a.refusal.detail);
	CHECK_EQ(a.mode, p->mode, "%s: mode %s", p->func, tramp_mode_name(a.mode));
	return a.link_fd;
}

static void expect(const char *when, bool attached)
{
	int i;

	memset(probes->bss->counted, 0, sizeof(probes->bss->counted));
	probes->bss->func_ip = 0;
	for (i = 0; i < PLACES; i++) {
		tt_call(dev, "%s n=%d 5%s", places[i].func, CALLS,
			places[i].flags & TRAMP_ATTACH_F_NO_JUMP ? " 20" : "");
		if (places[i].mode == TRAMP_MODE_KPROBE)
			CHECK_EQ(probes->bss->func_ip != 0, attached, "%s: %s", when,
				 places[i].func);
		else
			CHECK_EQ(probes->bss->counted[i], attached ? CALLS : 0, "%s: %s", when,
				 places[i].func);
	}
}

/* From the first to the last, or the other way round. */
static void once(bool backwards)
{
	int fd[PLACES], i;

	ownmod_reload();
	for (i = 0; i < PLACES; i++)
		fd[i] = attach(i);
	expect("attached", true);
	for (i = 0; i < PLACES; i++)
		close(fd[backwards ? PLACES - 1 - i : i]);
	expect("detached", false);
	CHECK_EQ(ownmod_unload("trampoline", 300), 0, "unloading");
	expect("unloaded", false);
}

static void test_reload(void)
{
	int rounds = env_int("RELOADS", kernel_is_rt() ? 15 : short_form(51, 21)), i, k, n = 0;
	static struct memory m[MEASURED];
	struct attachment kernel[2];
	char *before, *now;
	uint64_t start;

	setup();
	for (i = 0; i < PLACES; i++)
		if (places[i].flags & TRAMP_ATTACH_F_NO_JUMP)
			places[i].offset = probe_behind_site(places[i].func);
	tramp_device_close();
	for (i = 0; i < 2; i++)
		kernel[i] = attach_func(KERNEL, prog_clone(entries->progs.count_entry,
							   places[i].func, BPF_TRACE_FENTRY), NULL);
	REQUIRE(!ownmod_unload("trampoline", 300), "unloading");
	before = read_file(TRACING "enabled_functions");
	start = now_ns();
	for (i = 0; i < MEASURED; i++) {
		for (k = 0; k < rounds / MEASURED && ktap_failures() < 5; k++)
			once(n++ % 2);
		now = read_file(TRACING "enabled_functions");
		CHECK(!strcmp(before, now), "after %d times ftrace has\n%sand had\n%s", n, now,
		      before);
		free(now);
		memory_measure(&m[i]);
	}
	ktap_note("%d times, %lu ms each", n, (now_ns() - start) / 1000000 / (n ?: 1));
	memory_flat(m, MEASURED);
	for (i = 0; i < 2; i++)
		detach(&kernel[i]);
	free(before);
	ownmod_reload();
}

static const struct ktap_test tests[] = {
	{ "reload", test_reload, 600 },
};

KTAP_MAIN(tests)
