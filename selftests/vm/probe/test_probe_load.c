// SPDX-License-Identifier: GPL-2.0
/*
 * Attaching, optimising, going back to int3 and detaching at addresses that all CPUs
 * are executing. The targets compute something that any wrong step would spoil. Two
 * probes stay from beginning to end and must account for every call.
 *
 * Environment: PROBE_CYCLES, attaches in all, default 1000, on -rt 100; PROBE_SECONDS of
 * random work, default 8; PROBE_SEED. selftests/stress/probes has more of both.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "fixture.h"
#include "memory.h"
#include "probe.h"
#include "selftests/vm/lib/probe_progs.skel.h"

#define STEPS		"tt_steps"
#define ROUNDS		40
#define BATCH		10
#define MAX_PLACES	512
/* Cookies: those that come and go, then those that stay. */
#define STAY_ENTRY	1000
#define STAY_MIDDLE	1001

static int dev, prog;
static uint64_t right, state;
static struct probe_func f;
static uint8_t *text_before, *text_after;
static uint64_t place[MAX_PLACES], middle;
static int nr_places;

static uint64_t hits_of(uint64_t at)
{
	struct attachment p = attach_insn_try(OURS, prog, at, 0, 0);
	uint64_t hits = 0;

	if (!p.err) {
		probe_skel->bss->counted[0] = 0;
		tt_call(dev, STEPS " n=10 77 %d", ROUNDS);
		hits = probe_skel->bss->counted[0];
	}
	detach(&p);
	return hits;
}

static void setup(void)
{
	uint32_t i;
	int err;

	dev = fixture_open("the kernel's own takes 0.15 s a detach");
	probe_setup();
	prog = bpf_program__fd(probe_skel->progs.count);
	state = rnd_seed();
	right = tt_call(dev, STEPS " 77 %d", ROUNDS).result;
	err = probe_explain(&f, 0, STEPS, false);
	REQUIRE(!err, STEPS ": %s", strerror(-err));
	text_before = malloc(f.size);
	text_after = malloc(f.size);
	REQUIRE(text_before && text_after, "out of memory");
	probe_flush();
	text_read(dev, f.addr, text_before, f.size);
	/* One that is executed once in each call, near the beginning. */
	for (i = 2; i < f.nr && !middle; i++)
		if (f.insns[i].mode == TRAMP_MODE_JUMP && hits_of(f.addr + f.insns[i].offset) == 10)
			middle = f.addr + f.insns[i].offset;
	REQUIRE(middle, STEPS " has no instruction that is executed once a call");
	for (i = 1; i < f.nr && nr_places < MAX_PLACES; i++)
		/* Not the int3s that fill up its end. */
		if (f.insns[i].mode != TRAMP_MODE_NONE && f.insns[i].mode != TRAMP_MODE_KPROBE &&
		    f.addr + f.insns[i].offset != middle)
			place[nr_places++] = f.addr + f.insns[i].offset;
	REQUIRE(nr_places > 2 * BATCH, STEPS " has %d instructions to probe", nr_places);
}

static void finish(void)
{
	uint32_t i;

	probe_flush();
	text_read(dev, f.addr, text_after, f.size);
	for (i = 0; i < f.size; i++)
		if (!CHECK(text_before[i] == text_after[i], STEPS "+%#x is %#x, was %#x", i,
			   text_after[i], text_before[i]))
			break;
	CHECK_EQ(tt_call(dev, STEPS " 77 %d", ROUNDS).result, right, "result at the end");
}

/* ------------------------------------------------------------------- load -- */

/* In bursts: the pause leaves a slow machine's CPUs to who attaches. */
static void load(int fd, unsigned int round)
{
	static const char *const context[3] = { "task", "irq", "softirq" };
	struct tt_reply r = tt_call(fd, STEPS " ctx=%s n=30 77 %d", context[round % 3], ROUNDS);

	CHECK(r.result == right && !r.different, "result %#lx, %lu different, not %#lx", r.result,
	      r.different, right);
	usleep(5000);
}

/* ------------------------------------------------------------------ cycles -- */

struct totals {
	uint64_t attached, jumps;
	/* jumps in whose region somebody came, and those of them that were sent back at once */
	uint64_t sent, back;
};

/* Some at random places, made jumps, sent back, taken away. */
static void cycle(struct totals *t)
{
	struct attachment at[BATCH], inside;
	struct tramp_query q;
	int i, k;

	for (i = 0; i < BATCH; i++) {
		at[i] = attach_insn_try(OURS, prog, place[rnd(&state) % nr_places], 0, i);
		/* The same place twice. */
		CHECK(!at[i].err || at[i].reply.refusal.reason == TRAMP_REASON_ALREADY_ATTACHED,
		      "attach: %s, %s", strerror(-at[i].err),
		      tramp_reason_name(at[i].reply.refusal.reason));
		t->attached += !at[i].err;
	}
	if (rnd(&state) % 4)
		probe_flush();
	for (i = 0; i < BATCH; i++) {
		if (at[i].err)
			continue;
		q = attachment_query(&at[i]);
		t->jumps += q.mode == TRAMP_MODE_JUMP;
		/* Somebody in its region sends it back at once. */
		if (rnd(&state) % 2)
			continue;
		for (k = 0; k < nr_places - 1 && place[k] != at[i].reply.func_addr; k++)
			;
		inside = attach_insn_try(OURS, prog, place[k + 1 < nr_places ? k + 1 : k], 0,
					 BATCH + i);
		t->attached += !inside.err;
		if (q.mode == TRAMP_MODE_JUMP && !inside.err &&
		    inside.reply.func_addr > q.probe_addr &&
		    inside.reply.func_addr < q.probe_addr + q.region_len) {
			t->sent++;
			t->back += attachment_query(&at[i]).mode == TRAMP_MODE_INT3;
		}
		detach(&inside);
	}
	if (rnd(&state) % 8 == 0) {
		probe_optimiser(false);
		probe_optimiser(true);
	}
	for (i = 0; i < BATCH; i++)
		detach(&at[(i * 7 + 3) % BATCH]);
}

/*
 * As tramp_settle(), which would wait its 30 seconds here: the probe that stays at the entry has an
 * image, and its function is no target.
 */
static void wait_for_retiring(void)
{
	int i;

	for (i = 0; i < 300 && tramp_module().retiring; i++)
		usleep(100000);
	CHECK_EQ(tramp_module().retiring, 0, "images wait to be freed for 30 s");
}

static void test_load(void)
{
	static struct memory before, after;
	struct attachment stay[2];
	struct totals t = {}, warm = {};
	struct tramp_query q[2];
	uint64_t calls, start, wanted = kernel_is_rt() ? 100 : short_form(1000, 400);
	int i;

	wanted = env_int("PROBE_CYCLES", wanted);
	setup();
	stay[0] = attach_insn(OURS, prog, f.addr, 0, STAY_ENTRY);
	stay[1] = attach_insn(OURS, prog, middle, 0, STAY_MIDDLE);
	probe_flush();
	probe_skel->bss->counted[STAY_ENTRY] = probe_skel->bss->counted[STAY_MIDDLE] = 0;
	q[0] = attachment_query(&stay[0]);
	q[1] = attachment_query(&stay[1]);
	calls = tt_calls(dev, STEPS);

	/* The things allocated once are there after a first wave. */
	callers_start(load);
	for (i = 0; i < 10; i++)
		cycle(&warm);
	callers_stop();
	probe_flush();
	wait_for_retiring();
	memory_measure(&before);

	start = now_ns();
	callers_start(load);
	while (t.attached < wanted)
		cycle(&t);
	callers_stop();
	ktap_note("%lu attaches in %lu ms, %lu became jumps, %lu of %lu sent back", t.attached,
		  (now_ns() - start) / 1000000, t.jumps, t.back, t.sent);
	probe_flush();
	memory_measure(&after);
	memory_compare(&before, &after, t.attached);
	CHECK(t.jumps > t.attached / 5, "only %lu became jumps", t.jumps);
	CHECK(t.sent > t.attached / 50, "only %lu jumps had somebody in their region", t.sent);
	CHECK_EQ(t.back, t.sent, "sent back at once");

	calls = tt_calls(dev, STEPS) - calls;
	for (i = 0; i < 2; i++) {
		static const int cookie[2] = { STAY_ENTRY, STAY_MIDDLE };
		struct tramp_query now = attachment_query(&stay[i]);
		uint64_t hits = now.hits - q[i].hits, misses = now.misses - q[i].misses;

		ktap_note("%lu calls, %lu hits and %lu missed %s", calls, hits, misses,
			  i ? "in the middle" : "at the entry");
		CHECK_EQ(hits + misses, calls, "hit or missed");
		CHECK_EQ(hits, probe_skel->bss->counted[cookie[i]], "hits as the program counted");
		detach(&stay[i]);
	}
	finish();
}

/* ------------------------------------------------------- everybody at once -- */

struct worker {
	pthread_t thread;
	uint64_t state, operations;
};

static volatile bool stop_working;
#define NR_WORKERS 4

/* Attach and detach at random at the same few places as the others do. */
static void *work(void *arg)
{
	struct worker *w = arg;
	struct attachment at[16];
	int progs[16], i;

	for (i = 0; i < 16; i++) {
		at[i].fd = -1;
		progs[i] = probe_clone(probe_skel->progs.count);
	}
	while (!stop_working) {
		uint64_t r = rnd(&w->state);

		i = r % 16;
		w->operations++;
		if (r % 97 == 0) {
			probe_flush();
		} else if (at[i].fd < 0) {
			struct tramp_attach want = {
				.addr = place[(r >> 8) % 40 % nr_places],
				.flags = r >> 16 & 1 ? TRAMP_ATTACH_F_NO_JUMP : 0,
			};

			at[i] = attach_want(progs[i], &want);
			CHECK(!at[i].err, "attach: %s, %s %s", strerror(-at[i].err),
			      tramp_reason_name(at[i].reply.refusal.reason),
			      at[i].reply.refusal.detail);
		} else if (r >> 20 & 1) {
			attachment_query(&at[i]);
		} else {
			detach(&at[i]);
		}
	}
	for (i = 0; i < 16; i++) {
		detach(&at[i]);
		close(progs[i]);
	}
	return NULL;
}

static void test_random(void)
{
	static struct worker worker[NR_WORKERS];
	int seconds = env_int("PROBE_SECONDS", 8), i;
	uint64_t end, operations = 0;

	setup();
	callers_start(load);
	for (i = 0; i < NR_WORKERS; i++) {
		worker[i].state = rnd(&state);
		REQUIRE(!pthread_create(&worker[i].thread, NULL, work, &worker[i]), "thread");
	}
	end = now_ns() + seconds * 1000000000ULL;
	while (now_ns() < end) {
		free(read_file("/sys/kernel/debug/trampoline/list"));
		tramp_module();
		usleep(50000);
	}
	stop_working = true;
	for (i = 0; i < NR_WORKERS; i++) {
		pthread_join(worker[i].thread, NULL);
		operations += worker[i].operations;
	}
	callers_stop();
	ktap_note("%lu operations", operations);
	CHECK(operations > 50, "only %lu operations", operations);
	finish();
}

static const struct ktap_test tests[] = {
	{ "load", test_load, 280 },
	{ "random", test_random, 120 },
};

KTAP_MAIN(tests)
