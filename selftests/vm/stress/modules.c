// SPDX-License-Identifier: GPL-2.0
/*
 * Modules that go and come. One goes with programs attached to it (kmod/target.c): as long as it
 * is there each program sees every call, or its miss is counted. The other is our own.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "actors.h"
#include "ownmod.h"
#include "probe.h"
#include "record.h"
#include "selftests/vm/lib/probe_progs.skel.h"
#include "selftests/vm/lib/record.skel.h"

#define TARGET		"trampoline_target"
#define CALL		"/sys/module/" TARGET "/parameters/call"
#define CALLS		20
#define GO_TRIES	(3000 * time_scale())	/* of 20 ms: a minute */
#define FUNCS		3
/* At an entry, behind its first instructions and at the return, of each function. */
#define PLACES		(FUNCS * 3)

static uint64_t func[FUNCS];

static void come(void)
{
	char *text;
	int err = module_load("/opt/trampoline/" TARGET ".ko");

	REQUIRE(!err, "%s: %s", TARGET, strerror(-err));
	text = read_file(CALL);
	REQUIRE(sscanf(text, "%lx %lx %lx", &func[0], &func[1], &func[2]) == FUNCS, "%s", text);
	free(text);
}

/* Whether it is gone. A program at a function's return holds the module, others do not. */
static bool try_go(void)
{
	int err = module_unload(TARGET);

	CHECK(!err || err == -EAGAIN || err == -EBUSY, "unloading %s: %s", TARGET, strerror(-err));
	return !err;
}

static struct attachment attach_at(int place, uint64_t *r)
{
	struct tramp_attach want = { .addr = func[place / 3] };
	struct probe_func f;

	switch (place % 3) {
	case 1:
		REQUIRE(!probe_explain(&f, want.addr, NULL, false) && f.nr > 3, "%s", TARGET);
		/* Each of the first instructions is executed once a call. */
		want.addr += f.insns[1 + rnd(r) % 2].offset;
		probe_func_free(&f);
		break;
	case 2:
		want.flags = TRAMP_ATTACH_F_RETURN;
		break;
	}
	return attach_want(bpf_program__fd(probe_skel->progs.count), &want);
}

void modules_step(uint64_t *r)
{
	struct attachment at[PLACES];
	uint64_t hits, misses;
	bool gone;
	int i;

	come();
	for (i = 0; i < PLACES; i++) {
		at[i] = (struct attachment){ .fd = -1, .err = -ENOENT };
		if (rnd(r) % 2)
			continue;
		at[i] = attach_at(i, r);
		if (at[i].err)
			refused("a module's function", at[i].err, &at[i].reply.refusal);
		else
			my_counts->attached++;
	}
	CHECK_EQ(write_file(CALL, "%d", CALLS), 0, "calls");
	gone = rnd(r) % 2 && try_go();
	for (i = 0; i < PLACES; i++) {
		if (at[i].err)
			continue;
		attachment_counts(&at[i], &hits, &misses);
		/* The third function calls the first one. */
		CHECK_EQ(hits + misses, i < 3 ? 2 * CALLS : CALLS, "place %d: run or missed", i);
		detach(&at[i]);
		my_counts->detached++;
	}
	/* An image holds the module of its function for two or three grace periods. */
	for (i = 0; !gone && i < GO_TRIES; i++) {
		usleep(20000);
		gone = try_go();
	}
	CHECK(gone, "%s does not go", TARGET);
	my_counts->done++;
}

/* A link works as ever: each call is run or missed. */
static void try_link(int dev, int prog)
{
	struct attachment a = attach_func(OURS, prog, NULL);
	uint64_t hits, misses, calls;

	calls = tt_call(dev, "tt_hot0 n=%d 1", CALLS).calls;
	attachment_counts(&a, &hits, &misses);
	/* Others call it meanwhile. */
	CHECK(hits + misses >= calls, "%lu run, %lu missed of at least %lu calls", hits, misses,
	      calls);
	detach(&a);
}

void reload(unsigned int rounds)
{
	struct record *record = record__open_and_load();
	int dev = tt_open(), prog, err;

	REQUIRE(record, "record.bpf.o: %s", strerror(errno));
	prog = prog_clone(record->progs.count_entry, "tt_hot0", BPF_TRACE_FENTRY);
	while (rounds--) {
		tramp_device_close();
		err = ownmod_unload("trampoline", 600);
		REQUIRE(!err, "unloading our module: %s", strerror(-err));
		CHECK_EQ(ksym_images(), 0, "images without our module");
		ownmod_reload();
		try_link(dev, prog);
	}
	close(prog);
	close(dev);
	record__destroy(record);
}
