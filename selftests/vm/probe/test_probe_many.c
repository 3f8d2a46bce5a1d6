// SPDX-License-Identifier: GPL-2.0
/*
 * Many probes in one call (ATTACH_BATCH), and many links that go together: by DETACH_BATCH, by
 * close_range(), at exit.
 *
 * How often all CPUs were made to see new text is counted by a kernel kprobe at text_poke_sync().
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include "fixture.h"
#include "probe.h"
#include "selftests/vm/lib/probe_progs.skel.h"

/* More than the module attaches in one part (TRAMP_BATCH_MANY, 1,024). */
#define MANY	1100
/* So many under calls, where each takes longer. */
#define SOME	400
/* Syncs that going together may take: a few, and some of the optimiser's. */
#define FEW	50
/*
 * While the optimiser makes images, those that they replace are freed. That takes a grace period
 * for what has come in so many milliseconds (BATCH_DELAY, kernel/base/retire.c).
 */
#define FREED_EACH	50
/* Which counter counts syncs. */
#define SYNCS	(PROBE_COUNTERS - 1)

static int dev, prog;
static struct tramp_attach item[MANY + 1];
static struct tramp_attach_batch cmd;
static int32_t fds[MANY];
static struct probe_func f;
static uint8_t *before, *after;

/* MANY places in one long straight function, one behind the other; all can be jumps. */
static void setup(void)
{
	uint64_t end = 0;
	uint32_t i, n = 0;
	int err;

	dev = fixture_open("the kernel attaches one after the other");
	probe_setup();
	probe_many_files();
	prog = bpf_program__fd(probe_skel->progs.count);
	err = probe_explain(&f, 0, "tt_long", false);
	REQUIRE(!err, "tt_long: %s", strerror(-err));
	for (i = 0; i < f.nr && n < MANY; i++) {
		uint64_t at = f.addr + f.insns[i].offset;

		if (f.insns[i].mode != TRAMP_MODE_JUMP || at < end)
			continue;
		item[n] = (struct tramp_attach){ .size = sizeof(item[n]), .prog_fd = prog,
						 .addr = at, .cookie = n,
						 .flags = TRAMP_ATTACH_F_COOKIE };
		n++;
		end = at + f.insns[i].region_len;
	}
	REQUIRE(n == MANY, "tt_long has %u places for a jump", n);
	before = malloc(f.size);
	after = malloc(f.size);
	REQUIRE(before && after, "out of memory");
	probe_flush();
	text_read(dev, f.addr, before, f.size);
}

static void expect_text(const char *when)
{
	text_read(dev, f.addr, after, f.size);
	CHECK(!memcmp(before, after, f.size), "%s: the text is not what it was", when);
}

/* Return: 0 or a negative errno. */
static int attach_batch(struct tramp_attach *items, uint32_t nr)
{
	cmd = (struct tramp_attach_batch){ .size = sizeof(cmd), .count = nr,
					   .item_size = sizeof(*items),
					   .items = (uintptr_t)items };
	return ioctl(tramp_device(), TRAMP_IOC_ATTACH_BATCH, &cmd) ? -errno : 0;
}

static void must_attach(uint32_t nr)
{
	int err = attach_batch(item, nr);
	uint32_t i;

	REQUIRE(!err, "%u probes: %s at item %u: %s %s", nr, strerror(-err), cmd.failed,
		tramp_reason_name(cmd.refusal.reason), cmd.refusal.detail);
	for (i = 0; i < nr; i++)
		fds[i] = item[i].link_fd;
}

static int detach_batch(const int32_t *links, uint32_t nr, struct tramp_detach_batch *d)
{
	*d = (struct tramp_detach_batch){ .size = sizeof(*d), .count = nr,
					  .fds = (uintptr_t)links };
	return ioctl(tramp_device(), TRAMP_IOC_DETACH_BATCH, d) ? -errno : 0;
}

static void close_all(uint32_t nr)
{
	uint32_t i;

	for (i = 0; i < nr; i++)
		close(fds[i]);
}

static uint32_t open_files(void)
{
	DIR *d = opendir("/proc/self/fd");
	uint32_t n = 0;

	REQUIRE(d, "/proc/self/fd");
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static uint64_t run_long(int times)
{
	struct tt_reply r = tt_call(dev, "tt_long n=%d 12345", times);

	CHECK_EQ(r.different, 0, "results");
	return r.result;
}

static void expect_hits(uint32_t nr, uint64_t want, const char *when)
{
	uint32_t i;

	for (i = 0; i < nr; i++)
		if (!CHECK_EQ(probe_skel->bss->counted[i], want, "%s: probe %u", when, i))
			break;
	memset(probe_skel->bss->counted, 0, sizeof(probe_skel->bss->counted));
}

/* ---------------------------------------------------------------- coming and going -- */

static void test_counts(void)
{
	struct tramp_detach_batch d;
	uint64_t result, periods, allowed, begin;
	uint32_t i;

	setup();
	result = run_long(1);
	probe_optimiser(false);
	must_attach(MANY);
	CHECK_EQ(tramp_module().links, MANY, "links");
	for (i = 0; i < MANY; i++) {
		struct tramp_query q = tramp_query_link(item[i].link_id);

		if (!CHECK_EQ(q.cookie, i, "item %u: its link's cookie", i) ||
		    !CHECK_EQ(q.probe_addr, item[i].func_addr, "item %u: address", i) ||
		    !CHECK_EQ(item[i].func_addr, item[i].addr, "item %u: address", i) ||
		    !CHECK_EQ(item[i].mode, TRAMP_MODE_INT3, "item %u: mode", i) ||
		    !CHECK_EQ(item[i].mode_reason, TRAMP_REASON_OPT_OFF, "item %u: reason", i) ||
		    !CHECK_EQ(item[i].kind, TRAMP_KIND_KPROBE, "item %u: kind", i) ||
		    !CHECK_EQ(item[i].key, q.key, "item %u: key", i))
			break;
	}
	CHECK_EQ(run_long(10), result, "result with int3s");
	expect_hits(MANY, 10, "as int3s");

	periods = tramp_module().grace_periods;
	begin = now_ns();
	probe_optimiser(true);
	periods = tramp_module().grace_periods - periods;
	/* One by one it would be MANY. */
	allowed = 4 + time_allowance(now_ns() - begin, FREED_EACH, 1, MANY / 2);
	ktap_note("%lu grace periods to become jumps, at most %lu", periods, allowed);
	CHECK(periods <= allowed, "%lu grace periods, not %lu", periods, allowed);
	CHECK_EQ(tramp_module().optimised, MANY, "jumps");
	CHECK_EQ(run_long(10), result, "result with jumps");
	expect_hits(MANY, 10, "as jumps");

	CHECK_EQ(detach_batch(fds, MANY, &d), 0, "detach");
	CHECK_EQ(tramp_module().links, 0, "links");
	CHECK_EQ(run_long(10), result, "result when detached");
	expect_hits(MANY, 0, "detached");
	CHECK_EQ(detach_batch(fds, MANY, &d), 0, "detach once more");
	close_all(MANY);
	check_nothing_left();
	expect_text("at the end");
}

static volatile bool stop;
static volatile uint64_t calls;

static void *caller(void *arg)
{
	while (!stop) {
		run_long(1);
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

	setup();
	REQUIRE(!pthread_create(&thread, NULL, caller, NULL), "a thread");
	for (round = 0; round < 3; round++) {
		must_attach(SOME);
		/* As jumps all are hit for certain, as int3s it is as it comes. */
		if (round) {
			probe_flush();
			wait_for_caller();
		}
		/* The last round's links are closed without that, together. */
		if (round < 2)
			CHECK_EQ(detach_batch(fds, SOME, &d), 0, "detach");
		wait_for_caller();
		for (i = 0; round < 2 && i < SOME; i++) {
			struct tramp_query q = tramp_query_link(item[i].link_id);

			hits = q.hits;
			misses = q.misses;
			if (!CHECK_EQ(probe_skel->bss->counted[i], hits, "round %d: probe %u",
				      round, i) ||
			    !CHECK_EQ(misses, 0, "round %d: probe %u: misses", round, i) ||
			    !CHECK(!round || hits, "round %d: probe %u was never hit", round, i))
				break;
		}
		if (round < 2)
			close_all(SOME);
		else
			close_range(fds[0], ~0U, 0);
		memset(probe_skel->bss->counted, 0, sizeof(probe_skel->bss->counted));
	}
	stop = true;
	pthread_join(thread, NULL);
	ktap_note("%lu calls meanwhile", calls);
	check_nothing_left();
	expect_text("at the end");
}

/* Of @f's instructions, from @first up to @end, those whose region has no other one in it. */
static uint32_t alone(uint32_t first, uint32_t end)
{
	uint32_t i, next, n = 0;

	for (i = first; i < end; i++) {
		if (f.insns[i].mode != TRAMP_MODE_JUMP)
			continue;
		for (next = i + 1; next < end && f.insns[next].mode == TRAMP_MODE_NONE; next++)
			;
		n += next == end || f.insns[i].offset + f.insns[i].region_len <=
				    f.insns[next].offset;
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

	setup();
	links = calloc(PROBE_COUNTERS, sizeof(*links));
	REQUIRE(all && links, "out of memory");
	result = run_long(1);
	for (i = 2; i < f.nr && nr + 1 < MANY; i++) {
		if (f.insns[i].mode == TRAMP_MODE_NONE)
			continue;
		all[nr] = item[0];
		all[nr].addr = f.addr + f.insns[i].offset;
		all[nr].cookie = nr;
		all[nr + 1] = all[nr];
		all[nr + 1].prog_fd = bpf_program__fd(probe_skel->progs.nothing);
		nr += 2;
	}
	end = i;
	REQUIRE(!attach_batch(all, nr), "item %u: %s", cmd.failed,
		tramp_reason_name(cmd.refusal.reason));
	for (i = 0; i < nr; i++)
		links[i] = all[i].link_fd;
	CHECK_EQ(run_long(3), result, "result");
	probe_flush();
	jumps = alone(2, end);
	ktap_note("%u of %u probes are jumps", jumps, nr / 2);
	CHECK_EQ(tramp_module().probes, nr / 2, "probes");
	CHECK_EQ(tramp_module().optimised, jumps, "jumps");
	CHECK_EQ(run_long(3), result, "result");
	for (i = 0; i < nr; i += 2)
		CHECK_EQ(probe_skel->bss->counted[i], 6, "probe %u", i);
	CHECK_EQ(detach_batch(links, nr, &d), 0, "detach");
	for (i = 0; i < nr; i++)
		close(links[i]);
	check_nothing_left();
	expect_text("at the end");
}

/* -------------------------------------------------------------------- all or nothing -- */

/* @nr items are refused at @at; nothing is left, not even for a moment after. */
static void expect_refused(const char *what, uint32_t nr, uint32_t at, int err, uint32_t reason)
{
	uint32_t files = open_files();

	CHECK_EQ(attach_batch(item, nr), err, "%s", what);
	CHECK_EQ(cmd.failed, at, "%s: the item", what);
	CHECK_EQ(cmd.refusal.reason, reason, "%s: %s, not %s", what,
		 tramp_reason_name(cmd.refusal.reason), tramp_reason_name(reason));
	CHECK_EQ(tramp_module().links, 0, "%s: links", what);
	CHECK_EQ(open_files(), files, "%s: open files", what);
	run_long(1);
	expect_hits(nr < MANY ? nr : MANY, 0, what);
}

static void test_refused(void)
{
	struct tramp_attach good;
	uint32_t i, place[] = { 0, 300, MANY - 1 };

	setup();
	for (i = 0; i < 3; i++) {
		good = item[place[i]];
		item[place[i]].addr++;
		expect_refused("no instruction", MANY, place[i], -EINVAL,
			       TRAMP_REASON_NOT_BOUNDARY);
		item[place[i]] = good;
		item[place[i]].prog_fd = 12345;
		expect_refused("no program", MANY, place[i], -EBADF, TRAMP_REASON_BAD_PROG_FD);
		item[place[i]] = good;
		item[place[i]].size -= 8;
		expect_refused("another size", MANY, place[i], -EINVAL, TRAMP_REASON_SYNTAX);
		item[place[i]] = good;
		item[place[i]].flags |= 1U << 31;
		expect_refused("unknown flag", MANY, place[i], -EINVAL, TRAMP_REASON_SYNTAX);
		item[place[i]] = good;
	}
	item[MANY] = item[5];
	expect_refused("one of them twice", MANY + 1, MANY, -EBUSY,
		       TRAMP_REASON_ALREADY_ATTACHED);
	probe_flush();
	check_nothing_left();
	expect_text("at the end");
}

/* Something is wrong with the request itself. */
static void test_syntax(void)
{
	struct tramp_detach_batch d;
	struct tramp_attach *edge;
	struct attachment kernels;
	long page = sysconf(_SC_PAGESIZE);
	uint8_t *map;

	setup();
	expect_refused("none", 0, 0, -EINVAL, TRAMP_REASON_SYNTAX);
	CHECK_EQ(attach_batch(item, TRAMP_MAX_BATCH + 1), -EINVAL, "too many");
	cmd.item_size = TRAMP_ATTACH_MIN_SIZE - 1;
	cmd.count = 1;
	CHECK(ioctl(tramp_device(), TRAMP_IOC_ATTACH_BATCH, &cmd) && errno == EINVAL, "small items");
	cmd.item_size = sizeof(item[0]);
	cmd.flags = 1;
	CHECK(ioctl(tramp_device(), TRAMP_IOC_ATTACH_BATCH, &cmd) && errno == EINVAL, "a flag");
	cmd.flags = 0;
	cmd.__reserved = 1;
	CHECK(ioctl(tramp_device(), TRAMP_IOC_ATTACH_BATCH, &cmd) && errno == EINVAL, "reserved");

	/* The second of two is not there; then it is, but cannot be written. */
	map = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	REQUIRE(map != MAP_FAILED && !munmap(map + page, page), "memory");
	edge = (void *)(map + page - sizeof(*edge));
	*edge = item[0];
	CHECK_EQ(attach_batch(edge, 2), -EFAULT, "memory that is not there");
	CHECK_EQ(cmd.failed, 1, "memory that is not there: the item");
	REQUIRE(!mprotect(map, page, PROT_READ), "memory");
	CHECK_EQ(attach_batch(edge, 1), -EFAULT, "memory that cannot be written");
	CHECK_EQ(cmd.failed, 0, "memory that cannot be written: the item");
	CHECK_EQ(tramp_module().links, 0, "links");

	must_attach(10);
	fds[5] = dev;
	CHECK_EQ(detach_batch(fds, 10, &d), -EINVAL, "not a link");
	CHECK_EQ(d.refusal.reason, TRAMP_REASON_SYNTAX, "not a link");
	CHECK_EQ(d.failed, 5, "not a link: the fd");
	CHECK_EQ(tramp_module().links, 10, "links: nothing was detached");
	kernels = attach_insn(KERNEL, bpf_program__fd(probe_skel->progs.count),
			      ksym_addr("tt_hot0"), 0, 0);
	fds[5] = kernels.fd;
	CHECK_EQ(detach_batch(fds, 10, &d), -EINVAL, "a link of the kernel's own");
	CHECK_EQ(d.refusal.reason, TRAMP_REASON_SYNTAX, "a link of the kernel's own");
	CHECK_EQ(d.failed, 5, "a link of the kernel's own: the fd");
	detach(&kernels);
	fds[5] = 12345;
	CHECK_EQ(detach_batch(fds, 10, &d), -EBADF, "no file");
	CHECK_EQ(detach_batch(fds, 0, &d), -EINVAL, "none");
	CHECK_EQ(detach_batch(fds, TRAMP_MAX_BATCH + 1, &d), -EINVAL, "too many");
	CHECK_EQ(detach_batch((void *)(map + page), 1, &d), -EFAULT, "memory that is not there");
	/* One of them twice is once. */
	fds[5] = fds[4];
	CHECK_EQ(detach_batch(fds, 10, &d), 0, "one of them twice");
	CHECK_EQ(tramp_module().links, 1, "the one that was left out");
	fds[5] = item[5].link_fd;
	close_all(10);
	check_nothing_left();
	expect_text("at the end");
}

/* ---------------------------------------------------------------------------- signals -- */

static void on_alarm(int sig)
{
	(void)sig;
}

static void test_signal(void)
{
	struct sigaction act = { .sa_handler = on_alarm };
	uint32_t files, ended = 0, i, after_us;
	uint64_t t;

	setup();
	sigaction(SIGALRM, &act, NULL);
	/* The first one reads the text of the module. */
	must_attach(1);
	close_all(1);
	t = now_ns();
	must_attach(MANY);
	t = (now_ns() - t) / 1000;
	close_all(MANY);
	files = open_files();
	/* A call that was done before the signal says how long one takes on a machine so busy. */
	for (i = 0; i < 60 && (i < 6 || ended < 3); i++) {
		struct itimerval in = {};
		uint64_t begin;
		int err;

		after_us = 100 + t * (i % 6) / 8;
		in.it_value.tv_sec = after_us / 1000000;
		in.it_value.tv_usec = after_us % 1000000;
		begin = now_ns();
		setitimer(ITIMER_REAL, &in, NULL);
		err = attach_batch(item, MANY);
		if (err) {
			CHECK_EQ(err, -EINTR, "a signal after %u us", after_us);
			CHECK_EQ(cmd.failed, MANY, "no item is to blame");
			CHECK_EQ(tramp_module().links, 0, "links");
			CHECK_EQ(open_files(), files, "open files");
			ended++;
		} else {
			uint32_t k;

			t = (now_ns() - begin) / 1000;
			for (k = 0; k < MANY; k++)
				close(item[k].link_fd);
		}
	}
	ktap_note("%u of %u calls, the last whole one of %lu us, were ended by a signal", ended, i,
		  t);
	CHECK(ended >= 3, "%u", ended);
	run_long(1);
	expect_hits(MANY, 0, "at the end");
	check_nothing_left();
	expect_text("at the end");
}

/* A child says in memory that it shares how far it has come. */
struct done {
	uint64_t begun, attached, closed;
	uint64_t round_us;	/* the shortest: now and then a grace period takes seconds */
};

static void one_round(volatile struct done *done, void (*end)(void))
{
	uint64_t t = now_ns();

	done->begun++;
	must_attach(MANY);
	done->attached++;
	end();
	done->closed++;
	t = (now_ns() - t) / 1000;
	if (!done->round_us || t < done->round_us)
		done->round_us = t;
}

static void end_each(void)
{
	close_all(MANY);
}

static void end_range(void)
{
	close_range(fds[0], fds[MANY - 1], 0);
}

/* Each is killed after up to two rounds of attaching and closing, at any time of the next. */
static void test_kill(void)
{
	volatile struct done *done;
	uint64_t seed = rnd_seed(), until;
	uint32_t i;
	int status;
	pid_t pid;

	setup();
	done = mmap(NULL, sizeof(*done), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	REQUIRE(done != MAP_FAILED, "memory");
	one_round(done, end_each);
	for (i = 0; i < 8; i++) {
		until = done->closed + rnd(&seed) % 3;
		fflush(stdout);
		pid = fork();
		REQUIRE(pid >= 0, "fork");
		if (!pid) {
			for (;;)
				one_round(done, i % 2 ? end_range : end_each);
		}
		while (done->closed < until && !waitpid(pid, &status, WNOHANG))
			usleep(1000);
		usleep(rnd(&seed) % (2 * done->round_us));
		kill(pid, SIGKILL);
		REQUIRE(waitpid(pid, &status, 0) == pid, "attaching failed in child %u", i);
		CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "status %#x", status);
		CHECK_EQ(tramp_module().links, 0, "links of a process that was killed");
	}
	ktap_note("%lu us a round; %lu begun, %lu attached, %lu closed", done->round_us,
		  done->begun, done->attached, done->closed);
	CHECK(done->attached > 1, "no child had attached anything");
	CHECK(done->closed < done->begun, "none was killed at it");
	run_long(1);
	check_nothing_left();
	expect_text("at the end");
}

/* ----------------------------------------------------------------------- going together -- */

static struct attachment watch;

static uint64_t syncs(void)
{
	return probe_skel->bss->counted[SYNCS];
}

static void watch_syncs(void)
{
	watch = attach_insn(KERNEL, prog, ksym_addr("text_poke_sync"), 0, SYNCS);
}

/* The links of a process that exits: gone when its parent hears of it. */
static void test_exit(void)
{
	uint64_t n;
	int status;
	pid_t pid;

	setup();
	watch_syncs();
	fflush(stdout);
	pid = fork();
	REQUIRE(pid >= 0, "fork");
	if (!pid) {
		must_attach(MANY);
		probe_flush();
		if (tramp_module().optimised != MANY)
			_exit(1);
		probe_skel->bss->counted[SYNCS] = 0;
		_exit(0);
	}
	REQUIRE(waitpid(pid, &status, 0) == pid, "wait");
	CHECK_EQ(status, 0, "the process: 256 says that not all had become jumps");
	n = syncs();
	CHECK_EQ(tramp_module().links, 0, "links");
	ktap_note("%lu syncs at the exit of a process with %d jumps", n, MANY);
	CHECK(n >= 2 && n <= FEW, "%lu syncs", n);
	detach(&watch);
	memset(probe_skel->bss->counted, 0, sizeof(probe_skel->bss->counted));
	run_long(1);
	expect_hits(MANY, 0, "afterwards");
	check_nothing_left();
	expect_text("at the end");
}

static void test_close_range(void)
{
	uint32_t i;
	uint64_t n;

	setup();
	watch_syncs();
	/* File descriptors that are free in between go first. */
	for (i = 0; i < 100; i++)
		dup(dev);
	must_attach(MANY);
	probe_flush();
	for (i = 1; i < MANY; i++)
		REQUIRE(fds[i] == fds[0] + (int)i, "link %u has fd %d", i, fds[i]);
	probe_skel->bss->counted[SYNCS] = 0;
	REQUIRE(!close_range(fds[0], fds[MANY - 1], 0), "close_range: %s", strerror(errno));
	n = syncs();
	CHECK_EQ(tramp_module().links, 0, "links");
	ktap_note("%lu syncs for %d jumps", n, MANY);
	CHECK(n >= 2 && n <= FEW, "%lu syncs", n);
	detach(&watch);
	memset(probe_skel->bss->counted, 0, sizeof(probe_skel->bss->counted));
	run_long(1);
	expect_hits(MANY, 0, "afterwards");
	check_nothing_left();
	expect_text("at the end");
}

/* A probe of the kernel in the way of some: these become kprobes, or are refused. */
static void test_fallback(void)
{
	struct tramp_detach_batch d;
	uint64_t addr, hits, missed;
	int32_t result;
	uint32_t i;

	setup();
	addr = item[7].addr;
	kprobes_on(dev, TT_KPROBE_NO_JUMP, &addr, &result, 1);
	REQUIRE(!result, "a kernel kprobe: %s", strerror(result));
	must_attach(20);
	for (i = 0; i < 20; i++)
		CHECK_EQ(item[i].mode, i == 7 ? TRAMP_MODE_KPROBE : TRAMP_MODE_INT3, "item %u", i);
	run_long(5);
	expect_hits(20, 5, "with a kernel kprobe");
	CHECK_EQ(detach_batch(fds, 20, &d), 0, "detach");
	run_long(5);
	expect_hits(20, 0, "detached");
	close_all(20);
	item[7].flags |= TRAMP_ATTACH_F_NO_KPROBE;
	expect_refused("no kprobe wanted", 20, 7, -EBUSY, TRAMP_REASON_KPROBE_THERE);
	kprobes_off(dev, &hits, &missed, NULL, 1);
	check_nothing_left();
	expect_text("at the end");
}

/* Among the others one at the function's entry, which its own image runs, and one at its return. */
static void test_entry(void)
{
	struct tramp_detach_batch d;
	uint32_t i;

	setup();
	/* The return is of another kind: those behind it are attached together. */
	for (i = 2; i < 4; i++) {
		item[i].addr = 0;
		strcpy(item[i].symbol, "tt_long");
	}
	item[2].flags |= TRAMP_ATTACH_F_RETURN;
	must_attach(20);
	CHECK_EQ(item[2].kind, TRAMP_KIND_KRETPROBE, "at the return");
	CHECK_EQ(item[3].mode, TRAMP_MODE_DIRECT, "at the entry");
	run_long(5);
	expect_hits(20, 5, "attached");
	CHECK_EQ(detach_batch(fds, 20, &d), 0, "detach");
	run_long(5);
	expect_hits(20, 0, "detached");
	close_all(20);
	item[19].prog_fd = dev;
	expect_refused("the last is no program", 20, 19, -EBADF, TRAMP_REASON_BAD_PROG_FD);
	item[19] = item[18];
	expect_refused("the last is there", 20, 19, -EBUSY, TRAMP_REASON_ALREADY_ATTACHED);
	check_nothing_left();
	expect_text("at the end");
}

static const struct ktap_test tests[] = {
	{ "counts", test_counts, 120 },
	{ "under_hits", test_under_hits, 240 },
	{ "dense", test_dense, 120 },
	{ "refused", test_refused, 240 },
	{ "syntax", test_syntax, 60 },
	{ "signal", test_signal, 240 },
	{ "kill", test_kill, 240 },
	{ "exit", test_exit, 240 },
	{ "close_range", test_close_range, 120 },
	{ "fallback", test_fallback, 60 },
	{ "entry", test_entry, 60 },
};

KTAP_MAIN(tests)
