// SPDX-License-Identifier: GPL-2.0
/*
 * A program of ours that the kernel attaches others to, at its entry and its return, as
 * `bpftool prog profile` does. Their calls are written over the first bytes of the program, which
 * images call. So each of them runs with each hit, whoever was there first, and no hit is lost
 * while they come and go.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include "fixture.h"
#include "probe.h"
#include "selftests/vm/link/traced.skel.h"

#define TARGET	"tt_hot0"
#define HOOK	"security_inode_unlink"
#define VALUE	41
#define CALLS	3
#define DI	(14 * 8)	/* in struct pt_regs */

/* A kind of program, and where it goes. */
struct kind {
	const char *name;
	bool kprobe;
	const char *at;		/* "insn", "return", or the function it is loaded for */
	uint32_t flags;
	uint32_t offset;	/* of what it reads in its context */
	uint64_t value;		/* that; 0: any */
};

static int dev;
static uint64_t behind;		/* an instruction of TARGET */
static struct traced *victim, *entry, *back;
static struct bpf_link *entry_link, *back_link;
static struct attachment attached;

static struct bpf_program *victim_prog(const struct kind *kind)
{
	return bpf_object__find_program_by_name(victim->obj, kind->name);
}

/* The programs that go to its entry and its return. Each can be attached once. */
static void load_tracers(const struct kind *kind)
{
	traced__destroy(entry);
	traced__destroy(back);
	back = NULL;
	entry = FIXTURE_LOAD_ONE(traced, "at_entry", victim_prog(kind), kind->name);
	REQUIRE(entry, "a program for the entry of %s: %s", kind->name, strerror(errno));
	back = FIXTURE_LOAD_ONE(traced, "at_return", victim_prog(kind), kind->name);
	REQUIRE(back, "a program for the return of %s: %s", kind->name, strerror(errno));
	entry->bss->offset = back->bss->offset = kind->offset;
	entry->bss->tgid = back->bss->tgid = victim->bss->tgid;
}

static void destroy_all(void)
{
	traced__destroy(entry);
	traced__destroy(back);
	traced__destroy(victim);
	entry = back = victim = NULL;
}

/* Before 6.8 the verifier lets nobody attach to a tracing program. */
static bool can_be_traced(const struct kind *kind)
{
	return kind->kprobe || kernel_version() >= 6008;
}

static void load_all(const struct kind *kind)
{
	victim = FIXTURE_LOAD_ONE(traced, kind->name, NULL, NULL);
	REQUIRE(victim, "%s: %s", kind->name, strerror(errno));
	if (!strcmp(kind->at, HOOK))
		victim->bss->tgid = getpid();
	load_tracers(kind);
}

static void trace(bool on)
{
	if (!on) {
		CHECK(!bpf_link__destroy(entry_link), "the entry: %s", strerror(errno));
		CHECK(!bpf_link__destroy(back_link), "the return: %s", strerror(errno));
		return;
	}
	entry_link = bpf_program__attach(entry->progs.at_entry);
	REQUIRE(entry_link, "at the entry: %s", strerror(errno));
	back_link = bpf_program__attach(back->progs.at_return);
	REQUIRE(back_link, "at the return: %s", strerror(errno));
}

static void attach(const struct kind *kind, bool on)
{
	int fd = bpf_program__fd(victim_prog(kind));

	if (!on)
		detach(&attached);
	else if (!strcmp(kind->at, "insn"))
		attached = attach_insn(OURS, fd, behind, kind->flags, 0);
	else if (!strcmp(kind->at, "return"))
		attached = attach_return(OURS, fd, TARGET, 0, 0);
	else
		attached = attach_func(OURS, fd, NULL);
	probe_flush();
	if (on && !strcmp(kind->at, "insn"))
		CHECK_EQ(attachment_query(&attached).mode,
			 kind->flags ? TRAMP_MODE_INT3 : TRAMP_MODE_JUMP, "%s: mode", kind->name);
}

static void unlink_one(void)
{
	int fd = open("/tmp/traced", O_CREAT | O_WRONLY, 0600);

	REQUIRE(fd >= 0, "%s", strerror(errno));
	close(fd);
	CHECK(!unlink("/tmp/traced"), "unlink: %s", strerror(errno));
}

static void call(const struct kind *kind)
{
	int i;

	if (strcmp(kind->at, HOOK))
		tt_call(dev, TARGET " n=%d %d", CALLS, VALUE);
	else
		for (i = 0; i < CALLS; i++)
			unlink_one();
}

static void check(const struct kind *kind, bool is_attached, bool is_traced, const char *when)
{
	uint64_t traced = is_attached && is_traced ? CALLS : 0;

	victim->bss->runs = entry->bss->entry_runs = back->bss->return_runs = 0;
	victim->bss->value = entry->bss->entry_value = back->bss->return_value = 0;
	back->bss->result = ~0ULL;
	call(kind);
	CHECK_EQ(victim->bss->runs, is_attached ? CALLS : 0, "%s, %s: runs", kind->name, when);
	CHECK_EQ(entry->bss->entry_runs, traced, "%s, %s: runs at its entry", kind->name, when);
	CHECK_EQ(back->bss->return_runs, traced, "%s, %s: runs at its return", kind->name, when);
	if (is_attached && kind->value)
		CHECK_EQ(victim->bss->value, kind->value, "%s, %s: it reads", kind->name, when);
	if (!traced)
		return;
	CHECK_EQ(entry->bss->entry_value, victim->bss->value, "%s, %s: its entry reads",
		 kind->name, when);
	CHECK_EQ(back->bss->return_value, victim->bss->value, "%s, %s: its return reads",
		 kind->name, when);
	CHECK_EQ(back->bss->result, 0, "%s, %s: its result", kind->name, when);
}

/* A and a: the program comes and goes; T and t: what is attached to it does. */
static void follow(const struct kind *kind, const char *order)
{
	bool is_attached = false, is_traced = false;
	char when[32];
	int i;

	for (i = 0; order[i]; i++) {
		if (order[i] == 'A' || order[i] == 'a')
			attach(kind, is_attached = order[i] == 'A');
		else
			trace(is_traced = order[i] == 'T');
		snprintf(when, sizeof(when), "%s, step %d", order, i);
		check(kind, is_attached, is_traced, when);
	}
}

static const struct kind kinds[] = {
	{ "at_insn", true, "insn", TRAMP_ATTACH_F_NO_JUMP, DI, VALUE },
	{ "at_insn", true, "insn", 0, DI, VALUE },
	{ "at_insn", true, "return", 0, DI, 0 },
	{ "enters", false, TARGET, 0, 0, VALUE },
	{ "leaves", false, TARGET, 0, 8, VALUE + 1 },
	{ "modifies", false, HOOK, 0, 0, 0 },
};

static void setup(void)
{
	struct probe_func f;

	dev = fixture_open("other orders are the kernel's own affair");
	REQUIRE(!probe_explain(&f, 0, TARGET, false), TARGET);
	behind = f.addr + probe_behind_site(TARGET);
	probe_func_free(&f);
}

static void test_orders(void)
{
	static const char *const orders[] = { "ATta", "ATat", "TAat", "TAta", "AaTt", "TtAa" };
	unsigned int i, k, nr = 0;

	setup();
	for (k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		if (!can_be_traced(&kinds[k]))
			continue;
		for (i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
			load_all(&kinds[k]);
			follow(&kinds[k], orders[i]);
			destroy_all();
		}
		nr++;
	}
	ktap_note("%u kinds of %u", nr, k);
}

static void calls(int fd, unsigned int round)
{
	tt_call(fd, TARGET " n=20 %u", round);
}

/* Each call is a hit and is run, while others come to the program and go. */
static void under_calls(const struct kind *kind)
{
	uint64_t before, nr, hits, misses, at_entry = 0, at_return = 0;
	int rounds = short_form(8, 3), i;

	load_all(kind);
	attach(kind, true);
	before = tt_calls(dev, TARGET);
	callers_start(calls);
	for (i = 0; i < rounds; i++) {
		load_tracers(kind);
		trace(true);
		usleep(20000);
		trace(false);
		at_entry += entry->bss->entry_runs;
		at_return += back->bss->return_runs;
	}
	callers_stop();
	nr = tt_calls(dev, TARGET) - before;
	attachment_counts(&attached, &hits, &misses);
	CHECK_EQ(hits, nr, "%s: hits", kind->name);
	CHECK_EQ(misses, 0, "%s: misses", kind->name);
	CHECK_EQ(victim->bss->runs, nr, "%s: runs", kind->name);
	CHECK(at_entry && at_entry <= nr, "%s: %llu runs at its entry", kind->name,
	      (unsigned long long)at_entry);
	CHECK(at_return && at_return <= nr, "%s: %llu runs at its return", kind->name,
	      (unsigned long long)at_return);
	ktap_note("%s: %llu calls, %llu and %llu of them traced", kind->name,
		  (unsigned long long)nr, (unsigned long long)at_entry,
		  (unsigned long long)at_return);
	attach(kind, false);
	destroy_all();
}

static void test_under_calls(void)
{
	unsigned int k;

	setup();
	for (k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
		if (can_be_traced(&kinds[k]) && strcmp(kinds[k].at, HOOK))
			under_calls(&kinds[k]);
}

static const struct ktap_test tests[] = {
	{ "orders", test_orders, 200 },
	{ "under_calls", test_under_calls, 200 },
};

KTAP_MAIN(tests)
