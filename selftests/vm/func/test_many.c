// SPDX-License-Identifier: GPL-2.0
/*
 * Many programs of tracing type, each at a function of its own, attached by one ATTACH_BATCH: their
 * functions share an ftrace_ops (kernel/ftrace/group.c). One of them leaves, or is changed: the
 * others go on as before.
 *
 * How often all CPUs were made to see new text is counted by a kernel kprobe at
 * on_each_cpu_cond_mask(), for this process.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include "fixture.h"
#include "ownmod.h"
#include "parts.h"
#include "probe.h"
#include "record.h"
#include "selftests/vm/lib/probe_progs.skel.h"
#include "selftests/vm/lib/record.skel.h"

/* selftests/kmod/many.c */
#define NR	300
#define CALLS	3
#define ROUNDS	6
/* Syncs that all of them may take together, in one part: one by one it would be 900. */
#define FEW	24

static int dev;
static struct record *record;
static struct tramp_attach item[2 * NR];
static struct tramp_attach_batch cmd;
static int32_t fds[2 * NR];

static const char *name_of(uint32_t i)
{
	static char name[32];

	snprintf(name, sizeof(name), "tt_many_%03u", i);
	return name;
}

static struct tramp_attach request(int prog, uint32_t i)
{
	return (struct tramp_attach){ .size = sizeof(struct tramp_attach), .prog_fd = prog,
				      .flags = TRAMP_ATTACH_F_COOKIE, .cookie = i % COUNTERS };
}

static int entry_prog(uint32_t i)
{
	return prog_clone(record->progs.count_entry, name_of(i), BPF_TRACE_FENTRY);
}

static void setup(void)
{
	uint32_t i;

	dev = fixture_open("the kernel attaches one after the other");
	probe_many_files();
	record = FIXTURE_LOAD(record);
	for (i = 0; i < NR; i++)
		item[i] = request(entry_prog(i), i);
}

/* Return: 0 or a negative errno. */
static int attach_batch(uint32_t nr)
{
	cmd = (struct tramp_attach_batch){ .size = sizeof(cmd), .count = nr,
					   .item_size = sizeof(item[0]),
					   .items = (uintptr_t)item };
	return ioctl(tramp_device(), TRAMP_IOC_ATTACH_BATCH, &cmd) ? -errno : 0;
}

static void must_attach(uint32_t nr)
{
	int err = attach_batch(nr);
	uint32_t i;

	REQUIRE(!err, "%u programs: %s at item %u: %s %s", nr, strerror(-err), cmd.failed,
		tramp_reason_name(cmd.refusal.reason), cmd.refusal.detail);
	for (i = 0; i < nr; i++)
		fds[i] = item[i].link_fd;
}

static void must_detach(uint32_t from, uint32_t nr)
{
	struct tramp_detach_batch d = { .size = sizeof(d), .count = nr,
					.fds = (uintptr_t)(fds + from) };
	uint32_t i;

	REQUIRE(!ioctl(tramp_device(), TRAMP_IOC_DETACH_BATCH, &d), "detach: %s", strerror(errno));
	for (i = from; i < from + nr; i++)
		close(fds[i]);
}

static uint64_t hits_of(uint32_t i)
{
	return tramp_query_link(item[i].link_id).hits;
}

/* Every function is called so often. */
static void call_all(int times)
{
	struct tt_reply r = tt_call(dev, "tt_many_000 n=%d 12", times);

	CHECK_EQ(r.different, 0, "results");
	CHECK_EQ(r.result, 19, "result");
}

/* One call of all: those from @from to before @to run their programs, and no others. */
static void expect_hits(uint32_t from, uint32_t to, const char *when)
{
	uint64_t want[COUNTERS] = {};
	uint32_t i;

	memset(record->bss->counted, 0, sizeof(record->bss->counted));
	call_all(CALLS);
	for (i = from; i < to; i++)
		want[i % COUNTERS] += CALLS;
	for (i = 0; i < COUNTERS; i++)
		if (!CHECK_EQ(record->bss->counted[i], want[i], "%s: counter %u", when, i))
			break;
}

/* ---------------------------------------------------------------- coming and going -- */

static void test_counts(void)
{
	uint64_t n, begin, came, went, allowed;
	struct attachment watch;
	uint32_t i;

	setup();
	probe_setup();
	watch = probe_watch_syncs();
	begin = now_ns();
	must_attach(NR);
	came = now_ns() - begin;
	n = probe_watched();
	allowed = FEW + parts_coming(came, NR);
	ktap_note("%lu syncs and %lu us to attach %d, at most %lu", n, came / 1000, NR, allowed);
	CHECK(n && n <= allowed, "%lu syncs to attach", n);
	CHECK_EQ(tramp_module().targets, NR, "functions");
	expect_hits(0, NR, "attached");
	for (i = 0; i < NR; i++) {
		if (!CHECK_EQ(item[i].mode, TRAMP_MODE_DIRECT, "%s: mode", name_of(i)) ||
		    !CHECK_EQ(hits_of(i), CALLS, "%s: hits", name_of(i)))
			break;
	}
	probe_watched();
	begin = now_ns();
	must_detach(0, NR);
	went = now_ns() - begin;
	n = probe_watched();
	allowed = FEW + parts_going(came + went, NR);
	ktap_note("%lu syncs and %lu us to detach them, at most %lu", n, went / 1000, allowed);
	CHECK(n && n <= allowed, "%lu syncs to detach", n);
	/* Closed together, as an exit does. */
	begin = now_ns();
	must_attach(NR);
	came = now_ns() - begin;
	/* The first ones may be below others that stay open. */
	must_detach(0, 10);
	REQUIRE(fds[NR - 1] - fds[10] == NR - 1 - 10, "file descriptors in a row");
	probe_watched();
	begin = now_ns();
	CHECK_EQ(close_range(fds[10], fds[NR - 1], 0), 0, "close");
	went = now_ns() - begin;
	n = probe_watched();
	allowed = FEW + parts_going(came + went, NR);
	ktap_note("%lu syncs to close them, at most %lu", n, allowed);
	CHECK(n && n <= allowed, "%lu syncs to close", n);
	detach(&watch);
	expect_hits(0, 0, "detached");
	check_nothing_left();
}

/* The links of a process that exits. */
static void test_exit(void)
{
	int status;
	pid_t pid;

	setup();
	pid = fork();
	if (!pid) {
		must_attach(NR);
		_exit(tramp_module().links != NR);
	}
	REQUIRE(waitpid(pid, &status, 0) == pid, "waitpid");
	CHECK_EQ(status, 0, "the process had its links");
	CHECK_EQ(tramp_module().links, 0, "links");
	expect_hits(0, 0, "afterwards");
	check_nothing_left();
}

/* An entry and an exit program at each of half of them. */
static void test_pairs(void)
{
	uint32_t i, nr = NR / 2;

	setup();
	for (i = 0; i < nr; i++)
		item[nr + i] = request(prog_clone(record->progs.count_exit, name_of(i),
						  BPF_TRACE_FEXIT), nr + i);
	must_attach(2 * nr);
	CHECK_EQ(tramp_module().targets, nr, "functions");
	expect_hits(0, 2 * nr, "both");
	/* The exit programs of some. */
	must_detach(nr, 10);
	for (i = 0; i < 10; i++)
		CHECK_EQ(tramp_query_link(item[i].link_id).nr_progs, 1, "%s", name_of(i));
	must_detach(0, nr);
	expect_hits(nr + 10, 2 * nr, "exit programs");
	must_detach(nr + 10, nr - 10);
	check_nothing_left();
}

static void expect_refused(const char *what, uint32_t at, int err, uint32_t reason)
{
	CHECK_EQ(attach_batch(NR), err, "%s", what);
	CHECK_EQ(cmd.failed, at, "%s: the item", what);
	CHECK_EQ(cmd.refusal.reason, reason, "%s: %s, not %s", what,
		 tramp_reason_name(cmd.refusal.reason), tramp_reason_name(reason));
	CHECK_EQ(tramp_module().links, 0, "%s: links", what);
	CHECK_EQ(tramp_module().targets, 0, "%s: functions", what);
	expect_hits(0, 0, what);
}

static void test_refused(void)
{
	uint32_t i, place[] = { 0, 150, NR - 1 };
	struct tramp_attach good;

	setup();
	for (i = 0; i < 3; i++) {
		good = item[place[i]];
		item[place[i]].prog_fd = 12345;
		expect_refused("no program", place[i], -EBADF, TRAMP_REASON_BAD_PROG_FD);
		item[place[i]] = good;
	}
	item[NR - 1] = item[5];
	expect_refused("one of them twice", NR - 1, -EBUSY, TRAMP_REASON_ALREADY_ATTACHED);
	check_nothing_left();
}

/* The second page can be read, and no answer be written to it: the item at its start is named. */
static void test_unanswered(void)
{
	const size_t page = sysconf(_SC_PAGESIZE);
	const uint32_t nr = 2 * page / sizeof(item[0]);
	char *pages;
	int err;

	setup();
	pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	REQUIRE(pages != MAP_FAILED, "mmap: %s", strerror(errno));
	memcpy(pages, item, nr * sizeof(item[0]));
	REQUIRE(!mprotect(pages + page, page, PROT_READ), "mprotect: %s", strerror(errno));
	cmd = (struct tramp_attach_batch){ .size = sizeof(cmd), .count = nr,
					   .item_size = sizeof(item[0]),
					   .items = (uintptr_t)pages };
	err = ioctl(tramp_device(), TRAMP_IOC_ATTACH_BATCH, &cmd) ? -errno : 0;
	CHECK_EQ(err, -EFAULT, "%u items", nr);
	CHECK_EQ(cmd.failed, page / sizeof(item[0]), "the item");
	CHECK_EQ(tramp_module().links, 0, "links");
	CHECK_EQ(tramp_module().targets, 0, "functions");
	munmap(pages, 2 * page);
	check_nothing_left();
}

static void noticed(int sig)
{
	(void)sig;
}

/* A signal ends it, at whatever moment and with SA_RESTART as well, and nothing is left. */
static void test_signals(void)
{
	const struct sigaction act = { .sa_handler = noticed, .sa_flags = SA_RESTART };
	struct itimerval timer = {};
	int us, err, ended = 0;
	uint32_t i;

	setup();
	sigaction(SIGALRM, &act, NULL);
	for (us = 500; us < 100000; us += us) {
		timer.it_value.tv_usec = us;
		setitimer(ITIMER_REAL, &timer, NULL);
		err = attach_batch(NR);
		timer.it_value.tv_usec = 0;
		setitimer(ITIMER_REAL, &timer, NULL);
		if (!CHECK(!err || err == -EINTR, "after %d us: %s", us, strerror(-err)))
			break;
		ended += !!err;
		CHECK_EQ(tramp_module().links, err ? 0 : NR, "after %d us: links", us);
		CHECK_EQ(tramp_module().targets, err ? 0 : NR, "after %d us: functions", us);
		for (i = 0; !err && i < NR; i++)
			close(item[i].link_fd);
	}
	ktap_note("ended %d times", ended);
	CHECK(ended, "no signal has ended it");
	expect_hits(0, 0, "afterwards");
	check_nothing_left();
}

/* ------------------------------------------------------------------- one of the group -- */

static void test_leaves(void)
{
	struct tramp_attach again = request(item[0].prog_fd, 0);
	struct attachment a, b;

	setup();
	must_attach(NR);
	/* The last, so that the others are in a row. */
	close(fds[NR - 1]);
	expect_hits(0, NR - 1, "the last has left");
	again.flags = TRAMP_ATTACH_F_COOKIE;
	again.cookie = (NR - 1) % COUNTERS;
	a = attach_want(item[NR - 1].prog_fd, &again);
	CHECK_EQ(a.err, 0, "the last comes back alone");
	expect_hits(0, NR, "all");
	must_detach(0, NR - 2);
	expect_hits(NR - 2, NR, "two are left");
	again.cookie = 0;
	b = attach_want(item[0].prog_fd, &again);
	CHECK_EQ(b.err, 0, "the first comes back alone");
	detach(&b);
	detach(&a);
	expect_hits(NR - 2, NR - 1, "one is left");
	close(fds[NR - 2]);
	expect_hits(0, 0, "all have left");
	check_nothing_left();
}

static volatile bool stop;
static uint64_t calls;

static void *caller(void *arg)
{
	int own = tt_open();

	while (!stop)
		calls += tt_call(own, "tt_many_000 n=50 12").calls;
	close(own);
	return arg;
}

/*
 * While another thread calls all of them other programs come and go at one of them, and a tracer
 * at all. No hit of those that stay is lost.
 */
static void test_switched(bool traced)
{
	uint32_t i, round, other = 7;
	struct attachment a, b;
	pthread_t thread;
	int exit_prog;

	setup();
	exit_prog = prog_clone(record->progs.record_exit, name_of(other), BPF_TRACE_FEXIT);
	must_attach(NR);
	calls = 0;
	stop = false;
	REQUIRE(!pthread_create(&thread, NULL, caller, NULL), "a thread");
	for (round = 0; round < ROUNDS; round++) {
		struct tramp_attach want = request(exit_prog, 0);

		if (traced && round % 3 == 0)
			function_tracer("tt_many_*");
		a = attach_want(exit_prog, &want);
		CHECK_EQ(a.err, 0, "round %u: an exit program", round);
		if (traced && round % 3 == 1)
			function_tracer(NULL);
		b = attach_func(OURS, prog_clone(record->progs.record_entry, name_of(other),
						 BPF_TRACE_FENTRY), NULL);
		detach(&a);
		/* Others leave the group. */
		must_detach(NR - 2 * (round + 1), 2);
		detach(&b);
	}
	function_tracer(NULL);
	stop = true;
	pthread_join(thread, NULL);
	ktap_note("%lu calls meanwhile", calls);
	CHECK(calls, "no calls");
	for (i = 0; i < NR - 2 * ROUNDS; i++)
		if (!CHECK_EQ(hits_of(i), calls, "%s: hits", name_of(i)) ||
		    !CHECK_EQ(tramp_query_link(item[i].link_id).misses, 0, "%s", name_of(i)))
			break;
	must_detach(0, NR - 2 * ROUNDS);
	check_nothing_left();
}

static void test_changed(void)
{
	test_switched(false);
}

static void test_changed_traced(void)
{
	test_switched(true);
}

/* A tracer is there first, or comes and goes meanwhile. */
static void test_traced(void)
{
	setup();
	function_tracer("tt_many_*");
	must_attach(NR);
	expect_hits(0, NR, "beside a tracer");
	must_detach(200, 100);
	expect_hits(0, 200, "some have left");
	function_tracer(NULL);
	expect_hits(0, 200, "without it");
	function_tracer("tt_many_*");
	expect_hits(0, 200, "with another one");
	must_detach(0, 200);
	expect_hits(0, 0, "detached");
	function_tracer(NULL);
	check_nothing_left();
}

/* The kernel's own BPF trampolines: at one of ours, and ours where one is. */
static void test_held(void)
{
	struct attachment k;

	setup();
	must_attach(NR);
	k = attach_func_try(KERNEL, entry_prog(9), NULL);
	CHECK_EQ(k.err, -EBUSY, "the kernel's program at one of ours");
	must_detach(0, NR);
	k = attach_func(KERNEL, entry_prog(9), NULL);
	if (tramp_module().features & TRAMP_FEAT_FTRACE_OPS) {
		must_attach(NR);
		CHECK_EQ(item[8].mode, TRAMP_MODE_DIRECT, "a free one");
		CHECK_EQ(item[9].mode, TRAMP_MODE_FTRACE_OPS, "where the kernel's is");
		detach(&k);
		expect_hits(0, NR, "beside the kernel's");
		must_detach(0, NR);
		k = attach_func(KERNEL, entry_prog(9), NULL);
	}
	item[9].flags |= TRAMP_ATTACH_F_NO_OPS;
	CHECK_EQ(attach_batch(NR), -EBUSY, "where the kernel's is");
	CHECK_EQ(cmd.failed, 9, "the item");
	CHECK_EQ(cmd.refusal.reason, TRAMP_REASON_SITE_HELD, "the reason");
	detach(&k);
	check_nothing_left();
}

/* ------------------------------------------------------------------------ the module -- */

static void test_module(void)
{
	struct attachment probe;
	uint32_t i;

	setup();
	probe_setup();
	must_attach(NR);
	close(dev);
	CHECK_EQ(module_unload("trampoline_test"), -EAGAIN, "while programs are there");
	/* One of the group that lets the module go. */
	probe = attach_insn(OURS, bpf_program__fd(probe_skel->progs.count),
			    ksym_addr(name_of(3)), 0, 0);
	CHECK_EQ(attachment_query(&probe).mode, TRAMP_MODE_DIRECT, "a probe at an entry");
	must_detach(0, NR);
	/* A loaded program holds its function's module, too. */
	for (i = 0; i < NR; i++)
		close(item[i].prog_fd);
	CHECK_EQ(ownmod_unload("trampoline_test", 300), 0, "when they are gone");
	CHECK_EQ(attachment_query(&probe).mode, TRAMP_MODE_NONE, "the probe");
	detach(&probe);
	ksym_reload();
	dev = tt_open();
	expect_hits(0, 0, "loaded anew");
	check_nothing_left();
}

static const struct ktap_test tests[] = {
	{ "counts", test_counts, 60 },
	{ "exit", test_exit, 60 },
	{ "pairs", test_pairs, 120 },
	{ "refused", test_refused, 60 },
	{ "unanswered", test_unanswered, 60 },
	{ "signals", test_signals, 60 },
	{ "leaves", test_leaves, 60 },
	{ "changed", test_changed, 60 },
	{ "changed_traced", test_changed_traced, 60 },
	{ "traced", test_traced, 60 },
	{ "held", test_held, 60 },
	{ "module", test_module, 60 },
};

KTAP_MAIN(tests)
