// SPDX-License-Identifier: GPL-2.0
/*
 * Programs in images of functions that go together although they came one by one, and kprobe
 * programs at entries and returns that come together (kernel/ftrace/group.c, func/many.c). Their
 * images retire together (base/retire.c).
 *
 * How often all CPUs were made to see new text is counted by a kernel kprobe at
 * on_each_cpu_cond_mask(), for this process.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "fixture.h"
#include "parts.h"
#include "probe.h"
#include "record.h"
#include "selftests/vm/lib/probe_progs.skel.h"
#include "selftests/vm/lib/record.skel.h"

/* selftests/kmod/many.c */
#define NR	300
#define CALLS	3
#define CALLS_AT_ONCE	50
#define ROUNDS	20
/* The first ones go one by one, with three syncs each (ALONE, kernel/ftrace/site.c). */
#define ALONE	32
/* Syncs that a group may take, more on slow kernels. parts.h adds what a call in parts takes. */
#define FEW	(24 * (uint64_t)time_scale())
/* Groups of those that come one by one, or in some parts if that takes long. */
#define GROUPS	4

static int dev, prog;
static struct tramp_attach item[NR];
static struct tramp_attach_batch cmd;
static struct attachment at[NR];
static int32_t fds[NR];

static const char *name_of(uint32_t i)
{
	static char name[32];

	snprintf(name, sizeof(name), "tt_many_%03u", i);
	return name;
}

static void setup(uint32_t flags)
{
	uint32_t i;

	dev = fixture_open("the kernel's own go one after the other");
	probe_setup();
	probe_many_files();
	prog = bpf_program__fd(probe_skel->progs.count);
	for (i = 0; i < NR; i++)
		item[i] = (struct tramp_attach){ .size = sizeof(item[i]), .prog_fd = prog,
						 .addr = ksym_addr(name_of(i)), .cookie = i,
						 .flags = TRAMP_ATTACH_F_COOKIE | flags };
}

/* One call of all: those for which @on is set run their programs, and no others. */
static void expect_hits(const bool *on, const char *when)
{
	struct tt_reply r;
	uint32_t i;

	memset(probe_skel->bss->counted, 0, NR * sizeof(uint64_t));
	r = tt_call(dev, "tt_many_000 n=%d 12", CALLS);
	CHECK_EQ(r.different, 0, "%s: results", when);
	CHECK_EQ(r.result, 19, "%s: result", when);
	for (i = 0; i < NR; i++)
		if (!CHECK_EQ(probe_skel->bss->counted[i], on[i] ? CALLS : 0, "%s: %s", when,
			      name_of(i)))
			break;
}

static void attach_one(uint32_t i)
{
	struct tramp_attach want = item[i];

	at[i] = attach_want(want.prog_fd, &want);
	REQUIRE(!at[i].err, "%s: %s", name_of(i), strerror(-at[i].err));
}

static void attach_all(bool *on)
{
	uint32_t i;

	for (i = 0; i < NR; i++) {
		attach_one(i);
		on[i] = true;
	}
}

static void detach_all(bool *on)
{
	uint32_t i;

	for (i = 0; i < NR; i++) {
		detach(&at[i]);
		on[i] = false;
	}
}

/* ------------------------------------------------------------------ one by one -- */

/* Some leave and come back, with a tracer beside them and without. */
static void test_one_by_one(void)
{
	bool on[NR] = {};
	uint32_t i;

	setup(0);
	attach_all(on);
	expect_hits(on, "attached");
	function_tracer("tt_many_*");
	expect_hits(on, "traced");
	for (i = 0; i < NR; i += 3) {
		detach(&at[i]);
		on[i] = false;
	}
	expect_hits(on, "every third has left");
	function_tracer(NULL);
	expect_hits(on, "not traced");
	for (i = 0; i < NR; i += 3) {
		attach_one(i);
		on[i] = true;
	}
	expect_hits(on, "they have come back");
	for (i = 0; i < NR; i++)
		if (!attachment_expect(&at[i], TRAMP_MODE_DIRECT, 0, name_of(i)))
			break;
	function_tracer("tt_many_*");
	detach_all(on);
	expect_hits(on, "detached");
	function_tracer(NULL);
	check_nothing_left();
}

/* Closed together, as an exit does: programs of tracing type. */
static void test_closed(void)
{
	struct record *record;
	struct attachment watch;
	bool on[NR] = {};
	uint64_t n;
	uint32_t i;

	setup(0);
	record = FIXTURE_LOAD(record);
	for (i = 0; i < NR; i++) {
		item[i].prog_fd = prog_clone(record->progs.count_entry, name_of(i),
					     BPF_TRACE_FENTRY);
		item[i].addr = 0;
	}
	attach_all(on);
	watch = probe_watch_syncs();
	REQUIRE(at[NR - 1].fd - at[0].fd == NR - 1, "file descriptors in a row");
	CHECK_EQ(close_range(at[0].fd, at[NR - 1].fd, 0), 0, "close");
	n = probe_watched();
	ktap_note("%lu syncs to close %d", n, NR);
	CHECK(n > ALONE && n <= 3 * ALONE + GROUPS * FEW, "%lu syncs", n);
	CHECK_EQ(tramp_module().targets, 0, "functions");
	detach(&watch);
	memset(on, 0, sizeof(on));
	expect_hits(on, "closed");
	check_nothing_left();
}

static uint64_t calls;

/* The reply counts the calls of others, too. */
static void call_all(int fd, unsigned int round)
{
	(void)round;
	tt_call(fd, "tt_many_000 n=%d 12", CALLS_AT_ONCE);
	__sync_fetch_and_add(&calls, CALLS_AT_ONCE);
}

/* Others leave and come meanwhile: no hit of those that stay is lost. */
static void test_changing(void)
{
	uint32_t i, round;
	bool on[NR] = {};
	uint64_t lost;

	setup(0);
	attach_all(on);
	memset(probe_skel->bss->counted, 0, NR * sizeof(uint64_t));
	callers_start(call_all);
	for (round = 0; round < ROUNDS; round++) {
		i = NR / 2 + round * 7 % (NR / 2);
		if (round % 10 == 5)
			function_tracer("tt_many_*");
		detach(&at[i]);
		attach_one(i);
		if (round % 10 == 9)
			function_tracer(NULL);
	}
	callers_stop();
	ktap_note("%lu calls meanwhile", calls);
	CHECK(calls, "no calls");
	for (i = 0; i < NR / 2; i++) {
		lost = calls - probe_skel->bss->counted[i];
		if (!CHECK_EQ(lost, 0, "%s: lost", name_of(i)))
			break;
	}
	expect_hits(on, "afterwards");
	detach_all(on);
	check_nothing_left();
}

/* -------------------------------------------------------------------- together -- */

/* Return: 0 or a negative errno. */
static int attach_batch(void)
{
	uint32_t i;
	int err;

	cmd = (struct tramp_attach_batch){ .size = sizeof(cmd), .count = NR,
					   .item_size = sizeof(item[0]),
					   .items = (uintptr_t)item };
	err = ioctl(tramp_device(), TRAMP_IOC_ATTACH_BATCH, &cmd) ? -errno : 0;
	for (i = 0; !err && i < NR; i++)
		fds[i] = item[i].link_fd;
	return err;
}

static void must_attach(void)
{
	int err = attach_batch();

	REQUIRE(!err, "%s at item %u: %s %s", strerror(-err), cmd.failed,
		tramp_reason_name(cmd.refusal.reason), cmd.refusal.detail);
}

static void detach_batch(void)
{
	struct tramp_detach_batch d = { .size = sizeof(d), .count = NR, .fds = (uintptr_t)fds };

	REQUIRE(!ioctl(tramp_device(), TRAMP_IOC_DETACH_BATCH, &d), "detach: %s", strerror(errno));
}

static void must_detach(void)
{
	uint32_t i;

	detach_batch();
	for (i = 0; i < NR; i++)
		close(fds[i]);
}

/* @coming and @going: syncs, without those of more parts. */
static void come_and_go(uint32_t flags, uint64_t coming, uint64_t going)
{
	uint64_t n, begin, came, went;
	struct attachment watch;
	bool on[NR] = {};
	uint32_t i;

	setup(flags);
	watch = probe_watch_syncs();
	begin = now_ns();
	must_attach();
	came = now_ns() - begin;
	n = probe_watched();
	coming += parts_coming(came, NR);
	ktap_note("%lu syncs and %lu us to attach %d, at most %lu", n, came / 1000, NR, coming);
	CHECK(n && n <= coming, "%lu syncs to attach", n);
	for (i = 0; i < NR; i++) {
		on[i] = true;
		CHECK_EQ(item[i].mode, TRAMP_MODE_DIRECT, "%s: mode", name_of(i));
	}
	expect_hits(on, "attached");
	probe_watched();
	begin = now_ns();
	must_detach();
	went = now_ns() - begin;
	n = probe_watched();
	going += parts_going(came + went, NR);
	ktap_note("%lu syncs and %lu us to detach them, at most %lu", n, went / 1000, going);
	CHECK(n && n <= going, "%lu syncs to detach", n);
	detach(&watch);
	memset(on, 0, sizeof(on));
	expect_hits(on, "detached");
	check_nothing_left();
}

static void test_entries(void)
{
	come_and_go(0, FEW, FEW);
}

/*
 * Under a tracer no site is a NOP. Whether somebody changes the instruction pointer there ftrace's
 * records say, of which there are tens of thousands: each part reads them once.
 */
static void test_traced(void)
{
	struct attachment watch;
	bool on[NR] = {};
	uint64_t n, most;

	setup(0);
	function_tracer("tt_many_*");
	watch = probe_watch_calls("tramp_ipmodify_among");
	n = now_ns();
	must_attach();
	most = GROUPS + parts_coming(now_ns() - n, NR);
	n = probe_watched();
	ktap_note("ftrace's records were read %lu times, at most %lu", n, most);
	CHECK(n && n <= most, "%lu times", n);
	detach(&watch);
	memset(on, true, sizeof(on));
	expect_hits(on, "attached");
	must_detach();
	function_tracer(NULL);
	check_nothing_left();
}

/*
 * Each has its prototype looked up, so they come in some parts, in more on a slow kernel. One by
 * one it would be 1,800.
 */
static void test_returns(void)
{
	come_and_go(TRAMP_ATTACH_F_RETURN, time_scale() > 1 ? 4 * NR : NR, GROUPS * FEW);
}

/* Of two functions of a group one has no program left, and the other one more: one new image. */
static void test_some_stay(void)
{
	struct tramp_detach_batch d = { .size = sizeof(d), .count = 2 };
	bool on[NR] = {};
	struct tramp_attach want;
	uint32_t index, i;
	int gone[2];

	setup(0);
	must_attach();
	want = item[6];
	memset(on, true, sizeof(on));
	/* The same program would be refused. */
	want.prog_fd = bpf_program__fd(probe_skel->progs.count_pid);
	at[6] = attach_want(want.prog_fd, &want);
	REQUIRE(!at[6].err, "%s: %s", name_of(6), strerror(-at[6].err));
	index = tramp_query_link(at[6].reply.link_id).index;
	gone[0] = fds[5];
	gone[1] = fds[6];
	d.fds = (uintptr_t)gone;
	REQUIRE(!ioctl(tramp_device(), TRAMP_IOC_DETACH_BATCH, &d), "detach: %s", strerror(errno));
	CHECK_EQ(tramp_query_link(at[6].reply.link_id).index, index + 1, "images of %s", name_of(6));
	on[5] = false;
	expect_hits(on, "two have left");
	detach(&at[6]);
	for (i = 0; i < NR; i++)
		close(fds[i]);
	check_nothing_left();
}

/* An instruction behind the entry. */
static uint64_t inside(const char *func)
{
	struct probe_func f;
	int err = probe_explain(&f, 0, func, false);
	uint32_t i;

	REQUIRE(!err, "%s: %s", func, strerror(-err));
	for (i = 2; i < f.nr; i++)
		if (f.insns[i].mode == TRAMP_MODE_INT3 || f.insns[i].mode == TRAMP_MODE_JUMP)
			return f.addr + f.insns[i].offset;
	REQUIRE(false, "%s has no place for a probe", func);
	return 0;
}

/* One is held by the kernel, one is not at the entry, two are at the same function. */
static void test_mixed(void)
{
	struct record *record;
	struct attachment k;
	bool on[NR] = {};
	uint32_t i;

	setup(0);
	record = FIXTURE_LOAD(record);
	k = attach_func(KERNEL, prog_clone(record->progs.count_entry, name_of(7),
					   BPF_TRACE_FENTRY), NULL);
	item[20].addr = inside(name_of(20));
	item[30].prog_fd = bpf_program__fd(probe_skel->progs.count_pid);
	item[30].addr = item[31].addr;
	must_attach();
	for (i = 0; i < NR; i++)
		on[i] = true;
	CHECK_EQ(item[7].mode, TRAMP_MODE_FTRACE_OPS, "where the kernel's is");
	CHECK_EQ(item[20].mode, TRAMP_MODE_INT3, "behind the entry");
	CHECK_EQ(item[30].mode, TRAMP_MODE_DIRECT, "two at an entry");
	expect_hits(on, "attached");
	must_detach();
	memset(on, 0, sizeof(on));
	expect_hits(on, "detached");
	detach(&k);
	check_nothing_left();
}

static void expect_refused(uint32_t flags)
{
	bool on[NR] = {};

	setup(flags);
	item[NR - 1].prog_fd = 12345;
	CHECK_EQ(attach_batch(), -EBADF, "no program");
	CHECK_EQ(cmd.failed, NR - 1, "the item");
	item[NR - 1] = item[5];
	CHECK_EQ(attach_batch(), -EBUSY, "one of them twice");
	CHECK_EQ(cmd.failed, NR - 1, "the item");
	CHECK_EQ(cmd.refusal.reason, TRAMP_REASON_ALREADY_ATTACHED, "the reason");
	CHECK_EQ(tramp_module().links, 0, "links");
	expect_hits(on, "refused");
	check_nothing_left();
}

static void test_entries_refused(void)
{
	expect_refused(0);
}

static void test_returns_refused(void)
{
	expect_refused(TRAMP_ATTACH_F_RETURN);
}

/* -------------------------------------------------------------------- retiring -- */

/*
 * Their images hold the module of the functions until nobody is in them. While thousands attach
 * tramp_mutex is hard to get: the retire list takes it for all images together, not for each.
 */
static void test_retire(void)
{
	struct attachment watch;
	uint64_t mutex, n;
	const char *lock;
	int held, i;

	setup(TRAMP_ATTACH_F_RETURN);
	mutex = ksym_addr("tramp_mutex");
	/* With lockdep it has another name. */
	lock = ksym_addr("mutex_lock_nested") ? "mutex_lock_nested" : "mutex_lock";
	REQUIRE(mutex && ksym_addr(lock), "no tramp_mutex, or no %s()", lock);
	held = module_references("trampoline_test");
	must_attach();
	CHECK_EQ(module_references("trampoline_test"), held + 2 * NR, "references to the module");
	probe_skel->bss->only_arg = mutex;
	watch = attach_insn(KERNEL, bpf_program__fd(probe_skel->progs.count_arg), ksym_addr(lock),
			    0, NR);
	detach_batch();
	for (i = 0; i < 3000 && module_references("trampoline_test") > held; i++)
		usleep(10000);
	n = probe_skel->bss->counted[NR];
	ktap_note("tramp_mutex was taken %lu times to detach %d and to retire their images", n, NR);
	CHECK(i < 3000, "the module is held for 30 s");
	CHECK(n && n < NR / 2, "%lu times", n);
	detach(&watch);
	for (i = 0; i < NR; i++)
		close(fds[i]);
	check_nothing_left();
}

/*
 * Half of the programs go, and there is no memory for the images of those that stay. They run from
 * the old images, from which those that go are left out.
 */
static void test_no_memory(void)
{
	struct tramp_detach_batch d = { .size = sizeof(d), .count = NR };
	bool failed;
	uint32_t i, n, step = 2 * NR, tries = 0;
	int32_t going[NR];
	bool on[NR];

	setup(0);
	fault_needed(dev);
	memset(on, true, sizeof(on));
	must_attach();
	memcpy(going, fds, sizeof(fds));
	d.fds = (uintptr_t)going;
	for (n = 3;; n += step, tries++) {
		for (i = 0; i < NR; i++) {
			item[i].prog_fd = bpf_program__fd(probe_skel->progs.count_too);
			item[i].cookie = i;
		}
		must_attach();
		fault_begin(dev, (struct tt_fault){ .nth = n, .lasting = 1 });
		detach_batch();
		failed = fault_end(dev, NULL);
		for (i = 0; i < NR; i++)
			close(fds[i]);
		memset(&probe_skel->bss->counted[PROBE_COUNTERS / 2], 0, NR * sizeof(uint64_t));
		expect_hits(on, "half of them have gone");
		for (i = 0; i < NR; i++)
			CHECK_EQ(probe_skel->bss->counted[PROBE_COUNTERS / 2 + i], 0,
				 "those that have gone, without allocation %u: %s", n, name_of(i));
		if (!failed || ktap_failures() >= 5)
			break;
	}
	ktap_note("%u times without memory", tries);
	CHECK(tries, "no allocation has failed");
	REQUIRE(!ioctl(tramp_device(), TRAMP_IOC_DETACH_BATCH, &d), "detach: %s", strerror(errno));
	for (i = 0; i < NR; i++)
		close(going[i]);
}

static const struct ktap_test tests[] = {
	{ "one_by_one", test_one_by_one, 240 },
	{ "closed", test_closed, 150 },
	{ "changing", test_changing, 260 },
	{ "entries", test_entries, 60 },
	{ "traced", test_traced, 60 },
	{ "returns", test_returns, 100 },
	{ "some_stay", test_some_stay, 100 },
	{ "mixed", test_mixed, 60 },
	{ "no_memory", test_no_memory, 240 },
	{ "entries_refused", test_entries_refused, 60 },
	{ "returns_refused", test_returns_refused, 100 },
	{ "retire", test_retire, 100 },
};

KTAP_MAIN(tests)
