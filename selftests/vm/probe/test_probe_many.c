// SPDX-License-Identifier: GPL-2.0
/*
 * Many probes that one call attaches (ATTACH_BATCH) and one detaches (DETACH_BATCH).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include "fixture.h"
#include "places.h"
#include "selftests/vm/lib/probe_progs.skel.h"

/* So many under calls, where each takes longer. */
#define SOME	400
/*
 * While the optimiser makes images, those that they replace are freed. That takes a grace period
 * for what has come in so many milliseconds (BATCH_DELAY, kernel/base/retire.c).
 */
#define FREED_EACH	50

/* ---------------------------------------------------------------- coming and going -- */

/*
 * The shortest of some at each of many moments: the first one behind a pause finds caches cold,
 * which on an emulated CPU may double what it takes.
 */
static uint64_t info_ns(void)
{
	uint64_t begin, took, least = UINT64_MAX;
	int i;

	for (i = 0; i < 1000; i++) {
		if (i % 10 == 0)
			usleep(500);
		begin = now_ns();
		tramp_module();
		took = now_ns() - begin;
		least = took < least ? took : least;
	}
	return least;
}

static void test_counts(void)
{
	struct tramp_detach_batch d;
	uint64_t result, periods, allowed, begin, before, beside;
	uint32_t i;

	places_setup();
	result = places_run(1);
	before = info_ns();
	probe_optimiser(false);
	places_attach(MANY);
	CHECK_EQ(tramp_module().links, MANY, "links");
	CHECK_EQ(tramp_module().probes, MANY, "probes");
	beside = info_ns();
	ktap_note("INFO takes %lu us, beside %u probes %lu us", before / 1000, MANY, beside / 1000);
	CHECK(beside < 2 * before, "INFO looks at each probe");
	for (i = 0; i < MANY; i++) {
		struct tramp_query q = tramp_query_link(places_item[i].link_id);

		if (!CHECK_EQ(q.cookie, i, "item %u: its link's cookie", i) ||
		    !CHECK_EQ(q.probe_addr, places_item[i].func_addr, "item %u: address", i) ||
		    !CHECK_EQ(places_item[i].func_addr, places_item[i].addr, "item %u: address",
			      i) ||
		    !CHECK_EQ(places_item[i].mode, TRAMP_MODE_INT3, "item %u: mode", i) ||
		    !CHECK_EQ(places_item[i].mode_reason, TRAMP_REASON_OPT_OFF, "item %u: reason",
			      i) ||
		    !CHECK_EQ(places_item[i].kind, TRAMP_KIND_KPROBE, "item %u: kind", i) ||
		    !CHECK_EQ(places_item[i].key, q.key, "item %u: key", i))
			break;
	}
	CHECK_EQ(places_run(10), result, "result with int3s");
	places_expect_hits(MANY, 10, "as int3s");

	periods = tramp_module().grace_periods;
	begin = now_ns();
	probe_optimiser(true);
	periods = tramp_module().grace_periods - periods;
	/* One by one it would be MANY. */
	allowed = 4 + time_allowance(now_ns() - begin, FREED_EACH, 1, MANY / 2);
	ktap_note("%lu grace periods to become jumps, at most %lu", periods, allowed);
	CHECK(periods <= allowed, "%lu grace periods, not %lu", periods, allowed);
	CHECK_EQ(tramp_module().optimised, MANY, "jumps");
	CHECK_EQ(places_run(10), result, "result with jumps");
	places_expect_hits(MANY, 10, "as jumps");

	CHECK_EQ(places_detach(places_fds, MANY, &d), 0, "detach");
	CHECK_EQ(tramp_module().links, 0, "links");
	CHECK_EQ(places_run(10), result, "result when detached");
	places_expect_hits(MANY, 0, "detached");
	CHECK_EQ(places_detach(places_fds, MANY, &d), 0, "detach once more");
	places_close(MANY);
	check_nothing_left();
	places_expect_text("at the end");
}

static volatile bool stop;
static volatile uint64_t calls;

static void *caller(void *arg)
{
	while (!stop) {
		places_run(1);
		calls++;
	}
	return arg;
}

/* A hit that was under way when the programs were detached is counted before its program runs. */
static void wait_for_caller(void)
{
	uint64_t before = calls;

	while (calls < before + 2)
		usleep(1000);
}

/* Another thread calls the function all the time. */
static void test_under_hits(void)
{
	struct tramp_detach_batch d;
	uint64_t hits, misses;
	pthread_t thread;
	uint32_t i;
	int round;

	places_setup();
	REQUIRE(!pthread_create(&thread, NULL, caller, NULL), "a thread");
	for (round = 0; round < 3; round++) {
		places_attach(SOME);
		/* As jumps all are hit for certain, as int3s it is as it comes. */
		if (round) {
			probe_flush();
			wait_for_caller();
		}
		/* The last round's links are closed without that, together. */
		if (round < 2)
			CHECK_EQ(places_detach(places_fds, SOME, &d), 0, "detach");
		wait_for_caller();
		for (i = 0; round < 2 && i < SOME; i++) {
			struct tramp_query q = tramp_query_link(places_item[i].link_id);

			hits = q.hits;
			misses = q.misses;
			if (!CHECK_EQ(probe_skel->bss->counted[i], hits, "round %d: probe %u",
				      round, i) ||
			    !CHECK_EQ(misses, 0, "round %d: probe %u: misses", round, i) ||
			    !CHECK(!round || hits, "round %d: probe %u was never hit", round, i))
				break;
		}
		if (round < 2)
			places_close(SOME);
		else
			close_range(places_fds[0], ~0U, 0);
		memset(probe_skel->bss->counted, 0, sizeof(probe_skel->bss->counted));
	}
	stop = true;
	pthread_join(thread, NULL);
	ktap_note("%lu calls meanwhile", calls);
	check_nothing_left();
	places_expect_text("at the end");
}

/* Of @f's instructions, from @first up to @end, those whose region has no other one in it. */
static uint32_t alone(uint32_t first, uint32_t end)
{
	uint32_t i, next, n = 0;

	for (i = first; i < end; i++) {
		if (places_func.insns[i].mode != TRAMP_MODE_JUMP)
			continue;
		for (next = i + 1; next < end && places_func.insns[next].mode == TRAMP_MODE_NONE;
		     next++)
			;
		n += next == end || places_func.insns[i].offset + places_func.insns[i].region_len <=
					    places_func.insns[next].offset;
	}
	return n;
}

/* Every instruction of the function: regions all over each other, and two programs at each. */
static void test_dense(void)
{
	struct tramp_attach *all = calloc(PROBE_COUNTERS, sizeof(*all));
	struct tramp_detach_batch d;
	uint32_t i, end, jumps, nr = 0;
	uint64_t result;
	int32_t *links;

	places_setup();
	links = calloc(PROBE_COUNTERS, sizeof(*links));
	REQUIRE(all && links, "out of memory");
	result = places_run(1);
	for (i = 2; i < places_func.nr && nr + 1 < MANY; i++) {
		if (places_func.insns[i].mode == TRAMP_MODE_NONE)
			continue;
		all[nr] = places_item[0];
		all[nr].addr = places_func.addr + places_func.insns[i].offset;
		all[nr].cookie = nr;
		all[nr + 1] = all[nr];
		all[nr + 1].prog_fd = bpf_program__fd(probe_skel->progs.nothing);
		nr += 2;
	}
	end = i;
	REQUIRE(!places_try(all, nr), "item %u: %s", places_cmd.failed,
		tramp_reason_name(places_cmd.refusal.reason));
	for (i = 0; i < nr; i++)
		links[i] = all[i].link_fd;
	CHECK_EQ(places_run(3), result, "result");
	probe_flush();
	jumps = alone(2, end);
	ktap_note("%u of %u probes are jumps", jumps, nr / 2);
	CHECK_EQ(tramp_module().probes, nr / 2, "probes");
	CHECK_EQ(tramp_module().optimised, jumps, "jumps");
	CHECK_EQ(places_run(3), result, "result");
	for (i = 0; i < nr; i += 2)
		CHECK_EQ(probe_skel->bss->counted[i], 6, "probe %u", i);
	CHECK_EQ(places_detach(links, nr, &d), 0, "detach");
	for (i = 0; i < nr; i++)
		close(links[i]);
	check_nothing_left();
	places_expect_text("at the end");
}

/* -------------------------------------------------------------------- all or nothing -- */

/* @nr items are refused at @at; nothing is left, not even for a moment after. */
static void expect_refused(const char *what, uint32_t nr, uint32_t at, int err, uint32_t reason)
{
	uint32_t files = open_fds();

	CHECK_EQ(places_try(places_item, nr), err, "%s", what);
	CHECK_EQ(places_cmd.failed, at, "%s: the item", what);
	CHECK_EQ(places_cmd.refusal.reason, reason, "%s: %s, not %s", what,
		 tramp_reason_name(places_cmd.refusal.reason), tramp_reason_name(reason));
	CHECK_EQ(tramp_module().links, 0, "%s: links", what);
	CHECK_EQ(open_fds(), files, "%s: open files", what);
	places_run(1);
	places_expect_hits(nr < MANY ? nr : MANY, 0, what);
}

static void test_refused(void)
{
	struct tramp_attach good;
	uint32_t i, place[] = { 0, 300, MANY - 1 };

	places_setup();
	for (i = 0; i < 3; i++) {
		good = places_item[place[i]];
		places_item[place[i]].addr++;
		expect_refused("no instruction", MANY, place[i], -EINVAL,
			       TRAMP_REASON_NOT_BOUNDARY);
		places_item[place[i]] = good;
		places_item[place[i]].prog_fd = 12345;
		expect_refused("no program", MANY, place[i], -EBADF, TRAMP_REASON_BAD_PROG_FD);
		places_item[place[i]] = good;
		places_item[place[i]].size -= 8;
		expect_refused("another size", MANY, place[i], -EINVAL, TRAMP_REASON_SYNTAX);
		places_item[place[i]] = good;
		places_item[place[i]].flags |= 1U << 31;
		expect_refused("unknown flag", MANY, place[i], -EINVAL, TRAMP_REASON_SYNTAX);
		places_item[place[i]] = good;
	}
	places_item[MANY] = places_item[5];
	expect_refused("one of them twice", MANY + 1, MANY, -EBUSY, TRAMP_REASON_ALREADY_ATTACHED);
	probe_flush();
	check_nothing_left();
	places_expect_text("at the end");
}

/* Something is wrong with the request itself. */
static void test_syntax(void)
{
	struct tramp_detach_batch d;
	struct tramp_attach *edge;
	struct attachment kernels;
	long page = sysconf(_SC_PAGESIZE);
	uint8_t *map;

	places_setup();
	expect_refused("none", 0, 0, -EINVAL, TRAMP_REASON_SYNTAX);
	CHECK_EQ(places_try(places_item, TRAMP_MAX_BATCH + 1), -EINVAL, "too many");
	places_cmd.item_size = TRAMP_ATTACH_MIN_SIZE - 1;
	places_cmd.count = 1;
	CHECK(ioctl(tramp_device(), TRAMP_IOC_ATTACH_BATCH, &places_cmd) && errno == EINVAL,
	      "small items");
	places_cmd.item_size = sizeof(places_item[0]);
	places_cmd.flags = 1;
	CHECK(ioctl(tramp_device(), TRAMP_IOC_ATTACH_BATCH, &places_cmd) && errno == EINVAL,
	      "a flag");
	places_cmd.flags = 0;
	places_cmd.__reserved = 1;
	CHECK(ioctl(tramp_device(), TRAMP_IOC_ATTACH_BATCH, &places_cmd) && errno == EINVAL,
	      "reserved");

	/* The second of two is not there; then it is, but cannot be written. */
	map = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	REQUIRE(map != MAP_FAILED && !munmap(map + page, page), "memory");
	edge = (void *)(map + page - sizeof(*edge));
	*edge = places_item[0];
	CHECK_EQ(places_try(edge, 2), -EFAULT, "memory that is not there");
	CHECK_EQ(places_cmd.failed, 1, "memory that is not there: the item");
	REQUIRE(!mprotect(map, page, PROT_READ), "memory");
	CHECK_EQ(places_try(edge, 1), -EFAULT, "memory that cannot be written");
	CHECK_EQ(places_cmd.failed, 0, "memory that cannot be written: the item");
	CHECK_EQ(tramp_module().links, 0, "links");

	places_attach(10);
	places_fds[5] = places_dev;
	CHECK_EQ(places_detach(places_fds, 10, &d), -EINVAL, "not a link");
	CHECK_EQ(d.refusal.reason, TRAMP_REASON_SYNTAX, "not a link");
	CHECK_EQ(d.failed, 5, "not a link: the fd");
	CHECK_EQ(tramp_module().links, 10, "links: nothing was detached");
	kernels = attach_insn(KERNEL, bpf_program__fd(probe_skel->progs.count),
			      ksym_addr("tt_hot0"), 0, 0);
	places_fds[5] = kernels.fd;
	CHECK_EQ(places_detach(places_fds, 10, &d), -EINVAL, "a link of the kernel's own");
	CHECK_EQ(d.refusal.reason, TRAMP_REASON_SYNTAX, "a link of the kernel's own");
	CHECK_EQ(d.failed, 5, "a link of the kernel's own: the fd");
	detach(&kernels);
	places_fds[5] = 12345;
	CHECK_EQ(places_detach(places_fds, 10, &d), -EBADF, "no file");
	CHECK_EQ(places_detach(places_fds, 0, &d), -EINVAL, "none");
	CHECK_EQ(places_detach(places_fds, TRAMP_MAX_BATCH + 1, &d), -EINVAL, "too many");
	CHECK_EQ(places_detach((void *)(map + page), 1, &d), -EFAULT, "memory that is not there");
	/* One of them twice is once. */
	places_fds[5] = places_fds[4];
	CHECK_EQ(places_detach(places_fds, 10, &d), 0, "one of them twice");
	CHECK_EQ(tramp_module().links, 1, "the one that was left out");
	places_fds[5] = places_item[5].link_fd;
	places_close(10);
	check_nothing_left();
	places_expect_text("at the end");
}

/* A probe of the kernel in the way of some: these become kprobes, or are refused. */
static void test_fallback(void)
{
	struct tramp_detach_batch d;
	uint64_t addr, hits, missed;
	int32_t result;
	uint32_t i;

	places_setup();
	addr = places_item[7].addr;
	kprobes_on(places_dev, TT_KPROBE_NO_JUMP, &addr, &result, 1);
	REQUIRE(!result, "a kernel kprobe: %s", strerror(result));
	places_attach(20);
	for (i = 0; i < 20; i++)
		CHECK_EQ(places_item[i].mode, i == 7 ? TRAMP_MODE_KPROBE : TRAMP_MODE_INT3,
			 "item %u", i);
	places_run(5);
	places_expect_hits(20, 5, "with a kernel kprobe");
	CHECK_EQ(places_detach(places_fds, 20, &d), 0, "detach");
	places_run(5);
	places_expect_hits(20, 0, "detached");
	places_close(20);
	places_item[7].flags |= TRAMP_ATTACH_F_NO_KPROBE;
	expect_refused("no kprobe wanted", 20, 7, -EBUSY, TRAMP_REASON_KPROBE_THERE);
	kprobes_off(places_dev, &hits, &missed, NULL, 1);
	check_nothing_left();
	places_expect_text("at the end");
}

/* Among the others one at the function's entry, which its own image runs, and one at its return. */
static void test_entry(void)
{
	struct tramp_detach_batch d;
	uint32_t i;

	places_setup();
	/* The return is of another kind: those behind it are attached together. */
	for (i = 2; i < 4; i++) {
		places_item[i].addr = 0;
		strcpy(places_item[i].symbol, "tt_long");
	}
	places_item[2].flags |= TRAMP_ATTACH_F_RETURN;
	places_attach(20);
	CHECK_EQ(places_item[2].kind, TRAMP_KIND_KRETPROBE, "at the return");
	CHECK_EQ(places_item[3].mode, TRAMP_MODE_DIRECT, "at the entry");
	places_run(5);
	places_expect_hits(20, 5, "attached");
	CHECK_EQ(places_detach(places_fds, 20, &d), 0, "detach");
	places_run(5);
	places_expect_hits(20, 0, "detached");
	places_close(20);
	places_item[19].prog_fd = places_dev;
	expect_refused("the last is no program", 20, 19, -EBADF, TRAMP_REASON_BAD_PROG_FD);
	places_item[19] = places_item[18];
	expect_refused("the last is there", 20, 19, -EBUSY, TRAMP_REASON_ALREADY_ATTACHED);
	check_nothing_left();
	places_expect_text("at the end");
}

static const struct ktap_test tests[] = {
	{ "counts", test_counts, 120 },
	{ "under_hits", test_under_hits, 240 },
	{ "dense", test_dense, 120 },
	{ "refused", test_refused, 240 },
	{ "syntax", test_syntax, 60 },
	{ "fallback", test_fallback, 60 },
	{ "entry", test_entry, 60 },
};

KTAP_MAIN(tests)
