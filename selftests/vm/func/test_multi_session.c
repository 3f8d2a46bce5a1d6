// SPDX-License-Identifier: GPL-2.0
/*
 * Sessions: each return is that of the call which made its cookie, whatever calls whatever, and
 * the time between the two is what an fentry and fexit pair measures.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "fixture.h"
#include "many.h"
#include "session.h"
#include "selftests/vm/func/session.skel.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

static struct session *skel;
static int dev;

static void setup(void)
{
	dev = fixture_open("about attachments of many functions, which 6.1 has not");
	skel = many_open(session);
	REQUIRE(skel, "%s", strerror(errno));
	bpf_program__set_autoload(skel->progs.on_call, true);
	REQUIRE(!session__load(skel), "%s", strerror(errno));
	skel->bss->only_tid = syscall(SYS_gettid);
}

static const struct session_call *call_of(uint32_t i)
{
	return &skel->bss->calls[i];
}

static void begin(bool skip_third)
{
	memset(skel->bss->calls, 0, sizeof(skel->bss->calls));
	skel->bss->nr_calls = 0;
	skel->bss->skip_third = skip_third;
}

/* There were @nr calls, all have returned, and none was taken for another. */
static void check_pairs(const char *what, uint32_t nr)
{
	uint32_t i;

	CHECK_EQ(skel->bss->nr_calls, nr, "%s: calls", what);
	CHECK_EQ(skel->bss->unpaired, 0, "%s: unpaired", what);
	CHECK_EQ(skel->bss->depth, 0, "%s: calls that have not returned", what);
	for (i = 0; i < nr && i < SESSION_CALLS; i++) {
		bool skipped = skel->bss->skip_third && i % 3 == 2;

		CHECK_EQ(call_of(i)->returns, !skipped, "%s: returns of call %u", what, i);
		CHECK(skipped || call_of(i)->left >= call_of(i)->entered, "%s: time of call %u",
		      what, i);
	}
}

static const char * const names[] = {
	"tt_factorial", "tt_even", "tt_odd", "tt_caller", "tt_callee", "tt_hot0",
};

#define LEVELS	20

/* A call of n calls that of n - 1: results are those of the arguments. */
static void factorials(bool skip_third)
{
	uint64_t fact[LEVELS + 1] = { 1 };
	uint32_t i;

	for (i = 1; i <= LEVELS; i++)
		fact[i] = fact[i - 1] * i;
	begin(skip_third);
	CHECK_EQ(tt_call(dev, "tt_factorial n=3 %d", LEVELS).result, fact[LEVELS], "result");
	check_pairs("tt_factorial", 3 * LEVELS);
	for (i = 0; i < 3 * LEVELS; i++) {
		const struct session_call *c = call_of(i);

		CHECK_EQ(c->arg, LEVELS - i % LEVELS, "argument of call %u", i);
		CHECK(!c->returns || c->result == fact[c->arg], "result of call %u: %llu", i,
		      (unsigned long long)c->result);
		if (!skip_third)
			CHECK_EQ(c->depth, i % LEVELS, "depth of call %u", i);
	}
}

/*
 * Each calls the other by a jump: all of them return in one place. That takes no stack, but each
 * session takes some.
 */
#define TAIL_CALLS	60

static void tail_calls(const struct many *m, bool skip_third)
{
	uint32_t i;

	begin(skip_third);
	CHECK_EQ(tt_call(dev, "tt_even %d", TAIL_CALLS).result, 1, "result");
	check_pairs("tt_even", TAIL_CALLS + 1);
	for (i = 0; i <= TAIL_CALLS; i++) {
		CHECK_EQ(call_of(i)->arg, TAIL_CALLS - i, "argument of call %u", i);
		CHECK_EQ(call_of(i)->ip, m->addrs[1 + i % 2], "function of call %u", i);
		CHECK(!call_of(i)->returns || call_of(i)->result == 1, "result of call %u", i);
	}
}

static void nested(const struct many *m, bool skip_third)
{
	uint32_t i;

	begin(skip_third);
	CHECK_EQ(tt_call(dev, "tt_caller n=10 41").result, 84, "result");
	check_pairs("tt_caller", 20);
	for (i = 0; i < 20; i++) {
		CHECK_EQ(call_of(i)->ip, m->addrs[3 + i % 2], "function of call %u", i);
		CHECK_EQ(call_of(i)->arg, 41, "argument of call %u", i);
		CHECK(!call_of(i)->returns || call_of(i)->result == (i % 2 ? 42 : 84),
		      "result of call %u", i);
	}
}

static void test_pairs(void)
{
	struct many *m = many_new();
	size_t i;

	setup();
	for (i = 0; i < ARRAY_SIZE(names); i++)
		many_add_name(m, names[i]);
	many_attach(m, bpf_program__fd(skel->progs.on_call), many_session());
	for (i = 0; i < 2; i++) {
		factorials(i);
		tail_calls(m, i);
		nested(m, i);
	}
	many_detach(m);
}

/*
 * As many sessions as a function takes, and one more.
 * All are of the same program: at the entry each begins behind the one before, and ends before it.
 */
static void test_full(void)
{
	struct many *m[TRAMP_MAX_SESSIONS + 1];
	uint32_t i;
	int err;

	setup();
	for (i = 0; i <= TRAMP_MAX_SESSIONS; i++) {
		m[i] = many_new();
		many_add_name(m[i], "tt_hot0");
		err = many_attach_try(m[i], bpf_program__fd(skel->progs.on_call), many_session());
		CHECK_EQ(err, i < TRAMP_MAX_SESSIONS ? 0 : -E2BIG, "session %u: %s %s", i,
			 tramp_reason_name(m[i]->cmd.refusal.reason), m[i]->cmd.refusal.detail);
	}
	CHECK_EQ(m[TRAMP_MAX_SESSIONS]->cmd.refusal.reason, TRAMP_REASON_TOO_MANY_PROGS, "one more");
	begin(false);
	CHECK_EQ(tt_call(dev, "tt_hot0 41").result, 42, "result");
	check_pairs("tt_hot0", TRAMP_MAX_SESSIONS);
	for (i = 0; i < TRAMP_MAX_SESSIONS; i++) {
		CHECK_EQ(call_of(i)->depth, i, "depth of session %u", i);
		CHECK_EQ(call_of(i)->result, 42, "result for session %u", i);
		many_detach(m[i]);
	}
	free(m[TRAMP_MAX_SESSIONS]);
}

/*
 * Calls that are nested have the sessions' part of the stack for each of them. The deepest
 * that a kernel's stack has room for beside it is not known, but this is deeper than most.
 */
static void test_nested(void)
{
	struct many *m[TRAMP_MAX_SESSIONS];
	uint32_t i;

	setup();
	for (i = 0; i < TRAMP_MAX_SESSIONS; i++) {
		m[i] = many_new();
		many_add_name(m[i], "tt_factorial");
		many_attach(m[i], bpf_program__fd(skel->progs.on_call), many_session());
	}
	begin(false);
	CHECK_EQ(tt_call(dev, "tt_factorial 20").result, 2432902008176640000ULL, "result");
	check_pairs("tt_factorial", 20 * TRAMP_MAX_SESSIONS);
	for (i = 0; i < TRAMP_MAX_SESSIONS; i++)
		many_detach(m[i]);
}

/*
 * hrtimer_nanosleep() calls do_nanosleep(), which the kernel's fentry and fexit watch: a session
 * that told another time than they would not lie around them, or not closely.
 */
static void test_duration(void)
{
	const struct timespec ms = { .tv_nsec = 20000000 };
	struct many *m = many_new();
	struct attachment entry, exit;
	uint64_t before, after, least = ~0ULL;
	uint32_t i;

	setup();
	entry = attach_func(KERNEL, bpf_program__fd(skel->progs.on_entry), NULL);
	exit = attach_func(KERNEL, bpf_program__fd(skel->progs.on_exit), NULL);
	many_add_name(m, "hrtimer_nanosleep");
	many_attach(m, bpf_program__fd(skel->progs.on_call), many_session());
	for (i = 0; i < 20; i++) {
		const struct session_call *c = call_of(i);

		nanosleep(&ms, NULL);
		CHECK_EQ(skel->bss->nr_calls, i + 1, "calls");
		before = skel->bss->pair_entered - c->entered;
		after = c->left - skel->bss->pair_left;
		CHECK(before < 1000000000 && after < 1000000000,
		      "the session begins %lld ns before the pair and ends %lld ns behind it",
		      (long long)before, (long long)after);
		CHECK(c->left - c->entered >= 20000000, "%llu ns asleep",
		      (unsigned long long)(c->left - c->entered));
		if (before + after < least)
			least = before + after;
	}
	check_pairs("hrtimer_nanosleep", 20);
	ktap_note("at best %llu ns more than fentry and fexit", (unsigned long long)least);
	CHECK(least < 1000000, "%llu ns more", (unsigned long long)least);
	detach(&entry);
	detach(&exit);
	many_detach(m);
}

static const struct ktap_test tests[] = {
	{ "pairs", test_pairs, 60 },
	{ "full", test_full, 180 },
	{ "nested", test_nested, 60 },
	{ "duration", test_duration, 60 },
};

KTAP_MAIN(tests)
